package lock_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

var fairRows = []row{
	{
		number: 32, group: "Fair", says: "first come, first served, over several clients, in Redis's order",
		run: firstComeFirstServed, anywhere: true,
	},
	{
		number: 33, group: "Fair", says: "a cancelled waiter leaves the queue at once and does not delay the next",
		run: leavingDelaysNobody,
	},
	{
		number: 34, group: "Fair",
		says: "a dead waiter at the head delays the others by one wait slot; ten do not add up",
		run:  deadAtTheHead,
	},
	{
		number: 35, group: "Fair", says: "a living waiter keeps its place, however long it waits",
		run: placesAreKept,
	},
	{number: 36, group: "Fair", says: "only Redis's clock counts, whatever clients' clocks say", run: onlyRedisClock},
	{
		number: 37, group: "Fair", says: "an unanswered wait leaves nothing behind; keys vanish when idle",
		run: queuesVanish,
	},
}

// waitSlot is the longest time by which dead waiters may delay the living.
const waitSlot = 5 * time.Second

// places returns how many waiters have a place in a queue under the prefix.
func (s stage) places(t *testing.T) (n int64) {
	t.Helper()
	for _, key := range s.keys(t) {
		if strings.Contains(key, "queue:") {
			n += s.client.ZCard(t.Context(), key).Val()
		}
	}
	return n
}

// keptAfter returns how many processes keep their places beyond the given time of Redis's clock.
func (s stage) keptAfter(t *testing.T, at time.Time) (n int64) {
	t.Helper()
	for _, key := range s.keys(t) {
		if strings.Contains(key, "-places:") {
			n += s.client.ZCount(t.Context(), key, fmt.Sprint(at.UnixMilli()), fmt.Sprint(2*at.UnixMilli())).Val()
		}
	}
	return n
}

// lineUp calls Lock in the background and returns when it has a place in the queue.
func (s stage) lineUp(ctx context.Context, t *testing.T, l aLock) <-chan locked {
	t.Helper()
	before := s.places(t)
	got := make(chan locked, 1)
	go func() {
		h, err := l.Lock(ctx)
		got <- locked{h, err, time.Now()}
	}()
	eventually(t, "in the queue", func() bool { return s.places(t) == before+1 })
	return got
}

func firstComeFirstServed(t *testing.T, s stage) {
	const lockers, waiters = 3, 15
	first := mustLock(t, s.lock())
	var from []*lock.Locker
	for range lockers {
		from = append(from, newLocker(s.client, s.prefix))
	}
	turns := make(chan int, waiters)
	var served sync.WaitGroup
	t.Cleanup(served.Wait)
	for i := range waiters {
		got := s.lineUp(t.Context(), t, s.kind.open(from[i%lockers], "m", lock.NewOwner()))
		served.Go(func() {
			next := <-got
			turns <- i
			if next.err == nil {
				next.err = next.hold.Release(t.Context())
			}
			if next.err != nil {
				t.Errorf("waiter %d: %v", i, next.err)
			}
		})
	}
	mustRelease(t, first)
	for want := range waiters {
		if got := receive(t, "turn", turns); got != want {
			t.Errorf("turn %d was that of waiter %d", want, got)
		}
	}
	served.Wait() // the last waiter releases after its turn
}

func leavingDelaysNobody(t *testing.T, s stage) {
	for what, cancels := range map[string]bool{"cancelled": true, "timed out": false} {
		within(t, unaided, "the second's wait behind a waiter that  "+what, func() time.Duration {
			return s.waitBehindLeaver(t, cancels)
		})
	}
}

// waitBehindLeaver returns how long the second in the queue waits after the release if the first has left: by
// cancellation or by its deadline.
func (s stage) waitBehindLeaver(t *testing.T, cancels bool) time.Duration {
	t.Helper()
	h := mustLock(t, s.lock())
	ctx, cancel := context.WithTimeout(t.Context(), soon/2) // time enough for both to line up
	defer cancel()
	first := s.lineUp(ctx, t, s.lock())
	second := s.lineUp(t.Context(), t, s.lock())
	if cancels {
		cancel()
	}
	wantErr(t, "Lock of the first", receive(t, "answer", first).err, lock.ErrNotObtained)
	if n := s.places(t); n != 1 {
		t.Errorf("%d places are left, want only the second's", n)
	}
	released := time.Now()
	mustRelease(t, h)
	next := mustReceive(t, second)
	mustRelease(t, next.hold)
	return next.at.Sub(released)
}

func deadAtTheHead(t *testing.T, s stage) {
	for _, dead := range []int{1, 10} {
		// Ten delays that add up would take 40 s.
		within(t, 2*waitSlot, fmt.Sprintf("the wait behind %d dead waiters", dead), func() time.Duration {
			return s.waitBehindDead(t, dead)
		})
	}
}

// waitBehindDead returns how long a living waiter waits for a free lock after the waiters ahead of it were killed.
func (s stage) waitBehindDead(t *testing.T, dead int) time.Duration {
	t.Helper()
	h := mustLock(t, s.lock())
	before := s.places(t)
	crowd := startChild(t, childTask{
		Do: "wait", Kind: s.kind.name, Addr: testkit.RedisAddr(t), Prefix: s.prefix, Waiters: dead,
	})
	eventually(t, "in the queue", func() bool { return s.places(t) == before+int64(dead) })
	alive := s.lineUp(t.Context(), t, s.lock())
	crowd.kill(t)
	killed := time.Now()
	mustRelease(t, h)
	_, err := s.lock().TryLock(t.Context())
	wantErr(t, "TryLock while others wait", err, lock.ErrNotObtained)
	next := mustReceive(t, alive)
	mustRelease(t, next.hold)
	return next.at.Sub(killed)
}

func placesAreKept(t *testing.T, s stage) {
	const early = 20
	h := mustLock(t, s.lock())
	watched := &spy{Client: s.client}
	locker := newLocker(watched, s.prefix)
	var waiting []<-chan locked
	for range early {
		waiting = append(waiting, s.lineUp(t.Context(), t, s.kind.open(locker, "m", lock.NewOwner())))
	}
	asked, kept, since := watched.scripts.Load(), watched.renewals.Load(), time.Now()
	time.Sleep(waitSlot + waitSlot/4) // longer than a place lasts without renewal
	if n := watched.scripts.Load() - asked; n > early {
		t.Errorf("the waiters called %d scripts", n)
	}
	if scripts, seconds := watched.renewals.Load()-kept, int64(time.Since(since)/time.Second); scripts > seconds+2 {
		t.Errorf("%d scripts kept the places in %d s, want one per second for all", scripts, seconds)
	}
	waiting = append(waiting, s.lineUp(t.Context(), t, s.lock()))
	mustRelease(t, h)
	var last int64
	for i, got := range waiting {
		next := mustReceive(t, got)
		if next.hold.Token() <= last {
			t.Errorf("waiter %d has token %d after %d", i, next.hold.Token(), last)
		}
		last = next.hold.Token()
		mustRelease(t, next.hold)
	}
}

// clockReader is a client that fails the test if a script gets a time of the client's clock.
type clockReader struct {
	*spy
	t *testing.T
}

func (c clockReader) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	now := time.Now()
	for _, arg := range args {
		n, err := strconv.ParseFloat(fmt.Sprint(arg), 64)
		if err != nil {
			continue
		}
		for unit, clock := range map[string]int64{
			"s": now.Unix(), "ms": now.UnixMilli(), "µs": now.UnixMicro(), "ns": now.UnixNano(),
		} {
			if ratio := n / float64(clock); ratio > 0.99 && ratio < 1.01 {
				c.t.Errorf("a script was given %v, the client's time in %s", arg, unit)
			}
		}
	}
	return c.spy.EvalSha(ctx, sha, keys, args...)
}

// onlyRedisClock runs on a Redis whose clock is decades behind and stands still.
func onlyRedisClock(t *testing.T, s stage) {
	server := miniredis.RunT(t)
	now := time.Date(2001, 9, 9, 1, 46, 41, 123_457_000, time.UTC)
	server.SetTime(now)
	s.client, s.prefix = ownClient(t, server.Addr()), ""
	open := func(c lock.Client) aLock { return s.through(clockReader{&spy{Client: c}, t}) }
	h := mustLock(t, open(s.client))
	network, through := proxied(t, server.Addr())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	mortal := &spy{Client: through}
	dead := s.lineUp(ctx, t, s.through(clockReader{mortal, t}))
	mortal.quietSince(t, 0) // otherwise the cut may hit it while it asks, and end its wait
	var living []<-chan locked
	for range 3 {
		living = append(living, s.lineUp(t.Context(), t, open(s.client)))
	}
	network.Cut()
	mustRelease(t, h)
	server.SetTime(now.Add(waitSlot / 2))
	deadIsOver := now.Add(waitSlot)
	eventually(t, "renewing living places", func() bool { return s.keptAfter(t, deadIsOver) == int64(len(living)) })
	select {
	case got := <-living[0]:
		t.Errorf("obtained ahead of a waiter whose place has not expired: %v", got.err)
	default:
	}
	server.SetTime(deadIsOver)
	for _, waiting := range living {
		mustRelease(t, mustReceive(t, waiting).hold)
	}
	cancel()
	wantErr(t, "Lock of the dead", receive(t, "answer", dead).err, lock.ErrNoAnswer) // its connection was lost
}

func queuesVanish(t *testing.T, s stage) {
	h := mustLock(t, s.lock())
	network, through := s.viaProxy(t)
	ctx, cancel := context.WithTimeout(t.Context(), soon/2) // time enough to line up
	defer cancel()
	client := &spy{Client: through}
	waiting := s.lineUp(ctx, t, s.through(client))
	client.quietSince(t, 0) // otherwise it may be asking, and report that it got no answer
	network.Blackhole()
	wantErr(t, "Lock", receive(t, "answer", waiting).err, context.DeadlineExceeded)
	eventually(t, "without a queue", func() bool { return len(s.remains(t)) == 1 })
	network.Heal()
	next := s.lineUp(t.Context(), t, s.lock())
	mustRelease(t, h)
	mustRelease(t, mustReceive(t, next).hold)
	if found := s.remains(t); len(found) > 0 {
		t.Errorf("%q is left", found)
	}
}

func TestAPlaceThatWasLostIsTakenAgain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Fair", "Write", "Read"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, name)
			h := mustLock(t, s.rivals().lock())
			waiting := s.lineUp(t.Context(), t, s.lock())
			for _, key := range s.remains(t) {
				if strings.Contains(key, "-places:") || strings.Contains(key, "queue:") {
					s.client.Del(t.Context(), key)
				}
			}
			eventually(t, "in the queue again", func() bool { return s.places(t) == 1 })
			mustRelease(t, h)
			mustRelease(t, mustReceive(t, waiting).hold)
		})
	}
}
