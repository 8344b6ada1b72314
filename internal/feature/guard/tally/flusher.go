package tally

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/kit/periodic"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

const (
	flushEvery   = time.Second
	flushTimeout = time.Second // how long finding one sale, or adding its counts, may take
)

// AddCounts adds to a sale's counts, which all instances share. With order.ErrUnavailable, certainly nothing was added.
type AddCounts func(ctx context.Context, sale order.SaleRef, d *Delta) error

// Flusher adds this instance's counts to the shared ones, once a second. Like the stats flusher, it never adds a count
// again that may have arrived: counts may be too low, and are never too high.
type Flusher struct {
	tally   *Tally
	find    func(ctx context.Context, id int64) (voucher.Voucher, error) // feature.Sales.Find
	store   AddCounts
	log     *slog.Logger
	failing bool
}

// NewFlusher returns a flusher of the tally; Run flushes. find is that of feature.Sales.
func NewFlusher(
	tally *Tally, find func(ctx context.Context, id int64) (voucher.Voucher, error), store AddCounts, log *slog.Logger,
) *Flusher {
	return &Flusher{tally: tally, find: find, store: store, log: log}
}

// Run flushes until ctx ends, then once more.
func (f *Flusher) Run(ctx context.Context) error {
	defer f.flush(context.WithoutCancel(ctx))
	return periodic.Every(ctx, flushEvery, f.flush)
}

// saleDelta is what a flush adds to one sale.
type saleDelta struct {
	sale  order.SaleRef
	delta *Delta
}

// flush adds the new counts to all partitions at the same time, because the Redis node of one may be down alone.
func (f *Flusher) flush(ctx context.Context) {
	byPartition, failed := f.take(ctx)
	var (
		adding sync.WaitGroup
		mu     sync.Mutex
	)
	for _, deltas := range byPartition {
		adding.Go(func() {
			if err := f.add(ctx, deltas); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	adding.Wait()
	if failed != nil && !f.failing {
		f.log.WarnContext(ctx, "counts of guards could not be added; retrying every second", "error", failed)
	}
	f.failing = failed != nil
}

// take takes the new counts, by partition. It drops counts of vouchers that are no sales. After a failure of the
// ledger, the remaining sales wait for the next flush.
func (f *Flusher) take(ctx context.Context) (byPartition map[int][]saleDelta, failed error) {
	byPartition = map[int][]saleDelta{}
	for saleID, d := range f.tally.Take() {
		if failed != nil {
			f.tally.PutBack(saleID, d)
			continue
		}
		finding, cancel := context.WithTimeout(ctx, flushTimeout)
		v, err := f.find(finding, saleID)
		cancel()
		switch {
		case errors.Is(err, order.ErrUnavailable):
			f.tally.PutBack(saleID, d)
			failed = err
		case errors.Is(err, voucher.ErrNotFound), err == nil && v.Sale == nil:
		case err != nil:
			failed = err
		default:
			byPartition[v.Sale.Partition] = append(byPartition[v.Sale.Partition], saleDelta{order.SaleOf(v), d})
		}
	}
	return byPartition, failed
}

// add adds the new counts of sales of one partition. After a failure the remaining sales wait for the next flush: Redis
// would delay each of them by a timeout.
func (f *Flusher) add(ctx context.Context, deltas []saleDelta) error {
	for i, d := range deltas {
		adding, cancel := context.WithTimeout(ctx, flushTimeout)
		err := f.store(adding, d.sale, d.delta)
		cancel()
		if err == nil {
			continue
		}
		rest := deltas[i+1:]
		if errors.Is(err, order.ErrUnavailable) {
			rest = deltas[i:]
		}
		for _, d := range rest {
			f.tally.PutBack(d.sale.VoucherID, d.delta)
		}
		return err
	}
	return nil
}
