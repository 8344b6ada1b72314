package lock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"seckill/internal/lock"
	"seckill/internal/lock/group"
	"seckill/internal/testkit"
)

var multiRows = []row{
	{
		number: 43, group: "Multi", says: "all or nothing; a release tries every member and joins the errors",
		run: allOrNothing,
	},
	{number: 44, group: "Multi", says: "taking locks in opposite orders does not deadlock", run: oppositeOrders},
}

// servers are lockers on independent Redis servers, all with one prefix.
type servers struct {
	lockers []*lock.Locker
	redis   []*testkit.RedisServer
}

func startServers(t *testing.T, n int) servers {
	t.Helper()
	var s servers
	for range n {
		r := testkit.StartRedis(t)
		s.redis = append(s.redis, r)
		s.lockers = append(s.lockers, newLocker(r.Client(), ""))
	}
	return s
}

// mutexes returns the mutex "m" of each server.
func (s servers) mutexes(opts ...lock.Option) []*lock.Lock {
	var locks []*lock.Lock
	for _, l := range s.lockers {
		locks = append(locks, l.Mutex("m", opts...))
	}
	return locks
}

// kill stops some of the servers.
func (s servers) kill(numbers ...int) {
	for _, n := range numbers {
		s.redis[n].Kill()
	}
}

// multi returns the Multi of the locks.
func multi(locks []*lock.Lock) aLock { return several(group.Multi(locks[0], locks[1:]...)) }

// held returns how many of the locks are held.
func held(t *testing.T, locks []*lock.Lock) int {
	t.Helper()
	n := 0
	for _, l := range locks {
		state, err := l.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if state.IsLocked() {
			n++
		}
	}
	return n
}

func allOrNothing(t *testing.T, s stage) {
	s1, s2 := newLocker(s.client, s.prefix+"1:"), newLocker(s.client, s.prefix+"2:")
	open := func() []*lock.Lock { // for a new owner
		return []*lock.Lock{s1.Mutex("a"), s1.Reentrant("b", lock.NewOwner()), s2.Mutex("a")}
	}
	members := open()
	for _, taken := range open() {
		h := mustLock(t, taken)
		_, err := multi(members).TryLock(t.Context())
		wantErr(t, "TryLock with one taken", err, lock.ErrNotObtained)
		if n := held(t, members); n != 1 {
			t.Errorf("%d are held, want only the one that was taken", n)
		}
		wait := 50 * time.Millisecond
		err = lockWithin(t, members, wait)
		for errors.Is(err, lock.ErrNoAnswer) && wait < soon { // the wait ended in the middle of a call
			wait *= 2
			err = lockWithin(t, members, wait)
		}
		wantErr(t, "Lock with one taken", err, context.DeadlineExceeded)
		wantErr(t, "Lock with one taken", err, lock.ErrNotObtained)
		// A busy machine may be slow to release what was obtained as the wait ended.
		eventually(t, "left with the one that was taken", func() bool { return held(t, members) == 1 })
		waiting := make(chan locked, 1)
		go func() {
			h, err := multi(members).Lock(t.Context())
			waiting <- locked{h, err, time.Now()}
		}()
		mustRelease(t, h)
		mustRelease(t, mustReceive(t, waiting).hold)
	}
	oneWinner(t, open)
	lossOfOne(t, s)
	everyReleaseIsTried(t)
}

// lockWithin waits for all of the locks, and returns why it did not get them.
func lockWithin(t *testing.T, members []*lock.Lock, wait time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	_, err := multi(members).Lock(ctx)
	return err
}

// oneWinner lets ten callers try at once.
func oneWinner(t *testing.T, open func() []*lock.Lock) {
	t.Helper()
	for range 20 {
		got := make(chan locked, 10)
		begin := make(chan struct{})
		for range cap(got) {
			go func() {
				<-begin
				h, err := multi(open()).TryLock(t.Context())
				got <- locked{h, err, time.Now()}
			}()
		}
		close(begin)
		var winners []aHold
		for range cap(got) {
			if r := receive(t, "answer", got); r.err == nil {
				winners = append(winners, r.hold)
			} else {
				wantErr(t, "TryLock", r.err, lock.ErrNotObtained)
			}
		}
		if len(winners) != 1 {
			t.Fatalf("%d of ten have the lock, want 1", len(winners))
		}
		mustRelease(t, winners[0])
	}
}

// lossOfOne removes one member's key: the whole hold is lost, and the other members are no longer renewed.
func lossOfOne(t *testing.T, s stage) {
	const lease = 600 * time.Millisecond
	locker := newLocker(s.client, s.prefix)
	members := []*lock.Lock{
		locker.Mutex("x", lock.WithRenewedLease(lease)), locker.Mutex("y", lock.WithRenewedLease(lease)),
	}
	for _, taken := range members {
		h := mustLock(t, multi(members))
		if _, err := taken.ForceUnlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		receive(t, "loss", h.Lost())
		wantErr(t, "Err", h.Err(), lock.ErrLost)
		eventually(t, "free", func() bool { return held(t, members) == 0 })
		wantErr(t, "Release", h.Release(t.Context()), lock.ErrNotHeld)
	}
}

// everyReleaseIsTried releases locks on four servers: the second is down, and the third has lost its lock.
func everyReleaseIsTried(t *testing.T) {
	s := startServers(t, 4)
	members := s.mutexes(lock.WithLease(time.Minute))
	h := mustLock(t, multi(members))
	s.redis[1].Kill()
	if _, err := members[2].ForceUnlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := h.Release(t.Context())
	wantErr(t, "Release", err, lock.ErrNotHeld)
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) || len(joined.Unwrap()) != 2 {
		t.Errorf("Release: %v, want the errors of two members", err)
	}
	if n := held(t, []*lock.Lock{members[0], members[2], members[3]}); n != 0 {
		t.Errorf("%d locks that could be released are still held", n)
	}
	s.redis[1].Start()
	wantErr(t, "Release of the rest", h.Release(t.Context()), lock.ErrNotHeld) // the second restarted empty
	wantErr(t, "Release once more", h.Release(t.Context()), lock.ErrNotHeld)

	// Repeating a release that did not get through releases the rest.
	p, through := proxied(t, s.redis[0].Addr)
	members[0] = newLocker(through, "").Mutex("m", lock.WithLease(time.Minute))
	h = mustLock(t, multi(members))
	p.Cut()
	if err := h.Release(t.Context()); err == nil || errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Release with one out of reach: %v, want the connection's error", err)
	}
	p.Heal()
	mustRelease(t, h)
	if n := held(t, members); n != 0 {
		t.Errorf("%d are held after the release", n)
	}
}

func oppositeOrders(t *testing.T, s stage) {
	const callers, rounds = 8, 25
	var lockers []*lock.Locker
	for range 2 { // two processes
		lockers = append(lockers, newLocker(ownClient(t, testkit.RedisAddr(t)), s.prefix))
	}
	var mu sync.Mutex
	stays := map[string][]stay{}
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			locker := lockers[i%len(lockers)]
			for range rounds {
				names := []string{"a", "b", "c"}
				rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
				names = names[:1+rand.IntN(len(names))] // one to all of the names
				var members []*lock.Lock
				for _, name := range names {
					members = append(members, locker.Mutex(name))
				}
				h, err := group.Multi(members[0], members[1:]...).Lock(t.Context())
				if err != nil {
					t.Errorf("Lock: %v", err)
					return
				}
				from := time.Now()
				time.Sleep(rand.N(time.Millisecond)) // so that stays overlap in time
				to := time.Now()
				if err := h.Release(t.Context()); err != nil {
					t.Errorf("Release: %v", err)
				}
				mu.Lock()
				for i, name := range names {
					token, _ := h.TokenOf(members[i])
					stays[name] = append(stays[name], stay{from, to, token})
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, of := range stays {
		checkStays(t, of)
	}
	sameNameElsewhere(t)
}

// sameNameElsewhere takes locks with one name on two servers, so that callers have no common order.
func sameNameElsewhere(t *testing.T) {
	s := startServers(t, 2)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			members := s.mutexes()
			if i%2 == 1 {
				slices.Reverse(members)
			}
			for range 50 {
				h, err := multi(members).Lock(t.Context())
				if err != nil {
					t.Errorf("Lock: %v", err)
					return
				}
				if err := h.Release(t.Context()); err != nil {
					t.Errorf("Release: %v", err)
				}
			}
		})
	}
	wg.Wait()
}
