package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/order"
)

const (
	expireEvery   = time.Second      // how often due orders are looked for when there were none
	expireBatch   = 200              // orders in one transaction at most
	expireTimeout = 30 * time.Second // one transaction at most
	expirerLock   = "expirer"        // of the lock
)

// Expirer expires orders that were not paid for in time, the longest overdue first, whatever their voucher. Every instance
// runs one, and one of them at a time works, under a lock whose token the ledger checks: a holder that stalls past its
// lease expires nothing afterwards.
type Expirer struct {
	ledger   OrderLedger
	locker   order.FencedLocker
	outbox   order.FlushRequester
	notifier order.StatusNotifier
	rate     int
	observer Observer
	log      *slog.Logger
}

// NewExpirer returns an expirer of at most rate orders a second, on average over a batch; Run starts it.
func NewExpirer(
	ledger OrderLedger, locker order.FencedLocker, outbox order.FlushRequester, notifier order.StatusNotifier, rate int, observer Observer, log *slog.Logger,
) *Expirer {
	return &Expirer{ledger: ledger, locker: locker, outbox: outbox, notifier: notifier, rate: rate, observer: observer, log: log}
}

// Run expires orders, or waits for its turn, until ctx ends. It never returns an error: what fails is retried, by the
// instance that gets the lock then.
func (e *Expirer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := e.locker.TryDoFenced(ctx, expirerLock, e.turn)
		if err != nil && ctx.Err() == nil && !errors.Is(err, order.ErrBusy) {
			// ErrSuperseded too: a holder that has stalled gets it once; locks whose numbers fell back get it until they have
			// caught up, and nothing expires meanwhile.
			e.log.WarnContext(ctx, "expiring overdue orders failed; retrying", "error", err)
		}
		order.Sleep(ctx, expireEvery)
	}
	return nil
}

// turn expires orders until ctx ends, which it also does when the lock is lost, or until something fails.
func (e *Expirer) turn(ctx context.Context, token int64) error {
	for ctx.Err() == nil {
		start := time.Now()
		n, err := e.batch(ctx, token)
		if err != nil {
			return err
		}
		pace := time.Duration(n) * time.Second / time.Duration(e.rate)
		if n < expireBatch {
			pace = max(pace, expireEvery)
		}
		order.Sleep(ctx, pace-time.Since(start))
	}
	return nil
}

// batch expires what is due, up to a batch, and returns how many orders those were.
func (e *Expirer) batch(ctx context.Context, token int64) (int, error) {
	start := time.Now()
	call, cancel := context.WithTimeout(ctx, expireTimeout)
	defer cancel()
	orders, err := e.ledger.ExpireDue(call, token, expireBatch)
	if err != nil || len(orders) == 0 {
		return 0, err
	}
	e.observer.OrdersExpired(len(orders), time.Since(start))
	outcomes := make(map[int64]order.Status, len(orders))
	requested := make(map[int64]bool)
	for _, o := range orders {
		outcomes[o.ID] = o.Status
		if !requested[o.VoucherID] {
			requested[o.VoucherID] = true
			e.outbox.RequestFlush(o.VoucherID)
		}
	}
	e.notifier.Notify(outcomes)
	return len(orders), nil
}
