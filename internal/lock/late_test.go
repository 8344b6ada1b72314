package lock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/lock"
)

var lateRows = []row{
	{
		number: 67, group: "Late",
		says: "a Lock answered later than its lease asks again until its context ends; TryLock is ErrNoAnswer",
		run:  lateAnswers,
	},
	{
		number: 68, group: "Late",
		says: "200 callers on a silent server: each has ErrNoAnswer or its context's error, shared calls or not",
		run:  crowdOnASilentServer,
	},
	{
		number: 72, group: "Late",
		says: "a lease counts from the sending of the request: an acquire, a Refresh, a release that hands it on",
		run:  leasesCountFromSending,
	},
}

// lateness delays the next answers of a client.
type lateness struct {
	spy

	next    atomic.Int64 // how many are delayed
	by      time.Duration
	arrived atomic.Int64 // Unix nanoseconds, when the last answer was there, before its delay
}

// lateClient returns a client whose answers can be delayed. Its calls have no deadline, so none is repeated.
func (s stage) lateClient(by time.Duration) *lateness {
	l := &lateness{spy: spy{Client: s.client, repeats: true, unhurried: true}, by: by}
	l.afterScript = l.delay
	l.afterPipeline = l.delay
	return l
}

func (l *lateness) delay() {
	l.arrived.Store(time.Now().UnixNano())
	if l.next.Add(-1) >= 0 {
		time.Sleep(l.by)
	}
}

// lateAnswers lets answers take longer than the lease.
func lateAnswers(t *testing.T, s stage) {
	const lease = 500 * time.Millisecond
	few := int64(3 * s.kind.locks())
	fixed := lock.WithLease(lease)
	t.Run("TryLock", func(t *testing.T) {
		t.Parallel()
		own := s
		own.prefix += "try:"
		late := own.lateClient(lease + 100*time.Millisecond)
		l := own.through(late, fixed)
		late.next.Store(1 << 30)
		h, err := l.TryLock(t.Context())
		late.next.Store(0)
		if h != nil || !errors.Is(err, lock.ErrNoAnswer) || errors.Is(err, lock.ErrLost) ||
			errors.Is(err, lock.ErrNotObtained) {
			t.Errorf("TryLock: %v, %v; want ErrNoAnswer alone", h, err)
		}
		mustRelease(t, mustLock(t, own.rivals().lock(fixed)))
	})
	t.Run("Lock of a free lock", func(t *testing.T) {
		t.Parallel()
		own := s
		own.prefix += "free:"
		late := own.lateClient(lease + 100*time.Millisecond)
		l := own.through(late, fixed)
		late.next.Store(few)
		own.holdInTime(t, func() aHold { return mustLock(t, l) })
	})
	t.Run("Lock that waits", func(t *testing.T) {
		t.Parallel()
		own := s
		own.prefix += "waits:"
		h := mustLock(t, own.rivals().lock())
		late := own.lateClient(lease + 100*time.Millisecond)
		waiting := own.lockAsync(t.Context(), t, own.through(late, fixed))
		late.next.Store(few)
		mustRelease(t, h)
		own.holdInTime(t, func() aHold { return mustReceive(t, waiting).hold })
	})
	t.Run("Lock in the same process", func(t *testing.T) { // a mutex is handed on by the release
		t.Parallel()
		own := s
		own.prefix += "process:"
		late := own.lateClient(lease + 100*time.Millisecond)
		locker := newLocker(late, own.prefix)
		h := mustLock(t, own.rivals().kind.open(locker, "m", lock.NewOwner()))
		waiting := own.lockAsync(t.Context(), t, own.kind.open(locker, "m", lock.NewOwner(), fixed))
		late.next.Store(few)
		mustRelease(t, h)
		own.holdInTime(t, func() aHold { return mustReceive(t, waiting).hold })
	})
	t.Run("Lock until its context ends", func(t *testing.T) {
		t.Parallel()
		own := s
		own.prefix += "ends:"
		late := own.lateClient(lease + 100*time.Millisecond)
		l := own.through(late, fixed)
		late.next.Store(1 << 30)
		ctx, cancel := context.WithTimeout(t.Context(), 4*lease)
		defer cancel()
		_, err := l.Lock(ctx)
		late.next.Store(0)
		wantErr(t, "Lock", err, context.DeadlineExceeded)
		wantErr(t, "Lock", err, lock.ErrNoAnswer)
		if errors.Is(err, lock.ErrLost) || errors.Is(err, lock.ErrNotObtained) || ctx.Err() == nil {
			t.Errorf("Lock: %v; want ErrNoAnswer and the context's error", err)
		}
		eventually(t, "free", func() bool { return len(own.remains(t)) == 0 })
	})
}

// holdInTime takes a lock whose first answers are late. On a busy machine its lease may be over when the test looks.
func (s stage) holdInTime(t *testing.T, take func() aHold) {
	t.Helper()
	h := take()
	if err := h.Release(t.Context()); err != nil && !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Release: %v", err)
	}
	mustRelease(t, mustLock(t, s.rivals().lock()))
}

// crowdOnASilentServer lets many callers ask at once.
func crowdOnASilentServer(t *testing.T, s stage) {
	const callers = 200
	for name, slow := range map[string]bool{"prompt": false, "slow": true} {
		for _, repeats := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, repeats %v", name, repeats), func(t *testing.T) {
				t.Parallel()
				own := s
				own.prefix += fmt.Sprint(name, repeats, ":")
				p, through := own.viaProxy(t)
				if err := through.Ping(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				locker := newLocker(&spy{Client: through, repeats: repeats}, own.prefix)
				if slow {
					lock.AnswersAreSlow(locker)
				}
				p.Blackhole()
				var asking sync.WaitGroup
				for i := range callers {
					asking.Go(func() {
						ctx := t.Context()
						if i%3 > 0 {
							var cancel context.CancelFunc
							ctx, cancel = context.WithTimeout(ctx, time.Duration(i%3)*time.Second)
							defer cancel()
						}
						l := own.kind.open(locker, fmt.Sprint("m", i%7), lock.NewOwner())
						err := ask(ctx, l, []string{"TryLock", "Lock", "Do"}[i%7%3])
						ended := ctx.Err() != nil && errors.Is(err, ctx.Err())
						if !ended && !errors.Is(err, lock.ErrNoAnswer) || errors.Is(err, lock.ErrNotObtained) {
							t.Errorf("caller %d: %v; want ErrNoAnswer or the context's error", i, err)
						}
					})
				}
				asking.Wait()
			})
		}
	}
}

// leasesCountFromSending delays the answers of what begins a lease.
func leasesCountFromSending(t *testing.T, s stage) {
	const lease, by = 30 * time.Second, time.Second // the margin for clocks that drift is 302 ms
	late := s.lateClient(by)
	locker := newLocker(late, s.prefix)
	fixed := lock.WithLease(lease)
	open := func(k kind) aLock { return k.open(locker, "m", lock.NewOwner(), fixed) }
	relied := func(what string, h aHold) {
		t.Helper()
		if over := h.ValidUntil(); over.After(time.Unix(0, late.arrived.Load()).Add(lease)) {
			t.Errorf("%s: relied on until %v after its answer had come, longer than its lease of %v", what,
				over.Sub(time.Unix(0, late.arrived.Load())), lease)
		}
	}
	late.next.Store(1 << 30)
	h := mustLock(t, open(s.rivals().kind))
	relied("obtained", h)
	if err := h.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	relied("refreshed", h)
	late.next.Store(0)
	waiting := s.lockAsync(t.Context(), t, open(s.kind))
	late.next.Store(1 << 30)
	mustRelease(t, h)
	got := mustReceive(t, waiting).hold
	relied("handed on, or obtained after a wait", got)
	late.next.Store(0)
	mustRelease(t, got)
}
