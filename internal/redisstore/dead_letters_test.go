package redisstore

import (
	"errors"
	"sync"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/recorder"
)

var deadLetterTests = behaviour{
	"letters are read page by page":     testDeadLetters,
	"what can be read":                  testDeadLetterFields,
	"replayed once":                     testReplayedOnce,
	"replayed once by many":             testReplayedByMany,
	"only a holder's order is replayed": testReplayNeedsTheHolder,
	"units are those of the holder":     testReplayedUnits,
	"a failed replay keeps the letter":  testReplayFails,
	"removed for good":                  testRemove,
	"invalid ids name no letter":        testBadDeadLetterIDs,
}

// deadLetter writes a dead letter of an entry with the fields and returns its id.
func (r *rig) deadLetter(fields ...any) string {
	r.t.Helper()
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, fields...)).Err())
	c := r.Consumer(0, "undertaker")
	for _, e := range r.next(c, 100) {
		if e.Malformed != nil {
			r.must(c.MoveToDeadLetters(r.ctx(), e))
		}
	}
	letters, err := r.commands.XRevRangeN(r.ctx(), r.keys.dead(0), "+", "-", 1).Result()
	r.must(err)
	return letters[0].ID
}

func (r *rig) letter(id string) recorder.DeadLetter {
	r.t.Helper()
	l, err := r.DeadLetter(r.ctx(), 0, id)
	r.must(err)
	return l
}

func testDeadLetters(t *testing.T, r *rig) {
	ids := []string{r.deadLetter("x", "1"), r.deadLetter("x", "2"), r.deadLetter("x", "3")}
	for _, tc := range []struct {
		after string
		n     int
		want  []string
	}{{"", 2, ids[:2]}, {ids[1], 2, ids[2:]}, {ids[2], 2, nil}, {"", 9, ids}} {
		letters, total, err := r.DeadLetters(r.ctx(), 0, tc.after, tc.n)
		r.must(err)
		var got []string
		for _, l := range letters {
			got = append(got, l.ID)
		}
		equal(t, tc.want, got)
		equal(t, int64(3), total)
	}
}

func testDeadLetterFields(t *testing.T, r *rig) {
	before := r.now()
	l := r.letter(r.deadLetter("v", "7", "u", "42", "o", "-5", "e", "9", "key", "theirs", "why", "not"))
	if l.At.Before(before.Truncate(time.Millisecond)) || l.At.After(r.now()) || l.Entry == "" || l.Why == "" {
		t.Errorf("dead letter %+v", l)
	}
	equal(t, map[string]string{"v": "7", "u": "42", "o": "-5", "e": "9", "key": "theirs", "why": "not"}, l.Fields)
	equal(t, order.Claim{VoucherID: 7, UserID: 42}, l.Claim)
}

// testReplayedOnce: the requeued entry can be decoded and has no number in the sale's sequence, and the dead letter is
// removed with the same call.
func testReplayedOnce(t *testing.T, r *rig) {
	r.queued(1)
	c := r.Consumer(0, "a")
	equal(t, 1, r.acknowledge(c, keysOf(r.next(c, 1))...)) // its entry is lost, and a damaged one is there instead
	l := r.letter(r.deadLetter("v", "7", "u", "1", "o", "1001", "e", "?", "s", "77"))
	done, err := r.Replay(r.ctx(), 0, l.ID, l.Claim)
	r.must(err)
	equal(t, true, done)
	if _, err := r.Replay(r.ctx(), 0, l.ID, l.Claim); !errors.Is(err, order.ErrNoDeadLetter) {
		t.Errorf("replayed again: %v", err)
	}
	if _, err := r.DeadLetter(r.ctx(), 0, l.ID); !errors.Is(err, order.ErrNoDeadLetter) {
		t.Errorf("the dead letter is still there: %v", err)
	}
	equal(t, []order.Claim{{OrderID: 1001, UserID: 1, VoucherID: 7}}, r.stream())
}

func testReplayedByMany(t *testing.T, r *rig) {
	r.queued(1)
	c := r.Consumer(0, "a")
	equal(t, 1, r.acknowledge(c, keysOf(r.next(c, 1))...))
	l := r.letter(r.deadLetter("v", "7", "u", "1", "o", "1001"))
	var mu sync.Mutex
	var wg sync.WaitGroup
	replayed := 0
	for range 8 {
		wg.Go(func() {
			done, err := r.Replay(r.ctx(), 0, l.ID, l.Claim)
			mu.Lock()
			defer mu.Unlock()
			if done {
				replayed++
			} else if !errors.Is(err, order.ErrNoDeadLetter) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	equal(t, 1, replayed)
	equal(t, 1, len(r.stream()))
}

func testReplayNeedsTheHolder(t *testing.T, r *rig) {
	r.open(1, r.hour(1))
	l := r.letter(r.deadLetter("v", "7", "u", "1", "o", "1001"))
	for _, held := range []int64{0, 1002} {
		if held != 0 {
			r.must(r.commands.HSet(r.ctx(), r.keys.buyers(r.sale), 1, held).Err())
		}
		done, err := r.Replay(r.ctx(), 0, l.ID, l.Claim)
		r.must(err)
		equal(t, false, done)
		equal(t, 0, len(r.stream()))
		r.letter(l.ID)
	}
}

// testReplayedUnits: the queued order has the units that its holder took, whatever the entry says.
func testReplayedUnits(t *testing.T, r *rig) {
	r.open(9, r.hour(1))
	r.must(r.commands.HSet(r.ctx(), r.keys.buyers(r.sale), 1, "1001:3").Err())
	for _, damaged := range []string{"1001", "1001:2", "1001:3"} {
		l := r.letter(r.deadLetter("v", "7", "u", "1", "o", damaged, "e", "?"))
		done, err := r.Replay(r.ctx(), 0, l.ID, l.Claim)
		r.must(err)
		equal(t, true, done)
	}
	want := order.Claim{OrderID: 1001, UserID: 1, VoucherID: 7, Quantity: order.QuantityOf(3)}
	equal(t, []order.Claim{want, want, want}, r.stream())
	l := r.letter(r.deadLetter("v", "7", "u", "1", "o", "100", "e", "?")) // cut off: another order
	done, err := r.Replay(r.ctx(), 0, l.ID, l.Claim)
	r.must(err)
	equal(t, false, done)
}

// testReplayFails: a dead letter whose order cannot be queued stays.
func testReplayFails(t *testing.T, r *rig) {
	r.open(1, r.hour(1))
	r.must(r.commands.HSet(r.ctx(), r.keys.buyers(r.sale), 1, 1001).Err())
	l := r.letter(r.deadLetter("v", "7", "u", "1", "o", "1001"))
	r.must(r.commands.Del(r.ctx(), r.keys.orders(0)).Err())
	r.must(r.commands.Set(r.ctx(), r.keys.orders(0), "not a stream", 0).Err())
	if _, err := r.Replay(r.ctx(), 0, l.ID, l.Claim); err == nil {
		t.Error("an order was queued in a string")
	}
	r.letter(l.ID)
}

func testRemove(t *testing.T, r *rig) {
	id := r.deadLetter("x", "y")
	for _, want := range []bool{true, false} {
		removed, err := r.Remove(r.ctx(), 0, id)
		r.must(err)
		equal(t, want, removed)
	}
}

func testBadDeadLetterIDs(t *testing.T, r *rig) {
	r.deadLetter("x", "y")
	for _, id := range []string{"-", "+", "0", "(1-0", "1-", "x", "1-0 "} {
		if _, err := r.DeadLetter(r.ctx(), 0, id); !errors.Is(err, order.ErrNoDeadLetter) {
			t.Errorf("dead letter %q: %v", id, err)
		}
		if _, _, err := r.DeadLetters(r.ctx(), 0, id, 1); !errors.Is(err, order.ErrNoDeadLetter) {
			t.Errorf("dead letters after %q: %v", id, err)
		}
	}
}
