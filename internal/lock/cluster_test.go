package lock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

// threeMasters returns a cluster in which no replica replaces a silent master, and a locker on it.
func threeMasters(t *testing.T) (*testkit.RedisCluster, *lock.Locker) {
	t.Helper()
	cluster := testkit.StartRedisClusterOf(t, 3, 1, time.Minute, "--tcp-backlog", "4096") // connects while silent
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() }) // no call is under way
	return cluster, newLocker(client, "")
}

// silenceFirst stops the first master until the test ends.
func silenceFirst(t *testing.T, cluster *testkit.RedisCluster) {
	t.Helper()
	cluster.Nodes[0].Pause()
	t.Cleanup(cluster.Nodes[0].Resume)
}

// silentAndOthers stops the first of three masters and returns locks of a process: some on that master, and some on the
// others, which were held before.
func silentAndOthers(t *testing.T, ofSilent, ofOthers int) (locker *lock.Locker, silent, others []*lock.Lock) {
	t.Helper()
	cluster, locker := threeMasters(t)
	for i := 0; len(silent) < ofSilent || len(others) < ofOthers; i++ {
		l := locker.Mutex(fmt.Sprint(i))
		if cluster.Master(lock.KeyOf(l)) == 0 {
			silent = append(silent, l)
		} else {
			others = append(others, l)
		}
	}
	silent, others = silent[:ofSilent], others[:ofOthers]
	for _, l := range others { // afterwards the client knows all nodes and scripts
		mustRelease(t, mustLock(t, l))
	}
	silenceFirst(t, cluster)
	return locker, silent, others
}

// TestSilentMasterLosesItsOwnHoldsOnly stops one master of a cluster while a process holds locks on all of them, which
// are renewed together: the holds on the other masters must survive.
func TestSilentMasterLosesItsOwnHoldsOnly(t *testing.T) {
	t.Parallel()
	const lease, holds = 9 * time.Second, 60
	cluster, locker := threeMasters(t)
	var onSilent, onOthers []*lock.Hold
	for i := range holds { // over a lease, so that some are always due
		l := locker.Mutex(fmt.Sprint(i), lock.WithRenewedLease(lease))
		h := mustLock(t, l)
		if cluster.Master(lock.KeyOf(l)) == 0 {
			onSilent = append(onSilent, h)
		} else {
			onOthers = append(onOthers, h)
		}
		time.Sleep(lease / 2 / holds)
	}
	silenceFirst(t, cluster)
	for _, h := range onSilent {
		receive(t, "loss", h.Lost())
	}
	for _, h := range onOthers {
		if err := h.Err(); err != nil {
			t.Errorf("a hold of another master: %v", err)
		}
		mustRelease(t, h)
	}
}

// TestSilentMasterHoldsUpItsOwnLocksOnly stops one master of a cluster while many ask it for locks. Locks on the others
// must be taken and released within the time of one try of a release.
func TestSilentMasterHoldsUpItsOwnLocksOnly(t *testing.T) {
	t.Parallel()
	const calls = 100
	_, silent, others := silentAndOthers(t, calls, calls)
	var stuck sync.WaitGroup
	defer stuck.Wait()
	for _, l := range silent {
		stuck.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			if _, err := l.TryLock(ctx); err == nil {
				t.Error("a silent master has given a lock")
			}
		})
	}
	quickly(t, "taking and releasing locks of the others", func() {
		atOnce(t, calls, func(i int) error {
			h, err := others[i].TryLock(t.Context())
			if err != nil {
				return err
			}
			return h.Release(t.Context())
		})
	})
}

// TestSilentMasterKeepsItsOwnCallsOnly repeatedly abandons more calls to a stopped master than may run in the
// background. Callers that may leave early must still be able to take and release locks on the others.
func TestSilentMasterKeepsItsOwnCallsOnly(t *testing.T) {
	t.Parallel()
	locker, silent, others := silentAndOthers(t, 300, 50)
	ctx, done := context.WithCancel(t.Context())
	var leaving sync.WaitGroup
	var refused atomic.Bool
	defer leaving.Wait()
	defer done()
	for _, l := range silent {
		leaving.Go(func() {
			for again := time.NewTicker(time.Second); ctx.Err() == nil; <-again.C {
				impatient, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
				if _, err := l.TryLock(impatient); err == nil {
					t.Error("a silent master has given a lock")
				}
				cancel()
				impatient, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
				if _, err := l.State(impatient); lock.TooMany(err) {
					refused.Store(true)
				}
				cancel()
			}
		})
	}
	many := func() bool { n, most := lock.Left(locker); return n >= most }
	eventually(t, "at the limit of abandoned calls", many)
	for _, l := range others {
		h, err := l.Lock(t.Context())
		if err != nil {
			t.Fatalf("a lock of another master: %v", err)
		}
		if err := h.Refresh(t.Context()); err != nil {
			t.Errorf("refresh: %v", err)
		}
		mustRelease(t, h)
	}
	eventually(t, "at the limit of abandoned calls again", many)
	eventually(t, "refusing calls to the slot with too many abandoned ones", refused.Load)
	done()
	leaving.Wait()
	eventually(t, "rid of the calls", func() bool { n, _ := lock.Left(locker); return n == 0 })
}
