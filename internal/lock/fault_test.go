package lock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

var faultRows = []row{
	{
		number: 13, group: "Basic", says: "an acquire is cancelled midway: the lock is returned or free",
		run: cancelDuringAcquire,
	},
	{
		number: 14, group: "Basic", says: "the acquire's reply is lost: it counts once or is given up",
		run: acquireReplyLost,
	},
	{
		number: 15, group: "Basic",
		says: "the release's reply is lost: repeating it succeeds and does not harm a successor",
		run:  releaseReplyLost,
	},
	{number: 16, group: "Basic", says: "SCRIPT FLUSH or a restart between calls is invisible", run: forgottenScripts},
	{
		number: 17, group: "Basic", says: "Redis down: an error in time, and recovery with the same client",
		run: redisDown,
	},
}

func cancelDuringAcquire(t *testing.T, s stage) {
	p, through := s.viaProxy(t)
	if err := through.Ping(t.Context()).Err(); err != nil { // connects, so that only the acquire is delayed
		t.Fatal(err)
	}
	p.Delay(60 * time.Millisecond)
	// On a busy machine Redis may not answer a release in time. Then the lease ends the lock.
	const lease = soon / 2
	stalled, stop := measureStalls()
	defer stop()
	givenBack := func() {
		begin := time.Now()
		eventually(t, "given back", func() bool { return s.owner(t) == "" })
		if took := time.Since(begin); took > lease/2 && stalled() < stall {
			t.Fatalf("the lock was left to its lease: given back after %v", took)
		}
	}
	l := s.through(through, lock.WithLease(lease))
	cancelledMidway(t, func() aLock { return l }, 90*time.Millisecond)
	givenBack() // takes longer than the call, because of the delay
	p.Heal()

	// The same with a cancellation at random moments.
	for range 200 {
		stalled()
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(2*time.Millisecond))
		h, err := l.TryLock(ctx)
		cancel()
		if err == nil {
			mustRelease(t, h)
		}
		givenBack()
	}
}

// cancelledMidway calls TryLock under a context that ends after d, while the answer is on its way. On a busy machine
// the answer may win against the deadline, so it tries again.
func cancelledMidway(t *testing.T, open func() aLock, d time.Duration) {
	t.Helper()
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		h, err := open().TryLock(ctx)
		cancel()
		if err != nil {
			return
		}
		mustRelease(t, h)
	}
	t.Fatal("obtained despite the delay")
}

func acquireReplyLost(t *testing.T, s stage) {
	for lost := 1; lost <= 3; lost++ {
		p, through := s.viaProxy(t)
		if err := through.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		p.DropRepliesTo("evalsha", lost)
		// WithoutCancel: a call that can be cancelled would ask a third time if a busy machine takes 50 ms.
		h, err := s.through(through).TryLock(context.WithoutCancel(t.Context()))
		if p.Lost() != lost {
			t.Fatalf("%d answers were lost, want %d", p.Lost(), lost)
		}
		state := s.state(t)
		if lost > 1 { // both tries of the acquire and one of the release were lost
			if err == nil || errors.Is(err, lock.ErrNotObtained) {
				t.Errorf("TryLock: %v, want the connection's error", err)
			}
			if state.IsLocked() {
				t.Errorf("the lock was left to %v", state.Holders)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if state.HoldCount(h.Owner()) != 1 || state.Token != h.Token() {
			t.Errorf("%+v, want one hold with token %d", state, h.Token())
		}
		mustRelease(t, h)
		if got := s.owner(t); got != "" {
			t.Errorf("owner %q after one release", got)
		}
	}
	acquireArrivesLate(t, s)
	firstAcquireArrivesLast(t, s)
	if s.kind.parts == 0 {
		sharedReplyLost(t, s)
	}
	if s.kind.name == "Mutex" {
		handOffArrivesLate(t, s)
	}
}

// sharedReplyLost takes many locks at the same moment, and releases them at the same moment. The answer to the request
// that they share is lost.
func sharedReplyLost(t *testing.T, s stage) {
	t.Helper()
	const locks = 40
	holds := make([]aHold, locks)
	for _, releases := range []bool{false, true} {
		own := s
		own.prefix += fmt.Sprint("shared", releases, ":")
		watched := &spy{Client: s.client, losePipelines: 1, unhurried: true}
		locker := newLocker(watched, own.prefix)
		open := func(i int) aLock { return s.kind.open(locker, strconv.Itoa(i), lock.NewOwner()) }
		take := func(i int) (err error) {
			holds[i], err = open(i).TryLock(t.Context())
			return err
		}
		shared := take
		if releases {
			for i := range holds {
				if err := take(i); err != nil {
					t.Fatal(err)
				}
			}
			shared = func(i int) error { return holds[i].Release(t.Context()) }
		}
		var asked atomic.Int64
		gate := make(chan struct{})
		watched.failScript = func() error {
			switch asked.Add(1) {
			case 1: // blocks until the other calls wait
				<-gate
			case 2: // so that one of the two senders sends all the others
				eventually(t, "lost", func() bool { return watched.renewals.Load() > 0 })
			}
			return nil
		}
		var all sync.WaitGroup
		for i := range locks {
			all.Go(func() {
				if err := shared(i); err != nil {
					t.Errorf("lock %d, releases %v: %v", i, releases, err)
				}
			})
		}
		eventually(t, "waiting to be sent", func() bool { return lock.Unsent(locker) == locks-2 })
		close(gate)
		all.Wait()
		if t.Failed() {
			return
		}
		if n := watched.lost.Load(); n != locks-2 {
			t.Errorf("%d calls shared one request, want %d", n, locks-2)
		}
		for i, h := range holds {
			state, err := s.kind.open(newLocker(s.client, own.prefix), strconv.Itoa(i), "").State(t.Context())
			if want := map[bool]int{false: 1, true: 0}[releases]; err != nil || state.HoldCount(h.Owner()) != want {
				t.Errorf("lock %d, releases %v: %+v (%v), want %d holds", i, releases, state, err, want)
			}
		}
	}
}

// stuck holds back the acquires before the first release, as a network might, and reports their answers as lost.
type stuck struct {
	lock.Client
	kept []func() error
	most int
}

func (s *stuck) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if len(s.kept) == s.most {
		return s.Client.EvalSha(ctx, sha, keys, args...)
	}
	late := context.WithoutCancel(ctx)
	s.kept = append(s.kept, func() error { return s.Client.EvalSha(late, sha, keys, args...).Err() })
	lost := redis.NewCmd(ctx)
	lost.SetErr(io.ErrUnexpectedEOF)
	return lost
}

// acquireArrivesLate delivers acquires after they were given up.
func acquireArrivesLate(t *testing.T, s stage) {
	mustRelease(t, mustLock(t, s.lock())) // loads the scripts into Redis
	network := &stuck{Client: s.client, most: 2}
	_, err := s.through(network).TryLock(t.Context())
	wantErr(t, "TryLock", err, io.ErrUnexpectedEOF)
	if len(network.kept) != 2 {
		t.Fatalf("asked %d times, want 2", len(network.kept))
	}
	for _, arrive := range network.kept {
		if err := arrive(); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.owner(t); got != "" {
		t.Errorf("a late acquire took the lock: %q", got)
	}
}

// plainly is a stuck client that is known to send each command once.
type plainly struct{ *stuck }

func (plainly) Options() *redis.Options { return &redis.Options{} }

// firstAcquireArrivesLast delivers the first copy of a repeated acquire after the lock was released. It tries several
// times, because the script behaves differently within milliseconds of the release.
func firstAcquireArrivesLast(t *testing.T, s stage) {
	for range 30 {
		network := &stuck{Client: s.client, most: 1}
		mustRelease(t, mustLock(t, s.through(plainly{network})))
		if len(network.kept) != 1 {
			t.Fatalf("%d acquires are on their way, want 1", len(network.kept))
		}
		if err := network.kept[0](); err != nil {
			t.Fatal(err)
		}
		if got := s.owner(t); got != "" {
			t.Fatalf("a late acquire took the lock: %q", got)
		}
	}
}

// stuckHandOff holds back the first hand-off of a mutex and reports its answer as lost.
type stuckHandOff struct {
	lock.Client
	kept atomic.Pointer[func() error]
}

func (*stuckHandOff) Options() *redis.Options { return &redis.Options{} }

func (s *stuckHandOff) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	late := func() error { return s.Client.EvalSha(context.WithoutCancel(ctx), sha, keys, args...).Err() }
	const handOffKeys = 4
	if len(keys) != handOffKeys || !s.kept.CompareAndSwap(nil, &late) {
		return s.Client.EvalSha(ctx, sha, keys, args...)
	}
	lost := redis.NewCmd(ctx)
	lost.SetErr(io.ErrUnexpectedEOF)
	return lost
}

// handOffArrivesLate delivers the first copy of a repeated hand-off after the next holder has released as well.
func handOffArrivesLate(t *testing.T, s stage) {
	network := &stuckHandOff{Client: s.client}
	locker := newLocker(network, s.prefix)
	h := mustLock(t, one(locker.Mutex("m")))
	waiting := s.lockAsync(t.Context(), t, one(locker.Mutex("m")))
	eventually(t, "handed on", func() bool { // the waiter may not have queued yet
		mustRelease(t, h)
		h = mustReceive(t, waiting).hold
		if network.kept.Load() != nil {
			return true
		}
		waiting = s.lockAsync(t.Context(), t, one(locker.Mutex("m")))
		return false
	})
	mustRelease(t, h)
	if err := (*network.kept.Load())(); err != nil {
		t.Fatal(err)
	}
	if got := s.owner(t); got != "" {
		t.Errorf("a late hand-off took the lock: %q", got)
	}
}

func releaseReplyLost(t *testing.T, s stage) {
	for _, repeats := range []bool{false, true} {
		p, through := s.viaProxy(t)
		watched := &spy{Client: through, repeats: repeats}
		releaseIsRepeated(t, s, p, watched)
		lossIsToldAllTheSame(t, s, p, watched)
	}
	releaseIsUnheard(t, s)
	if s.kind.name == "Mutex" {
		releaseBehindOthers(t, s)
		handedOnUnheard(t, s)
	}
}

// unheard is a client that loses the answers to the next scripts, which Redis runs.
type unheard struct {
	lock.Client
	next atomic.Int64 // how many answers to lose; below 0: none left
}

func (*unheard) Options() *redis.Options {
	return &redis.Options{ContextTimeoutEnabled: true}
}

func (u *unheard) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	cmd := u.Client.EvalSha(ctx, sha, keys, args...)
	if u.next.Add(-1) < 0 {
		return cmd
	}
	deadline, limited := ctx.Deadline()
	if !limited {
		deadline = time.Now().Add(soon)
	}
	time.Sleep(time.Until(deadline))
	lost := redis.NewCmd(ctx)
	lost.SetErr(os.ErrDeadlineExceeded)
	return lost
}

// releaseIsUnheard releases on a connection that gives no answer. Time must be left to ask on another one, also while
// Redis counts as slow.
func releaseIsUnheard(t *testing.T, s stage) {
	t.Helper()
	s.prefix += "unheard:"
	network := &unheard{Client: s.client}
	l := s.through(network)
	for range 2 {
		unlessStalled(t, func(int) error { // half of the release's time is left: a busy machine may take it away
			h := mustLock(t, l)
			network.next.Store(1)
			if err := h.Release(t.Context()); err != nil {
				mustRelease(t, h)
				return err
			}
			if got := s.owner(t); got != "" {
				t.Errorf("owner %q after the release", got)
			}
			return nil
		})
	}
}

// releaseBehindOthers queues a release behind two calls of the same Locker that get no answer.
func releaseBehindOthers(t *testing.T, s stage) {
	t.Helper()
	s.prefix += "behind:"
	network := &unheard{Client: s.client}
	within(t, unaided, "a release behind two calls", func() time.Duration {
		locker, begin := newLocker(network, s.prefix), time.Now()
		h := mustLock(t, locker.Mutex("m"))
		network.next.Store(2)
		var others errgroup.Group
		for i := range 2 {
			others.Go(func() error {
				other, err := locker.Mutex(strconv.Itoa(i)).TryLock(context.WithoutCancel(t.Context()))
				if err != nil {
					return err
				}
				return other.Release(t.Context())
			})
		}
		eventually(t, "asking", func() bool { return network.next.Load() <= 0 })
		failed := h.Release(t.Context())
		failed = errors.Join(failed, others.Wait())
		took := time.Since(begin)
		if failed != nil {
			t.Logf("a release behind two calls: %v", failed)
			return time.Hour // the machine is busy, in all tries or not
		}
		return took
	})
}

// handedOnUnheard hands a mutex on by a release that gets no answer. The next lease began with the first request.
func handedOnUnheard(t *testing.T, s stage) {
	t.Helper()
	s.prefix += "handed on:"
	network := &unheard{Client: s.client}
	locker := newLocker(network, s.prefix)
	h := mustLock(t, locker.Mutex("m"))
	waiting := s.lockAsync(t.Context(), t, s.kind.open(locker, "m", lock.NewOwner(), lock.WithLease(soon)))
	network.next.Store(1)
	mustRelease(t, h)
	next := mustReceive(t, waiting).hold
	left := s.state(t).Holders[0].TTL
	if late := next.ValidUntil().Sub(time.Now().Add(left)); late > 0 {
		t.Errorf("the next hold is relied on for %v after its lease", late)
	}
	mustRelease(t, next)
}

// lossIsToldAllTheSame loses the answers to releases of locks that had already been lost.
func lossIsToldAllTheSame(t *testing.T, s stage, p *testkit.Proxy, through lock.Client) {
	for what, lose := range map[string]func(){
		"forced": func() {
			if _, err := s.lock().ForceUnlock(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"deleted": func() {
			if err := s.client.Del(t.Context(), s.remains(t)...).Err(); err != nil {
				t.Fatal(err)
			}
		},
		"over": func() { eventually(t, "free", func() bool { return !s.state(t).IsLocked() }) },
	} {
		for successors := range 3 {
			h := mustLock(t, s.through(through, lock.WithLease(5*time.Second)))
			lose()
			for range successors {
				mustRelease(t, mustLock(t, s.lock()))
			}
			p.DropRepliesTo("evalsha", 1)
			if err := release(t, h); !errors.Is(err, lock.ErrNotHeld) {
				t.Errorf("Release of a lock that was %s, %d successors ago: %v, want ErrNotHeld", what, successors, err)
			}
		}
	}
}

func releaseIsRepeated(t *testing.T, s stage, p *testkit.Proxy, watched *spy) {
	locker := newLocker(watched, s.prefix)
	l := s.kind.open(locker, "m", lock.NewOwner())

	h := mustLock(t, l)
	p.DropRepliesTo("evalsha", 1)
	mustRelease(t, h)
	if got := s.owner(t); got != "" || p.Lost() != 1 {
		t.Errorf("owner %q after the release, %d answers lost; want nobody, 1", got, p.Lost())
	}

	h = mustLock(t, l)
	p.DropRepliesTo("evalsha", 2)
	if err := h.Release(t.Context()); err == nil || errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Release without an answer: %v, want the connection's error", err)
	}
	successor := mustLock(t, s.lock())
	mustRelease(t, h) // it had been released: success, and the successor is unharmed
	if got := s.owner(t); got != successor.Owner() {
		t.Errorf("owner %q after the repeated release, want %q", got, successor.Owner())
	}
	mustRelease(t, successor)

	for lost := range 3 { // with a waiter in the same process; 0 first, to load the script
		unlessStalled(t, func(int) error { // a busy machine may keep the other answers away as well
			h := mustLock(t, l)
			before := watched.answers.Load()
			next := s.lockAsync(t.Context(), t, s.rivals().kind.open(locker, "m", lock.NewOwner()))
			watched.quietSince(t, before)
			p.DropRepliesTo("evalsha", lost)
			// The second lost answer may be the waiter's, which is awake by then.
			failed := h.Release(t.Context())
			if errors.Is(failed, lock.ErrNotHeld) {
				t.Errorf("Release after %d lost answers: %v", lost, failed)
			} else if failed != nil { // its outcome is unknown
				mustRelease(t, h)
			}
			got := receive(t, "lock", next)
			if got.err != nil {
				failed = errors.Join(failed, got.err)
				got.hold = mustLock(t, l)
			}
			mustRelease(t, got.hold)
			if failed != nil && lost < 2 { // with two, each may have had one, or one of them both
				return fmt.Errorf("after %d lost answers: %w", lost, failed)
			}
			return nil
		})
	}

	h = mustLock(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Release(ctx); err != nil {
		t.Errorf("Release under a cancelled context: %v", err)
	}
}

func forgottenScripts(t *testing.T, s stage) {
	s, server := s.onOwnServer(t)
	const lease = 6 * time.Second // a busy machine may stop a process for three seconds
	l := s.lock(lock.WithRenewedLease(lease))
	for range 2 {
		unlessStalled(t, func(int) error {
			h := mustLock(t, l)
			if err := s.client.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			return keeps(t, h, lease+lease/4) // renewed despite the flush
		})
	}
	server.Kill()
	server.Start()
	mustRelease(t, mustLock(t, l))
}

func redisDown(t *testing.T, s stage) {
	s, server := s.onOwnServer(t)
	l := s.lock()
	h := mustLock(t, l)
	watched := &spy{Client: s.client}
	waiting := s.lockAsync(t.Context(), t, s.rivals().through(watched, lock.WithLease(soon)))
	watched.quietSince(t, 0)
	server.Kill()
	for what, call := range map[string]func() error{
		"TryLock":     func() error { _, err := l.TryLock(t.Context()); return err },
		"Lock":        func() error { _, err := l.Lock(t.Context()); return err },
		"Release":     func() error { return h.Release(t.Context()) },
		"State":       func() error { _, err := l.State(t.Context()); return err },
		"ForceUnlock": func() error { _, err := l.ForceUnlock(t.Context()); return err },
	} {
		begin := time.Now()
		if err := call(); err == nil || errors.Is(err, lock.ErrNotObtained) || errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("%s: %v, want the connection's error", what, err)
		}
		if took := time.Since(begin); took > soon {
			t.Errorf("%s took %v", what, took)
		}
	}
	server.Start()
	mustNotBeHeld(t, "Release after an empty restart", h)
	if got := receive(t, "answer", waiting); got.err == nil { // subscribing again makes it ask
		mustRelease(t, got.hold)
	} else if errors.Is(got.err, lock.ErrNotObtained) { // on a busy machine it may ask before that
		t.Errorf("Lock: %v", got.err)
	}
	mustRelease(t, mustLock(t, l))
	silent(t, s, server.Addr)
}

// silent calls a Redis that accepts connections but never answers.
func silent(t *testing.T, s stage, addr string) {
	t.Helper()
	p, through := proxied(t, addr)
	l := s.through(through)
	h := mustLock(t, l)
	p.Blackhole()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := s.through(through).TryLock(ctx); err == nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("TryLock of a silent Redis: %v, want the deadline", err)
	}
	if took := time.Since(begin); took > soon { // the deadline, then the release of what may have been obtained
		t.Errorf("TryLock of a silent Redis took %v", took)
	}
	p.Heal()
	mustRelease(t, h)
}
