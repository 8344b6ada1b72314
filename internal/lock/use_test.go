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
			"and nobody overtakes a waiter",
		run: waitersAreTreatedFairly,
	},
	{
		number: 56, group: "Edges", says: "Err reports at once that a frozen holder's lease is over",
		run: frozenHolder,
	},
	{
		number: 57, group: "Cost",
		says: "names used once leave nothing; scripts for many holds and waiters are bounded, " +
			"one for all waiters of a process",
		run: boundedCost,
	},
	{
		number: 58, group: "Use",
		says: "a hold tells until when it is valid and can be refreshed; State shows its owner",
		run:  validityIsShown,
	},
	{
		number: 59, group: "Redlock", says: "a server that started less than a lease ago does not count",
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
	const most = 500 * time.Millisecond // renewing places would wake the waiter after a second
	within(t, most, "a wait after ForceUnlock", func() time.Duration {
		mustLock(t, s.rivals().lock(lock.WithLease(30*time.Second)))
		waiting := s.lockAsync(t.Context(), t, s.lock())
		eventually(t, "listening", func() bool { return len(s.channels(t)) == 1 })
		time.Sleep(50 * time.Millisecond) // until it has asked once more
		forced := time.Now()
		if was, err := s.rivals().lock().ForceUnlock(t.Context()); err != nil || !was {
			t.Fatalf("ForceUnlock: %v, %v; want wasHeld", was, err)
		}
		got := mustReceive(t, waiting)
		mustRelease(t, got.hold)
		return got.at.Sub(forced)
	})
}

// errorReachesAll lets ten goroutines of a process wait, and the first of them get an error from Redis.
func errorReachesAll(t *testing.T, s stage) {
	t.Helper()
	const waiters, tries = 10, 3
	// The first waiter asks, and asks again. A waiter with a place gives it up, and tries that twice.
	most, fewest := int64(3*waiters), int64(math.MaxInt64)
	if s.kind.parts > 0 || s.kind.name == "Read" { // readers are notified together
		most = math.MaxInt64 - 1
	}
	for try := 0; try < tries && fewest > most; try++ { // on a busy machine some may not be waiting yet
		own := s
		own.prefix += fmt.Sprint("error", try, ":")
		fewest = min(fewest, scriptsOfError(t, own, waiters))
	}
	if fewest > most {
		t.Errorf("%d waiters ran %d scripts, want that one asked for all", waiters, fewest)
	}
}

// scriptsOfError returns how many scripts the waiters ran after one of them got an error.
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
	locker := newLocker(watched, s.prefix)
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
		err := receive(t, "answer", got).err
		if errors.Is(err, lock.ErrNoAnswer) { // twice, on a busy machine: its request waited for one that failed
			continue
		}
		wantErr(t, "Lock", err, broken)
	}
	if took := time.Since(released); took > soon { // one by one it would take 4 s each
		t.Errorf("the last waiter had the error after %v, want that all had it with the first", took)
	}
	return watched.scripts.Load() - before
}

// haveAsked waits until so many waiters wait (in Redis's queue if the kind has one) and have stopped asking.
func (s stage) haveAsked(t *testing.T, watched *spy, waiters int) {
	t.Helper()
	eventually(t, "asked", func() bool { return watched.answers.Load() >= 1 })
	if s.kind.name == "Fair" || s.kind.name == "Write" || s.kind.name == "Read" {
		eventually(t, "in the queue", func() bool { return s.places(t) == int64(waiters) })
	}
	eventually(t, "quiet", watched.quiet)
}

// marginIsKept fails unless a hold is relied on for less time than Redis keeps its lease: the client counts from before
// the request, and clocks may run at different speeds.
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

// nobodyPasses stops the process at the head of the queue: later callers must not be let in ahead of it.
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
			mustRefuse(t, "behind a waiter", came.lock())
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
	const lease = 3 * time.Second // time enough to be stopped in, on a busy machine
	for range 3 {
		holder := startChild(t, childTask{
			Do: "freeze", Kind: s.kind.name, Addr: testkit.RedisAddr(t), Prefix: s.prefix, Lease: lease,
		})
		holder.says(t, "held")
		holder.says(t, "looks")
		holder.stop(t)
		mustRelease(t, mustLock(t, s.rivals().lock())) // the frozen holder's lease has ended
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
	locker := newLocker(s.client, s.prefix)
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
			continue // their number does not grow with the names
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
	// A late answer on a busy machine makes the client repeat the call, and Redis remembers its name for seconds.
	if most := names*s.kind.locks() + names/10; small > most {
		t.Errorf("%d names left %d keys, want %d at most", names, small, most)
	}
}

// oneLooksForAll counts the scripts of processes with many waiters.
func oneLooksForAll(t *testing.T, s stage) {
	t.Helper()
	const waiters, seconds = 200, 3
	s.prefix += "idle:"
	h := mustLock(t, s.rivals().lock())
	watched := &spy{Client: s.client}
	locker := newLocker(watched, s.prefix)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range waiters {
		all.Go(func() {
			h, err := s.kind.open(locker, "m", lock.NewOwner()).Lock(ctx)
			if err == nil {
				_ = h.Release(t.Context()) // the last ones fail when the test ends
			}
		})
	}
	eventually(t, "asked", func() bool {
		n := len(s.channels(t))
		// If a majority is enough, waiters may wait for different members on a busy machine.
		return watched.answers.Load() > 0 && (n == 1 || n > 1 && s.kind.name == "Redlock")
	})
	s.haveAsked(t, watched, waiters)
	asked := func() int64 { return watched.scripts.Load() + watched.renewals.Load() }
	fewest := int64(math.MaxInt64)
	for try := 0; try < 3 && fewest > seconds+2; try++ { // on a busy machine places may expire, and all ask again
		before := asked()
		time.Sleep(seconds * time.Second)
		fewest = min(fewest, asked()-before)
	}
	if fewest > seconds+2 {
		t.Errorf("%d waiters ran %d scripts in %d s, want one per second for all", waiters, fewest, seconds)
	}
	mustRelease(t, h)
}

// late is a client whose answers to successful acquires are slow.
type late struct{ *spy }

func (l late) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	cmd := l.spy.EvalSha(ctx, sha, keys, args...)
	if _, obtained := cmd.Val().(string); obtained {
		time.Sleep(30 * time.Millisecond)
	}
	return cmd
}

// oneAfterTheOther gives the lock to many waiters of one process: each asks on its turn and releases. That the holder's
// place is gone must make nobody ask.
func oneAfterTheOther(t *testing.T, s stage) {
	t.Helper()
	const waiters, tries = 100, 3
	most, best := int64(2*waiters+waiters/4), int64(1<<62)
	for try := 0; try < tries && best > most; try++ { // a process that is stopped for seconds loses its places
		s.prefix += "turns:"
		h := mustLock(t, s.rivals().lock())
		watched := late{&spy{Client: s.client, unhurried: true}}
		locker := newLocker(watched, s.prefix)
		var all sync.WaitGroup
		for i := range waiters { // one by one, so that the order here is Redis's
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

// manyReaders has more waiting readers than are notified at once.
func manyReaders(t *testing.T, s stage) {
	t.Helper()
	const readers = 1200
	s.prefix += "many:"
	h := mustLock(t, s.rivals().lock())
	locker := newLocker(s.client, s.prefix)
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

// fewAreTouched lets the leases of many holds end: each script must remove at most 500.
func fewAreTouched(t *testing.T, s stage) {
	t.Helper()
	const holds, most, lease = 1200, 500, 2 * time.Second
	s.prefix += "over:"
	locker, owner := newLocker(&spy{Client: s.client, unhurried: true}, s.prefix), lock.NewOwner()
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
			t.Fatalf("two scripts left %[2]d of %[1]d expired holds, want each to remove at most %[3]d",
				left, now, most)
		}
		left = now
	}
	if state := s.state(t); state.HoldCount(owner) != 1 || len(state.Holders) != 1 {
		t.Errorf("%+v, want the one unexpired hold", state)
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
	time.Sleep(100 * time.Millisecond) // lets part of the lease pass
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
	for what, do := range map[string]func(context.Context, func(context.Context, aHold) error) error{
		"Do": s.lock().Do, "TryDo": s.lock().TryDo,
	} {
		err := do(t.Context(), func(ctx context.Context, h aHold) error { return h.Release(ctx) })
		if err != nil {
			t.Errorf("%s of a function that releases the lock: %v", what, err)
		}
		err = do(t.Context(), func(ctx context.Context, _ aHold) error {
			_, err := s.lock().ForceUnlock(ctx)
			return err
		})
		wantErr(t, what+" of a function that loses the lock", err, lock.ErrNotHeld)
	}

	h = mustLock(t, s.lock(lock.WithLease(lease)))
	if _, err := s.lock().ForceUnlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "Refresh of a lock that was taken away", h.Refresh(t.Context()), lock.ErrLost)
	wantErr(t, "Err after it", h.Err(), lock.ErrLost)
}

func restartedDoesNotCount(t *testing.T, _ stage) {
	const lease = 2 * time.Second
	s := startServers(t, 3)
	var members []*lock.Lock
	for _, l := range s.lockers {
		members = append(members, l.Mutex("m", lock.WithRenewedLease(lease)))
	}
	leader := group.Redlock(members[0], members[1:]...)
	_, err := leader.TryLock(t.Context())
	wantErr(t, "TryLock on new servers", err, group.ErrRestarted)
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
			if uptime(t, r.Client()) < 4 {
				return false
			}
		}
		return true
	})
	// Two members are held when one server comes back empty: it must not make a majority with the third.
	unlessStalled(t, func(int) error { // a busy machine may ask it when it is a lease old
		h, began := mustLock(t, leader), time.Now()
		for _, n := range []int{0, 1} {
			s.redis[n].Kill()
			s.redis[n].Start()
		}
		second, err := leader.TryLock(t.Context())
		soonEnough := time.Since(began) < lease
		if err == nil {
			mustRelease(t, second)
		}
		_ = h.Release(t.Context()) // its lock is lost
		eventually(t, "a lease old again", counts)
		switch {
		case err == nil && soonEnough:
			t.Fatal("obtained from servers that had just forgotten the holder")
		case err == nil:
			return errors.New("obtained from servers that had forgotten the holder")
		case !errors.Is(err, group.ErrRestarted):
			return fmt.Errorf("TryLock: %w, want ErrRestarted", err)
		}
		return nil
	})
}

func childrenDie(t *testing.T, s stage) {
	parent := startChild(t, childTask{Do: "parent", Kind: s.kind.name, Addr: testkit.RedisAddr(t), Prefix: s.prefix})
	parent.says(t, "child holds")
	if !s.state(t).IsLocked() {
		t.Fatal("the child does not hold the lock")
	}
	parent.kill(t)
	// The child renews as long as it lives.
	eventually(t, "free", func() bool { return !s.state(t).IsLocked() })
}
