package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/partition"
	"seckill/internal/redisstore/rediskit"
)

// formatReply is the first word of the error by which scripts/format.lua refuses a partition.
const formatReply = "FORMAT"

// FormatError says which partition has data of another format or of another installation, and what to do. It is a
// partition.ErrFormat.
type FormatError struct {
	Key     string // of the partition's word
	Address string // of the partition's server
	Found   string // the partition's word; "": it has none
	Word    string // this ledger's word
}

func (e *FormatError) Error() string {
	found := fmt.Sprintf("%s is %q", e.Key, e.Found)
	if e.Found == "" {
		found = "it is not empty and has no " + e.Key
	}
	return fmt.Sprintf("%v: in Redis at %s, %s, and this ledger's word is %q. Nothing was written there: give this "+
		"installation a Redis of its own in SECKILL_REDIS_ADDRS or a prefix in SECKILL_REDIS_PREFIX, or "+
		"delete the keys %s:* if nobody needs them (docs/runbook.md)",
		partition.ErrFormat, e.Address, found, e.Word, strings.TrimSuffix(e.Key, ":format"))
}

// Is matches partition.ErrFormat, and order.ErrUnavailable because nothing was sent.
func (e *FormatError) Is(target error) bool {
	return target == partition.ErrFormat || target == order.ErrUnavailable
}

// formats knows which partitions have other data, according to the last script that checked. It is safe for concurrent
// use.
//
// The five writes that can be the first in a partition check its word (scripts/format.lua): creating the group, the
// heartbeats, and begin_rebuild, requeue and publish. Heartbeats are sent several times a second, so all other calls,
// above all purchases, rely on their result and cost Redis nothing more. Keys outside of partitions have no word. The
// counter of order ids only rises, and its server's run id shows when it may have lost something, so another
// installation's numbers are skipped, not repeated. A lock is held for seconds, under a random token, and the ledger
// fences the writes that the lock protects.
type formats struct{ other sync.Map } // partition → *otherData

// otherData describes a partition that is left alone.
type otherData struct {
	err    *FormatError
	client redis.UniversalClient // sends nothing; every command returns err
}

// in returns what is wrong with the partition's data; nil if nothing is.
func (f *formats) in(partition int) *otherData {
	found, _ := f.other.Load(partition)
	other, _ := found.(*otherData)
	return other
}

// in returns the client for the partition's keys. While the partition has other data, that client sends nothing, and
// every command returns partition.ErrFormat.
func (s *Store) in(partition int) redis.UniversalClient { return s.unlessOther(partition, s.commands) }

// In implements rediskit.Partitions.
func (s *Store) In(partition int) redis.UniversalClient { return s.in(partition) }

// Key implements rediskit.Partitions.
func (s *Store) Key(partition int, rest string) string {
	return s.keys.partition(partition) + ":" + rest
}

func (s *Store) unlessOther(partition int, client redis.UniversalClient) redis.UniversalClient {
	if other := s.formats.in(partition); other != nil {
		return other.client
	}
	return client
}

// OtherData returns partition.ErrFormat, with the word found, while the partition is left alone.
func (s *Store) OtherData(partition int) error {
	if other := s.formats.in(partition); other != nil {
		return other.err
	}
	return nil
}

// CheckFormat returns partition.ErrFormat if the partition has data of another format or another installation. From
// then on this store leaves the partition alone, until one of the five writes finds that the other data is gone.
func (s *Store) CheckFormat(ctx context.Context, partition int) error {
	_, err := s.runWithFormat(ctx, s.scripts.checkFormat, partition, nil)
	return err
}

// Take creates the consumer group of the partition, unless it exists; from then on an empty partition is this ledger's.
// It returns partition.ErrFormat as CheckFormat does.
func (s *Store) Take(ctx context.Context, partition int) error {
	created, err := s.intWithFormat(ctx, s.scripts.createGroup, partition, []string{s.keys.orders(partition)}, group)
	if err != nil {
		return fmt.Errorf("creating the consumer group: %w", err)
	}
	if created == 1 {
		s.log.InfoContext(ctx, "consumer group created", "partition", partition, "group", group)
	}
	return nil
}

// runWithFormat runs a script that calls the function of scripts/format.lua, and notes that function's result.
func (s *Store) runWithFormat(
	ctx context.Context, script rediskit.Script, partition int, keys []string, args ...any,
) (any, error) {
	keys = append(keys, s.keys.format(partition), s.keys.orders(partition), s.keys.consumers(partition),
		s.keys.stops(partition))
	answer, err := script.Run(ctx, s.commands, keys, append(args, s.options.Word)...)
	if err == nil {
		s.noteOurs(ctx, partition)
		return answer, nil
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return nil, err
	}
	if found, other := strings.CutPrefix(reply.Error(), formatReply); other {
		return nil, rediskit.Translate(s.noteOther(ctx, partition, strings.TrimSpace(found)))
	}
	return nil, err
}

// intWithFormat is runWithFormat for a script that returns a number.
func (s *Store) intWithFormat(
	ctx context.Context, script rediskit.Script, partition int, keys []string, args ...any,
) (int64, error) {
	return rediskit.Number(s.runWithFormat(ctx, script, partition, keys, args...))
}

// noteOurs notes that the partition has this ledger's data.
func (s *Store) noteOurs(ctx context.Context, partition int) {
	if s.formats.in(partition) == nil {
		return
	}
	if _, was := s.formats.other.LoadAndDelete(partition); was {
		s.log.InfoContext(ctx, "a partition no longer has other data, and its sales go on", "partition", partition)
	}
}

// noteOther notes that the partition has other data, under the word found.
func (s *Store) noteOther(ctx context.Context, partition int, found string) *FormatError {
	if other := s.formats.in(partition); other != nil && other.err.Found == found {
		return other.err
	}
	err := &FormatError{
		Key: s.keys.format(partition), Address: s.placeOf(ctx, partition), Found: found, Word: s.options.Word,
	}
	s.formats.other.Store(partition, &otherData{err: err, client: newRefusingClient(err)})
	s.log.ErrorContext(ctx, "a partition is left alone and its sales are paused", "partition", partition, "error", err)
	return err
}

// placeOf returns the address of the partition's server, for people.
func (s *Store) placeOf(ctx context.Context, partition int) string {
	if s.place != "" {
		return s.place
	}
	node, err := s.nodeOf(ctx, partition)
	if client, is := node.(*redis.Client); err == nil && is {
		return client.Options().Addr
	}
	return "an unknown address"
}

// pausedView returns the view of a sale while its partition has other data. Its window is empty, so nothing begins or
// ends by this machine's clock.
func pausedView() order.SaleView {
	return order.SaleView{Mode: order.SalePaused, Now: time.Now().UTC()}
}

// pausedResults answers batches for sales whose partition has other data. They have no marks.
func pausedResults(batches []gate.Batch) []gate.BatchResult {
	all := make([]gate.BatchResult, len(batches))
	for i, b := range batches {
		all[i].View, all[i].Results = pausedView(), make([]gate.Result, len(b.Requests))
		for j := range all[i].Results {
			all[i].Results[j].Outcome = gate.Paused
		}
	}
	return all
}

// newRefusingClient returns a client that sends nothing and returns the error. It needs no Close: it never connects,
// and does not listen for announcements of a server's maintenance.
func newRefusingClient(err error) redis.UniversalClient {
	client := redis.NewClient(&redis.Options{
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	client.AddHook(refusal{err})
	return client
}

// refusal is a client's hook that sends nothing and returns an error.
type refusal struct{ err error }

// DialHook implements redis.Hook.
func (refusal) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (r refusal) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		cmd.SetErr(r.err)
		return r.err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (r refusal) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			cmd.SetErr(r.err)
		}
		return r.err
	}
}
