package lock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

// TestSilentMasterLosesItsOwnHoldsOnly stops one master of a cluster while a process has locks of all of them, which are renewed
// together: those of the others are held on.
func TestSilentMasterLosesItsOwnHoldsOnly(t *testing.T) {
	t.Parallel()
	const lease, holds = 9 * time.Second, 60
	cluster := testkit.StartRedisClusterOf(t, 3, time.Minute) // nobody takes the silent one's place
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() }) // nothing is under way
	locker := lock.New(client, "")
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
	cluster.Nodes[0].Pause()
	t.Cleanup(cluster.Nodes[0].Resume)
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

// TestSilentMasterHoldsUpItsOwnLocksOnly stops one master of a cluster while many ask it for locks, and has locks of the
// others taken and released in the time that one try of a release has.
func TestSilentMasterHoldsUpItsOwnLocksOnly(t *testing.T) {
	t.Parallel()
	const calls = 100
	cluster := testkit.StartRedisClusterOf(t, 3, time.Minute) // nobody takes the silent one's place
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() }) // nothing is under way
	locker := lock.New(client, "")
	var onSilent, onOthers []*lock.Lock
	for i := 0; len(onSilent) < calls || len(onOthers) < calls; i++ {
		l := locker.Mutex(fmt.Sprint(i))
		if cluster.Master(lock.KeyOf(l)) == 0 {
			onSilent = append(onSilent, l)
		} else {
			onOthers = append(onOthers, l)
		}
	}
	for _, l := range onOthers[:calls] { // who knows all nodes and scripts
		mustRelease(t, mustLock(t, l))
	}
	cluster.Nodes[0].Pause()
	t.Cleanup(cluster.Nodes[0].Resume)
	var stuck sync.WaitGroup
	defer stuck.Wait()
	for _, l := range onSilent[:calls] {
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
			h, err := onOthers[i].TryLock(t.Context())
			if err != nil {
				return err
			}
			return h.Release(t.Context())
		})
	})
}
