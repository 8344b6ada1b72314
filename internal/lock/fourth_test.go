package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/lock/internal/member"
)

var fourthRows = []row{
	{
		number: 69, group: "Misuse",
		says: "New refuses nil, a Ring and other clients that it cannot serve; nothing panics in a goroutine",
		run:  unfitClientsAreRefused,
	},
	{
		number: 70, group: "Misuse",
		says: "owners are compared whole: prefixes of each other, with blanks, with a leading '-'",
		run:  ownersAreComparedWhole, anywhere: true,
	},
	{
		number: 71, group: "Evicted",
		says: "any one key is evicted: nobody waits for themselves, no second holder, or the first one is notified",
		run:  evictions,
	},
	{
		number: 73, group: "Keys",
		says: "refused tries do not make a lock's value grow; prefixes that differ only in % or { are different locks",
		run:  valuesAndPrefixes, anywhere: true,
	},
}

// ringInside is a client that hides a Ring.
type ringInside struct{ lock.Client }

func unfitClientsAreRefused(t *testing.T, s stage) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"1": "127.0.0.1:1", "2": "127.0.0.1:2"}})
	t.Cleanup(func() { _ = ring.Close() }) // no call is under way
	for name, c := range map[string]lock.Client{
		"nil": nil, "a nil client": (*redis.Client)(nil), "a nil cluster": (*redis.ClusterClient)(nil),
		"a ring": ring, "a ring inside": ringInside{ring}, "nothing inside": ringInside{},
		"a zero client": &redis.Client{},
	} {
		l, err := lock.New(c, s.prefix)
		if l != nil || !errors.Is(err, lock.ErrInvalidClient) {
			t.Errorf("%s: %v, %v; want ErrInvalidClient", name, l, err)
		}
	}
	addr := redisAddr(s.client)
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}})
	sentinel := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{addr}})
	closed := ownClient(t, addr)
	for _, c := range []redis.UniversalClient{cluster, sentinel, closed} {
		if _, err := lock.New(c, s.prefix); err != nil {
			t.Errorf("a %T: %v", c, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	// A client that does not work any more has errors only.
	for _, method := range []string{"TryLock", "Lock", "Do", "TryDo"} {
		if err := ask(t.Context(), s.through(closed), method); !errors.Is(err, redis.ErrClosed) {
			t.Errorf("%s through a closed client: %v", method, err)
		}
	}
}

func ownersAreComparedWhole(t *testing.T, s stage) {
	locker := newLocker(s.client, s.prefix)
	if !s.kind.owned { // its owners are made by the package, or by package group
		mutex := locker.Mutex("m").Member(member.Pass{})
		name := string(lock.NewOwner())
		for _, o := range []string{"-x", "a", "a b", name[:35], "-" + name[:35], name + " x"} {
			_, err := mutex.As(o).TryLock(t.Context())
			wantErr(t, fmt.Sprintf("TryLock of a mutex for %q", o), err, lock.ErrInvalidOwner)
		}
		mustRelease(t, mustLock(t, s.lock()))
		return
	}
	const first = "a b"
	for _, other := range []lock.Owner{"a", "a ", "a b c", " a b", "-a b", "-", "a  b", "=a b", "token 1", "a b -"} {
		l := s.kind.open(locker, "m", first)
		h := mustLock(t, l)
		again := mustLock(t, s.kind.open(newLocker(s.client, s.prefix), "m", first)) // of another process
		_, err := s.rivals().kind.open(locker, "m", other).TryLock(t.Context())
		if !errors.Is(err, lock.ErrNotObtained) || errors.Is(err, lock.ErrUpgrade) {
			t.Errorf("TryLock for %q beside %q: %v, want ErrNotObtained", other, first, err)
		}
		state, err := l.State(t.Context())
		if err != nil || state.HoldCount(first) != 2 || state.HeldBy(other) {
			t.Errorf("State: %+v, %v; want two holds of %q alone", state, err, first)
		}
		mustRelease(t, h)
		mustRelease(t, again)
		// The same owners the other way round.
		h = mustLock(t, s.kind.open(locker, "m", other))
		_, err = s.rivals().kind.open(locker, "m", first).TryLock(t.Context())
		wantErr(t, fmt.Sprintf("TryLock for %q beside %q", first, other), err, lock.ErrNotObtained)
		mustRelease(t, h)
	}
}

// evictions deletes one key after the other of a lock that is held and waited for. A key that a single attempt leaves
// for a moment has its name from that attempt alone: only those count that the lock has each time.
func evictions(t *testing.T, s stage) {
	keys := func(probe string) (names []string) {
		own := s
		own.prefix += probe
		scene := own.contended(t)
		defer scene.end(t)
		for _, key := range own.keys(t) {
			names = append(names, strings.TrimPrefix(key, own.prefix))
		}
		return names
	}
	once := keys("once:")
	names := slices.DeleteFunc(keys("again:"), func(name string) bool { return !slices.Contains(once, name) })
	if len(names) < 2 {
		t.Fatalf("keys %q: nothing to evict", names)
	}
	for i, name := range names {
		for _, upgrades := range []bool{false, true} {
			if upgrades && s.kind.name != "Read" {
				continue
			}
			t.Run(fmt.Sprintf("%s, upgrades %v", name, upgrades), func(t *testing.T) {
				t.Parallel()
				own := s
				own.prefix += fmt.Sprint(i, upgrades, ":")
				own.evict(t, name, upgrades)
			})
		}
	}
}

// contended is a lock that is held, and that another process waits for.
type contended struct {
	owner   lock.Owner
	hold    aHold
	waiting <-chan locked
	quit    context.CancelFunc
}

const evictionLease = 3 * time.Second

func (s stage) contended(t *testing.T) contended {
	t.Helper()
	owner, lease := lock.NewOwner(), lock.WithRenewedLease(evictionLease)
	c := contended{owner: owner, hold: mustLock(t, s.kind.open(newLocker(s.client, s.prefix), "m", owner, lease))}
	var ctx context.Context
	ctx, c.quit = context.WithCancel(t.Context())
	watched := &spy{Client: s.client}
	c.waiting = s.rivals().lockAsync(ctx, t, s.rivals().through(watched, lease))
	eventually(t, "quiet", watched.quiet) // it asks once more after subscribing
	if places := s.rivals().kind.name == "Fair" || s.rivals().kind.name == "Write"; places {
		eventually(t, "in the queue", func() bool { return s.places(t) == 1 })
	}
	return c
}

// end releases the lock; its waiter leaves with it, or without it.
func (c contended) end(t *testing.T) {
	t.Helper()
	mustRelease(t, c.hold)
	mustRelease(t, mustReceive(t, c.waiting).hold)
	c.quit()
}

// evict deletes the key with the name. With upgrades, the reader then wants to write before it reads once more.
func (s stage) evict(t *testing.T, name string, upgrades bool) {
	t.Helper()
	c := s.contended(t)
	defer c.quit()
	if n, err := s.client.Del(t.Context(), s.prefix+name).Result(); n != 1 || err != nil {
		t.Fatalf("%d keys deleted (%v)", n, err)
	}
	stalled, stop := measureStalls()
	defer stop()
	gone := time.Now()
	inRedis := s.state(t).HeldBy(c.hold.Owner())
	if upgrades && inRedis {
		_, err := newLocker(s.client, s.prefix).Write("m", c.owner).TryLock(t.Context())
		wantErr(t, "TryLock of a reader that wants to write", err, lock.ErrUpgrade)
	}
	if s.kind.owned { // the owner enters again, ahead of who waits, or after the waiter who has the lock instead
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		again := make(chan locked, 1)
		go func() {
			h, err := s.kind.open(newLocker(s.client, s.prefix), "m", c.owner).Lock(ctx)
			again <- locked{h, err, time.Now()}
		}()
		select {
		case got := <-c.waiting:
			if inRedis && got.err == nil {
				t.Error("a second holder beside the first")
			}
			if got.err == nil {
				mustRelease(t, got.hold)
			}
			c.waiting = nil
			mustRelease(t, mustReceive(t, again).hold)
		case got := <-again:
			if got.err != nil {
				t.Fatalf("the owner's second Lock: %v", got.err)
			}
			mustRelease(t, got.hold)
		case <-time.After(soon):
			t.Fatal("the owner waits for itself")
		}
	}
	if !inRedis {
		eventually(t, "notified", func() bool { return c.hold.Err() != nil })
		if took := time.Since(gone) - 2*stalled(); took > evictionLease+unaided {
			t.Errorf("the holder was notified after %v, want a third of the lease of %v", took, evictionLease)
		}
		wantErr(t, "Err", c.hold.Err(), lock.ErrLost)
	} else if err := c.hold.Err(); err != nil && !errors.Is(err, lock.ErrLost) { // a combined lock may lose a part
		t.Errorf("Err: %v", err)
	}
	if err := c.hold.Release(t.Context()); err != nil && !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Release: %v", err)
	}
	if c.waiting != nil {
		mustRelease(t, mustReceive(t, c.waiting).hold)
	}
	eventually(t, "free", func() bool { return !s.state(t).IsLocked() })
	mustRelease(t, mustLock(t, s.rivals().lock()))
}

func valuesAndPrefixes(t *testing.T, s stage) {
	// Some of these prefixes look like the escaped form of another.
	var holds []aHold
	for _, prefix := range []string{"%", "%25", "{", "%7B", "%257B", "}", "%7D", "{}", "%7b"} {
		own := s
		own.prefix = s.prefix + prefix
		h, err := own.lock().TryLock(t.Context())
		if err != nil {
			t.Errorf("TryLock with the prefix %q beside others: %v", prefix, err)
			continue
		}
		holds = append(holds, h)
	}
	for _, h := range holds {
		mustRelease(t, h)
	}
	s.prefix += "grows:"
	h := mustLock(t, s.rivals().lock(lock.WithLease(time.Minute)))
	// Each member of a Redlock is marked once that somebody listens, on a busy machine in a later round than the first.
	const rounds, marks = 12, 5
	grown, size := 0, 0
	for range rounds {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := s.lock().Lock(ctx)
		cancel()
		if err == nil {
			t.Fatal("a second holder beside the first")
		}
		eventually(t, "without waiters", func() bool { return s.places(t) == 0 })
		before := size
		if size = s.size(t); size > before {
			grown++
		}
	}
	if grown > 1+marks { // from nothing to the first holder's
		t.Errorf("the lock's values have grown in %d of %d rounds, to %d bytes: refused tries make them grow", grown,
			rounds, size)
	}
	mustRelease(t, h)
}

// size returns how many bytes the values of the lock have, without the queue's. A dump would compress a long string.
func (s stage) size(t *testing.T) (bytes int) {
	t.Helper()
	for _, key := range s.remains(t) {
		if strings.Contains(key, "-places:") {
			continue
		}
		value, err := s.client.Get(t.Context(), key).Result()
		if redis.HasErrorPrefix(err, "WRONGTYPE") {
			value, err = s.client.Dump(t.Context(), key).Result()
		}
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
		bytes += len(value)
	}
	return bytes
}
