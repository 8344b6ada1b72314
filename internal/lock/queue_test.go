package lock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"seckill/internal/testkit"
)

// TestOthersHaveTheirTurn takes a mutex in one process while another process always has waiters. If those handed it on
// among themselves without end, it would never be free.
func TestOthersHaveTheirTurn(t *testing.T) {
	t.Parallel()
	s := newStage(t, "Mutex")
	rival := newLocker(ownClient(t, testkit.RedisAddr(t)), s.prefix)
	ctx, cancel := context.WithCancel(t.Context())
	var had atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if h, err := rival.Mutex("m").Lock(ctx); err == nil {
					had.Add(1)
					_ = h.Release(ctx) // a failed release shows up in the other process
				}
			}
		})
	}
	eventually(t, "busy", func() bool { return had.Load() > 50 })
	for range 10 {
		mustRelease(t, mustLock(t, s.lock()))
	}
}
