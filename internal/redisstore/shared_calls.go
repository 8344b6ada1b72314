package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/batch"
	"seckill/internal/order"
	"seckill/internal/redisstore/rediskit"
)

const (
	// maxSends is how many sends are under way at once. Two: while Redis works on one, the answers of the other are
	// read and the next is gathered.
	maxSends = 2
	// maxSales is how many sales scripts/seckill.lua takes in one call. While Redis runs a call it serves nobody else.
	maxSales = 64
)

// sharedCalls calls scripts/seckill.lua for batches of several sales at once. Batches that come while maxSends sends
// are under way share the next send: usually one call of the script, of order.MaxBatch requests at most. A rush on one
// sale, whose batcher makes one call after the other, never shares a call; a rush on a thousand sales does. Only sales
// of one partition share calls, since the keys of a call must be in one slot, and a partition whose Redis node does not
// answer must not hold up another.
//
// The batches of a call have nothing else in common: each has its own answer, and its own error if Redis refuses it.
// When the connection fails, the outcome of all is unknown, as it would be for each alone. If replicas must confirm,
// they are asked once per send, after its last call.
type sharedCalls struct {
	client redis.UniversalClient
	// cluster is the same client if it is a cluster's, which would repeat a pipeline that got no answer.
	cluster  *redis.ClusterClient
	script   rediskit.Script
	keys     keys
	replicas Replicas
	sends    *batch.Batcher[*pendingBatch, struct{}]
}

// pendingBatch is a batch of one sale, and its result.
type pendingBatch struct {
	batch      order.Batch
	quantities string    // in the script's form
	deadline   time.Time // how long its caller waits; zero: without end
	answer     any
	err        error // why there is no reply; translated
	doubt      error // wraps errUnconfirmed if too few replicas have confirmed the reply
}

// admissionCalls are the shared calls of each partition.
type admissionCalls struct {
	open func() *sharedCalls
	of   sync.Map // partition → *sharedCalls
}

// in returns the shared calls of one partition.
func (a *admissionCalls) in(partition int) *sharedCalls {
	if found, ok := a.of.Load(partition); ok {
		return found.(*sharedCalls)
	}
	found, _ := a.of.LoadOrStore(partition, a.open())
	return found.(*sharedCalls)
}

// sharedCall is one call of the script.
type sharedCall struct {
	batches []*pendingBatch
	cmd     *redis.Cmd
}

func newSharedCalls(client redis.UniversalClient, s rediskit.Script, k keys, r Replicas) *sharedCalls {
	cluster, _ := client.(*redis.ClusterClient)
	c := &sharedCalls{client: client, cluster: cluster, script: s, keys: k, replicas: r}
	c.sends = batch.New(batch.Options{Size: maxSales, Calls: maxSends, Inline: true},
		func(ctx context.Context, items []*batch.Item[*pendingBatch, struct{}]) error {
			batches := make([]*pendingBatch, len(items))
			for i, it := range items {
				batches[i] = it.Request
			}
			c.send(ctx, batches)
			return nil // each batch has its own error
		})
	return c
}

// run lets the script decide the batch, and returns its answer. Errors are those of rediskit.Script.Run; if too few
// replicas have confirmed the answer, it returns the answer together with an error that wraps errUnconfirmed. The batch
// is read until the answer is there, even if ctx ends sooner, so it must not change.
func (c *sharedCalls) run(ctx context.Context, b order.Batch) (any, error) {
	p := &pendingBatch{batch: b, quantities: quantitiesOf(b.Requests)}
	p.deadline, _ = ctx.Deadline()
	_, err := c.sends.Do(ctx, p)
	switch {
	case errors.Is(err, batch.ErrNotSent):
		return nil, fmt.Errorf("redis: %w: %w", order.ErrUnavailable, err)
	case err != nil:
		return nil, fmt.Errorf("redis: %w", err)
	case p.err != nil:
		return nil, p.err
	default:
		return p.answer, p.doubt
	}
}

// send sends batches together and waits for their answers.
func (c *sharedCalls) send(ctx context.Context, batches []*pendingBatch) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = withLongest(ctx, batches)
		defer cancel()
	}
	var calls []*sharedCall
	for len(batches) > 0 {
		n := together(batches)
		calls = append(calls, c.newCall(ctx, batches[:n], "evalsha", c.script.Digest))
		batches = batches[n:]
	}
	c.process(ctx, calls)
	if again := c.again(ctx, calls); len(again) > 0 {
		c.process(ctx, again)
	}
}

// together returns how many of the batches, from the first on, fit into one call.
func together(batches []*pendingBatch) int {
	n, requests := 0, 0
	for _, p := range batches {
		requests += len(p.batch.Requests)
		if n > 0 && requests > order.MaxBatch {
			break
		}
		n++
	}
	return n
}

// again returns the calls to repeat, none of which had an effect. A call that failed because Redis does not know the
// script is repeated with the source. A call that failed because a slot is moving to another node, and one of its sales
// was incomplete there, is repeated sale by sale.
func (c *sharedCalls) again(ctx context.Context, calls []*sharedCall) (again []*sharedCall) {
	for _, call := range calls {
		switch err := call.cmd.Err(); {
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			again = append(again, c.newCall(ctx, call.batches, "eval", c.script.Source))
		case redis.HasErrorPrefix(err, "TRYAGAIN") && len(call.batches) > 1:
			for i := range call.batches {
				again = append(again, c.newCall(ctx, call.batches[i:i+1], "eval", c.script.Source))
			}
		}
	}
	return again
}

// process makes calls and gives each batch its answer.
func (c *sharedCalls) process(ctx context.Context, calls []*sharedCall) {
	var doubt error
	switch {
	case c.replicas.Count == 0 && (len(calls) == 1 || c.cluster != nil):
		for _, call := range calls { // in turn, as one node serves them all: a send uses one connection
			_ = c.client.Process(ctx, rediskit.Once{Cmder: call.cmd}) // a command has its own error
		}
	case c.cluster != nil:
		doubt = c.atMaster(ctx, calls)
	default:
		doubt = c.pipeline(ctx, c.client, c.keys.confirmed(), calls)
	}
	for _, call := range calls {
		call.read(doubt)
	}
}

// atMaster is pipeline sent to the cluster's node that has the calls' slot. WAIT must follow on the same connection,
// and has no key by which the cluster's client could find that node. The client does not follow redirections here
// either: redirected calls had no effect, and the next calls use the slots that are loaded then.
func (c *sharedCalls) atMaster(ctx context.Context, calls []*sharedCall) error {
	partition := calls[0].batches[0].batch.Sale.Partition
	node, err := c.cluster.MasterForKey(ctx, c.keys.orders(partition))
	if err != nil {
		for _, call := range calls {
			call.cmd.SetErr(fmt.Errorf("%w: %w", order.ErrUnavailable, err)) // nothing was sent
		}
		return nil
	}
	doubt := c.pipeline(ctx, node, c.keys.confirmedIn(partition), calls)
	if _, moved := redis.IsMovedError(calls[0].cmd.Err()); moved {
		c.cluster.ReloadState(context.WithoutCancel(ctx))
	}
	return doubt
}

// pipeline makes calls in one round trip. It returns an error that wraps errUnconfirmed when too few replicas have
// confirmed them; question is the key that the confirmation writes.
func (c *sharedCalls) pipeline(
	ctx context.Context, client redis.UniversalClient, question string, calls []*sharedCall,
) error {
	pipe := client.Pipeline()
	for _, call := range calls {
		_ = pipe.Process(ctx, call.cmd) // this only queues it; a command has its own error
	}
	doubt := func() error { return nil }
	if c.replicas.Count > 0 {
		doubt = c.replicas.ask(ctx, pipe, question).err
	}
	_, _ = pipe.Exec(ctx) // as above
	return doubt()
}

// refusedWriteError is the error with which Redis refused a write of the script, taken from the script's answer.
type refusedWriteError string

func (e refusedWriteError) Error() string { return string(e) }

// RedisError marks it as an error that Redis itself returned.
func (refusedWriteError) RedisError() {}

// read gives each batch its part of the call's answer.
func (call *sharedCall) read(doubt error) {
	reply, err := call.cmd.Slice()
	if err == nil && len(reply) != len(call.batches) {
		err = fmt.Errorf("a script answered for %d sales instead of %d", len(reply), len(call.batches))
	}
	err = rediskit.Translate(err)
	for i, p := range call.batches {
		p.answer, p.err, p.doubt = nil, err, doubt
		if err != nil {
			continue
		}
		if refusal, is := reply[i].(string); is {
			p.err = rediskit.Translate(refusedWriteError(refusal))
		} else {
			p.answer = reply[i]
		}
	}
}

// newCall returns a call of the script with its KEYS and ARGV. ARGV points into the batches: ids are written to the
// socket from there, so the batches must not change during the call.
func (c *sharedCalls) newCall(ctx context.Context, batches []*pendingBatch, verb, text string) *sharedCall {
	size := 4 + 8*len(batches)
	for _, p := range batches {
		size += 2 * len(p.batch.Requests)
	}
	line := make([]any, 0, size)
	line = append(line, verb, text, 1+2*len(batches), c.keys.orders(batches[0].batch.Sale.Partition))
	for _, p := range batches {
		line = append(line, c.keys.sale(p.batch.Sale), c.keys.buyers(p.batch.Sale))
	}
	for _, p := range batches {
		b := &p.batch
		line = append(line, &b.Sale.VoucherID, &b.Known.Epoch, &b.Known.Sequence, &b.MaxBacklog,
			len(b.Requests), p.quantities)
		for i := range b.Requests {
			line = append(line, &b.Requests[i].UserID, &b.Requests[i].OrderID)
		}
	}
	cmd := redis.NewCmd(ctx, line...)
	cmd.SetFirstKeyPos(3) // the cluster client finds the slot there
	return &sharedCall{batches: batches, cmd: cmd}
}

// withLongest returns a context that ends when the last caller gives up; never, if one of them has no deadline.
func withLongest(ctx context.Context, batches []*pendingBatch) (context.Context, context.CancelFunc) {
	var last time.Time
	for _, p := range batches {
		if p.deadline.IsZero() {
			return ctx, func() {}
		}
		if p.deadline.After(last) {
			last = p.deadline
		}
	}
	return context.WithDeadline(ctx, last)
}
