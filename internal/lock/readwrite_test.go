package lock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

var readWriteRows = []row{
	{
		number: 38, group: "Read-write", says: "many readers share the lock; a writer waits for the last and is alone",
		run: readersShare,
	},
	{
		number: 39, group: "Read-write",
		says: "a writer may also read, and readers join once it only reads; read → write is an error",
		run:  downgrade,
	},
	{
		number: 40, group: "Read-write", says: "a dead reader keeps a writer out no longer than its own lease",
		run: readersLeaseAlone,
	},
	{
		number: 41, group: "Read-write",
		says: "holds are renewed independently, also after the downgrade; times to live never add up",
		run:  independentRenewal,
	},
	{
		number: 42, group: "Read-write", says: "neither writers nor readers starve: first come, first served",
		run: nobodyStarves,
	},
}

// sides are the two sides of the read-write lock "m" for one owner.
type sides struct {
	owner       lock.Owner
	read, write aLock
}

func (s stage) sides(opts ...lock.Option) sides {
	l, owner := newLocker(s.client, s.prefix), lock.NewOwner()
	return sides{owner, one(l.Read("m", owner, opts...)), one(l.Write("m", owner, opts...))}
}

func mustTry(t *testing.T, l aLock) (h aHold) {
	t.Helper()
	var err error
	eventually(t, "answered", func() bool {
		h, err = l.TryLock(t.Context())
		return !passes(err)
	})
	if err != nil {
		t.Fatalf("TryLock: %v", err)
	}
	return h
}

func mustRefuse(t *testing.T, what string, l aLock) {
	t.Helper()
	_, err := l.TryLock(t.Context())
	wantErr(t, "TryLock "+what, err, lock.ErrNotObtained)
}

func readersShare(t *testing.T, s stage) {
	var readers []aHold
	for range 5 {
		readers = append(readers, mustTry(t, s.sides().read))
	}
	writer := s.lineUp(t.Context(), t, s.sides().write)
	for _, h := range readers {
		select {
		case <-writer:
			t.Fatal("a writer beside readers")
		default:
		}
		if h.Token() != readers[0].Token() {
			t.Errorf("token %d, want the first reader's %d", h.Token(), readers[0].Token())
		}
		mustRelease(t, h)
	}
	writing := mustReceive(t, writer).hold
	if writing.Token() <= readers[0].Token() {
		t.Errorf("the writer's token is %d after the readers' %d", writing.Token(), readers[0].Token())
	}
	mustRefuse(t, "by a reader beside a writer", s.sides().read)
	mustRefuse(t, "by a writer beside a writer", s.sides().write)
	mustRelease(t, writing)
	writersAreAlone(t, s)
}

// visit is the time for which a client had one side of the lock.
type visit struct {
	stay
	write bool
}

// writersAreAlone lets several clients read and write at random. It fails if a writer overlaps with anybody, or if no
// readers overlap.
func writersAreAlone(t *testing.T, s stage) {
	const clients, goroutines, rounds = 3, 6, 25
	var mu sync.Mutex
	var visits []visit
	var wg sync.WaitGroup
	for range clients {
		locker := newLocker(ownClient(t, testkit.RedisAddr(t)), s.prefix)
		for range goroutines {
			wg.Go(func() {
				for range rounds {
					write, l := rand.IntN(4) == 0, locker.Read("m", lock.NewOwner())
					if write {
						l = locker.Write("m", lock.NewOwner())
					}
					err := l.Do(t.Context(), func(_ context.Context, h *lock.Hold) error {
						v := visit{stay{time.Now(), time.Time{}, h.Token()}, write}
						time.Sleep(rand.N(2 * time.Millisecond)) // so that visits overlap
						v.to = time.Now()
						mu.Lock()
						visits = append(visits, v)
						mu.Unlock()
						return nil
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	checkVisits(t, visits)
}

func checkVisits(t *testing.T, visits []visit) {
	t.Helper()
	slices.SortFunc(visits, func(a, b visit) int { return a.from.Compare(b.from) })
	shared := 0
	for i, a := range visits {
		for _, b := range visits[i+1:] {
			overlap := b.from.Before(a.to)
			switch {
			case overlap && (a.write || b.write):
				t.Fatalf("a writer is not alone: %+v and %+v", a, b)
			case overlap:
				shared++
			case (a.write || b.write) && b.token <= a.token:
				t.Fatalf("token %d after %d: %+v and %+v", b.token, a.token, a, b)
			}
		}
	}
	if shared == 0 {
		t.Error("no two readers overlapped")
	}
}

func downgrade(t *testing.T, s stage) {
	refusedAlone(t, s)
	writer := s.sides()
	const inTime = 500 * time.Millisecond // without a message they would ask after a second
	within(t, inTime, "joining after the downgrade", func() (took time.Duration) {
		writing := mustTry(t, writer.write)
		reading := mustTry(t, writer.read)
		if reading.Token() != writing.Token() {
			t.Errorf("tokens %d and %d of one stay", reading.Token(), writing.Token())
		}
		mustRefuse(t, "by a reader while the writer also reads", s.sides().read)
		watched := &spy{Client: s.client}
		reader := func() aLock { return kindOf("Read").open(newLocker(watched, s.prefix), "m", lock.NewOwner()) }
		waiting := []<-chan locked{s.lineUp(t.Context(), t, reader()), s.lineUp(t.Context(), t, reader())}
		eventually(t, "listening", func() bool { return len(s.channels(t)) >= len(waiting) })
		eventually(t, "quiet", watched.quiet) // each asks once more after subscribing
		begin := time.Now()
		mustRelease(t, writing)
		for _, reader := range waiting {
			next := mustReceive(t, reader)
			took = next.at.Sub(begin)
			mustRelease(t, next.hold)
		}
		mustRefuse(t, "by another writer after the downgrade", s.sides().write)
		noUpgrade(t, s, writer)
		mustRelease(t, reading)
		mustRelease(t, mustTry(t, writer.write))
		return took
	})
}

// refusedAlone asks for the write lock as a reader, while another owner of the process waits for it: only the reader is
// refused.
func refusedAlone(t *testing.T, s stage) {
	t.Helper()
	s.prefix += "alone:"
	l, reader := newLocker(s.client, s.prefix), lock.NewOwner()
	reading := mustTry(t, one(l.Read("m", reader)))
	waiting := s.lineUp(t.Context(), t, one(l.Write("m", lock.NewOwner())))
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	_, err := l.Write("m", reader).Lock(ctx)
	wantErr(t, "Lock", err, lock.ErrUpgrade)
	mustRelease(t, reading)
	mustRelease(t, mustReceive(t, waiting).hold)
}

// noUpgrade asks for the write lock as a reader.
func noUpgrade(t *testing.T, s stage, reader sides) {
	t.Helper()
	for what, ask := range map[string]func(context.Context) (aHold, error){
		"TryLock": reader.write.TryLock, "Lock": reader.write.Lock,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		_, err := ask(ctx)
		cancel()
		wantErr(t, what, err, lock.ErrUpgrade)
		wantErr(t, what, err, lock.ErrNotObtained)
	}
	if n := s.places(t); n != 0 {
		t.Errorf("%d places are left", n)
	}
}

func readersLeaseAlone(t *testing.T, s stage) {
	const lease = 2 * time.Second // a busy machine may stop a process for a second
	// Others hold the lock for longer, but release it: only the dead reader's lease counts.
	begin := time.Now()
	mustTry(t, s.sides(lock.WithLease(lease)).read)
	living := mustTry(t, s.sides(lock.WithLease(time.Minute)).read)
	writer := s.lineUp(t.Context(), t, s.sides().write)
	mustRelease(t, living)
	next := mustReceive(t, writer)
	if took := next.at.Sub(begin); took < lease || took > lease+soon {
		t.Errorf("obtained after %v, want about %v", took, lease)
	}
	mustRelease(t, next.hold)

	within(t, unaided, "the wait after the last reader's release", func() time.Duration {
		return s.waitAfterDeadReader(t, lease)
	})
}

// waitAfterDeadReader returns how long a writer waits after the release of a living reader, which was renewed while
// another reader was dead.
func (s stage) waitAfterDeadReader(t *testing.T, lease time.Duration) time.Duration {
	t.Helper()
	dead := mustTry(t, s.sides(lock.WithLease(lease)).read)
	living := mustTry(t, s.sides(lock.WithRenewedLease(lease)).read)
	time.Sleep(2 * lease) // several renewals long
	state := s.readers(t)
	if err := living.Err(); err != nil { // in all tries, or because the machine is busy
		t.Logf("the living reader: %v", err)
		return time.Hour
	}
	if state.HeldBy(dead.Owner()) || !state.HeldBy(living.Owner()) {
		t.Errorf("%v hold the lock, want only the living reader", state.Holders)
	}
	writer := s.lineUp(t.Context(), t, s.sides().write)
	released := time.Now()
	mustRelease(t, living)
	next := mustReceive(t, writer)
	mustRelease(t, next.hold)
	return next.at.Sub(released)
}

// readers asks Redis for the readers.
func (s stage) readers(t *testing.T) lock.State {
	t.Helper()
	s.kind = kindOf("Read")
	return s.state(t)
}

func independentRenewal(t *testing.T, s stage) {
	unlessStalled(t, func(times int) error {
		own := s
		own.prefix += string(lock.NewOwner()) + ":"
		return own.renewsIndependently(t, time.Duration(times)*1500*time.Millisecond)
	})
}

// renewsIndependently returns why a hold was lost, if one was.
func (s stage) renewsIndependently(t *testing.T, lease time.Duration) error {
	t.Helper()
	writer := s.sides(lock.WithRenewedLease(lease))
	var holds []aHold
	var errs error
	for range 3 {
		holds = append(holds, mustTry(t, writer.write), mustTry(t, writer.read))
	}
	within := func(when string) {
		t.Helper()
		for _, l := range []aLock{writer.read, writer.write} {
			state, err := l.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if ttl := state.TTL(); ttl > lease {
				t.Errorf("%s: time to live %v, want at most %v", when, ttl, lease)
			}
		}
	}
	within("entered three times")
	time.Sleep(2 * lease) // several renewals long
	within("renewed")
	for i := 0; i < len(holds); i += 2 {
		errs = errors.Join(errs, holds[i].Release(t.Context()))
	}
	within("after the downgrade")
	other := mustTry(t, s.sides(lock.WithRenewedLease(lease)).read)
	time.Sleep(2 * lease)
	within("renewed after the downgrade")
	errs = errors.Join(errs, other.Release(t.Context()))
	for i := 1; i < len(holds); i += 2 {
		errs = errors.Join(errs, holds[i].Release(t.Context()))
	}
	if errs != nil {
		return errs
	}
	mustRelease(t, mustTry(t, s.sides().write))
	return nil
}

func nobodyStarves(t *testing.T, s stage) {
	reader, late := s.sides(), s.sides()
	reading := mustTry(t, reader.read)
	writer := s.lineUp(t.Context(), t, s.sides().write)
	mustRefuse(t, "by a reader behind a writer", late.read)
	waiting := s.lineUp(t.Context(), t, late.read)
	mustRelease(t, mustTry(t, reader.read)) // it reads already: waiting for the writer would be waiting for itself
	mustRelease(t, reading)
	writing := mustReceive(t, writer).hold
	mustRelease(t, writing)
	mustRelease(t, mustReceive(t, waiting).hold)

	streams := func(open func(*lock.Locker) aLock, ask aLock, what string) {
		ctx, cancel := context.WithCancel(t.Context())
		var had atomic.Int64
		var wg sync.WaitGroup
		for range 6 {
			locker := newLocker(s.client, s.prefix)
			wg.Go(func() {
				for ctx.Err() == nil {
					if h, err := open(locker).Lock(ctx); err == nil {
						had.Add(1)
						time.Sleep(rand.N(5 * time.Millisecond)) // so that they overlap
						_ = h.Release(t.Context())               // a failed release shows up on the other side
					}
				}
			})
		}
		eventually(t, "busy", func() bool { return had.Load() > 50 })
		begin := time.Now()
		for range 5 {
			mustRelease(t, mustLock(t, ask))
		}
		if took := time.Since(begin); took > soon {
			t.Errorf("%s took %v", what, took)
		}
		cancel()
		wg.Wait()
	}
	streams(func(l *lock.Locker) aLock { return one(l.Read("m", lock.NewOwner())) }, s.sides().write,
		"writing five times among readers")
	streams(func(l *lock.Locker) aLock { return one(l.Write("m", lock.NewOwner())) }, s.sides().read,
		"reading five times among writers")
}
