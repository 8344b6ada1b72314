package redemption

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/order"
)

const (
	lapseEvery   = 5 * time.Second  // how often due coupons are looked for when there were none
	lapseBatch   = 200              // coupons in one transaction at most
	lapseRate    = 400              // coupons a second at most: midnight comes for all of them at once
	lapseTimeout = 30 * time.Second // one transaction at most
	lapserLock   = "lapser"
)

// Lapser lapses coupons whose date has passed. Every instance runs one, and one of them at a time works, under a lock whose
// token the ledger checks. Until it comes to a coupon, tills refuse the coupon by its date.
type Lapser struct {
	ledger   Ledger
	locker   order.FencedLocker
	notifier order.StatusNotifier
	observer Observer
	log      *slog.Logger
}

// NewLapser returns a lapser; Run starts it.
func NewLapser(ledger Ledger, locker order.FencedLocker, notifier order.StatusNotifier, observer Observer, log *slog.Logger) *Lapser {
	return &Lapser{ledger: ledger, locker: locker, notifier: notifier, observer: observer, log: log}
}

// Run lapses coupons, or waits for its turn, until ctx ends. It never returns an error: what fails is retried, by the
// instance that gets the lock then.
func (l *Lapser) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := l.locker.TryDoFenced(ctx, lapserLock, l.turn)
		if err != nil && ctx.Err() == nil && !errors.Is(err, order.ErrBusy) {
			l.log.WarnContext(ctx, "lapsing coupons failed; retrying", "error", err)
		}
		order.Sleep(ctx, lapseEvery)
	}
	return nil
}

// turn lapses coupons until ctx ends, which it also does when the lock is lost, or until something fails.
func (l *Lapser) turn(ctx context.Context, token int64) error {
	for ctx.Err() == nil {
		start := time.Now()
		seen, err := l.batch(ctx, token)
		if err != nil {
			return err
		}
		pace := time.Duration(seen) * time.Second / lapseRate
		if seen < lapseBatch {
			pace = lapseEvery
		}
		order.Sleep(ctx, pace-time.Since(start))
	}
	return nil
}

func (l *Lapser) batch(ctx context.Context, token int64) (seen int, err error) {
	start := time.Now()
	call, cancel := context.WithTimeout(ctx, lapseTimeout)
	defer cancel()
	lapsed, seen, err := l.ledger.LapseDue(call, token, lapseBatch)
	if err != nil || len(lapsed) == 0 {
		return seen, err
	}
	l.observer.CouponsLapsed(len(lapsed), time.Since(start))
	outcomes := make(map[int64]order.Status, len(lapsed))
	for _, o := range lapsed {
		outcomes[o.ID] = o.Status
	}
	l.notifier.Notify(outcomes)
	return seen, nil
}
