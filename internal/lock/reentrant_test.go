package lock_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"seckill/internal/lock"
)

var reentrantRows = []row{
	{
		number: 18, group: "Reentrant", says: "k acquires need k releases; others wait until the last",
		run: countedHolds, anywhere: true,
	},
	{
		number: 19, group: "Reentrant", says: "a partial release keeps the right lease",
		run: partialRelease, anywhere: true,
	},
	{
		number: 20, group: "Reentrant", says: "a lock that is not reentrant refuses re-entry at once",
		run: reentryIsAnError, anywhere: true,
	},
}

func countedHolds(t *testing.T, s stage) {
	const k = 5
	locker, owner := newLocker(s.client, s.prefix), lock.NewOwner()
	l := s.kind.open(locker, "m", owner)
	var holds []aHold
	for i := range k {
		h := mustLock(t, l)
		holds = append(holds, h)
		if n := s.state(t).HoldCount(owner); n != i+1 {
			t.Errorf("%d holds after %d acquires", n, i+1)
		}
		if h.Token() != holds[0].Token() || h.Owner() != owner {
			t.Errorf("token %d, owner %q; want those of the first hold, %d and %q",
				h.Token(), h.Owner(), holds[0].Token(), owner)
		}
	}
	for i, h := range holds {
		_, err := s.rivals().lock().TryLock(t.Context())
		wantErr(t, "TryLock of another owner", err, lock.ErrNotObtained)
		mustRelease(t, h)
		wantErr(t, "second Release", h.Release(t.Context()), lock.ErrNotHeld)
		if n := s.state(t).HoldCount(owner); n != k-i-1 {
			t.Errorf("%d holds after %d releases", n, i+1)
		}
	}
	mustRelease(t, mustLock(t, s.lock()))

	// The last release wakes a waiter; an earlier one must not free the lock.
	outer, inner := mustLock(t, l), mustLock(t, l)
	waiting := s.lockAsync(t.Context(), t, s.rivals().lock())
	mustRelease(t, outer)
	if !s.state(t).HeldBy(owner) {
		t.Error("the release of the outer hold freed the inner one")
	}
	mustRelease(t, inner)
	mustRelease(t, mustReceive(t, waiting).hold)
}

func partialRelease(t *testing.T, s stage) {
	locker, owner := newLocker(s.client, s.prefix), lock.NewOwner()
	open := func(d time.Duration) aLock { return s.kind.open(locker, "m", owner, lock.WithLease(d)) }
	for _, tc := range []struct{ outer, inner time.Duration }{
		{10 * time.Second, 40 * time.Second}, {40 * time.Second, 10 * time.Second},
	} {
		outer, inner := mustLock(t, open(tc.outer)), mustLock(t, open(tc.inner))
		checkTTL(t, s, "both held", max(tc.outer, tc.inner))
		mustRelease(t, inner)
		checkTTL(t, s, "inner released", tc.outer)
		again := mustLock(t, open(tc.inner))
		mustRelease(t, outer)
		checkTTL(t, s, "outer released", tc.inner)
		mustRelease(t, again)
	}
}

// checkTTL fails unless the lock's time to live is almost d.
func checkTTL(t *testing.T, s stage, when string, d time.Duration) {
	t.Helper()
	if got := s.state(t).TTL(); got > d || got < d-8*time.Second {
		t.Errorf("%s: time to live %v, want almost %v", when, got, d)
	}
}

func reentryIsAnError(t *testing.T, s stage) {
	l := s.lock()
	err := l.Do(t.Context(), func(ctx context.Context, h aHold) error {
		for what, again := range map[string]func() error{
			"Lock":    func() error { _, err := l.Lock(ctx); return err },
			"TryLock": func() error { _, err := l.TryLock(ctx); return err },
		} {
			begin := time.Now()
			err := again()
			wantErr(t, what, err, lock.ErrReentry)
			wantErr(t, what, err, lock.ErrNotObtained)
			if took := time.Since(begin); took > soon {
				t.Errorf("%s took %v", what, took)
			}
		}
		if n := s.state(t).HoldCount(h.Owner()); n != 1 {
			t.Errorf("%d holds, want 1", n)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	// A context of a hold that is over is like any other.
	h := mustLock(t, l)
	under, cancel := h.Context(t.Context())
	defer cancel()
	mustRelease(t, h)
	again, err := l.TryLock(context.WithoutCancel(under))
	if err != nil {
		t.Fatalf("TryLock under a context of a released hold: %v", err)
	}
	mustRelease(t, again)
}

func TestReentrantHoldsAreLostAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t, "Reentrant")
	locker, owner := newLocker(s.client, s.prefix), lock.NewOwner()
	outer := mustLock(t, locker.Reentrant("m", owner, lock.WithRenewedLease(5*time.Second)))
	inner := mustLock(t, locker.Reentrant("m", owner, lock.WithLease(2*time.Second)))
	receive(t, "loss of the inner hold", inner.Lost())
	eventually(t, "one hold", func() bool { return s.state(t).HoldCount(owner) == 1 })
	wantErr(t, "late Release", inner.Release(t.Context()), lock.ErrNotHeld)
	if err := outer.Err(); err != nil {
		t.Errorf("the outer hold: %v", err)
	}
	mustRelease(t, outer)
}

func TestDo(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		s := newStage(t, k.name)
		l := s.lock()
		for _, tc := range []struct {
			name string
			f    func(context.Context, aHold) error
			want error
		}{
			{"success", func(ctx context.Context, h aHold) error { return errors.Join(ctx.Err(), h.Err()) }, nil},
			{"its error", func(context.Context, aHold) error { return io.ErrUnexpectedEOF }, io.ErrUnexpectedEOF},
			{"busy", func(ctx context.Context, _ aHold) error {
				twice := errors.New("ran twice")
				return s.rivals().lock().TryDo(ctx, func(context.Context, aHold) error { return twice })
			}, lock.ErrNotObtained},
			{"lost meanwhile", func(ctx context.Context, _ aHold) error {
				_, err := l.ForceUnlock(ctx)
				return err
			}, lock.ErrNotHeld},
		} {
			for how, do := range map[string]func(context.Context, func(context.Context, aHold) error) error{
				"Do": l.Do, "TryDo": l.TryDo,
			} {
				if err := do(t.Context(), tc.f); !errors.Is(err, tc.want) {
					t.Errorf("%s, %s, %s: %v, want %v", k.name, how, tc.name, err, tc.want)
				}
				if got := s.owner(t); got != "" {
					t.Errorf("%s, %s, %s: still held", k.name, how, tc.name)
				}
			}
		}
	}
}

func TestDoReleasesAfterAPanic(t *testing.T) {
	t.Parallel()
	s := newStage(t, "Mutex")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		err := s.lock().Do(t.Context(), func(context.Context, aHold) error { panic("bug") })
		t.Errorf("Do returned %v", err)
	}()
	if got := s.owner(t); got != "" {
		t.Error("still held")
	}
}

func TestInvalidLease(t *testing.T) {
	t.Parallel()
	s := newStage(t, "Mutex")
	for _, d := range []time.Duration{-time.Second, 0, time.Millisecond, lock.MinLease - 1} {
		_, err := s.lock(lock.WithLease(d)).TryLock(t.Context())
		wantErr(t, "TryLock", err, lock.ErrInvalidLease)
		_, err = s.lock(lock.WithRenewedLease(d)).Lock(t.Context())
		wantErr(t, "Lock", err, lock.ErrInvalidLease)
	}
}
