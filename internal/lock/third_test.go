package lock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

var thirdRows = []row{
	{
		number: 61, group: "Together",
		says: "those of one owner who wait, in one process or several, enter together; none waits " +
			"for another's release",
		run: ownersEnterTogether,
	},
	{
		number: 62, group: "Fenced",
		says: "no token is above the high water; after a step of the clock, back by an hour, the next one is higher",
		run:  tokensAreCovered,
	},
}

// waiters is a queue in two processes: an owner with several requests, and strangers between these.
type waiters struct {
	stage
	watched   []*spy
	processes []*lock.Locker
	come      int64
	together  chan locked // what the owner's requests got
	strangers chan locked
}

func newWaiters(t *testing.T, s stage) *waiters {
	t.Helper()
	w := &waiters{stage: s, together: make(chan locked, 10), strangers: make(chan locked, 10)}
	for range 2 {
		watched := &spy{Client: ownClient(t, testkit.RedisAddr(t))}
		w.watched = append(w.watched, watched)
		w.processes = append(w.processes, lock.New(watched, s.prefix))
	}
	return w
}

// wait has one more request come, and returns when Redis has refused it.
func (w *waiters) wait(t *testing.T, k kind, process int, o lock.Owner, got chan locked) {
	t.Helper()
	asked := w.watched[process].answers.Load()
	go func() {
		h, err := k.open(w.processes[process], "m", o).Lock(t.Context())
		got <- locked{h, err, time.Now()}
	}()
	w.come++
	eventually(t, "waiting", func() bool {
		if w.kind.name == "Reentrant" {
			return w.watched[process].answers.Load() > asked
		}
		return w.places(t) == w.come
	})
}

// ownersEnterTogether lets others have the lock first, and then an owner four times at once, past those who wait
// between.
func ownersEnterTogether(t *testing.T, s stage) {
	for try := range 3 { // a request may come before or after the message that concerns it
		own := s
		own.prefix += fmt.Sprint(try, ":")
		quickly(t, "the wait of an owner for all of its requests", func() { enterTogether(t, own) })
	}
}

func enterTogether(t *testing.T, s stage) {
	t.Helper()
	s.prefix += string(lock.NewOwner()[:8]) + ":"
	w, owner := newWaiters(t, s), lock.NewOwner()
	h := mustLock(t, s.rivals().lock())
	between := s.rivals().kind
	if s.kind.name == "Reentrant" { // the first of each process is a stranger
		w.wait(t, between, 0, lock.NewOwner(), w.strangers)
		w.wait(t, between, 1, lock.NewOwner(), w.strangers)
	}
	w.wait(t, s.kind, 0, owner, w.together)
	w.wait(t, between, 0, lock.NewOwner(), w.strangers)
	w.wait(t, s.kind, 0, owner, w.together)
	w.wait(t, between, 1, lock.NewOwner(), w.strangers)
	w.wait(t, s.kind, 1, owner, w.together)
	last := s.kind
	if last.name == "Write" { // the writer may read as well
		last = kindOf("Read")
	}
	w.wait(t, last, 1, owner, w.together)
	mustRelease(t, h)
	var holds []*lock.Hold
	for len(holds) < 4 {
		select {
		case got := <-w.strangers:
			if got.err != nil {
				t.Fatalf("Lock of a stranger: %v", got.err)
			}
			if len(holds) > 0 && holds[0].Err() == nil {
				t.Error("a stranger had the lock beside the owner")
			}
			mustRelease(t, got.hold)
		case got := <-w.together:
			if got.err != nil {
				t.Fatalf("Lock of the owner: %v", got.err)
			}
			holds = append(holds, got.hold)
		case <-time.After(soon):
			t.Fatalf("the owner has the lock %d times of 4, and waits for itself", len(holds))
		}
	}
	for _, h := range holds {
		mustRelease(t, h)
	}
}

// tokensAreCovered takes a lock again and again by a clock that the test controls.
func tokensAreCovered(t *testing.T, s stage) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() }) // nothing is under way
	s.client = client
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	last := int64(0)
	take := func(when string, l *lock.Lock) {
		server.SetTime(now)
		h := mustLock(t, l)
		if h.Token() <= last {
			t.Errorf("%s: token %d after %d", when, h.Token(), last)
		}
		last = h.Token()
		if high := s.highestWater(t); last > high {
			t.Errorf("%s: token %d is above the high water, %d", when, last, high)
		}
		mustRelease(t, h)
	}
	locker := lock.New(s.client, s.prefix)
	// Names that nothing is known of, and such that were used a moment ago, over several marks of the clock.
	for range 3 {
		for range 60 {
			now = now.Add(400 * time.Microsecond)
			take("used again and again", s.kind.open(locker, "m", lock.NewOwner()))
		}
		now = now.Add(time.Minute)
		server.FastForward(time.Minute) // only the high water is left
	}
	for _, gone := range []bool{false, true} {
		if gone {
			server.FastForward(time.Minute)
		}
		now = now.Add(-time.Hour)
		take("an hour back", s.lock()) // of a process that has seen no token
		take("an hour back, again", s.lock())
	}
}

// highestWater returns the highest of the high waters.
func (s stage) highestWater(t *testing.T) (highest int64) {
	t.Helper()
	for _, key := range s.highWaters(t) {
		n, err := s.client.Get(t.Context(), key).Int64()
		if err != nil {
			t.Fatal(err)
		}
		highest = max(highest, n)
	}
	return highest
}
