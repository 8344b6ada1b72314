package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/redisstore/rediskit"
)

// Admit runs scripts/seckill.lua once for batches of several sales of one partition. It returns a result for each, in
// order, which has an error of its own if Redis refuses that batch. An error that wraps order.ErrUnavailable says that
// the batches certainly had no effect, and gate.ErrApart that each needs a call of its own; after any other, repeating
// the identical batches returns the outcome. If too few replicas have confirmed a batch's order, new or existing, its
// error is of the second kind. While the partition has other data, all requests get gate.Paused.
func (s *Store) Admit(ctx context.Context, batches []gate.Batch) ([]gate.BatchResult, error) {
	partition := batches[0].Sale.Partition
	if s.formats.in(partition) != nil {
		return pausedResults(batches), nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("redis: %w: %w", order.ErrUnavailable, err) // nothing is sent
	}
	cmd, doubt := s.decide(ctx, partition, batches, "evalsha", s.scripts.seckill.Digest)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") { // it had no effect
		cmd, doubt = s.decide(ctx, partition, batches, "eval", s.scripts.seckill.Source)
	}
	reply, err := cmd.Slice()
	if err == nil && len(reply) != len(batches) {
		err = fmt.Errorf("the script answered for %d sales instead of %d", len(reply), len(batches))
	}
	if err != nil {
		return failedCall(batches, err)
	}
	results := make([]gate.BatchResult, len(batches))
	for i := range batches {
		s.readResult(ctx, &results[i], reply[i], &batches[i], doubt)
	}
	return results, nil
}

// failedCall returns the error of a call. TRYAGAIN says that the slot is moving, and that one of the sales is
// incomplete on both nodes; it is the sale's own if no other sale is in the call.
func failedCall(batches []gate.Batch, err error) ([]gate.BatchResult, error) {
	apart := redis.HasErrorPrefix(err, "TRYAGAIN")
	err = rediskit.Translate(err)
	switch {
	case apart && len(batches) > 1:
		return nil, fmt.Errorf("%w: %w: %w", order.ErrUnavailable, gate.ErrApart, err)
	case apart:
		return []gate.BatchResult{{Err: err}}, nil
	default:
		return nil, err
	}
}

// decide calls the script. It also returns an error that wraps errUnconfirmed if too few replicas have confirmed the
// call.
func (s *Store) decide(
	ctx context.Context, partition int, batches []gate.Batch, verb, text string,
) (cmd *redis.Cmd, doubt error) {
	cmd = s.command(ctx, partition, batches, verb, text)
	if s.options.Replicas.Count > 0 {
		return cmd, s.confirmed(ctx, partition, cmd)
	}
	_ = s.commands.Process(ctx, rediskit.Once{Cmder: cmd}) // the command has its own error
	return cmd, nil
}

// confirmed is confirm at the server that has the partition.
func (s *Store) confirmed(ctx context.Context, partition int, cmd *redis.Cmd) error {
	if cluster, is := s.commands.(*redis.ClusterClient); is {
		return s.atMaster(ctx, cluster, partition, cmd)
	}
	return s.confirm(ctx, s.commands, s.keys.confirmed(), cmd)
}

// atMaster is confirm at the cluster's node that has the partition's slot. WAIT must follow on the same connection, and
// has no key by which the cluster's client could find that node. The client does not follow redirections here either: a
// redirected call had no effect, and the next call uses the slots that are loaded then.
func (s *Store) atMaster(ctx context.Context, cluster *redis.ClusterClient, partition int, cmd *redis.Cmd) error {
	node, err := cluster.MasterForKey(ctx, s.keys.orders(partition))
	if err != nil {
		cmd.SetErr(fmt.Errorf("%w: %w", order.ErrUnavailable, err)) // nothing was sent
		return nil
	}
	doubt := s.confirm(ctx, node, s.keys.confirmedIn(partition), cmd)
	if _, moved := redis.IsMovedError(cmd.Err()); moved {
		cluster.ReloadState(context.WithoutCancel(ctx))
	}
	return doubt
}

// confirm makes the call and asks the replicas in one round trip. It returns an error that wraps errUnconfirmed if too
// few have confirmed the call; question is the key that the confirmation writes.
func (s *Store) confirm(ctx context.Context, client redis.UniversalClient, question string, cmd *redis.Cmd) error {
	pipe := client.Pipeline()
	_ = pipe.Process(ctx, cmd) // this only queues it; the command has its own error
	confirmation := s.options.Replicas.ask(ctx, pipe, question)
	_, _ = pipe.Exec(ctx) // as above
	return confirmation.err()
}

// command returns a call of the script with its KEYS and ARGV. ARGV points into the batches: ids are written to the
// socket from there.
func (s *Store) command(ctx context.Context, partition int, batches []gate.Batch, verb, text string) *redis.Cmd {
	size := 4 + 9*len(batches)
	for i := range batches {
		size += 2 * len(batches[i].Requests)
	}
	line := make([]any, 0, size)
	line = append(line, verb, text, 1+2*len(batches), s.keys.orders(partition))
	for i := range batches {
		sale, buyers := s.keys.ofSale(batches[i].Sale)
		line = append(line, sale, buyers)
	}
	for i := range batches {
		b := &batches[i]
		line = append(line, &b.Sale.VoucherID, &b.Known.Epoch, &b.Known.Sequence, &b.MaxBacklog,
			len(b.Requests), quantitiesOf(b.Requests), tracesOf(b.Requests))
		for i := range b.Requests {
			line = append(line, &b.Requests[i].UserID, &b.Requests[i].OrderID)
		}
	}
	cmd := redis.NewCmd(ctx, line...)
	cmd.SetFirstKeyPos(3) // the cluster client finds the slot there
	return cmd
}

// refusedWriteError is the error with which Redis refused a write of the script, taken from the script's answer.
type refusedWriteError string

func (e refusedWriteError) Error() string { return string(e) }

// RedisError marks it as an error that Redis itself returned.
func (refusedWriteError) RedisError() {}

// quantitiesOf returns how many units each request asks for, in the script's form: "" if each asks for one.
func quantitiesOf(requests []gate.Request) string {
	if !slices.ContainsFunc(requests, func(r gate.Request) bool { return r.Quantity.Extra() > 0 }) {
		return ""
	}
	var text []byte
	for _, r := range requests {
		text = append(strconv.AppendInt(text, r.Quantity.Units(), 10), ' ')
	}
	return string(text)
}

// readResult reads the script's answer about a batch: an array, or the text of an error. doubt, unless it is nil, wraps
// errUnconfirmed; it takes the place of an answer that names an order.
func (s *Store) readResult(ctx context.Context, result *gate.BatchResult, raw any, b *gate.Batch, doubt error) {
	if refusal, is := raw.(string); is {
		result.Err = rediskit.Translate(refusedWriteError(refusal))
		return
	}
	r := rediskit.NewReply(raw)
	result.View, result.Results = viewOf(r), make([]gate.Result, len(b.Requests))
	result.View.Now = r.Time()
	named := false
	for i := range result.Results {
		o := resultOf(r)
		result.Results[i] = o
		named = named || o.Outcome == gate.Accepted || o.Outcome == gate.AlreadyBought
		if o.Outcome == gate.Unreadable {
			s.log.ErrorContext(ctx, "a holder of a sale cannot be read", "voucher", b.Sale.VoucherID,
				"user", b.Requests[i].UserID)
		}
	}
	if r.Err != nil {
		*result = gate.BatchResult{Err: r.Err}
	} else if named && doubt != nil {
		*result = gate.BatchResult{Err: doubt}
	}
}
