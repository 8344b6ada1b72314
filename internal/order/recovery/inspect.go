package recovery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// inspection is the result of a sweep's reading. Partitions are read at the same time, each on its own: if the Redis
// node of one does not answer, the sales of the others are still read.
type inspection struct {
	vouchers []voucher.Voucher // those whose partition could be read
	views    []order.SaleView  // in the same order
	unread   []voucher.Voucher // the others
	err      error             // why unread could not be read, wrapping errUnread; nil if all could be read
	waited   time.Duration     // time spent waiting for silent partitions after the last readable one was read
}

// inspect reads the sales from the ledger and then from Redis. It fails if the ledger cannot be read, or if none of the
// partitions can.
func (r *Reconciler) inspect(ctx context.Context) (inspection, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	vs, err := r.stores.Ledger.SalesToKeep(ctx)
	if err != nil {
		return inspection{}, fmt.Errorf("reading the sales from the ledger: %w", err)
	}
	r.catalog.SetSales(vs)
	byPartition := map[int][]voucher.Voucher{}
	for _, v := range vs {
		byPartition[v.Sale.Partition] = append(byPartition[v.Sale.Partition], v)
	}
	var (
		all     inspection
		reading sync.WaitGroup
		mu      sync.Mutex
		failed  []error
		read    = time.Now() // when the last partition was read
	)
	for partition, vs := range byPartition {
		reading.Go(func() {
			sales := make([]order.SaleRef, len(vs))
			for i, v := range vs {
				sales[i] = order.SaleOf(v)
			}
			views, err := r.stores.Reader.Views(ctx, sales)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				all.unread, failed = append(all.unread, vs...), append(failed,
					fmt.Errorf("partition %d: %w", partition, err))
				return
			}
			all.vouchers, all.views = append(all.vouchers, vs...), append(all.views, views...)
			read = time.Now()
		})
	}
	reading.Wait()
	if len(failed) == 0 {
		return all, nil
	}
	err = errors.Join(failed...)
	if len(failed) == len(byPartition) {
		return inspection{}, fmt.Errorf("reading the sales from Redis: %w", err)
	}
	all.err, all.waited = fmt.Errorf("%w: %w", errUnread, err), time.Since(read)
	return all, nil
}
