package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/partition"
	"seckill/internal/order/recovery"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
	"seckill/internal/voucher"
)

// firstWrites are the writes that can be the first in a partition: each checks its word.
var firstWrites = map[string]func(*rig) error{
	"the group":              func(r *rig) error { return r.Take(r.ctx(), 0) },
	"a consumer's heartbeat": func(r *rig) error { return r.Consumer(0, "a").Heartbeat(r.ctx()) },
	"a reporter's heartbeat": func(r *rig) error {
		_, err := r.Heartbeat(r.ctx(), 0, "a", recovery.Heard{})
		return err
	},
	"the begin of a rebuild":    func(r *rig) error { return r.Begin(r.ctx(), r.sale, 2) },
	"the test before a rebuild": func(r *rig) error { return unlessSuperseded(r.Begin(r.ctx(), r.sale, 0)) },
	"requeued orders": func(r *rig) error {
		return r.Requeue(r.ctx(), r.sale, 2, []order.Claim{{OrderID: 9, UserID: 9}})
	},
	"the end of a rebuild": func(r *rig) error { return r.Publish(r.ctx(), r.sale, 2, r.hour(1)) },
	"a missing group":      func(r *rig) error { _, err := r.Consumer(0, "a").Next(r.ctx(), 1, 0); return err },
}

func unlessSuperseded(err error) error {
	if errors.Is(err, order.ErrSuperseded) {
		return nil
	}
	return err
}

// keysOfEmpty write, by hand, keys that an empty partition does not have.
var keysOfEmpty = map[string]func(*rig) error{
	"orders": func(r *rig) error {
		return r.commands.XAdd(r.ctx(), &redis.XAddArgs{
			Stream: r.keys.orders(0), Values: map[string]any{"v": "7", "u": "1", "o": "1", "e": "1", "s": "1"},
		}).Err()
	},
	"consumers": func(r *rig) error {
		return r.commands.ZAdd(r.ctx(), r.keys.consumers(0), redis.Z{Score: 1, Member: "old"}).Err()
	},
	"stops": func(r *rig) error {
		return r.commands.ZAdd(r.ctx(), r.keys.stops(0), redis.Z{Score: 1, Member: "7"}).Err()
	},
}

var formatTests = behaviour{
	"the first write takes an empty partition": func(t *testing.T, r *rig) {
		for name, write := range firstWrites {
			for what, word := range map[string]string{"no word": "", "the word of a removed installation": "0/gone"} {
				r.unfinished(word)
				r.must(r.CheckFormat(r.ctx(), 0))
				equal(t, word, r.word()) // that call only checked
				if err := write(r); err != nil {
					t.Errorf("%s: %s: %v", what, name, err)
				}
				if r.word() != testWord {
					t.Errorf("%s: %s has left the word %q", what, name, r.word())
				}
			}
		}
	},
	"a partition that carries the word is written": func(t *testing.T, r *rig) {
		for name, write := range firstWrites {
			r.unfinished(testWord)
			r.must(keysOfEmpty["consumers"](r))
			if err := write(r); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	},
	"other data is refused, and nothing is written": func(t *testing.T, r *rig) {
		for name, write := range firstWrites {
			for key, put := range keysOfEmpty {
				for _, word := range []string{"", "0.9/ledger", "1/another", testWord + "2"} {
					r.unfinished(word)
					r.must(put(r))
					before := r.everything()
					err := write(r)
					var other *FormatError
					if !errors.Is(err, partition.ErrFormat) || !errors.Is(err, order.ErrUnavailable) ||
						!errors.As(err, &other) {
						t.Fatalf("%s, with %s under %q: %v", name, key, word, err)
					}
					equal(t, FormatError{Key: r.keys.format(0), Address: other.Address, Found: word, Word: testWord},
						*other)
					for _, part := range []string{
						"{p0}", testWord, word, "127.0.0.1:", "SECKILL_REDIS_ADDRS", "docs/runbook.md",
					} {
						if !strings.Contains(err.Error(), part) {
							t.Errorf("%q does not name %q", err, part)
						}
					}
					equal(t, before, r.everything())
				}
			}
		}
	},
	"a word that is not a string": func(t *testing.T, r *rig) {
		r.unfinished("")
		r.must(keysOfEmpty["orders"](r))
		r.must(r.commands.HSet(r.ctx(), r.keys.format(0), "a", "b").Err())
		if err := r.Take(r.ctx(), 0); !errors.Is(err, partition.ErrFormat) ||
			!strings.Contains(err.Error(), "unreadable") {
			t.Error(err)
		}
	},
	"a sale is paused in a partition with other data, which is left alone, until it is ours " +
		"again": func(t *testing.T, r *rig) {
		r.open(1, r.hour(10))
		r.admit(requests(1, 2)...)
		c := r.Consumer(0, "a")
		r.must(c.Heartbeat(r.ctx()))
		equal(t, 2, len(r.next(c, 2)))
		r.must(r.commands.Set(r.ctx(), r.keys.format(0), "1/another", 0).Err())
		if err := c.Heartbeat(r.ctx()); !errors.Is(err, partition.ErrFormat) {
			t.Fatal(err)
		}
		before := r.everything()
		equal(t, []string{"6", "6"}, codes(r.admit(requests(1, 2)...).Results)) // that data is not theirs
		for name, err := range r.restOfStore(c) {
			if !errors.Is(err, partition.ErrFormat) {
				t.Errorf("%s: %v", name, err)
			}
		}
		v := voucher.Voucher{
			ID: r.sale.VoucherID, Kind: voucher.Seckill, Status: voucher.OnShelf, Sale: &voucher.Sale{},
		}
		live, now, err := r.Live(r.ctx(), []voucher.Voucher{v})
		r.must(err)
		equal(t, voucher.Live{State: voucher.StatePaused, Missing: true}, live[0])
		if time.Since(now).Abs() > time.Minute {
			t.Errorf("now is %v", now)
		}
		reading, err := r.ListState(r.ctx(), []voucher.Voucher{v}, []int64{1})
		r.must(err)
		equal(t, voucher.StatePaused, reading.Live[0].State)
		equal(t, before, r.everything())
		equal(t, true, errors.Is(r.OtherData(0), partition.ErrFormat))
		r.must(r.OtherData(1))

		r.carry(testWord)
		r.must(c.Heartbeat(r.ctx()))
		r.must(r.OtherData(0))
		equal(t, []string{"0", "0"}, codes(r.admit(requests(1, 2)...).Results))
		equal(t, 2, len(r.own(c, "", 5)))
	},
	"the first write takes an emptied Redis again": func(t *testing.T, r *rig) {
		r.open(1, r.hour(10))
		r.admit(requests(1, 2)...)
		r.must(r.commands.Del(r.ctx(), r.keysOf()...).Err())
		equal(t, []string{"2"}, codes(r.admit(requests(1, 1)...).Results))
		r.must(r.Consumer(0, "a").Heartbeat(r.ctx()))
		r.open(2, r.hour(10))
		equal(t, []string{"0"}, codes(r.admit(requests(1, 1)...).Results))
		equal(t, testWord, r.word())
	},
	"one of two installations that write at once is refused": func(t *testing.T, r *rig) {
		for range 20 {
			r.must(r.commands.Del(r.ctx(), r.keysOf()...).Err())
			var starting sync.WaitGroup
			errs := make([]error, 4) // two instances of each
			for i := range errs {
				o := r.options
				o.Word = fmt.Sprintf("1/ledger%d", i%2)
				store, err := New(&rediskit.Clients{Commands: r.commands, Blocking: r.blocking}, o,
					slog.New(slog.DiscardHandler))
				r.must(err)
				starting.Go(func() { errs[i] = store.Take(r.ctx(), 0) })
			}
			starting.Wait()
			first, second := errors.Join(errs[0], errs[2]), errors.Join(errs[1], errs[3])
			if (first == nil) == (second == nil) || (errs[0] == nil) != (errs[2] == nil) ||
				(errs[1] == nil) != (errs[3] == nil) {
				t.Fatalf("%v, %v", first, second)
			}
		}
	},
}

// unfinished leaves nothing in the partition but a sale whose rebuild has begun, and the word, unless it is "".
func (r *rig) unfinished(word string) {
	r.t.Helper()
	r.must(r.commands.Del(r.ctx(), r.keysOf()...).Err())
	r.must(r.Begin(r.ctx(), r.sale, 2))
	r.must(r.commands.Del(r.ctx(), r.keys.format(0), r.keys.stops(0)).Err())
	if word != "" {
		r.carry(word)
	}
}

// word returns the partition's word.
func (r *rig) word() string {
	r.t.Helper()
	word, err := r.commands.Get(r.ctx(), r.keys.format(0)).Result()
	if !errors.Is(err, redis.Nil) {
		r.must(err)
	}
	return word
}

// keysOf returns the keys of the partition that these tests know.
func (r *rig) keysOf() []string {
	return []string{
		r.keys.format(0), r.keys.orders(0), r.keys.consumers(0), r.keys.stops(0), r.keys.reporters(0), r.keys.dead(0),
		r.keys.sale(r.sale), r.keys.buyers(r.sale), r.keys.reports(r.sale), r.keys.reported(r.sale),
		r.keys.outcomes(r.sale), r.keys.list(1), r.Key(0, "a feature's"),
	}
}

// everything returns the partition's data: the type and contents of each key.
func (r *rig) everything() map[string]string {
	r.t.Helper()
	all := map[string]string{}
	for _, key := range r.keysOf() {
		kind, err := r.commands.Type(r.ctx(), key).Result()
		r.must(err)
		var held any
		switch kind {
		case "string":
			held, err = r.commands.Get(r.ctx(), key).Result()
		case "hash":
			held, err = r.commands.HGetAll(r.ctx(), key).Result()
		case "zset":
			held, err = r.commands.ZRangeWithScores(r.ctx(), key, 0, -1).Result()
		case "stream":
			entries, err := r.commands.XRange(r.ctx(), key, "-", "+").Result()
			r.must(err)
			groups, err := r.commands.XInfoGroups(r.ctx(), key).Result()
			r.must(err)
			held = fmt.Sprint(entries, groups)
		}
		r.must(err)
		all[key] = fmt.Sprint(kind, held)
	}
	return all
}

// restOfStore calls everything else that reads or writes a partition, once.
func (r *rig) restOfStore(c *Consumer) map[string]error {
	ctx, sale := r.ctx(), r.sale
	errs := map[string]error{}
	_, errs["Own"] = c.Own(ctx, "", 1)
	_, errs["Next"] = c.Next(ctx, 1, 0)
	_, errs["Orphans"] = c.Orphans(ctx, 1)
	_, errs["Acknowledge"] = c.Acknowledge(ctx, []string{"1-1"})
	errs["MoveToDeadLetters"] = c.MoveToDeadLetters(ctx, order.Entry{Key: "1-1"})
	errs["Leave"] = c.Leave(ctx)
	_, errs["Apply"] = r.Apply(ctx, sale, nil, 0)
	_, errs["Correct"] = r.Correct(ctx, []order.Correction{{Sale: sale, UserID: 1, OrderID: 1001}})
	errs["SetHolders"] = r.SetHolders(ctx, sale, 2, []order.Claim{{OrderID: 1, UserID: 1}}, nil)
	_, errs["Drop"] = r.Drop(ctx, sale, order.SaleView{})
	_, _, errs["SubmitReport"] = r.SubmitReport(ctx, recovery.Round{Sale: sale}, "a",
		recovery.Report{Claims: slices.Repeat([]order.Claim{{OrderID: 1, UserID: 1}}, maxHolders+1)})
	_, errs["RoundProgress"] = r.RoundProgress(ctx, sale, 2)
	_, errs["Replay"] = r.Replay(ctx, 0, "1-1", order.Claim{VoucherID: sale.VoucherID, UserID: 1, OrderID: 1001})
	_, errs["Remove"] = r.Remove(ctx, 0, "1-1")
	_, _, errs["DeadLetters"] = r.DeadLetters(ctx, 0, "", 1)
	errs["Add"] = r.Add(ctx, sale, gate.Counts{"sold_out": 1}, nil)
	errs["ReplaceListVersion"] = r.ReplaceListVersion(ctx, 1)
	errs["In"] = r.In(0).Set(ctx, r.Key(0, "a feature's"), 1, 0).Err()
	_, errs["Views"] = r.Views(ctx, []order.SaleRef{sale})
	_, errs["Inventory"] = r.Inventory(ctx, sale)
	_, errs["Holdings"] = r.Holdings(ctx, 1, []order.SaleRef{sale})
	_, errs["OrdersOf"] = r.OrdersOf(ctx, sale, []int64{1})
	_, errs["Unrecorded"] = r.Unrecorded(ctx, 0)
	_, errs["InstancesIn"] = r.InstancesIn(ctx, 0)
	_, errs["WaitingIn"] = r.WaitingIn(ctx, 0)
	for _, err := range r.Holders(ctx, sale) {
		errs["Holders"] = err
	}
	for _, err := range r.Waiting(ctx, sale) {
		errs["Waiting"] = err
	}
	for _, err := range r.Reported(ctx, sale) {
		errs["Reported"] = err
	}
	return errs
}

// A store without a word would take every partition for another installation's.
func TestStoreNeedsAWord(t *testing.T) {
	t.Parallel()
	if _, err := New(&rediskit.Clients{}, Options{}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a store was made without a word")
	}
}

// A read that waits while the partition gets other data receives that data, and drops it.
func TestReadThatWaitedDropsOtherData(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, testkit.StartRedis(t))
	c := r.Consumer(0, "a")
	r.must(r.Take(r.ctx(), 0))
	read := make(chan error)
	go func() {
		entries, err := c.Next(r.ctx(), 1, time.Minute)
		if len(entries) > 0 {
			err = fmt.Errorf("read %v", users(entries))
		}
		read <- err
	}()
	testkit.Eventually(t, func() bool {
		return rediskit.Info(r.ctx(), r.commands, "clients")["blocked_clients"] == "1"
	})
	r.carry("1/another")
	if err := r.CheckFormat(r.ctx(), 0); !errors.Is(err, partition.ErrFormat) {
		t.Fatal(err)
	}
	r.must(keysOfEmpty["orders"](r))
	if err := <-read; !errors.Is(err, partition.ErrFormat) {
		t.Error(err)
	}
}
