package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/lock/group"
	"seckill/internal/testkit"
)

var useRows = []row{
	{
		number: 55, group: "Edges",
		says: "ForceUnlock wakes a waiter at once, an error reaches every waiter, the drift margin is kept, " +
			"and nobody passes those who wait",
		run: waitersAreTreatedFairly,
	},
	{
		number: 56, group: "Edges", says: "a holder that was frozen past its lease is told so by Err at once",
		run: frozenHolder,
	},
	{
		number: 57, group: "Cost",
		says: "names used once leave nothing; many holds and waiters cost a bounded script, " +
			"one for all who wait in a process",
		run: boundedCost,
	},
	{
		number: 58, group: "Use",
		says: "a hold says until when it is valid, can be refreshed, and State shows whose it is",
		run:  validityIsShown,
	},
	{
		number: 59, group: "Redlock", says: "a server that was started less than a lease ago does not count",
		run: restartedDoesNotCount,
	},
	{number: 60, group: "Suite", says: "children never outlive the suite", run: childrenDie},
}

func waitersAreTreatedFairly(t *testing.T, s stage) {
	forcedAtOnce(t, s)
	errorReachesAll(t, s)
	marginIsKept(t, s)
	if s.kind.name == "Write" || s.kind.name == "Read" || s.kind.name == "Fair" {
		nobodyPasses(t, s)
	}
}

// forcedAtOnce forces locks whose leases would end much later.
func forcedAtOnce(t *testing.T, s stage) {
	t.Helper()
	const most, tries = 500 * time.Millisecond, 5 // those who keep places look after a second
	best := time.Hour
	for try := 0; try < tries && best > most; try++ { // a busy machine stops a process for as long
		mustLock(t, s.rivals().lock(lock.WithLease(30*time.Second)))
		waiting := s.lockAsync(t.Context(), t, s.lock())
		eventually(t, "listening", func() bool { return len(s.channels(t)) == 1 })
		time.Sleep(50 * time.Millisecond) // until it has looked once more
		forced := time.Now()
		if was, err := s.rivals().lock().ForceUnlock(t.Context()); err != nil || !was {
			t.Fatalf("ForceUnlock: %v, %v; want that it was held", was, err)
		}
		got := mustReceive(t, waiting)
		best = min(best, got.at.Sub(forced))
		mustRelease(t, got.hold)
	}
	if best > most {
		t.Errorf("a waiter had the lock %v after ForceUnlock, want %v at most", best, most)
	}
}

// errorReachesAll lets ten wait in one process, and the first of them have an error of Redis.
func errorReachesAll(t *testing.T, s stage) {
	t.Helper()
	const waiters, tries = 10, 3
	// One asks, and once more; who has a place gives it up, and tries that twice.
	most, fewest := int64(3*waiters), int64(math.MaxInt64)
	if s.kind.parts > 0 || s.kind.name == "Read" { // readers are told together
		most = math.MaxInt64 - 1
	}
	for try := 0; try < tries && fewest > most; try++ { // on a busy machine some have not come to wait yet
		own := s
		own.prefix += fmt.Sprint("error", try, ":")
		fewest = min(fewest, scriptsOfError(t, own, waiters))
	}
	if fewest > most {
		t.Errorf("%d waiters ran %d scripts, want that one asked for all", waiters, fewest)
	}
}

// scriptsOfError returns how many scripts so many waiters ran who had an error.
func scriptsOfError(t *testing.T, s stage, waiters int) int64 {
	t.Helper()
	broken := errors.New("broken")
	var fail sync.Map
	refuse := func() error {
		if _, on := fail.Load("on"); on {
			return broken
		}
		return nil
	}
	watched := &spy{Client: s.client, failScript: refuse, failPipeline: refuse}
	h := mustLock(t, s.rivals().lock(lock.WithLease(30*time.Second)))
	locker := lock.New(watched, s.prefix)
	got := make(chan locked, waiters)
	for range waiters {
		go func() {
			h, err := s.kind.open(locker, "m", lock.NewOwner()).Lock(t.Context())
			got <- locked{h, err, time.Now()}
		}()
	}
	s.haveAsked(t, watched, waiters)
	before := watched.scripts.Load()
	fail.Store("on", true)
	released := time.Now()
	mustRelease(t, h)
	for range waiters {
		wantErr(t, "Lock", receive(t, "answer", got).err, broken)
	}
	if took := time.Since(released); took > soon { // each for itself would ask four seconds after the other
		t.Errorf("the last waiter had the error after %v, want that all had it with the first", took)
	}
	return watched.scripts.Load() - before
}

// haveAsked waits until so many wait, in a queue of Redis if the kind has one, and ask no more.
func (s stage) haveAsked(t *testing.T, watched *spy, waiters int) {
	t.Helper()
	eventually(t, "asked", func() bool { return watched.answers.Load() >= 1 })
	if s.kind.name == "Fair" || s.kind.name == "Write" || s.kind.name == "Read" {
		eventually(t, "in the queue", func() bool { return s.places(t) == int64(waiters) })
	}
	eventually(t, "quiet", watched.quiet)
}

// marginIsKept fails unless a lease is relied on for less time than Redis keeps it: the sender counts from before it
// asked, and clocks may run at different speeds.
func marginIsKept(t *testing.T, s stage) {
	t.Helper()
	const lease, tries = 20 * time.Second, 5
	for range tries { // a busy machine may take longer than the margin
		begin := time.Now()
		h := mustLock(t, s.lock(lock.WithLease(lease)))
		end := time.Now()
		until := h.ValidUntil()
		mustRelease(t, h)
		if until.Before(begin.Add(lease - lease/50)) {
			t.Errorf("valid for %v, want almost the lease of %v", until.Sub(begin), lease)
		}
		if until.Before(end.Add(lease - lease/100)) {
			return
		}
	}
	t.Errorf("there is no margin for clocks that drift")
}

// nobodyPasses stops a process that waits at the head of the queue: nobody who comes later is let in before it.
func nobodyPasses(t *testing.T, s stage) {
	t.Helper()
	later := s.rivals()
	if s.kind.name == "Write" {
		later.kind = kindOf("Read")
	}
	for _, came := range []stage{s, later} {
		holder := s
		if s.kind.name == "Read" || came.kind.name == "Read" {
			holder.kind = kindOf("Write")
		}
		h := mustLock(t, holder.lock())
		head := startChild(t, childTask{
			Do: "wait", Kind: s.kind.name, Addr: testkit.RedisAddr(t), Prefix: s.prefix, Waiters: 1,
		})
		eventually(t, "in the queue", func() bool { return s.places(t) == 1 })
		head.stop(t)
		mustRelease(t, h)
		if s.kind.name != "Read" || came.kind.name != "Read" { // readers go together
			mustRefuse(t, "behind one who waits", came.lock())
		}
		head.kill(t)
		eventually(t, "free", func() bool {
			h, err := s.lock().TryLock(t.Context())
			if err == nil {
				mustRelease(t, h)
			}
			return err == nil
		})
	}
}

func frozenHolder(t *testing.T, s stage) {
	const lease = 1500 * time.Millisecond
	for range 3 {
		holder := startChild(t, childTask{
			Do: "freeze", Kind: s.kind.name, Addr: testkit.RedisAddr(t), Prefix: s.prefix, Lease: lease,
		})
		holder.says(t, "held")
		holder.says(t, "looks")
		holder.stop(t)
		mustRelease(t, mustLock(t, s.rivals().lock())) // its lease is over
		holder.signal(t, syscall.SIGCONT)
		holder.says(t, "lost in time")
	}
}

func boundedCost(t *testing.T, s stage) {
	nothingStays(t, s)
	oneLooksForAll(t, s)
	if s.kind.name == "Fair" || s.kind.name == "Write" {
		oneAfterTheOther(t, s)
	}
	if s.kind.name == "Read" {
		manyReaders(t, s)
	}
	if s.kind.name == "Reentrant" || s.kind.name == "Read" {
		fewAreTouched(t, s)
	}
}

// nothingStays uses many names once.
func nothingStays(t *testing.T, s stage) {
	t.Helper()
	const names, soonGone = 300, 10 * time.Minute
	s.prefix += "once:"
	locker := lock.New(s.client, s.prefix)
	for i := range names {
		h, err := s.kind.open(locker, "name"+strconv.Itoa(i), lock.NewOwner()).TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mustRelease(t, h)
	}
	small := 0
	slot := regexp.MustCompile(`\{lock:\d{1,4}\}$`)
	for _, key := range s.keys(t) {
		if slot.MatchString(key) {
			continue // of which there are as many for any number of names
		}
		small++
		ttl := s.client.PTTL(t.Context(), key).Val()
		if ttl == -2 || ttl == 0 { // gone meanwhile
			continue
		}
		if ttl <= 0 || ttl > soonGone {
			t.Errorf("%q lives for %v, want minutes", key, ttl)
		}
		if size := s.client.MemoryUsage(t.Context(), key).Val(); size > 300 {
			t.Errorf("%q takes %d bytes", key, size)
		}
	}
	// A call whose answer is late on a busy machine is asked again, and that is remembered by name, for seconds.
	if most := names*s.kind.locks() + names/10; small > most {
		t.Errorf("%d names left %d keys, want %d at most", names, small, most)
	}
}

// oneLooksForAll counts the scripts of waiters, of which some processes have many.
func oneLooksForAll(t *testing.T, s stage) {
	t.Helper()
	const waiters, seconds = 200, 3
	s.prefix += "idle:"
	h := mustLock(t, s.rivals().lock())
	watched := &spy{Client: s.client}
	locker := lock.New(watched, s.prefix)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range waiters {
		all.Go(func() {
			h, err := s.kind.open(locker, "m", lock.NewOwner()).Lock(ctx)
			if err == nil {
				_ = h.Release(t.Context()) // the last ones, when the test is over
			}
		})
	}
	eventually(t, "asked", func() bool {
		n := len(s.channels(t))
		// Where a majority is enough, a busy machine may let waiters stand before different members.
		return watched.answers.Load() > 0 && (n == 1 || n > 1 && s.kind.name == "Redlock")
	})
	s.haveAsked(t, watched, waiters)
	asked := func() int64 { return watched.scripts.Load() + watched.renewals.Load() }
	fewest := int64(math.MaxInt64)
	for try := 0; try < 3 && fewest > seconds+2; try++ { // a busy machine keeps the places of nobody, and all ask again
		before := asked()
		time.Sleep(seconds * time.Second)
		fewest = min(fewest, asked()-before)
	}
	if fewest > seconds+2 {
		t.Errorf("%d waiters ran %d scripts in %d s, want one for all in a second", waiters, fewest, seconds)
	}
	mustRelease(t, h)
}

// late is a client that is slow to say that a lock was obtained.
type late struct{ *spy }

func (l late) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	cmd := l.spy.EvalSha(ctx, sha, keys, args...)
	if _, obtained := cmd.Val().(string); obtained {
		time.Sleep(30 * time.Millisecond)
	}
	return cmd
}

// oneAfterTheOther gives the lock to many of one process: each asks when it is their turn, and releases. That who has
// the lock has no place any more makes nobody ask.
func oneAfterTheOther(t *testing.T, s stage) {
	t.Helper()
	const waiters, tries = 100, 3
	most, best := int64(2*waiters+waiters/4), int64(1<<62)
	for try := 0; try < tries && best > most; try++ { // a process that stops for seconds loses its places
		s.prefix += "turns:"
		h := mustLock(t, s.rivals().lock())
		watched := late{&spy{Client: s.client, unhurried: true}}
		locker := lock.New(watched, s.prefix)
		var all sync.WaitGroup
		for i := range waiters { // in the same order here as in Redis
			all.Go(func() {
				h, err := s.kind.open(locker, "m", lock.NewOwner()).Lock(t.Context())
				if err == nil {
					err = h.Release(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			})
			eventually(t, "in the queue", func() bool { return s.places(t) == int64(i+1) })
		}
		eventually(t, "quiet", watched.quiet)
		asked := func() int64 { return watched.scripts.Load() + watched.renewals.Load() }
		before := asked()
		mustRelease(t, h)
		all.Wait()
		best = min(best, asked()-before)
	}
	if best > most {
		t.Errorf("%d waiters ran %d scripts to have the lock and release it, want %d at most", waiters, best, most)
	}
}

// manyReaders lets more wait than are told at once.
func manyReaders(t *testing.T, s stage) {
	t.Helper()
	const readers = 1200
	s.prefix += "many:"
	h := mustLock(t, s.rivals().lock())
	locker := lock.New(s.client, s.prefix)
	got := make(chan locked, readers)
	for range readers {
		go func() {
			h, err := s.kind.open(locker, "m", lock.NewOwner(), lock.WithLease(time.Minute)).Lock(t.Context())
			got <- locked{h, err, time.Now()}
		}()
	}
	eventually(t, "in the queue", func() bool { return s.places(t) == readers })
	released := time.Now()
	mustRelease(t, h)
	var holds []aHold
	for range readers {
		holds = append(holds, mustReceive(t, got).hold)
	}
	if took := time.Since(released); took > soon {
		t.Errorf("%d readers had the lock after %v", readers, took)
	}
	if n := len(s.state(t).Holders); n != readers {
		t.Errorf("State shows %d readers, want %d", n, readers)
	}
	for _, h := range holds {
		mustRelease(t, h)
	}
}

// fewAreTouched lets the leases of many holds end: each script removes 500 at most.
func fewAreTouched(t *testing.T, s stage) {
	t.Helper()
	const holds, most, lease = 1200, 500, 2 * time.Second
	s.prefix += "over:"
	locker, owner := lock.New(&spy{Client: s.client, unhurried: true}, s.prefix), lock.NewOwner()
	long := mustLock(t, s.kind.open(locker, "m", owner, lock.WithLease(time.Minute)))
	var all sync.WaitGroup
	for part := range 10 {
		all.Go(func() {
			for range holds / 10 {
				holder := owner
				if part%2 == 0 && s.kind.name == "Read" {
					holder = lock.NewOwner()
				}
				_, _ = s.kind.open(locker, "m", holder, lock.WithLease(lease)).TryLock(t.Context()) // counted below
			}
		})
	}
	all.Wait()
	var key string
	for _, k := range s.remains(t) {
		if s.client.Type(t.Context(), k).Val() == "zset" {
			key = k
		}
	}
	over := func() int64 {
		now, err := s.client.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		return s.client.ZCount(t.Context(), key, "1", fmt.Sprint(now.UnixMilli())).Val()
	}
	eventually(t, "over", func() bool { return s.client.ZCard(t.Context(), key).Val()-over() == 2 })
	for left := over(); left > 0; {
		mustRelease(t, mustLock(t, s.kind.open(locker, "m", owner)))
		now := over()
		if left-now > 2*most || now == left {
			t.Fatalf("of %d holds that are over two scripts left %d, want that each removes %d at most",
				left, now, most)
		}
		left = now
	}
	if state := s.state(t); state.HoldCount(owner) != 1 || len(state.Holders) != 1 {
		t.Errorf("%+v, want the one hold that is not over", state)
	}
	mustRelease(t, long)
}

func validityIsShown(t *testing.T, s stage) {
	const lease = 30 * time.Second
	h := mustLock(t, s.lock(lock.WithLease(lease)))
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.state(t).Holders[0].Label, fmt.Sprintf("%s/%d", host, os.Getpid()); got != want {
		t.Errorf("label %q, want %q", got, want)
	}
	first := h.ValidUntil()
	if left := time.Until(first); left <= lease/2 || left > lease {
		t.Errorf("valid for %v, want almost %v", left, lease)
	}
	time.Sleep(100 * time.Millisecond) // so that there is something to be refreshed
	before := time.Now()
	if err := h.Refresh(t.Context()); err != nil {
		t.Fatalf("Refresh: %v", err)
	}
	if until := h.ValidUntil(); until.Before(before.Add(lease-lease/50)) || !until.After(first) {
		t.Errorf("valid until %v after Refresh, want a lease from then, which was %v", until, before)
	}
	if ttl := s.state(t).TTL(); ttl < lease-soon/2 || ttl > lease {
		t.Errorf("time to live %v after Refresh, want %v", ttl, lease)
	}
	mustRelease(t, h)
	wantErr(t, "Refresh after the release", h.Refresh(t.Context()), lock.ErrNotHeld)

	h = mustLock(t, s.lock(lock.WithLease(lease)))
	if _, err := s.lock().ForceUnlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "Refresh of what was taken away", h.Refresh(t.Context()), lock.ErrLost)
	wantErr(t, "Err after it", h.Err(), lock.ErrLost)
}

func restartedDoesNotCount(t *testing.T, _ stage) {
	const lease = time.Second
	s := startServers(t, 3)
	var members []*lock.Lock
	for _, l := range s.lockers {
		members = append(members, l.Mutex("m", lock.WithRenewedLease(lease)))
	}
	leader := group.Redlock(members[0], members[1:]...)
	_, err := leader.TryLock(t.Context())
	wantErr(t, "TryLock on servers that are new", err, group.ErrRestarted)
	mustRelease(t, mustLock(t, leader.TrustServers()))
	counts := func() bool {
		h, err := leader.TryLock(t.Context())
		if err == nil {
			mustRelease(t, h)
		}
		return err == nil
	}
	eventually(t, "a lease old", counts)
	eventually(t, "all a lease old", func() bool {
		for _, r := range s.redis {
			if uptime(t, r.Client()) < 3 {
				return false
			}
		}
		return true
	})
	// Two are held, and one comes back empty: with the one that somebody else may have, it makes no majority.
	h := mustLock(t, leader)
	for _, n := range []int{0, 1} {
		s.redis[n].Kill()
		s.redis[n].Start()
	}
	if _, err := leader.TryLock(t.Context()); err == nil {
		t.Error("obtained from servers that had forgotten who has it")
	} else {
		wantErr(t, "TryLock", err, group.ErrRestarted)
	}
	_ = h.Release(t.Context()) // what it had is lost
	eventually(t, "a lease old again", counts)
}

func childrenDie(t *testing.T, s stage) {
	parent := startChild(t, childTask{Do: "parent", Kind: s.kind.name, Addr: testkit.RedisAddr(t), Prefix: s.prefix})
	parent.says(t, "child holds")
	if !s.state(t).IsLocked() {
		t.Fatal("the child does not hold the lock")
	}
	parent.kill(t)
	// It renews as long as it lives.
	eventually(t, "free", func() bool { return !s.state(t).IsLocked() })
}
