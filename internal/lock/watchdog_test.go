package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

var watchdogRows = []row{
	{number: 21, group: "Watchdog", says: "held for five leases: never lost", run: renewedIsKept},
	{
		number: 22, group: "Watchdog", says: "a holder killed with SIGKILL leaves the lock free within its lease",
		run: killedHolder,
	},
	{
		number: 23, group: "Watchdog", says: "no renewal after the release, in 10,000 tight loops",
		run: noRenewalAfterRelease,
	},
	{number: 24, group: "Watchdog", says: "a cancelled acquire starts no renewal", run: cancelledIsNotRenewed},
	{
		number: 25, group: "Watchdog", says: "key deleted or taken, or Redis restarted empty: the holder is notified",
		run: lossIsTold,
	},
	{
		number: 26, group: "Watchdog", says: "Redis unreachable: the holder is notified before the lease can end there",
		run: lossIsToldInTime,
	},
	{
		number: 27, group: "Watchdog", says: "1,000 holds are renewed in batches; one failure stops no other",
		run: batchedRenewal,
	},
	{number: 28, group: "Watchdog", says: "a fixed lease is not renewed", run: limitedLease},
}

func renewedIsKept(t *testing.T, s stage) {
	unlessStalled(t, func(times int) error {
		lease := time.Duration(times) * 1500 * time.Millisecond
		h := mustLock(t, s.lock(lock.WithRenewedLease(lease)))
		ctx, cancel := h.Context(t.Context())
		defer cancel()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * lease): // the lock must not be lost
		}
		d := s.state(t).TTL()
		if err := h.Release(t.Context()); err != nil {
			return err
		}
		if d <= 0 || d > lease {
			t.Errorf("time to live %v, want at most %v", d, lease)
		}
		receive(t, "end of the context", ctx.Done())
		wantErr(t, "cause after the release", context.Cause(ctx), lock.ErrNotHeld)
		wantErr(t, "Err after the release", h.Err(), lock.ErrNotHeld)
		select {
		case <-h.Lost():
			t.Error("a release counted as a loss")
		default:
		}
		return nil
	})
}

func limitedLease(t *testing.T, s stage) {
	for _, tc := range []struct {
		name  string
		opts  []lock.Option
		least time.Duration
	}{
		{"lease given", []lock.Option{lock.WithLease(2 * time.Second)}, 0},
		{
			"longest hold",
			[]lock.Option{lock.WithRenewedLease(2 * time.Second), lock.WithMaxHold(3 * time.Second)},
			3 * time.Second,
		},
	} {
		unlessStalled(t, func(int) error { // a busy machine may renew too late
			begin := time.Now()
			h := mustLock(t, s.lock(tc.opts...))
			over := time.Now().Add(2 * time.Second) // when Redis ends the lease at the latest, unless renewed
			ctx, cancel := h.Context(t.Context())
			defer cancel()
			receive(t, "loss", h.Lost())
			took, asked := time.Since(begin), time.Now()
			if left := s.state(t).TTL(); tc.least == 0 && left > max(over.Sub(asked), 0)+100*time.Millisecond {
				t.Errorf("%s: time to live %v, %v before it should end", tc.name, left, over.Sub(asked))
			}
			receive(t, "end of the context", ctx.Done())
			wantErr(t, "cause", context.Cause(ctx), lock.ErrLost)
			late, cancelLate := h.Context(t.Context())
			defer cancelLate()
			wantErr(t, "cause of a later context", context.Cause(late), lock.ErrLost)
			eventually(t, "free", func() bool { return !s.state(t).IsLocked() })
			if took < tc.least {
				return fmt.Errorf("%s: lost after %v, want %v at least", tc.name, took, tc.least)
			}
			return nil
		})
	}
}

func lossIsTold(t *testing.T, s stage) {
	const lease = 1500 * time.Millisecond // a busy machine may stop a process for a second
	s, server := s.onOwnServer(t)
	for _, tc := range []struct {
		name string
		lose func() (after func())
	}{
		{"deleted", func() func() {
			if err := s.client.Del(t.Context(), s.remains(t)...).Err(); err != nil {
				t.Fatal(err)
			}
			return func() {}
		}},
		{"taken", func() func() {
			if err := s.client.Del(t.Context(), s.remains(t)...).Err(); err != nil {
				t.Fatal(err)
			}
			thief := mustLock(t, s.lock())
			return func() { mustRelease(t, thief) }
		}},
		{"restarted empty", func() func() { server.Kill(); server.Start(); return func() {} }},
	} {
		l := s.lock(lock.WithRenewedLease(lease))
		h := mustLock(t, l)
		after := tc.lose()
		receive(t, "loss", h.Lost())
		wantErr(t, tc.name+": Err", h.Err(), lock.ErrLost)
		mustNotBeHeld(t, tc.name+": Release", h)
		after()
		unlessStalled(t, func(times int) error {
			longer := time.Duration(times) * lease
			if times > 1 {
				l = s.lock(lock.WithRenewedLease(longer))
			}
			return keeps(t, mustLock(t, l), longer+longer/4)
		})
	}
}

func lossIsToldInTime(t *testing.T, s stage) {
	const lease, tries = 1500 * time.Millisecond, 20
	for _, tc := range []struct {
		name  string
		opt   lock.Option
		fault func(*testkit.Proxy)
	}{
		{"lease given", lock.WithLease(lease), func(*testkit.Proxy) {}},
		{"Redis silent", lock.WithRenewedLease(lease), (*testkit.Proxy).Blackhole},
		{"Redis away", lock.WithRenewedLease(lease), (*testkit.Proxy).Cut},
	} {
		p, through := s.viaProxy(t)
		// The loss is reported 17 ms before the lease ends. A busy machine may check too late to see the difference,
		// but a lock that reports it too late never passes.
		inTime := false
		for try := 0; try < tries && !inTime; try++ {
			h, err := s.through(through, tc.opt).Lock(t.Context())
			if errors.Is(err, lock.ErrLost) {
				continue // on a busy machine the answer came after the lease
			}
			if err != nil {
				t.Fatal(err)
			}
			tc.fault(p)
			receive(t, "loss", h.Lost())
			inTime = s.owner(t) == h.Owner()
			wantErr(t, tc.name+": Err", h.Err(), lock.ErrLost)
			p.Heal()
		}
		if !inTime {
			t.Errorf("%s: the lease had ended in Redis before the loss was reported, in %d tries", tc.name, tries)
		}
	}
}

func killedHolder(t *testing.T, s stage) {
	holder := startChild(t, childTask{Do: "hold", Kind: s.kind.name, Addr: testkit.RedisAddr(t), Prefix: s.prefix})
	holder.says(t, "held")
	waiting := s.lockAsync(t.Context(), t, s.rivals().lock())
	holder.kill(t)
	mustRelease(t, mustReceive(t, waiting).hold)
}

func noRenewalAfterRelease(t *testing.T, s stage) {
	const goroutines, rounds = 4, 2500
	watched := &spy{Client: s.client}
	locker := newLocker(watched, s.prefix)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			lease := 30 * time.Millisecond // renewed every 10 ms, so that renewals and releases meet
			owner := lock.NewOwner()
			for i := range rounds {
				h, err := obtain(t.Context(), &lease, func() aLock {
					return s.kind.open(locker, fmt.Sprint(g), owner, lock.WithRenewedLease(lease))
				})
				if err != nil {
					t.Errorf("TryLock: %v", err)
					return
				}
				if n := watched.renewals.Load(); n > 20*goroutines*rounds {
					t.Errorf("%d renewals, want those of at most %d holds at a time", n, goroutines)
					return
				}
				if i%50 == 0 {
					time.Sleep(lease / 3) // about until the renewal is due
				}
				_ = h.Release(t.Context()) // on a busy machine it may have been lost
			}
		})
	}
	wg.Wait()
	asked := func() int64 { return watched.scripts.Load() + watched.pipelines.Load() }
	eventually(t, "quiet", func() bool {
		before := asked()
		time.Sleep(50 * time.Millisecond) // several renewals long
		return asked() == before
	})
	if found := s.remains(t); len(found) > 0 {
		t.Errorf("still held: %q", found)
	}
	if watched.renewals.Load() == 0 {
		t.Error("nothing was renewed, so nothing was tested")
	}
}

// obtain tries until it gets the lock that nobody else wants. On a busy machine a Redlock's late part is released after
// the hold, so that the next try meets it; a hold that were still renewed would never give way. If answers keep coming
// after the lease, it is too short for the machine: the following ones are twice as long.
func obtain(ctx context.Context, lease *time.Duration, open func() aLock) (h aHold, err error) {
	const patience = 5
	unanswered := 0
	for deadline := time.Now().Add(soon); ; {
		h, err = open().TryLock(ctx)
		if errors.Is(err, lock.ErrNoAnswer) {
			unanswered++
			if unanswered%patience == 0 {
				*lease *= 2
			}
		} else if !errors.Is(err, lock.ErrNotObtained) {
			return h, err
		}
		if time.Now().After(deadline) {
			return h, err
		}
	}
}

func cancelledIsNotRenewed(t *testing.T, s stage) {
	const lease = 300 * time.Millisecond
	h := mustLock(t, s.rivals().lock())
	watched := &spy{Client: s.client}
	ctx, cancel := context.WithCancel(t.Context())
	waiting := s.lockAsync(ctx, t, s.through(watched, lock.WithRenewedLease(lease)))
	cancel()
	wantErr(t, "Lock", receive(t, "answer", waiting).err, context.Canceled)
	mustRelease(t, h)
	// Cancelled while the answer is on its way.
	p, through := s.viaProxy(t)
	if err := through.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	p.Delay(50 * time.Millisecond)
	var watchedThrough *spy // of the last try: those whose answer came in time were renewed
	open := func(lease time.Duration) func() aLock {
		return func() aLock {
			watchedThrough = &spy{Client: through}
			return s.through(watchedThrough, lock.WithRenewedLease(lease))
		}
	}
	cancelledMidway(t, open(lease), 75*time.Millisecond)
	time.Sleep(lease) // several renewals long: none may be sent
	if n := watched.leases.Load() + watchedThrough.leases.Load(); n != 0 {
		t.Errorf("%d renewals were sent", n)
	}
	free := func() bool { return s.owner(t) == "" }
	eventually(t, "free", free)
	cancelledMidway(t, open(time.Minute), 75*time.Millisecond)
	eventually(t, "given up", free) // long before its lease ends
}

func batchedRenewal(t *testing.T, s stage) {
	const holds, lease = 1000, 12 * time.Second // renewed every 4 s
	watched := &spy{Client: s.client}
	locker := newLocker(watched, s.prefix)
	held := make([]aHold, holds)
	var wg sync.WaitGroup
	for part := range 20 {
		wg.Go(func() {
			for i := part; i < holds; i += 20 {
				l := s.kind.open(locker, fmt.Sprint("n", i), lock.NewOwner(), lock.WithRenewedLease(lease))
				h, err := l.TryLock(t.Context())
				for until := time.Now().Add(soon); err != nil && time.Now().Before(until); time.Sleep(lease / 100) {
					h, err = l.TryLock(t.Context()) // on a busy machine a majority may be silent for two seconds
				}
				if err != nil {
					t.Errorf("TryLock: %v", err)
					return
				}
				held[i] = h
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	// The renewals of these two fail: one key is gone, and the other has another type, which fails its script.
	s.spoil(t, "n7", func(key string) error { return s.client.Del(t.Context(), key).Err() })
	s.spoil(t, "n8", func(key string) error {
		if err := s.client.Del(t.Context(), key).Err(); err != nil {
			return err
		}
		return s.client.LPush(t.Context(), key, "odd").Err()
	})
	receive(t, "loss", held[7].Lost())
	receive(t, "loss", held[8].Lost())
	eventually(t, "renewed", func() bool { return watched.renewals.Load() >= 2*(holds-2) })
	// Holds taken together are due together. A busy machine may take them seconds apart, and then batches are small.
	if pipelines, renewals := watched.pipelines.Load(), watched.renewals.Load(); pipelines > renewals/4 {
		t.Errorf("%d renewals took %d requests, want batches", renewals, pipelines)
	}
	lost := 0
	for i, h := range held {
		if h.Err() != nil {
			lost++
			continue
		}
		if err := h.Release(t.Context()); err != nil {
			t.Errorf("Release of %d: %v", i, err)
		}
	}
	if lost != 2 {
		t.Errorf("%d holds were lost, want only the two spoiled ones", lost)
	}
}

// spoil changes the keys of one lock behind its holder's back.
func (s stage) spoil(t *testing.T, name string, change func(key string) error) {
	t.Helper()
	spoilt := 0
	for _, key := range s.remains(t) {
		if strings.HasSuffix(key, ":"+name) || strings.Contains(key, ":"+name+"/") {
			if err := change(key); err != nil && !errors.Is(err, redis.Nil) {
				t.Fatal(err)
			}
			s.client.PExpire(t.Context(), key, time.Minute)
			spoilt++
		}
	}
	if spoilt < s.kind.locks() {
		t.Fatalf("%d keys of %s, want %d", spoilt, name, s.kind.locks())
	}
}
