package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/lock/group"
	"seckill/internal/testkit"
)

var thirdRows = []row{
	{
		number: 61, group: "Together",
		says: "waiting requests of one owner, in one process or several, enter together",
		run:  ownersEnterTogether,
	},
	{
		number: 62, group: "Fenced",
		says: "no token is above the high water; after the clock is set back an hour, the next one is higher",
		run:  tokensAreCovered,
	},
	{
		number: 63, group: "Silence",
		says: "calls and renewals succeed despite 1 to 8 half-open idle connections; no error names a wrong deadline",
		run:  halfOpenCommands,
	},
	{
		number: 64, group: "Silence",
		says: "a silent server causes the context's error or ErrNoAnswer, never ErrNotObtained",
		run:  silentServer,
	},
	{
		number: 65, group: "Misuse",
		says: "invalid owners, invalid options and mismatched Redlocks are refused; a nil or zero hold is not held",
		run:  misuseIsRefused,
	},
	{
		number: 66, group: "Small print",
		says: "the client's highest token counts, and one write covers a rush; a leaving waiter lengthens nothing; " +
			"a full Redis keeps times to live; failed renewals are repeated soon; " +
			"a waiter asks when the lease is over; cancelled contexts are forgotten",
		run: smallPromises,
	},
}

// waiters is a queue across two processes: several requests of one owner, with strangers in between.
type waiters struct {
	stage
	watched   []*spy
	processes []*lock.Locker
	come      int64
	together  chan locked // results of the owner's requests
	strangers chan locked
}

func newWaiters(t *testing.T, s stage) *waiters {
	t.Helper()
	w := &waiters{stage: s, together: make(chan locked, 10), strangers: make(chan locked, 10)}
	for range 2 {
		watched := &spy{Client: ownClient(t, testkit.RedisAddr(t))}
		w.watched = append(w.watched, watched)
		w.processes = append(w.processes, newLocker(watched, s.prefix))
	}
	return w
}

// wait adds one more request, and returns when Redis has refused it.
func (w *waiters) wait(t *testing.T, k kind, process int, o lock.Owner, got chan locked) {
	t.Helper()
	asked := w.watched[process].answers.Load()
	go func() {
		h, err := k.open(w.processes[process], "m", o).Lock(t.Context())
		got <- locked{h, err, time.Now()}
	}()
	w.come++
	eventually(t, "waiting", func() bool {
		if w.kind.name == "Reentrant" {
			return w.watched[process].answers.Load() > asked
		}
		return w.places(t) == w.come
	})
}

// ownersEnterTogether frees the lock for the strangers, and then lets an owner's four requests in at once, ahead of the
// strangers between them.
func ownersEnterTogether(t *testing.T, s stage) {
	for try := range 3 { // a request may arrive before or after its message
		own := s
		own.prefix += fmt.Sprint(try, ":")
		quickly(t, "the wait of an owner for all of its requests", func() { enterTogether(t, own) })
	}
}

func enterTogether(t *testing.T, s stage) {
	t.Helper()
	s.prefix += string(lock.NewOwner()[:8]) + ":"
	w, owner := newWaiters(t, s), lock.NewOwner()
	h := mustLock(t, s.rivals().lock())
	between := s.rivals().kind
	if s.kind.name == "Reentrant" { // each process's first waiter is a stranger
		w.wait(t, between, 0, lock.NewOwner(), w.strangers)
		w.wait(t, between, 1, lock.NewOwner(), w.strangers)
	}
	w.wait(t, s.kind, 0, owner, w.together)
	w.wait(t, between, 0, lock.NewOwner(), w.strangers)
	w.wait(t, s.kind, 0, owner, w.together)
	w.wait(t, between, 1, lock.NewOwner(), w.strangers)
	w.wait(t, s.kind, 1, owner, w.together)
	last := s.kind
	if last.name == "Write" { // a writer may also read
		last = kindOf("Read")
	}
	w.wait(t, last, 1, owner, w.together)
	mustRelease(t, h)
	var holds []aHold
	for len(holds) < 4 {
		select {
		case got := <-w.strangers:
			if got.err != nil {
				t.Fatalf("Lock of a stranger: %v", got.err)
			}
			if len(holds) > 0 && holds[0].Err() == nil {
				t.Error("a stranger had the lock beside the owner")
			}
			mustRelease(t, got.hold)
		case got := <-w.together:
			if got.err != nil {
				t.Fatalf("Lock of the owner: %v", got.err)
			}
			holds = append(holds, got.hold)
		case <-time.After(soon):
			t.Fatalf("%d of the owner's 4 requests have the lock; the others wait for it", len(holds))
		}
	}
	for _, h := range holds {
		mustRelease(t, h)
	}
}

// tokensAreCovered takes a lock again and again, with a clock that the test controls.
func tokensAreCovered(t *testing.T, s stage) {
	s, server := s.clockStage(t)
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	last := int64(0)
	take := func(when string, l aLock) {
		server.SetTime(now)
		h := mustLock(t, l)
		if h.Token() <= last {
			t.Errorf("%s: token %d after %d", when, h.Token(), last)
		}
		last = h.Token()
		if high := s.highestWater(t); last > high {
			t.Errorf("%s: token %d is above the high water, %d", when, last, high)
		}
		mustRelease(t, h)
	}
	locker := newLocker(s.client, s.prefix)
	for range 3 { // new names, and names used a moment ago
		for range 60 {
			now = now.Add(400 * time.Microsecond)
			take("used again and again", s.kind.open(locker, "m", lock.NewOwner()))
		}
		now = now.Add(time.Minute)
		server.FastForward(time.Minute) // only the high water is left
	}
	for _, gone := range []bool{false, true} {
		if gone {
			server.FastForward(time.Minute)
		}
		now = now.Add(-time.Hour)
		take("an hour back", s.lock()) // in a process that has seen no token
		take("an hour back, again", s.lock())
	}
}

// highestWater returns the highest of the high waters.
func (s stage) highestWater(t *testing.T) (highest int64) {
	t.Helper()
	for _, key := range s.highWaters(t) {
		n, err := s.client.Get(t.Context(), key).Int64()
		if err != nil {
			t.Fatal(err)
		}
		highest = max(highest, n)
	}
	return highest
}

// swallowIdle makes all present connections half open; so many of them are idle.
func (d *deafness) swallowIdle(t *testing.T, client *redis.Client, idle int) {
	t.Helper()
	var conns []*redis.Conn
	for range idle {
		conn := client.Conn()
		if err := conn.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		_ = conn.Close() // returns the connection to the pool
	}
	atOnce(t, idle, func(int) error { // pipelines have connections of their own
		_, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			_ = p.Do(t.Context(), "BLPOP", "no such list", "0.05")
			return nil
		})
		if errors.Is(err, redis.Nil) {
			return nil
		}
		return err
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		c.deaf.Store(true)
	}
}

// halfOpenCommands uses a lock while idle connections are half open and new ones work.
func halfOpenCommands(t *testing.T, s stage) {
	for _, idle := range []int{1, 2, 4, 8} {
		for _, tc := range []struct {
			name string
			call func(ctx context.Context, l aLock, swallow func()) error
		}{
			{"TryLock", func(ctx context.Context, l aLock, swallow func()) error {
				swallow()
				h, err := l.TryLock(ctx)
				if err != nil {
					return err
				}
				return h.Release(ctx)
			}},
			{"Do", func(ctx context.Context, l aLock, swallow func()) error {
				swallow()
				return l.Do(ctx, func(context.Context, aHold) error { return nil })
			}},
			{"Release", func(ctx context.Context, l aLock, swallow func()) error {
				h, err := l.TryLock(ctx)
				if err != nil {
					return err
				}
				swallow()
				return h.Release(ctx)
			}},
			{"Refresh", func(ctx context.Context, l aLock, swallow func()) error {
				h, err := l.TryLock(ctx)
				if err != nil {
					return err
				}
				swallow()
				return errors.Join(h.Refresh(ctx), h.Release(ctx))
			}},
			{"renewal", func(ctx context.Context, l aLock, swallow func()) error {
				h, err := l.TryLock(ctx)
				if err != nil {
					return err
				}
				first := h.ValidUntil()
				swallow()
				for h.Err() == nil && !h.ValidUntil().After(first) {
					time.Sleep(10 * time.Millisecond)
				}
				return errors.Join(h.Err(), h.Release(ctx))
			}},
		} {
			for _, slow := range []bool{false, true} { // slow: Redis was slow lately, so calls wait longer for answers
				t.Run(fmt.Sprintf("%s, %d idle, slow %v", tc.name, idle, slow), func(t *testing.T) {
					t.Parallel()
					unlessStalled(t, func(int) error {
						own := s
						own.prefix += fmt.Sprint(tc.name, idle, slow, lock.NewOwner(), ":")
						var d deafness
						client := d.client(t, redisAddr(s.client))
						locker := newLocker(client, own.prefix)
						l := own.kind.open(locker, "m", lock.NewOwner(), lock.WithRenewedLease(4*time.Second))
						mustRelease(t, mustLock(t, l)) // loads the scripts
						if slow {
							lock.AnswersAreSlow(locker)
						}
						begin := time.Now()
						ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
						defer cancel()
						err := tc.call(ctx, l, func() { d.swallowIdle(t, client, idle) })
						if err != nil {
							return fmt.Errorf("after %v: %w", time.Since(begin), err)
						}
						t.Logf("%s, %s, %d idle, slow %v: %v", s.kind.name, tc.name, idle, slow, time.Since(begin))
						return nil
					})
				})
			}
		}
	}
}

// silentServer calls a server that never answers: a missing answer must not look like a refusal.
func silentServer(t *testing.T, s stage) {
	for _, tc := range []struct {
		name     string
		deadline time.Duration
		over     bool // whether the deadline ends the call
	}{{"soon over", 150 * time.Millisecond, true}, {"far", time.Hour, false}} {
		for _, method := range []string{"TryLock", "Lock", "Do", "TryDo"} {
			t.Run(method+", deadline "+tc.name, func(t *testing.T) {
				t.Parallel()
				own := s
				own.prefix += method + tc.name
				p, through := own.viaProxy(t)
				if err := through.Ping(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				p.Blackhole()
				ctx, cancel := context.WithTimeout(t.Context(), tc.deadline)
				defer cancel()
				err := ask(ctx, own.through(through), method)
				wantErr(t, method, err, lock.ErrNoAnswer)
				is := errors.Is(err, context.DeadlineExceeded)
				says := strings.Contains(fmt.Sprint(err), context.DeadlineExceeded.Error())
				if errors.Is(err, lock.ErrNotObtained) || is != tc.over || says != tc.over {
					t.Errorf("%s: %v; want ErrNoAnswer alone; with the deadline's error: %v", method, err, tc.over)
				}
			})
		}
	}
	t.Run("Lock that waits already", func(t *testing.T) { t.Parallel(); silentWhileWaiting(t, s) })
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(over, s.lock(), "TryLock"); !errors.Is(err, context.Canceled) || errors.Is(err, lock.ErrNotObtained) {
		t.Errorf("TryLock under a context that is over: %v, want its error alone", err)
	}
}

// silentWhileWaiting cancels a wait after Redis has been silent for long: the earlier refusal no longer counts.
func silentWhileWaiting(t *testing.T, s stage) {
	s.prefix += "waits:"
	p, through := s.viaProxy(t)
	h := mustLock(t, s.rivals().lock())
	watched := &spy{Client: through}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := s.lockAsync(ctx, t, s.through(watched))
	eventually(t, "quiet", watched.quiet)
	p.Blackhole()
	time.Sleep(3 * time.Second) // silence
	cancel()
	err := receive(t, "answer", waiting).err
	wantErr(t, "Lock", err, context.Canceled)
	wantErr(t, "Lock", err, lock.ErrNoAnswer)
	if errors.Is(err, lock.ErrNotObtained) {
		t.Errorf("Lock: %v, want ErrNoAnswer", err)
	}
	mustRelease(t, h)
}

// ask calls one of the methods that take a lock.
func ask(parent context.Context, l aLock, method string) error {
	ctx, cancel := context.WithTimeout(parent, soon)
	defer cancel()
	var h aHold
	var err error
	nothing := func(context.Context, aHold) error { return nil }
	switch method {
	case "TryLock":
		h, err = l.TryLock(ctx)
	case "Lock":
		h, err = l.Lock(ctx)
	case "Do":
		err = l.Do(ctx, nothing)
	case "TryDo":
		err = l.TryDo(ctx, nothing)
	}
	if h != nil {
		err = h.Release(ctx) // the test has failed already
	}
	return err
}

// misuseIsRefused takes locks that are described wrongly.
func misuseIsRefused(t *testing.T, s stage) {
	locker := newLocker(s.client, s.prefix)
	cases := map[string]struct {
		lock aLock
		want error
	}{
		"a negative lease":         {s.lock(lock.WithLease(-time.Second)), lock.ErrInvalidLease},
		"a negative renewed lease": {s.lock(lock.WithRenewedLease(-time.Second)), lock.ErrInvalidLease},
		"a negative limit":         {s.lock(lock.WithMaxHold(-time.Second)), lock.ErrInvalidOption},
		"a limit without renewal": {
			s.lock(lock.WithLease(time.Minute), lock.WithMaxHold(time.Hour)), lock.ErrInvalidOption,
		},
		"a negative number of replicas": {onReplicas(s.lock(), -1), lock.ErrInvalidOption},
	}
	if s.kind.owned {
		for _, o := range []lock.Owner{"a\nb", "\x00", "a\tb", "\u0085"} {
			cases[fmt.Sprintf("the owner %q", o)] = struct {
				lock aLock
				want error
			}{s.kind.open(locker, "m", o), lock.ErrInvalidOwner}
		}
	}
	if s.kind.name == "Redlock" {
		first := locker.Reentrant("m", "a")
		other := newLocker(s.client, s.prefix+"other:")
		for name, second := range map[string]*lock.Lock{
			"names":   other.Reentrant("n", "a"),
			"kinds":   other.Fair("m", "a"),
			"sides":   other.Read("m", "a"),
			"leases":  other.Reentrant("m", "a", lock.WithLease(time.Minute)),
			"renewal": other.Reentrant("m", "a", lock.WithLease(lock.DefaultLease)),
			"owners":  other.Reentrant("m", "b"),
		} {
			cases["different "+name] = struct {
				lock aLock
				want error
			}{red([]*lock.Lock{first, second}), group.ErrMismatch}
		}
	}
	for name, tc := range cases {
		for _, method := range []string{"TryLock", "Lock", "Do", "TryDo"} {
			err := ask(t.Context(), tc.lock, method)
			wantErr(t, name+": "+method, err, tc.want)
			if errors.Is(err, lock.ErrNotObtained) {
				t.Errorf("%s: %s: %v, want an error that does not blame another holder", name, method, err)
			}
		}
	}
	if found := s.keys(t); len(found) > 0 {
		t.Errorf("keys %q", found)
	}
	if s.kind.owned { // other characters are allowed
		mustRelease(t, mustLock(t, s.kind.open(locker, "m", "Ann, 2nd 锁")))
	}
	for name, h := range map[string]aHold{
		"nil": (*lock.Hold)(nil), "nil, of several": (*group.Hold)(nil),
		"zero": &lock.Hold{}, "zero, of several": &group.Hold{},
	} {
		wantErr(t, "Err of a hold that is "+name, h.Err(), lock.ErrNotHeld)
		wantErr(t, "Release of a hold that is "+name, h.Release(t.Context()), lock.ErrNotHeld)
	}
}

// smallPromises are promises that used to have no failing test.
func smallPromises(t *testing.T, s stage) {
	t.Run("tokens", func(t *testing.T) { t.Parallel(); tokensHeedTheClient(t, s) })
	t.Run("leaving", func(t *testing.T) { t.Parallel(); leavingLengthensNothing(t, s) })
	t.Run("full", func(t *testing.T) { t.Parallel(); fullKeepsLeases(t, s) })
	t.Run("renewal", func(t *testing.T) { t.Parallel(); failedRenewalIsRepeated(t, s) })
	t.Run("end", func(t *testing.T) { t.Parallel(); looksWhenTheLeaseIsOver(t, s) })
	t.Run("contexts", func(t *testing.T) { t.Parallel(); contextsAreForgotten(t, s) })
}

// clockStage returns the stage on an in-process Redis whose clock the test sets.
func (s stage) clockStage(t *testing.T) (stage, *miniredis.Miniredis) {
	t.Helper()
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() }) // no call is under way
	s.client = client
	return s, server
}

// tokensHeedTheClient takes a lock in a rush: the high water must be written once in 10 ms, and a process must never
// get a token below one that it has seen.
func tokensHeedTheClient(t *testing.T, s stage) {
	s, server := s.clockStage(t)
	now := time.Date(2026, 11, 26, 12, 0, 0, 1000, time.UTC)
	locker := newLocker(s.client, s.prefix)
	take := func(l *lock.Locker) int64 {
		now = now.Add(100 * time.Microsecond)
		server.SetTime(now)
		h := mustLock(t, s.kind.open(l, "m", lock.NewOwner()))
		mustRelease(t, h)
		return h.Token()
	}
	written := map[int64]bool{}
	for range 60 { // 6 ms
		take(locker)
		written[s.highestWater(t)] = true
	}
	if most := 2 + 2*s.kind.locks(); s.kind.name == "Mutex" && len(written) > most {
		t.Errorf("the high water was raised %d times in 6 ms, want %d at most", len(written), most)
	}
	// The process also sees the tokens of another lock, which run an hour ahead.
	h := mustLock(t, s.kind.open(locker, "ahead", lock.NewOwner()))
	slots := s.slotsOf(t, "ahead")
	mustRelease(t, h)
	seen := now.Add(time.Hour).UnixMicro()
	for _, key := range slots {
		if err := s.client.Set(t.Context(), key, seen, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range s.keys(t) { // a mutex also remembers its last token
		if _, rest, _ := strings.Cut(key, "}:"); strings.Contains(rest, ":ahead") {
			s.client.Del(t.Context(), key)
		}
	}
	mustRelease(t, mustLock(t, s.kind.open(locker, "ahead", lock.NewOwner())))
	if token := take(locker); token <= seen {
		t.Errorf("token %d for a process that has seen %d", token, seen)
	}
}

// slotsOf returns the high-water keys of a name.
func (s stage) slotsOf(t *testing.T, name string) (slots []string) {
	t.Helper()
	for _, key := range s.keys(t) {
		if slot, rest, _ := strings.Cut(key, "}:"); strings.Contains(rest, ":"+name) {
			slots = append(slots, slot+"}")
		}
	}
	return slots
}

// leavingLengthensNothing cancels waits: the holder's keys must not live longer than before.
func leavingLengthensNothing(t *testing.T, s stage) {
	s.prefix += "leaving:"
	const lease = time.Minute // time enough for three waiters on a busy machine
	mustLock(t, s.rivals().lock(lock.WithLease(lease)))
	begin := time.Now()
	held := s.remains(t)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		waiting := s.lockAsync(ctx, t, s.lock(lock.WithLease(2*lease)))
		cancel()
		if got := receive(t, "answer", waiting); got.err == nil {
			t.Fatal("a waiter has the lock beside its holder")
		}
		ttl, left := time.Duration(0), lease-time.Since(begin) // first: the machine may stop this process after each
		for _, key := range held {
			ttl = max(ttl, s.client.PTTL(t.Context(), key).Val())
		}
		if ttl > left+200*time.Millisecond {
			t.Errorf("the lock is taken for %v after a waiter left, want %v at most", ttl, left)
		}
		s.nobodyListens(t)
	}
}

// fullKeepsLeases releases on a full Redis: all remaining keys must have a time to live.
func fullKeepsLeases(t *testing.T, s stage) {
	s, _ = s.onOwnServer(t)
	h := mustLock(t, s.lock())
	if err := s.client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	mustRelease(t, h)
	for _, key := range s.keys(t) {
		if ttl := s.client.PTTL(t.Context(), key).Val(); ttl == -1 {
			t.Errorf("key %q has no time to live", key)
		}
	}
}

// failedRenewalIsRepeated fails five renewals in a row: the quick retries must keep the lock.
func failedRenewalIsRepeated(t *testing.T, s stage) {
	s.prefix += "failed:"
	const lease = 6 * time.Second
	var failures atomic.Int64
	watched := &spy{Client: s.client, failPipeline: func() error {
		if failures.Add(1) <= int64(5*s.kind.locks()) {
			return errors.New("broken")
		}
		return nil
	}}
	h := mustLock(t, s.through(watched, lock.WithRenewedLease(lease)))
	first := h.ValidUntil()
	eventually(t, "renewed or lost", func() bool { return h.Err() != nil || h.ValidUntil().After(first) })
	if err := h.Err(); err != nil {
		t.Errorf("after five failed renewals: %v", err)
	}
	mustRelease(t, h)
}

// looksWhenTheLeaseIsOver waits behind holders that die: a waiter must ask soon after their lease, without a message.
func looksWhenTheLeaseIsOver(t *testing.T, s stage) {
	s.prefix += "end:"
	const lease = 1300 * time.Millisecond
	within(t, lease+250*time.Millisecond, "a wait behind a dead holder", func() time.Duration {
		s.nobodyListens(t)
		h := mustLock(t, s.rivals().lock(lock.WithLease(lease)))
		begin := time.Now()
		got := mustReceive(t, s.lockAsync(t.Context(), t, s.lock()))
		mustRelease(t, got.hold)
		wantErr(t, "Err of the dead holder", h.Err(), lock.ErrLost)
		return got.at.Sub(begin)
	})
}

// contextsAreForgotten makes and cancels contexts of one hold: the hold must not keep them.
func contextsAreForgotten(t *testing.T, s stage) {
	s.prefix += "contexts:"
	h, ok := mustLock(t, s.lock()).(*lock.Hold)
	if !ok { // a hold that keeps no list of its contexts
		return
	}
	before := lock.Dependents(h)
	for range 100 {
		_, cancel := h.Context(t.Context())
		cancel()
	}
	if n := lock.Dependents(h); n != before {
		t.Errorf("%d contexts are kept, want %d", n, before)
	}
	mustRelease(t, h)
}
