package lock_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

var waitingRows = []row{
	{
		number: 29, group: "Waiting", says: "a release between the failed try and the subscription is not missed",
		run: earlyRelease, anywhere: true,
	},
	{
		number: 30, group: "Waiting",
		says: "one connection serves 1,000 waiters, is replaced when lost, and closes when nobody waits",
		run:  sharedSubscription,
	},
	{number: 31, group: "Waiting", says: "100 waiters: one release makes one of them ask", run: oneIsWoken},
}

func earlyRelease(t *testing.T, s stage) {
	quickly(t, "taking a lock that was released before the subscription", func() {
		h := mustLock(t, s.rivals().lock())
		var once sync.Once
		slow := &spy{Client: s.client, beforeSubscribe: func() { once.Do(func() { mustRelease(t, h) }) }}
		mustRelease(t, mustLock(t, s.through(slow)))
	})
}

func sharedSubscription(t *testing.T, s stage) {
	const waiters = 1000
	s, _ = s.onOwnServer(t)
	watched := &spy{Client: s.client}
	holder, waiter := newLocker(s.client, s.prefix), newLocker(watched, s.prefix)
	held := make([]aHold, waiters)
	atOnce(t, waiters, func(i int) (err error) {
		held[i], err = s.rivals().kind.open(holder, fmt.Sprint(i), lock.NewOwner()).TryLock(t.Context())
		return err
	})
	got := make(chan locked, waiters)
	for i := range waiters {
		go func() {
			h, err := s.kind.open(waiter, fmt.Sprint(i), lock.NewOwner()).Lock(t.Context())
			got <- locked{h, err, time.Now()}
		}()
	}
	eventually(t, "waiting", func() bool { return len(s.channels(t)) == waiters })
	if listen := pubsubClients(t, s.client); len(listen) != 1 {
		t.Errorf("connections %v are subscribed, want 1", listen)
	}
	first := pubsubClients(t, s.client)
	if n, err := s.client.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Result(); err != nil || n != 1 {
		t.Fatalf("killed %d subscriptions, %v; want 1", n, err)
	}
	release := func(held []aHold) {
		atOnce(t, len(held), func(i int) error { return held[i].Release(t.Context()) })
	}
	release(held[:waiters/2]) // perhaps while nobody is subscribed
	// If the loss is noticed by a write, the client reconnects by itself; if by a read, this package does.
	eventually(t, "listening again", func() bool {
		again := pubsubClients(t, s.client)
		return len(again) > 0 && !slices.Equal(again, first)
	})
	release(held[waiters/2:])
	atOnce(t, waiters, func(int) error {
		next := <-got
		if next.err != nil {
			return next.err
		}
		return next.hold.Release(t.Context())
	})
	if n := watched.subscriptions.Load(); n > 2 {
		t.Errorf("%d connections were made, want one, and at most one more after the loss", n)
	}
	s.nobodyListens(t)
	eventually(t, "disconnected", func() bool { return len(pubsubClients(t, s.client)) == 0 })
}

// atOnce calls do for each number below n, twenty at a time, and fails with the errors.
func atOnce(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(20)
	for i := range n {
		all.Go(func() error { return do(i) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// pubsubClients returns the ids of the connections that have subscriptions.
func pubsubClients(t *testing.T, c redis.UniversalClient) (ids []string) {
	t.Helper()
	list, err := c.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(list) {
		id, _, _ := strings.Cut(line, " ")
		ids = append(ids, id)
	}
	return ids
}

func oneIsWoken(t *testing.T, s stage) {
	const waiters, processes = 100, 2
	first := mustLock(t, s.lock())
	got := make(chan locked, waiters)
	var spies []*spy
	for range processes {
		watched := &spy{Client: ownClient(t, testkit.RedisAddr(t))}
		spies = append(spies, watched)
		locker := newLocker(watched, s.prefix)
		for range waiters / processes {
			go func() {
				h, err := insist(t.Context(), s.kind.open(locker, "m", lock.NewOwner()))
				got <- locked{h, err, time.Now()}
			}()
		}
	}
	asked := func() (n int64) {
		for _, w := range spies {
			n += w.scripts.Load()
			if s.kind.name != "Fair" && s.kind.name != "Write" { // they also renew places
				n += w.renewals.Load()
			}
		}
		return n
	}
	// All are waiting now; their own tries do not count.
	listeners := int64(processes)
	eventually(t, "waiting", func() bool {
		n := s.listeners(t)
		// If a majority is enough, waiters may wait for different members on a busy machine.
		return n == listeners || n > listeners && s.kind.name == "Redlock"
	})
	eventually(t, "quiet", func() bool {
		before := asked()
		time.Sleep(200 * time.Millisecond)
		return asked() == before
	})
	before := asked()
	mustRelease(t, first)
	next := mustReceive(t, got)
	// Each process may ask once, and again for an event that was on its way. A process that gets one member asks for
	// the others, raises their token, and gives them back if another was faster.
	more := 4 * (s.kind.locks() - 1)
	if n := asked() - before; n > int64(2*processes+more) {
		t.Errorf("one release made waiters run %d scripts, want at most %d", n, 2*processes+more)
	}
	for range waiters - 1 {
		mustRelease(t, next.hold)
		next = mustReceive(t, got)
	}
	mustRelease(t, next.hold)
	// A handover takes a release, and an acquire in each process that waits.
	if n := asked() - before; n > int64(waiters*(s.kind.locks()+2*processes+more)) {
		t.Errorf("%d handovers took %d scripts", waiters, n)
	}
}

// listeners returns how many connections are subscribed to the lock's releases.
func (s stage) listeners(t *testing.T) int64 {
	t.Helper()
	counts, err := s.client.PubSubNumSub(t.Context(), s.channels(t)...).Result()
	if err != nil {
		t.Fatalf("PUBSUB NUMSUB: %v", err)
	}
	var n int64
	for _, count := range counts {
		n += count
	}
	return n
}
