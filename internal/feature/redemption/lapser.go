package redemption

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/job"
)

const (
	lapseEvery = 5 * time.Second // how often due coupons are looked for when there were none
	lapseBatch = 200             // coupons in one transaction at most
	lapseRate  = 400             // coupons a second at most: very many may be due at midnight
)

const (
	lapserJob = "lapser"
	// ByLapser ends coupons whose time is over.
	ByLapser order.Actor = lapserJob
)

// Lapser lapses coupons whose date has passed, on one instance at a time (package job). Until it gets to a coupon,
// tills refuse the coupon by its date.
type Lapser struct {
	ledger   Coupons
	locker   order.FencedLocker
	notifier order.StatusNotifier
	observer Observer
	log      *slog.Logger
}

// NewLapser returns a lapser; Run starts it.
func NewLapser(
	ledger Coupons, locker order.FencedLocker, notifier order.StatusNotifier, observer Observer, log *slog.Logger,
) *Lapser {
	return &Lapser{ledger: ledger, locker: locker, notifier: notifier, observer: observer, log: log}
}

// Run lapses coupons, or waits for its turn, until ctx ends. It always returns nil.
func (l *Lapser) Run(ctx context.Context) error {
	return job.Job{
		Name: lapserJob, Does: "lapsing coupons", Every: lapseEvery, Size: lapseBatch,
		Rate: lapseRate, Batch: l.batch,
	}.Run(ctx, l.locker, l.log)
}

// batch lapses up to lapseBatch due coupons, and returns how many it has looked at.
func (l *Lapser) batch(ctx context.Context, token int64) (seen int, err error) {
	start := time.Now()
	lapsed, seen, err := l.ledger.LapseDue(ctx, token, lapseBatch)
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
