package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

var basicRows = []row{
	{
		number: 1, group: "Basic", says: "a free lock is obtained with a lease; no key is ever without one",
		run: freeLockIsObtained, anywhere: true,
	},
	{
		number: 2, group: "Basic", says: "a held lock is refused at once and unchanged",
		run: heldLockIsRefused, anywhere: true,
	},
	{
		number: 3, group: "Basic", says: "a waiter has the lock within 50 ms of the release (p99)",
		run: waiterIsWoken, alone: true,
	},
	{
		number: 4, group: "Basic", says: "a wait ends at its deadline and leaves nothing",
		run: deadlineEndsTheWait, anywhere: true,
	},
	{
		number: 5, group: "Basic", says: "a lease that is not renewed ends; a late release harms nobody",
		run: leaseEnds,
	},
	{number: 6, group: "Basic", says: "releasing a lock that is not held changes nothing", run: foreignRelease},
	{
		number: 7, group: "Basic", says: "a second release is refused and publishes nothing",
		run: secondRelease, anywhere: true,
	},
	{
		number: 8, group: "Basic", says: "ForceUnlock frees the lock, wakes waiters, and the old holder is notified",
		run: forceUnlock, anywhere: true,
	},
	{
		number: 9, group: "Basic", says: "State seen from another client has the right owner, holds and times",
		run: stateIsRight, anywhere: true,
	},
	{
		number: 10, group: "Basic", says: "any name works; all keys of a lock are in one slot",
		run: anyNameWorks, anywhere: true,
	},
	{
		number: 11, group: "Basic", says: "holders never overlap: a value raised non-atomically is exact",
		run: holdersNeverOverlap,
	},
	{number: 12, group: "Basic", says: "a cancelled wait returns promptly and leaves no ghost", run: cancelEndsTheWait},
}

func freeLockIsObtained(t *testing.T, s stage) {
	everlasting := func() {
		for _, key := range s.keys(t) {
			if ttl := s.client.PTTL(t.Context(), key).Val(); ttl == -1 {
				t.Errorf("key %q has no time to live", key)
			}
		}
	}
	watched := &spy{Client: s.client, afterScript: everlasting}
	for _, tc := range []struct {
		name  string
		opts  []lock.Option
		lease time.Duration
	}{
		{"default", nil, lock.DefaultLease},
		{"lease", []lock.Option{lock.WithLease(7 * time.Second)}, 7 * time.Second},
		{"renewed lease", []lock.Option{lock.WithRenewedLease(6 * time.Second)}, 6 * time.Second},
	} {
		h, err := s.through(watched, tc.opts...).TryLock(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if d := s.state(t).TTL(); d <= 0 || d > tc.lease || d < tc.lease-soon/2 {
			t.Errorf("%s: time to live %v, want almost %v", tc.name, d, tc.lease)
		}
		if got := s.owner(t); got != h.Owner() || len(got) != 36 {
			t.Errorf("%s: owner %q, want the hold's %q, a UUID", tc.name, got, h.Owner())
		}
		if err := h.Err(); err != nil {
			t.Errorf("%s: Err() = %v while held", tc.name, err)
		}
		mustRelease(t, h)
		s.wantKeys(t, tc.name+": after the release", 0)
	}
}

func heldLockIsRefused(t *testing.T, s stage) {
	first := mustLock(t, s.lock(lock.WithLease(20*time.Second)))
	before := s.state(t)
	_, err := s.rivals().lock().TryLock(t.Context())
	wantErr(t, "TryLock", err, lock.ErrNotObtained)
	after := s.state(t)
	if after.TTL() > before.TTL() {
		t.Errorf("time to live rose from %v to %v", before.TTL(), after.TTL())
	}
	if !after.HeldBy(first.Owner()) || len(after.Holders) != 1 {
		t.Errorf("holders %v, want %q", after.Holders, first.Owner())
	}
	mustRelease(t, first)
}

func waiterIsWoken(t *testing.T, s stage) {
	const rounds, tries = 100, 3
	var worst time.Duration
	untold := 0
	stalled, stop := measureStalls()
	defer stop()
	for range tries { // a busy machine stops a process for as long
		var delays []time.Duration
		holder, waiter := s.rivals().lock(), s.lock()
		for range rounds {
			h := mustLock(t, holder)
			got := make(chan locked, 1)
			watched := make(chan struct{})
			go func() {
				close(watched)
				h, err := waiter.Lock(t.Context())
				got <- locked{h, err, time.Now()}
			}()
			<-watched
			eventually(t, "listening", func() bool { return len(s.channels(t)) > 0 })
			stalled()
			released := time.Now()
			mustRelease(t, h)
			next := mustReceive(t, got)
			if untold += int(next.at.Sub(released) / unaided); untold > 3 {
				t.Fatalf("obtained %v after the release, want waiters to be notified", next.at.Sub(released))
			}
			delays = append(delays, next.at.Sub(released)-2*stalled()) // the stalls may have hit this process and Redis
			mustRelease(t, next.hold)
		}
		slices.Sort(delays)
		if worst = delays[rounds*99/100-1]; worst <= 50*time.Millisecond {
			return
		}
	}
	t.Errorf("obtained %v after the release, without the machine's stalls; want at most 50ms", worst)
}

func deadlineEndsTheWait(t *testing.T, s stage) {
	endedWaitLeavesNothing(t, s, context.DeadlineExceeded)
}

func cancelEndsTheWait(t *testing.T, s stage) {
	endedWaitLeavesNothing(t, s, context.Canceled)

	watched := &spy{Client: s.client}
	l := s.through(watched)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.TryLock(ctx)
	wantErr(t, "TryLock under a context that is over", err, context.Canceled)
	_, err = l.Lock(ctx)
	wantErr(t, "Lock under a context that is over", err, context.Canceled)
	if n := watched.scripts.Load(); n != 0 {
		t.Errorf("%d scripts were called", n)
	}
	if s.kind.rival == "" { // a release wakes one waiter, not all
		quickly(t, "a wait behind a waiter that left while asking", func() { cancelledWhileAsking(t, s) })
		quickly(t, "a wait behind a waiter that left on its turn", func() { cancelledWhilePassed(t, s, false) })
		quickly(t, "the same in another process", func() { cancelledWhilePassed(t, s, true) })
	}
	if s.kind.name == "Mutex" { // other kinds are not handed on
		quickly(t, "a wait behind a hand-off in another process", func() { handedOn(t, s) })
	}
}

// cancelledWhileAsking cancels the first of two waiters just as it acts on the release: the other must be woken.
func cancelledWhileAsking(t *testing.T, s stage) {
	h := mustLock(t, s.lock())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var released atomic.Bool
	watched := &spy{Client: s.client, failScript: func() error {
		if released.CompareAndSwap(true, false) {
			cancel()
			return context.Canceled
		}
		return nil
	}}
	locker := newLocker(watched, s.prefix)
	first := s.lockAsync(ctx, t, s.kind.open(locker, "m", lock.NewOwner()))
	watched.quietSince(t, 0)
	second := make(chan locked, 1)
	go func() {
		h, err := s.kind.open(locker, "m", lock.NewOwner()).Lock(t.Context())
		second <- locked{h, err, time.Now()}
	}()
	eventually(t, "quiet", watched.quiet)
	released.Store(true)
	mustRelease(t, h)
	wantErr(t, "Lock of the first", receive(t, "answer", first).err, context.Canceled)
	mustRelease(t, mustReceive(t, second).hold)
}

// cancelledWhilePassed cancels the first of two waiters while the lock is being handed to it within its process. The
// second one waits there or elsewhere.
func cancelledWhilePassed(t *testing.T, s stage, elsewhere bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var releasing atomic.Bool
	gone := make(chan struct{})
	pass := func() error {
		if releasing.CompareAndSwap(true, false) {
			cancel()
			<-gone
		}
		return nil
	}
	watched := &spy{Client: s.client, failScript: pass, failPipeline: pass}
	locker := newLocker(watched, s.prefix)
	open := func() aLock { return s.kind.open(locker, "m", lock.NewOwner()) }
	h := mustLock(t, open())
	before := watched.answers.Load()
	first := s.lockAsync(ctx, t, open())
	watched.quietSince(t, before)
	second, last := make(chan locked, 1), open()
	other := &spy{Client: s.client}
	if elsewhere {
		last = s.through(other)
	}
	go func() {
		h, err := last.Lock(t.Context())
		second <- locked{h, err, time.Now()}
	}()
	if elsewhere {
		other.quietSince(t, 0)
	}
	eventually(t, "quiet", watched.quiet)
	go func() {
		<-ctx.Done()
		got := <-first
		if got.err == nil {
			_ = got.hold.Release(t.Context()) // the hand-off may have won against the cancellation
		}
		close(gone)
	}()
	releasing.Store(true)
	mustRelease(t, h)
	mustRelease(t, mustReceive(t, second).hold)
}

// handedOn waits in another process while the lock is handed on within the first one, without a message.
func handedOn(t *testing.T, s stage) {
	watched, other := &spy{Client: s.client}, &spy{Client: s.client}
	locker := newLocker(watched, s.prefix)
	open := func() aLock { return s.kind.open(locker, "m", lock.NewOwner()) }
	h := mustLock(t, open())
	before := watched.answers.Load()
	first, second := s.lockAsync(t.Context(), t, open()), make(chan locked, 1)
	watched.quietSince(t, before)
	go func() {
		h, err := s.through(other).Lock(t.Context())
		second <- locked{h, err, time.Now()}
	}()
	other.quietSince(t, 0)
	mustRelease(t, h)
	mustRelease(t, mustReceive(t, first).hold)
	mustRelease(t, mustReceive(t, second).hold)
}

func endedWaitLeavesNothing(t *testing.T, s stage, want error) {
	h := mustLock(t, s.rivals().lock())
	watched := &spy{Client: s.client}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // time enough to subscribe on a busy machine
	if errors.Is(want, context.Canceled) {
		ctx, cancel = context.WithCancel(t.Context())
	}
	defer cancel()
	waiting := s.lockAsync(ctx, t, s.through(watched))
	if errors.Is(want, context.Canceled) {
		eventually(t, "refused", func() bool { return watched.answers.Load() > 0 })
		cancel()
	}
	<-ctx.Done()
	got := receive(t, "answer", waiting)
	wantErr(t, "Lock", got.err, want)
	wantErr(t, "Lock", got.err, lock.ErrNotObtained) // it was refused before it waited
	s.nobodyListens(t)
	s.wantKeys(t, "after the wait", s.kind.locks())
	calls := watched.scripts.Load()
	mustRelease(t, h)
	// No ghost: the lock can be taken, and nothing is asked on behalf of the waiter that left.
	mustRelease(t, mustLock(t, s.lock()))
	if now := watched.scripts.Load(); now != calls {
		t.Errorf("%d scripts were called after the wait had ended", now-calls)
	}
	refusedWhenCancelled(t, s)
}

// refusedWhenCancelled cancels calls of Lock while their first answer is on its way: the error must say both that they
// were refused and that they were cancelled.
func refusedWhenCancelled(t *testing.T, s stage) {
	t.Helper()
	h := mustLock(t, s.rivals().lock())
	refused := 0
	for range 20 { // the cancellation may overtake the answer
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.through(&spy{Client: s.client, afterScript: cancel}).Lock(ctx)
		cancel()
		if errors.Is(err, lock.ErrNoAnswer) { // on a busy machine the answer was late
			continue
		}
		refused++
		wantErr(t, "Lock, cancelled when it was refused", err, context.Canceled)
		wantErr(t, "Lock, cancelled when it was refused", err, lock.ErrNotObtained)
	}
	if refused == 0 {
		t.Error("no call was refused in time")
	}
	mustRelease(t, h)
}

func leaseEnds(t *testing.T, s stage) {
	const lease = 1500 * time.Millisecond // time enough to start waiting on a busy machine
	within(t, lease+2*time.Second, "a wait behind a lease", func() time.Duration {
		begin := time.Now()
		dead := mustLock(t, s.rivals().lock(lock.WithLease(lease)))
		next := mustReceive(t, s.lockAsync(t.Context(), t, s.lock()))
		took := next.at.Sub(begin)
		if took < lease {
			t.Errorf("obtained after %v, before the end of a lease of %v", took, lease)
		}
		wantErr(t, "late Release", dead.Release(t.Context()), lock.ErrNotHeld)
		if got := s.owner(t); got != next.hold.Owner() {
			t.Errorf("owner %q, want the new holder %q", got, next.hold.Owner())
		}
		mustRelease(t, next.hold)
		return took
	})
}

func foreignRelease(t *testing.T, s stage) {
	for _, taken := range []bool{false, true} {
		late := mustLock(t, s.lock(lock.WithLease(2*time.Second))) // a busy machine may stop a process for a second
		eventually(t, "free", func() bool { return !s.state(t).IsLocked() })
		var now aHold
		want := lock.Owner("")
		if taken {
			now = mustLock(t, s.lock())
			want = now.Owner()
		}
		wantErr(t, "late Release", late.Release(t.Context()), lock.ErrNotHeld)
		if got := s.owner(t); got != want {
			t.Errorf("owner %q after the late release, want %q", got, want)
		}
		if taken {
			mustRelease(t, now)
		}
	}
}

func secondRelease(t *testing.T, s stage) {
	listener := s.client.PSubscribe(t.Context(), "*:m*")
	defer func() { _ = listener.Close() }() // no call is under way
	if _, err := listener.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := mustLock(t, s.lock())
	waiting := s.lockAsync(t.Context(), t, s.rivals().lock()) // a mutex publishes only if somebody listens
	mustRelease(t, h)
	next := mustReceive(t, waiting)
	wantErr(t, "second Release", h.Release(t.Context()), lock.ErrNotHeld)
	end := s.prefix + ":m"
	if err := s.client.Publish(t.Context(), end, "end of test").Err(); err != nil {
		t.Fatal(err)
	}
	published := 0
	for {
		msg, err := listener.ReceiveMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if msg.Channel == end {
			break
		}
		if strings.HasPrefix(msg.Channel, s.prefix) {
			published++
		}
	}
	if published < 1 || published > s.kind.locks() { // only one member at a time is waited for
		t.Errorf("%d releases were published, want 1", published)
	}
	mustRelease(t, next.hold)
}

func forceUnlock(t *testing.T, s stage) {
	// The holder notices within a third of the lease. A busy machine may stop a process for seconds.
	const lease = 6 * time.Second
	for _, opt := range []lock.Option{lock.WithRenewedLease(lease), lock.WithLease(2 * lease)} {
		old := mustLock(t, s.lock(opt))
		waiting := s.lockAsync(t.Context(), t, s.rivals().lock())
		was, err := s.lock().ForceUnlock(t.Context())
		if err != nil || !was {
			t.Fatalf("ForceUnlock: %v, %v; want wasHeld", was, err)
		}
		next := mustReceive(t, waiting)
		receive(t, "loss", old.Lost())
		wantErr(t, "Err of the old hold", old.Err(), lock.ErrLost)
		wantErr(t, "Release of the old hold", old.Release(t.Context()), lock.ErrNotHeld)
		if got := s.rivals().owner(t); got != next.hold.Owner() || next.hold.Token() <= old.Token() {
			t.Errorf("owner %q with token %d, want %q with one above %d",
				got, next.hold.Token(), next.hold.Owner(), old.Token())
		}
		mustRelease(t, next.hold)
		if was, err := s.lock().ForceUnlock(t.Context()); err != nil || was {
			t.Errorf("ForceUnlock of a free lock: %v, %v; want not wasHeld", was, err)
		}
	}
}

func stateIsRight(t *testing.T, s stage) {
	observer := s.lock()
	look := func() lock.State {
		state, err := observer.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	free := func(when string) {
		if got := look(); got.IsLocked() || got.TTL() != 0 || got.Token != 0 || len(got.Holders) != 0 {
			t.Errorf("%s: %+v, want a free lock", when, got)
		}
	}
	free("before")
	h := mustLock(t, s.lock(lock.WithLease(soon)))
	got := look()
	if !got.IsLocked() || !got.HeldBy(h.Owner()) || got.HoldCount(h.Owner()) != 1 || got.Token != h.Token() {
		t.Errorf("while held: %+v, want owner %q once with token %d", got, h.Owner(), h.Token())
	}
	if ttl := got.TTL(); ttl <= soon/2 || ttl > soon {
		t.Errorf("while held: time to live %v, want almost %v", ttl, soon)
	}
	if stranger := lock.NewOwner(); got.HeldBy(stranger) || got.HoldCount(stranger) != 0 {
		t.Error("while held: State lists a stranger as holder")
	}
	mustRelease(t, h)
	free("after")
}

func anyNameWorks(t *testing.T, s stage) {
	names := []string{
		"", "a", "a b:c", "{", "}", "{}", "{x}", "a{b}c{d}", "}{", "%7B", "锁",
		strings.Repeat("n", 1024), "new\nline", "\x00",
		"a:reentrant", "a}:reentrant",
	}
	for _, braces := range []string{"", "{}", "{p}:"} {
		locker := newLocker(s.client, s.prefix+braces)
		holds := make([]aHold, len(names)) // all at once: names that shared a key would wait for each other
		for i, name := range names {
			h, err := s.kind.open(locker, name, lock.NewOwner()).TryLock(t.Context())
			if err != nil {
				t.Fatalf("name %q with prefix %q: %v", name, braces, err)
			}
			holds[i] = h
		}
		for _, h := range holds {
			mustRelease(t, h)
		}
	}
}

// stay is the time for which a holder had the lock, and its token.
type stay struct {
	from, to time.Time
	token    int64
}

// checkStays fails if two stays overlap, or if a later stay has no higher token.
func checkStays(t *testing.T, stays []stay) {
	t.Helper()
	slices.SortFunc(stays, func(a, b stay) int { return a.from.Compare(b.from) })
	for i := 1; i < len(stays); i++ {
		if stays[i].from.Before(stays[i-1].to) {
			t.Errorf("two holders at once: %v and %v", stays[i-1], stays[i])
		}
		if stays[i].token <= stays[i-1].token {
			t.Errorf("token %d after %d", stays[i].token, stays[i-1].token)
		}
	}
}

func holdersNeverOverlap(t *testing.T, s stage) {
	const clients, goroutines = 4, 20
	rounds := 50 / s.kind.locks()
	value := s.prefix + "value"
	var mu sync.Mutex
	var stays []stay
	var wg sync.WaitGroup
	for range clients {
		own := ownClient(t, testkit.RedisAddr(t))
		locker := newLocker(own, s.prefix)
		for range goroutines {
			wg.Go(func() {
				for range rounds {
					h, err := insist(t.Context(), s.kind.open(locker, "m", lock.NewOwner()))
					if err != nil {
						t.Errorf("Lock: %v", err)
						return
					}
					from := time.Now()
					if err := raise(t.Context(), own, value); err != nil {
						t.Error(err)
					}
					to := time.Now()
					if err := h.Release(t.Context()); err != nil {
						t.Errorf("Release: %v", err)
					}
					mu.Lock()
					stays = append(stays, stay{from, to, h.Token()})
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	checkStays(t, stays)
	if n, err := s.client.Get(t.Context(), value).Int(); err != nil || n != clients*goroutines*rounds {
		t.Errorf("counted %d, %v; want %d", n, err, clients*goroutines*rounds)
	}
}

// raise adds one to a value by reading and writing it: not atomic, on purpose.
func raise(ctx context.Context, c redis.UniversalClient, key string) error {
	n, err := c.Get(ctx, key).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("read: %w", err)
	}
	return c.Set(ctx, key, n+1, time.Minute).Err()
}
