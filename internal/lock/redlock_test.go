package lock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"seckill/internal/lock"
	"seckill/internal/lock/group"
	"seckill/internal/lock/internal/member"
	"seckill/internal/testkit"
)

var redlockRows = []row{
	{
		number: 45, group: "Redlock",
		says: "a majority of five servers: it survives the loss of two; without three it is lost and fails soon",
		run:  majority,
	},
}

// red returns the Redlock of the locks. It trusts the servers, because they have just been started.
func red(locks []*lock.Lock) aLock {
	return several(group.Redlock(locks[0], locks[1:]...).TrustServers())
}

func majority(t *testing.T, _ stage) {
	for name, part := range map[string]func(*testing.T){
		"minority gone":         minorityGone,
		"minority silent":       minoritySilent,
		"majority gone":         majorityGone,
		"majority silent":       majoritySilent,
		"answer unknown":        answerUnknown,
		"validity":              validity,
		"clocks differ":         clocksDiffer,
		"holders never overlap": redlockHoldersNeverOverlap,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part(t)
		})
	}
}

// busyLease is the lease of holds that must not end while the test lasts. They are renewed every two seconds, so a
// machine has to be so busy that it stops a process for four.
const busyLease = 6 * time.Second

// minorityGone kills two of five servers: before the lock is taken, or while it is held.
func minorityGone(t *testing.T) {
	unlessStalled(t, func(times int) error { return outlivesMinority(t, time.Duration(times)*busyLease) })
}

// outlivesMinority returns why the hold was lost, if it was.
func outlivesMinority(t *testing.T, lease time.Duration) error {
	t.Helper()
	s := startServers(t, 5)
	l := red(s.mutexes(lock.WithRenewedLease(lease)))
	early := mustLock(t, l)
	s.kill(0, 3)
	late := make(chan locked, 1)
	go func() {
		h, err := red(s.mutexes()).Lock(t.Context())
		late <- locked{h, err, time.Now()}
	}()
	select {
	case <-early.Lost():
		if next := receive(t, "lock", late); next.err == nil {
			mustRelease(t, next.hold)
		}
		return fmt.Errorf("lost with three of five: %w", early.Err())
	case <-time.After(lease * 3 / 2): // without renewals on the three it would have ended
	}
	_, err := l.TryLock(t.Context())
	wantErr(t, "TryLock of a held lock", err, lock.ErrNotObtained)
	mustRelease(t, early)
	next := receive(t, "lock", late)
	if next.err != nil {
		return fmt.Errorf("Lock with three of five: %w", next.err)
	}
	if next.hold.Token() <= early.Token() {
		t.Errorf("token %d after %d", next.hold.Token(), early.Token())
	}
	mustRelease(t, next.hold)
	h, err := l.TryLock(t.Context())
	if err != nil {
		return fmt.Errorf("TryLock with three of five: %w", err)
	}
	mustRelease(t, h)
	eventually(t, "free", func() bool { return held(t, pick(s.mutexes(), 1, 2, 4)) == 0 })
	return nil
}

// pick returns some of the locks.
func pick(locks []*lock.Lock, numbers ...int) []*lock.Lock {
	var picked []*lock.Lock
	for _, n := range numbers {
		picked = append(picked, locks[n])
	}
	return picked
}

// minoritySilent stops two of five servers: TryLock must not wait for them, and what they answer in the end must join
// the hold or be released.
func minoritySilent(t *testing.T) {
	s := startServers(t, 5)
	locks := s.mutexes()
	for _, joins := range []bool{true, false} {
		// A call that did wait for them would take 2 s.
		within(t, 1900*time.Millisecond, "TryLock with two of five silent", func() time.Duration {
			return tryWithSilent(t, s, locks, joins)
		})
	}
}

// tryWithSilent returns how long TryLock takes while two of five servers are silent. They answer before the release,
// and join, or after it.
func tryWithSilent(t *testing.T, s servers, locks []*lock.Lock, joins bool) time.Duration {
	t.Helper()
	s.redis[1].Pause()
	s.redis[2].Pause()
	begin := time.Now()
	h, err := red(locks).TryLock(t.Context())
	took := time.Since(begin)
	if err == nil && !joins {
		mustRelease(t, h)
	}
	s.redis[1].Resume()
	s.redis[2].Resume()
	if err != nil {
		t.Logf("TryLock with two of five silent: %v", err)
		took = time.Hour // the others were silent, too: the machine is busy
	} else if joins {
		eventually(t, "joined", func() bool { return held(t, locks) == 5 })
		mustRelease(t, h)
	}
	eventually(t, "free", func() bool { return held(t, locks) == 0 })
	return took
}

func majorityGone(t *testing.T) {
	const lease = 900 * time.Millisecond
	s := startServers(t, 5)
	locks := s.mutexes(lock.WithRenewedLease(lease))
	h := mustLock(t, red(locks))
	s.kill(0, 1, 4)
	receive(t, "loss", h.Lost())
	wantErr(t, "Err", h.Err(), lock.ErrLost)
	if err := h.Release(t.Context()); err == nil {
		t.Error("Release with two of five succeeded")
	}
	failsSoon(t, locks)
	if n := held(t, pick(locks, 2, 3)); n != 0 {
		t.Errorf("%d of the others are still held", n)
	}
}

func majoritySilent(t *testing.T) {
	s := startServers(t, 5)
	locks := s.mutexes()
	for _, n := range []int{0, 2, 3} {
		s.redis[n].Pause()
	}
	failsSoon(t, locks)
	for _, n := range []int{0, 2, 3} {
		s.redis[n].Resume() // the pending requests arrive now
	}
	eventually(t, "free", func() bool { return held(t, locks) == 0 })
}

// failsSoon tries a lock of which too few servers answer.
func failsSoon(t *testing.T, locks []*lock.Lock) {
	t.Helper()
	for what, call := range map[string]func(context.Context) (aHold, error){
		"TryLock": red(locks).TryLock, "Lock": red(locks).Lock,
	} {
		begin := time.Now()
		_, err := call(t.Context())
		if err == nil || errors.Is(err, lock.ErrNotObtained) {
			t.Errorf("%s with two of five: %v, want the connections' errors", what, err)
		}
		if took := time.Since(begin); took > soon {
			t.Errorf("%s took %v", what, took)
		}
	}
}

// answerUnknown loses the answers of two servers that have given their locks.
func answerUnknown(t *testing.T) {
	s := startServers(t, 5)
	locks := s.mutexes()
	mustRelease(t, mustLock(t, red(locks))) // loads the scripts
	for _, n := range []int{0, 1} {
		p, through := proxied(t, s.redis[n].Addr)
		if err := through.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		p.DropRepliesTo("evalsha", 2) // the repetition is lost, too
		locks[n] = newLocker(through, "").Mutex("m")
	}
	h, err := red(locks).TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	direct := s.mutexes() // an answer to these is not one that gets lost
	eventually(t, "released where the answer is unknown", func() bool { return held(t, direct) == 3 })
	mustRelease(t, h)
	if n := held(t, direct); n != 0 {
		t.Errorf("%d are held after the release", n)
	}
}

// validity lets the second of three servers answer only after the first one's lease has ended, and the third refuse.
func validity(t *testing.T) {
	const lease, tries = 400 * time.Millisecond, 20
	s := startServers(t, 3)
	clients := []lock.Client{s.redis[0].Client(), s.redis[1].Client()}
	third := mustLock(t, newLocker(s.redis[2].Client(), "").Mutex("m", lock.WithLease(time.Minute)))
	// The first server gets the highest token. Otherwise raising its token would ask it again, and it would answer that
	// its lease is over.
	h := mustLock(t, newLocker(clients[0], "").Mutex("m", lock.WithLease(time.Minute)))
	mustRelease(t, h)
	setAhead(t, s.redis[0], h.Token())
	// try returns TryLock's error. Calls of an earlier one may still be under way: it shares nothing with them.
	try := func() error {
		given := make(chan struct{}) // closed when the first has answered, so that its lease has begun
		var answers, delays sync.Once
		first := &spy{Client: clients[0], afterScript: func() { answers.Do(func() { close(given) }) }}
		slow := &spy{Client: clients[1]}
		slow.failScript = func() (err error) {
			delays.Do(func() {
				<-given
				time.Sleep(lease) // network delay
				err = io.ErrUnexpectedEOF
			})
			return err
		}
		locks := s.mutexes(lock.WithLease(lease))
		locks[0] = newLocker(first, "").Mutex("m", lock.WithLease(lease))
		locks[1] = newLocker(slow, "").Mutex("m", lock.WithLease(lease))
		_, err := red(locks).TryLock(t.Context())
		if err == nil {
			t.Fatal("obtained although the first lease has ended")
		}
		t.Logf("TryLock: %v", err)
		return err
	}
	// On a busy machine the first answer may be late itself, or the second after the round.
	late := false
	for n := 0; n < tries && !late; n++ {
		err := try()
		late = errors.Is(err, lock.ErrNoAnswer) && errors.Is(err, member.ErrLate)
		eventually(t, "free", func() bool { return held(t, s.mutexes()[:2]) == 0 })
	}
	if !late {
		t.Errorf("no try in %d failed because the first lease had ended", tries)
	}
	mustRelease(t, third)
}

// setAhead sets a server's tokens an hour ahead of the given one.
func setAhead(t *testing.T, server *testkit.RedisServer, token int64) {
	t.Helper()
	s := stage{client: server.Client()}
	highWater := s.highWater(t)
	if err := s.client.FlushDB(t.Context()).Err(); err != nil { // a mutex also remembers its last token
		t.Fatal(err)
	}
	if err := s.client.Set(t.Context(), highWater, token+3600e6, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
}

// clocksDiffer has one server's tokens run an hour ahead, and then kills that server.
func clocksDiffer(t *testing.T) {
	const lease = busyLease
	for kind, open := range map[string]func(servers) []*lock.Lock{
		"Mutex": func(s servers) []*lock.Lock { return s.mutexes(lock.WithRenewedLease(lease)) },
		"Reentrant": func(s servers) []*lock.Lock {
			var locks []*lock.Lock
			owner := lock.NewOwner()
			for _, l := range s.lockers {
				locks = append(locks, l.Reentrant("m", owner, lock.WithRenewedLease(lease)))
			}
			return locks
		},
	} {
		s := startServers(t, 3)
		h := mustLock(t, red(open(s)))
		eventually(t, "held by all", func() bool { return held(t, open(s)) == 3 })
		mustRelease(t, h)
		setAhead(t, s.redis[0], h.Token())
		s.kill(2) // so that the server ahead belongs to the majority
		var k tokens
		k.next(t, red(open(s)), kind+" with a server ahead")
		if k.last < h.Token()+3600e6 {
			t.Errorf("token %d, want one an hour ahead", k.last)
		}
		s.redis[2].Start()
		s.kill(0)
		// Then other processes take it, which have seen no token, after the lease of the dead holder.
		for i, r := range s.redis {
			s.lockers[i] = newLocker(r.Client(), "")
		}
		mustRelease(t, k.next(t, red(open(s)), kind+" without it"))
	}
}

// redlockHoldersNeverOverlap lets two processes compete for a lock while one of three servers goes and comes back.
func redlockHoldersNeverOverlap(t *testing.T) {
	const goroutines, rounds = 6, 40
	s := startServers(t, 3)
	other := servers{redis: s.redis}
	for _, r := range s.redis {
		other.lockers = append(other.lockers, newLocker(r.Client(), ""))
	}
	var mu sync.Mutex
	var stays []stay
	var wg sync.WaitGroup
	for i := range goroutines {
		from := []servers{s, other}[i%2]
		wg.Go(func() {
			for range rounds {
				h, err := red(from.mutexes()).Lock(t.Context())
				if err != nil {
					t.Errorf("Lock: %v", err)
					return
				}
				begin := time.Now()
				time.Sleep(time.Millisecond)
				end := time.Now()
				if err := h.Release(t.Context()); err != nil {
					t.Errorf("Release: %v", err)
				}
				mu.Lock()
				stays = append(stays, stay{begin, end, h.Token()})
				mu.Unlock()
			}
		})
	}
	time.Sleep(50 * time.Millisecond) // in the middle of the contest
	s.redis[1].Pause()
	time.Sleep(50 * time.Millisecond)
	s.redis[1].Resume()
	wg.Wait()
	checkStays(t, stays)
}
