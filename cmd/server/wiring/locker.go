package wiring

import (
	"context"
	"errors"
	"time"

	"seckill/internal/lock"
	"seckill/internal/order"
	"seckill/internal/telemetry"
)

// lockLease is the lease of locks: a sale waits this long for a rebuild after an instance died while rebuilding it.
const lockLease = 5 * time.Second

// locksPrefix begins the names of the locks' keys, after the service's own prefix.
const locksPrefix = "lock:"

// locker provides the domain's locks: it is a recovery.Locker; TryDo is an order.TryLocker, and TryDoFenced an
// order.FencedLocker. The reconciler needs no token, because the sale's epoch in the ledger fences its writes. The
// lock's token fences the expirer's writes.
type locker struct {
	locks   *lock.Locker
	metrics *telemetry.Metrics
}

func (l locker) Do(ctx context.Context, name string, f func(context.Context) error) error {
	asked := time.Now()
	held := false
	err := l.mutex(name).Do(ctx, func(ctx context.Context, _ *lock.Hold) error {
		held = true
		l.metrics.Locked(time.Since(asked))
		return f(ctx)
	})
	if !held {
		l.failed(ctx, err)
	}
	return err
}

// failed counts a lock that could not be requested, unless the caller has given up.
func (l locker) failed(ctx context.Context, err error) {
	if silent := errors.Is(err, lock.ErrNoAnswer) && !errors.Is(err, context.Canceled); silent || ctx.Err() == nil {
		l.metrics.LockFailed()
	}
}

func (l locker) TryDo(ctx context.Context, name string, f func(context.Context) error) error {
	return l.TryDoFenced(ctx, name, func(ctx context.Context, _ int64) error { return f(ctx) })
}

func (l locker) TryDoFenced(ctx context.Context, name string, f func(ctx context.Context, Token int64) error) error {
	asked := time.Now()
	held := false
	err := l.mutex(name).TryDo(ctx, func(ctx context.Context, h *lock.Hold) error {
		held = true
		l.metrics.Locked(time.Since(asked))
		return f(ctx, h.Token())
	})
	switch {
	case held:
		return err
	case errors.Is(err, lock.ErrNotObtained):
		l.metrics.LockBusy()
		return order.ErrBusy
	default:
		l.failed(ctx, err)
		return err
	}
}

func (l locker) mutex(name string) *lock.Lock {
	return l.locks.Mutex(name, lock.WithRenewedLease(lockLease))
}
