package redisstore

import (
	"errors"
	"sync"
	"testing"
	"time"

	"seckill/internal/order"
)

var letterTests = behaviour{
	"letters are read page by page":    testLetters,
	"a letter says what can be read":   testLetterReads,
	"replayed once":                    testReplayedOnce,
	"replayed once by many":            testReplayedByMany,
	"only a held place is replayed":    testReplayNeedsThePlace,
	"a letter stays when replay fails": testReplayFails,
	"removed for good":                 testRemove,
	"ids that are none name no letter": testBadLetterIDs,
}

// bury makes a dead letter of an entry with the fields and returns its id.
func (r *rig) bury(fields ...any) string {
	r.t.Helper()
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, fields...)).Err())
	c := r.Consumer(0, "undertaker")
	for _, e := range r.next(c, 100) {
		if e.Malformed != nil {
			r.must(c.Bury(r.ctx(), e))
		}
	}
	letters, err := r.commands.XRevRangeN(r.ctx(), r.keys.dead(0), "+", "-", 1).Result()
	r.must(err)
	return letters[0].ID
}

func (r *rig) letter(id string) order.DeadLetter {
	r.t.Helper()
	l, err := r.Letter(r.ctx(), 0, id)
	r.must(err)
	return l
}

func testLetters(t *testing.T, r *rig) {
	ids := []string{r.bury("x", "1"), r.bury("x", "2"), r.bury("x", "3")}
	for _, tc := range []struct {
		after string
		n     int
		want  []string
	}{{"", 2, ids[:2]}, {ids[1], 2, ids[2:]}, {ids[2], 2, nil}, {"", 9, ids}} {
		letters, total, err := r.Letters(r.ctx(), 0, tc.after, tc.n)
		r.must(err)
		var got []string
		for _, l := range letters {
			got = append(got, l.ID)
		}
		equal(t, tc.want, got)
		equal(t, int64(3), total)
	}
}

func testLetterReads(t *testing.T, r *rig) {
	before := r.now()
	l := r.letter(r.bury("v", "7", "u", "42", "o", "-5", "e", "9", "key", "theirs", "why", "not"))
	if l.At.Before(before.Truncate(time.Millisecond)) || l.At.After(r.now()) || l.Entry == "" || l.Why == "" {
		t.Errorf("letter %+v", l)
	}
	equal(t, map[string]string{"v": "7", "u": "42", "o": "-5", "e": "9", "key": "theirs", "why": "not"}, l.Fields)
	equal(t, order.Claim{VoucherID: 7, UserID: 42}, l.Claim)
}

// testReplayedOnce: the entry that comes back can be decoded, claims no place in the sale's sequence, and the letter goes
// with it.
func testReplayedOnce(t *testing.T, r *rig) {
	r.queued(1)
	c := r.Consumer(0, "a")
	equal(t, 1, r.settle(c, keysOf(r.next(c, 1))...)) // its entry is lost, and a damaged one is there instead
	l := r.letter(r.bury("v", "7", "u", "1", "o", "1001", "e", "?", "s", "77"))
	done, err := r.Replay(r.ctx(), 0, l.ID, l.Claim)
	r.must(err)
	equal(t, true, done)
	if _, err := r.Replay(r.ctx(), 0, l.ID, l.Claim); !errors.Is(err, order.ErrNoLetter) {
		t.Errorf("replayed again: %v", err)
	}
	if _, err := r.Letter(r.ctx(), 0, l.ID); !errors.Is(err, order.ErrNoLetter) {
		t.Errorf("the letter is still there: %v", err)
	}
	equal(t, []order.Claim{{OrderID: 1001, UserID: 1, VoucherID: 7}}, r.stream())
}

func testReplayedByMany(t *testing.T, r *rig) {
	r.queued(1)
	c := r.Consumer(0, "a")
	equal(t, 1, r.settle(c, keysOf(r.next(c, 1))...))
	l := r.letter(r.bury("v", "7", "u", "1", "o", "1001"))
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
			} else if !errors.Is(err, order.ErrNoLetter) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	equal(t, 1, replayed)
	equal(t, 1, len(r.stream()))
}

func testReplayNeedsThePlace(t *testing.T, r *rig) {
	r.open(1, r.hour(1))
	l := r.letter(r.bury("v", "7", "u", "1", "o", "1001"))
	for _, place := range []int64{0, 1002} {
		if place != 0 {
			r.must(r.commands.HSet(r.ctx(), r.keys.buyers(r.sale), 1, place).Err())
		}
		done, err := r.Replay(r.ctx(), 0, l.ID, l.Claim)
		r.must(err)
		equal(t, false, done)
		equal(t, 0, len(r.stream()))
		r.letter(l.ID)
	}
}

// testReplayFails: a letter whose order cannot be queued is not lost.
func testReplayFails(t *testing.T, r *rig) {
	r.open(1, r.hour(1))
	r.must(r.commands.HSet(r.ctx(), r.keys.buyers(r.sale), 1, 1001).Err())
	l := r.letter(r.bury("v", "7", "u", "1", "o", "1001"))
	r.must(r.commands.Del(r.ctx(), r.keys.orders(0)).Err())
	r.must(r.commands.Set(r.ctx(), r.keys.orders(0), "not a stream", 0).Err())
	if _, err := r.Replay(r.ctx(), 0, l.ID, l.Claim); err == nil {
		t.Error("queued in a string")
	}
	r.letter(l.ID)
}

func testRemove(t *testing.T, r *rig) {
	id := r.bury("x", "y")
	for _, want := range []bool{true, false} {
		removed, err := r.Remove(r.ctx(), 0, id)
		r.must(err)
		equal(t, want, removed)
	}
}

func testBadLetterIDs(t *testing.T, r *rig) {
	r.bury("x", "y")
	for _, id := range []string{"-", "+", "0", "(1-0", "1-", "x", "1-0 "} {
		if _, err := r.Letter(r.ctx(), 0, id); !errors.Is(err, order.ErrNoLetter) {
			t.Errorf("letter %q: %v", id, err)
		}
		if _, _, err := r.Letters(r.ctx(), 0, id, 1); !errors.Is(err, order.ErrNoLetter) {
			t.Errorf("letters behind %q: %v", id, err)
		}
	}
}
