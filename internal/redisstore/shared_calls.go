package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/batch"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/redisstore/rediskit"
	"seckill/scripts"
)

// maxSends is how many sends are under way at once. Two: while Redis works on one, the answers of the other are read and
// the next is gathered.
const maxSends = 2

// sharedCalls calls scripts/seckill.lua for batches of several sales at once. Batches that come while maxSends sends
// are under way share the next send: usually one call of the script, of gate.MaxBatch requests at most. A rush on one
// sale, whose batcher makes one call after the other, never shares a call; a rush on a thousand sales does. Only sales
// of one partition share calls, since the keys of a call must be in one slot, and a partition whose Redis node does not
// answer must not hold up another.
//
// The batches of a call have nothing else in common: each has its own answer, and its own error if Redis refuses it.
// When the connection fails, the outcome of all is unknown, as it would be for each alone. If replicas must confirm,
// they are asked once per send, after its last call.
type sharedCalls struct {
	store     *Store
	partition int
	// cluster is the store's client if it is a cluster's, which would repeat a pipeline that got no answer.
	cluster *redis.ClusterClient
	sends   *batch.Batcher[gate.Batch, batchAnswer]
}

// pendingBatch is a batch of one sale, and its answer. The batch is read until the answer is there, even if its caller
// leaves sooner, so it must not change.
type pendingBatch = batch.Item[gate.Batch, batchAnswer]

// batchAnswer is what the script decided about a batch, or why that is not known; translated.
type batchAnswer struct {
	result gate.BatchResult
	err    error
}

// sharedCall is one call of the script.
type sharedCall struct {
	batches []*pendingBatch
	cmd     *redis.Cmd
}

// callsIn returns the shared calls of one partition.
func (s *Store) callsIn(partition int) *sharedCalls {
	if found, ok := s.calls.Load(partition); ok {
		return found.(*sharedCalls)
	}
	c := &sharedCalls{store: s, partition: partition}
	c.cluster, _ = s.commands.(*redis.ClusterClient)
	c.sends = batch.New(batch.Options{Size: scripts.MaxSales, Calls: maxSends, Inline: true}, c.send)
	found, _ := s.calls.LoadOrStore(partition, c)
	return found.(*sharedCalls)
}

// send sends batches together and waits for their answers. Each batch has its own error.
func (c *sharedCalls) send(ctx context.Context, batches []*pendingBatch) error {
	if _, bounded := ctx.Deadline(); !bounded { // each caller has a deadline of its own, and none is later
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, order.AdmissionTimeout)
		defer cancel()
	}
	var calls []*sharedCall
	for len(batches) > 0 {
		n := together(batches)
		calls = append(calls, c.newCall(ctx, batches[:n], "evalsha", c.store.scripts.seckill.Digest))
		batches = batches[n:]
	}
	c.process(ctx, calls)
	if again := c.again(ctx, calls); len(again) > 0 {
		c.process(ctx, again)
	}
	return nil
}

// together returns how many of the batches, from the first on, fit into one call.
func together(batches []*pendingBatch) int {
	n, requests := 0, 0
	for _, p := range batches {
		requests += len(p.Request.Requests)
		if n > 0 && requests > gate.MaxBatch {
			break
		}
		n++
	}
	return n
}

// again returns the calls to repeat, with the script's source; none of them had an effect. If Redis does not know the
// script, that is the whole call. If a slot is moving to another node, and one of the sales was incomplete there, it is
// each sale's own call.
func (c *sharedCalls) again(ctx context.Context, calls []*sharedCall) (again []*sharedCall) {
	for _, call := range calls {
		size := len(call.batches)
		switch err := call.cmd.Err(); {
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
		case redis.HasErrorPrefix(err, "TRYAGAIN"):
			size = 1
		default:
			continue
		}
		for batches := range slices.Chunk(call.batches, size) {
			again = append(again, c.newCall(ctx, batches, "eval", c.store.scripts.seckill.Source))
		}
	}
	return again
}

// process makes calls and gives each batch its answer.
func (c *sharedCalls) process(ctx context.Context, calls []*sharedCall) {
	var doubt error
	switch {
	case c.store.options.Replicas.Count == 0 && (len(calls) == 1 || c.cluster != nil):
		for _, call := range calls { // in turn, as one node serves them all: a send uses one connection
			_ = c.store.commands.Process(ctx, rediskit.Once{Cmder: call.cmd}) // a command has its own error
		}
	case c.cluster != nil:
		doubt = c.atMaster(ctx, calls)
	default:
		doubt = c.pipeline(ctx, c.store.commands, c.store.keys.confirmed(), calls)
	}
	for _, call := range calls {
		call.answer(doubt)
	}
}

// atMaster is pipeline sent to the cluster's node that has the calls' slot. WAIT must follow on the same connection,
// and has no key by which the cluster's client could find that node. The client does not follow redirections here
// either: redirected calls had no effect, and the next calls use the slots that are loaded then.
func (c *sharedCalls) atMaster(ctx context.Context, calls []*sharedCall) error {
	node, err := c.cluster.MasterForKey(ctx, c.store.keys.orders(c.partition))
	if err != nil {
		for _, call := range calls {
			call.cmd.SetErr(fmt.Errorf("%w: %w", order.ErrUnavailable, err)) // nothing was sent
		}
		return nil
	}
	doubt := c.pipeline(ctx, node, c.store.keys.confirmedIn(c.partition), calls)
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
	if replicas := c.store.options.Replicas; replicas.Count > 0 {
		doubt = replicas.ask(ctx, pipe, question).err
	}
	_, _ = pipe.Exec(ctx) // as above
	return doubt()
}

// refusedWriteError is the error with which Redis refused a write of the script, taken from the script's answer.
type refusedWriteError string

func (e refusedWriteError) Error() string { return string(e) }

// RedisError marks it as an error that Redis itself returned.
func (refusedWriteError) RedisError() {}

// answer gives each batch its part of the call's answer.
func (call *sharedCall) answer(doubt error) {
	reply, err := call.cmd.Slice()
	if err == nil && len(reply) != len(call.batches) {
		err = fmt.Errorf("a script answered for %d sales instead of %d", len(reply), len(call.batches))
	}
	err = rediskit.Translate(err)
	for i, p := range call.batches {
		p.Answer = batchAnswer{err: err}
		if err == nil {
			p.Answer.result, p.Answer.err = readResult(reply[i], p.Request, doubt)
		}
	}
}

// newCall returns a call of the script with its KEYS and ARGV. ARGV points into the batches: ids are written to the
// socket from there, so the batches must not change during the call.
func (c *sharedCalls) newCall(ctx context.Context, batches []*pendingBatch, verb, text string) *sharedCall {
	size := 4 + 8*len(batches)
	for _, p := range batches {
		size += 2 * len(p.Request.Requests)
	}
	line := make([]any, 0, size)
	line = append(line, verb, text, 1+2*len(batches), c.store.keys.orders(c.partition))
	for _, p := range batches {
		line = append(line, c.store.keys.sale(p.Request.Sale), c.store.keys.buyers(p.Request.Sale))
	}
	for _, p := range batches {
		b := &p.Request
		line = append(line, &b.Sale.VoucherID, &b.Known.Epoch, &b.Known.Sequence, &b.MaxBacklog,
			len(b.Requests), quantitiesOf(b.Requests))
		for i := range b.Requests {
			line = append(line, &b.Requests[i].UserID, &b.Requests[i].OrderID)
		}
	}
	cmd := redis.NewCmd(ctx, line...)
	cmd.SetFirstKeyPos(3) // the cluster client finds the slot there
	return &sharedCall{batches: batches, cmd: cmd}
}
