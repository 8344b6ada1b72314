package service

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/job"
)

const (
	expireEvery = time.Second // how often it looks for due orders after it found none
	expireBatch = 200         // most orders in one transaction
)

// Expirer expires orders that were not paid for in time, the longest overdue first, whatever their voucher. One
// instance at a time does so (package job).
type Expirer struct {
	Ledger   OrderLedger
	Locker   order.FencedLocker
	Outbox   order.FlushRequester
	Notifier order.StatusNotifier
	Rate     int // the most orders per second, on average over a batch
	Observer Observer
	Log      *slog.Logger
}

// Run expires orders, or waits for its turn, until ctx ends, and then returns nil.
func (e *Expirer) Run(ctx context.Context) error {
	return job.Job{
		Name: order.ExpirerJob, Does: "expiring overdue orders", Every: expireEvery, Size: expireBatch, Rate: e.Rate,
		Batch: e.batch,
	}.Run(ctx, e.Locker, e.Log)
}

// batch expires up to a batch of due orders, and returns how many.
func (e *Expirer) batch(ctx context.Context, token int64) (int, error) {
	start := time.Now()
	orders, err := e.Ledger.ExpireDue(ctx, token, expireBatch)
	if err != nil || len(orders) == 0 {
		return 0, err
	}
	e.Observer.OrdersExpired(len(orders), time.Since(start))
	ended(orders, e.Outbox, e.Notifier)
	return len(orders), nil
}

// ended notifies the callers who wait for orders that a job has ended, and requests flushes that give their units back
// to Redis.
func ended(orders []order.Order, outbox order.FlushRequester, notifier order.StatusNotifier) {
	outcomes := make(map[int64]order.Status, len(orders))
	requested := make(map[int64]bool)
	for _, o := range orders {
		outcomes[o.ID] = o.Status
		if !requested[o.VoucherID] {
			requested[o.VoucherID] = true
			outbox.RequestFlush(o.VoucherID)
		}
	}
	notifier.Notify(outcomes)
}
