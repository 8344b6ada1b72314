package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/guard"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/voucher"
)

const (
	flushGuardsEvery  = time.Second
	flushGuardTimeout = time.Second // how long adding the counts of one sale may take
)

// GuardCounts is where all instances together count what guards do: Redis.
type GuardCounts interface {
	// AddGuardCounts adds to a sale's counts. ErrUnavailable says that certainly nothing was added.
	AddGuardCounts(ctx context.Context, sale order.SaleRef, d *guard.Delta) error
}

// GuardFlusher adds once a second what this instance's guards have done to what the others have added, as the stats flusher
// does with answers, and with the same promise: what may have arrived is not added again.
type GuardFlusher struct {
	tally   *guard.Tally
	catalog *catalog.Catalog
	store   GuardCounts
	log     *slog.Logger
	failing bool
}

// NewGuardFlusher returns a flusher of the tally; Run flushes.
func NewGuardFlusher(tally *guard.Tally, catalog *catalog.Catalog, store GuardCounts, log *slog.Logger) *GuardFlusher {
	return &GuardFlusher{tally: tally, catalog: catalog, store: store, log: log}
}

// Run flushes until ctx ends, and a last time then.
func (f *GuardFlusher) Run(ctx context.Context) error {
	ticker := time.NewTicker(flushGuardsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			f.flush(context.WithoutCancel(ctx))
			return nil
		case <-ticker.C:
			f.flush(ctx)
		}
	}
}

// flush adds what is new. After a failure the other sales wait for the next time: Redis would keep each of them waiting.
func (f *GuardFlusher) flush(ctx context.Context) {
	var failed error
	for saleID, d := range f.tally.Take() {
		if failed == nil {
			failed = f.add(ctx, saleID, d)
		} else {
			f.tally.PutBack(saleID, d)
		}
	}
	if failed != nil && !f.failing {
		f.log.WarnContext(ctx, "counts of guards could not be added; retrying every second", "error", failed)
	}
	f.failing = failed != nil
}

func (f *GuardFlusher) add(ctx context.Context, saleID int64, d *guard.Delta) error {
	adding, cancel := context.WithTimeout(ctx, flushGuardTimeout)
	defer cancel()
	v, err := f.catalog.Find(adding, saleID)
	if errors.Is(err, voucher.ErrNotFound) || err == nil && v.Sale == nil {
		return nil
	}
	if err == nil {
		err = f.store.AddGuardCounts(adding, order.SaleRef{VoucherID: saleID, Partition: v.Sale.Partition}, d)
	}
	if errors.Is(err, order.ErrUnavailable) {
		f.tally.PutBack(saleID, d)
	}
	return err
}
