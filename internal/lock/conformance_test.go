package lock_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/lock/group"
	"seckill/internal/testkit"
)

// kind is one kind of lock and the rows that it must pass. To add a kind, add an entry to kinds.
type kind struct {
	name string
	// open returns the lock with the name for an owner; kinds that make their own owners ignore it.
	open   func(l *lock.Locker, name string, o lock.Owner, opts ...lock.Option) aLock
	claims []int
	// rival is the kind that this kind and its holders exclude; "" if owners of the kind exclude each other.
	rival string
	// owned: the caller chooses the owner, who may hold the lock already.
	owned bool
	// parts is the number of locks that it is combined from; 0 for a plain kind.
	parts int
}

// row is one promise, with a test that runs on a Redis shared with other tests.
type row struct {
	number int
	group  string
	says   string
	run    func(t *testing.T, s stage)
	// anywhere: the row tests only scripts, so it also runs on a cluster and on the in-process Redis.
	anywhere bool
	// alone: the row measures time, so it runs before the concurrent ones.
	alone bool
}

// kinds are all kinds of locks.
var kinds = []kind{
	{
		name: "Mutex",
		open: func(l *lock.Locker, name string, _ lock.Owner, opts ...lock.Option) aLock {
			return one(l.Mutex(name, opts...))
		},
		claims: slices.Concat(span(1, 17), span(20, 31), span(46, 51), span(53, 58), span(60, 60), span(62, 73)),
	},
	{
		name: "Reentrant", owned: true,
		open: func(l *lock.Locker, name string, o lock.Owner, opts ...lock.Option) aLock {
			return one(l.Reentrant(name, o, opts...))
		},
		claims: slices.Concat(span(1, 19), span(21, 31), span(46, 58), span(60, 73)),
	},
	{
		name: "Fair", owned: true,
		open: func(l *lock.Locker, name string, o lock.Owner, opts ...lock.Option) aLock {
			return one(l.Fair(name, o, opts...))
		},
		claims: slices.Concat(span(1, 19), span(21, 37), span(46, 58), span(60, 73)),
	},
	{
		name: "Write", owned: true,
		open: func(l *lock.Locker, name string, o lock.Owner, opts ...lock.Option) aLock {
			return one(l.Write(name, o, opts...))
		},
		claims: slices.Concat(span(1, 19), span(21, 42), span(46, 58), span(60, 73)),
	},
	{
		name: "Read", owned: true,
		open: func(l *lock.Locker, name string, o lock.Owner, opts ...lock.Option) aLock {
			return one(l.Read(name, o, opts...))
		},
		claims: slices.Concat(
			span(1, 10), span(12, 19), span(21, 30), span(38, 42), span(46, 58), span(60, 73),
		),
		rival: "Write",
	},
	{
		name: "Multi",
		open: func(l *lock.Locker, name string, _ lock.Owner, opts ...lock.Option) aLock {
			return several(group.Multi(l.Mutex(name, opts...), l.Mutex(name+"/other", opts...)))
		},
		parts:  2,
		claims: slices.Concat(span(1, 17), span(20, 31), span(43, 44), span(46, 58), span(60, 60), span(62, 73)),
	},
	{
		name: "Redlock",
		open: func(l *lock.Locker, name string, _ lock.Owner, opts ...lock.Option) aLock {
			on := func(server string) *lock.Lock { return lock.Elsewhere(l.Mutex(name, opts...), server) }
			return several(group.Redlock(on("1"), on("2"), on("3")).TrustServers())
		},
		parts: 3,
		claims: slices.Concat(
			span(1, 13), span(16, 17), span(20, 29), span(31, 31), span(45, 60), span(62, 73),
		),
	},
}

// locks is how many locks in Redis one lock of the kind takes.
func (k kind) locks() int { return max(k.parts, 1) }

// span returns the numbers from first to last.
func span(first, last int) []int {
	var numbers []int
	for n := first; n <= last; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// rows returns all promises, in order.
func rows() []row {
	return slices.Concat(
		basicRows, faultRows, reentrantRows, watchdogRows, waitingRows, fairRows, readWriteRows, multiRows, redlockRows,
		fencedRows, edgeRows, useRows, thirdRows, lateRows, fourthRows,
	)
}

// TestConformance runs every row for every kind that claims it.
func TestConformance(t *testing.T) {
	// Not parallel: rows that measure time run first, with nothing beside them.
	for _, alone := range []bool{true, false} {
		for _, k := range kinds {
			for _, r := range rows() {
				if r.alone != alone || !slices.Contains(k.claims, r.number) {
					continue
				}
				t.Run(fmt.Sprintf("%s/row %d %s", k.name, r.number, r.says), func(t *testing.T) {
					if !alone {
						t.Parallel()
					}
					client, prefix := testkit.Redis(t)
					r.run(t, stage{k, client, prefix})
				})
			}
		}
	}
}

// TestEveryClaimHasARow catches a claim without a test.
func TestEveryClaimHasARow(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		for _, n := range k.claims {
			if !slices.ContainsFunc(rows(), func(r row) bool { return r.number == n }) {
				t.Errorf("%s claims row %d, which does not exist", k.name, n)
			}
		}
	}
}

// TestOnOtherBackends runs the rows about scripts on a cluster and on the in-process Redis.
func TestOnOtherBackends(t *testing.T) {
	t.Parallel()
	for _, backend := range []struct {
		name string
		open func(t *testing.T) redis.UniversalClient
	}{
		{"cluster", func(t *testing.T) redis.UniversalClient { return testkit.StartRedisCluster(t).ClusterClient() }},
		{"in process", func(t *testing.T) redis.UniversalClient {
			server := miniredis.RunT(t)
			letTimePass(t, server)
			client := redis.NewClient(&redis.Options{Addr: server.Addr()})
			t.Cleanup(func() { _ = client.Close() }) // no call is under way
			return client
		}},
	} {
		t.Run(backend.name, func(t *testing.T) {
			t.Parallel()
			client := backend.open(t)
			for _, k := range kinds {
				for _, r := range rows() {
					if r.anywhere && slices.Contains(k.claims, r.number) {
						name := fmt.Sprintf("%s/row %d %s", k.name, r.number, r.says)
						t.Run(name, func(t *testing.T) { r.run(t, stage{k, client, name + ":"}) })
					}
				}
			}
		})
	}
}

// letTimePass moves the clock of an in-process server on, so that keys expire as in Redis. On a busy machine a Redlock
// may not have asked a member to release; that member is then freed only by its lease.
func letTimePass(t *testing.T, server *miniredis.Miniredis) {
	t.Helper()
	done := make(chan struct{})
	var passing sync.WaitGroup
	passing.Go(func() {
		ticks := time.NewTicker(50 * time.Millisecond)
		defer ticks.Stop()
		for last := time.Now(); ; {
			select {
			case <-done:
				return
			case now := <-ticks.C:
				server.FastForward(now.Sub(last))
				last = now
			}
		}
	})
	t.Cleanup(func() {
		close(done)
		passing.Wait()
	})
}

// newStage returns a stage on the shared Redis for tests of one kind.
func newStage(t *testing.T, name string) stage {
	t.Helper()
	client, prefix := testkit.Redis(t)
	return stage{kindOf(name), client, prefix}
}

// kindOf returns the kind with the name.
func kindOf(name string) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
}
