package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/redisstore/rediskit"
	"seckill/scripts"
)

// Consumer is one process's membership in the group that records a partition's orders. Its name must be unique per run
// of a process (an instance name and a uuid): two processes with one name would acknowledge each other's entries. Its
// methods are safe for concurrent use.
type Consumer struct {
	store     *Store
	partition int
	name      string
}

// Consumer returns the partition's consumer with that name. It writes nothing to Redis before its first call.
func (s *Store) Consumer(partition int, name string) *Consumer {
	return &Consumer{store: s, partition: partition, name: name}
}

// Own implements recorder.Queue.
func (c *Consumer) Own(ctx context.Context, after string, n int) ([]order.Entry, error) {
	if after == "" {
		after = "0"
	}
	entries, err := c.read(ctx, c.store.in(c.partition), after, n, 0)
	if isNoGroup(err) {
		return nil, c.store.Take(ctx, c.partition) // nothing can be pending in a new group
	}
	return entries, translateRead(err)
}

// Next implements recorder.Queue. It waits a second at most. A new group begins at the stream's beginning: acknowledged
// entries are deleted, so the others are not recorded yet, or the recorder finds that they are.
func (c *Consumer) Next(ctx context.Context, n int, wait time.Duration) ([]order.Entry, error) {
	client := c.store.unlessOther(c.partition, c.store.blocking)
	entries, err := c.read(ctx, client, ">", n, wait)
	if isNoGroup(err) {
		if err := c.store.Take(ctx, c.partition); err != nil {
			return nil, err
		}
		entries, err = c.read(ctx, client, ">", n, 0)
	}
	return entries, translateRead(err)
}

// read runs XREADGROUP once, waiting at most wait. It returns the client's error untranslated. The connection's read
// timeout must be longer than that.
func (c *Consumer) read(
	ctx context.Context, client redis.UniversalClient, from string, n int, wait time.Duration,
) ([]order.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	args := []any{"xreadgroup", "group", group, c.name, "count", n}
	if wait >= time.Millisecond { // 0 would wait forever
		args = append(args, "block", min(wait, rediskit.MaxBlock).Milliseconds())
	}
	args = append(args, "streams", c.store.keys.orders(c.partition), from)
	cmd := redis.NewXStreamSliceCmd(ctx, args...)
	cmd.SetFirstKeyPos(int8(len(args) - 2)) // the cluster client finds the slot there
	if err := client.Process(ctx, rediskit.Once{Cmder: cmd}); err != nil {
		return nil, err
	}
	if other := c.store.formats.in(c.partition); other != nil {
		return nil, other.err // found while the read waited: the orders just read may be another installation's
	}
	var entries []order.Entry
	for _, stream := range cmd.Val() { // one, or none
		// Some servers ignore the count for own entries.
		for _, message := range stream.Messages[:min(n, len(stream.Messages))] {
			entries = appendEntry(entries, c.partition, message)
		}
	}
	return entries, nil
}

// isNoGroup reports whether err says that the stream or its group does not exist (any more).
func isNoGroup(err error) bool {
	return redis.HasErrorPrefix(err, "NOGROUP") || redis.HasErrorPrefix(err, "UNBLOCKED")
}

// translateRead is translate for a read, for which redis.Nil means that there is nothing to read.
func translateRead(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return rediskit.Translate(err)
}

// Orphans implements recorder.Queue. It logs pending entries that the stream no longer has: somebody trimmed it.
func (c *Consumer) Orphans(ctx context.Context, n int) ([]order.Entry, error) {
	raw, err := c.store.scripts.takeOver.Run(ctx, c.store.in(c.partition), c.streamAndConsumers(),
		group, c.name, min(n, scripts.MaxEntries), c.store.options.OrphanAfter.Milliseconds())
	if isNoGroup(err) {
		return nil, c.store.Take(ctx, c.partition)
	}
	if err != nil {
		return nil, err
	}
	o, err := readOrphans(raw, c.partition)
	if err != nil {
		return nil, err
	}
	if len(o.removed) > 0 || len(o.entries) > 0 {
		c.store.log.InfoContext(ctx, "took over from consumers that are gone",
			"partition", c.partition, "entries", len(o.entries), "removed", o.removed)
	}
	if len(o.gone) > 0 {
		c.store.log.ErrorContext(ctx, "pending entries are gone from the stream, which somebody must have trimmed",
			"partition", c.partition, "keys", o.gone)
	}
	return o.entries, nil
}

// orphans is the answer of scripts/take_over.lua.
type orphans struct {
	entries []order.Entry
	gone    []string // keys
	removed []string // names of consumers
}

func readOrphans(raw any, partition int) (orphans, error) {
	parts := rediskit.NewReply(raw)
	taken, gone, removed := rediskit.NewReply(parts.Next()), rediskit.NewReply(parts.Next()),
		rediskit.NewReply(parts.Next())
	var o orphans
	for range taken.Len() {
		entry := rediskit.NewReply(taken.Next())
		message := redis.XMessage{ID: entry.Text(), Values: map[string]any{}}
		fields := rediskit.NewReply(entry.Next())
		for range fields.Len() / 2 {
			field := fields.Text()
			message.Values[field] = fields.Text()
		}
		if entry.Err != nil || fields.Err != nil {
			return orphans{}, fmt.Errorf("redis: an orphan cannot be read: %w", cmp.Or(entry.Err, fields.Err))
		}
		o.entries = appendEntry(o.entries, partition, message)
	}
	for range gone.Len() {
		o.gone = append(o.gone, gone.Text())
	}
	for range removed.Len() {
		o.removed = append(o.removed, removed.Text())
	}
	return o, cmp.Or(parts.Err, taken.Err, gone.Err, removed.Err)
}

// Acknowledge implements recorder.Queue. It takes a thousand entries in one atomic step.
func (c *Consumer) Acknowledge(ctx context.Context, keys []string) (int, error) {
	acknowledged := 0
	for batch := range slices.Chunk(keys, scripts.MaxEntries) {
		args := make([]any, 1, 1+len(batch))
		args[0] = group
		for _, key := range batch {
			args = append(args, key)
		}
		n, err := c.store.scripts.acknowledge.RunInt(ctx, c.store.in(c.partition),
			[]string{c.store.keys.orders(c.partition)}, args...)
		if err != nil {
			return acknowledged, err
		}
		acknowledged += int(n)
	}
	return acknowledged, nil
}

// MoveToDeadLetters implements recorder.Queue. Repeating it does nothing.
func (c *Consumer) MoveToDeadLetters(ctx context.Context, e order.Entry) error {
	why := "unknown"
	if e.Malformed != nil {
		why = e.Malformed.Error()
	}
	args := make([]any, 0, 3+2*len(e.Raw))
	args = append(args, group, e.Key, why)
	for _, field := range slices.Sorted(maps.Keys(e.Raw)) {
		args = append(args, field, e.Raw[field])
	}
	keys := []string{c.store.keys.orders(c.partition), c.store.keys.dead(c.partition)}
	_, err := c.store.scripts.deadLetter.RunInt(ctx, c.store.in(c.partition), keys, args...)
	return err
}

// Heartbeat records that the consumer is alive.
func (c *Consumer) Heartbeat(ctx context.Context) error {
	_, err := c.store.intWithFormat(ctx, c.store.scripts.heartbeat, c.partition,
		[]string{c.store.keys.consumers(c.partition)}, c.name)
	return err
}

// Leave removes the consumer if nothing is pending for it. Otherwise the consumer stays, without a heartbeat, so that
// others take its entries over; that is no error. Call no Heartbeat after it.
func (c *Consumer) Leave(ctx context.Context) error {
	pending, err := c.store.scripts.leave.RunInt(ctx, c.store.in(c.partition), c.streamAndConsumers(), group, c.name)
	if err == nil && pending > 0 {
		c.store.log.InfoContext(ctx, "left entries for other consumers", "partition", c.partition, "consumer", c.name)
	}
	return err
}

func (c *Consumer) streamAndConsumers() []string {
	return []string{c.store.keys.orders(c.partition), c.store.keys.consumers(c.partition)}
}
