package audit

import (
	"context"
	"fmt"
	"time"

	"seckill/internal/kit/histogram"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

// LiveStats are the stats of a sale in Redis, at about one moment.
type LiveStats struct {
	View          order.SaleView
	State         voucher.SaleState
	Answers       gate.Counts      // of all instances
	Took          histogram.Counts // how long the answers took
	Waiting       int64            // entries of the partition's accepted orders that have no row yet
	OldestWaiting time.Duration    // how long the oldest of these entries has waited
	DeadLetters   int64            // dead letters of the partition
}

// SaleStats are the stats of a sale, across all instances and both stores.
type SaleStats struct {
	LiveStats
	Issued   int64 // units in all
	Recorded int64 // units of live orders in the ledger
	// Partition is the sale's partition.
	Partition int
	// Voucher is the sale's voucher, from the ledger.
	Voucher voucher.Voucher
	// Stale: the ledger could not be read just now. Issued, Recorded and Voucher are the last known values.
	Stale bool
	// Balance is nil when it is not known.
	Balance *Balance
}

// Monitor gathers the stats of a sale for people who watch it.
type Monitor struct {
	ledger  catalog.Vouchers
	catalog *catalog.Catalog
	live    func(ctx context.Context, v voucher.Voucher) (LiveStats, error)
	balance func(ctx context.Context, voucherID int64) (Balance, error)
}

// NewMonitor returns a monitor. The catalog stands in while the ledger is away. live reads the stats of a seckill
// voucher's sale in Redis; balance is Auditor.Balance.
func NewMonitor(
	ledger catalog.Vouchers, catalog *catalog.Catalog,
	live func(ctx context.Context, v voucher.Voucher) (LiveStats, error),
	balance func(ctx context.Context, voucherID int64) (Balance, error),
) *Monitor {
	return &Monitor{ledger: ledger, catalog: catalog, live: live, balance: balance}
}

// readings is how often Stats reads the stores at most, until units left and held do not exceed the units issued.
const readings = 3

// Stats returns the current stats of the sale. It costs two queries and two round trips to Redis, and a balance every
// few seconds, however many people buy. If units were added between the reads, more seem to be left and held than were
// issued; it then reads the stores again, up to three times in all. It returns voucher.ErrNotFound,
// voucher.ErrNotSeckill, or ErrUnavailable when a store that it needs is away.
func (m *Monitor) Stats(ctx context.Context, voucherID int64) (f SaleStats, err error) {
	for range readings {
		if f, err = m.read(ctx, voucherID); err != nil || f.Stale ||
			f.View.Stock+f.View.Buyers+f.View.Extra <= f.Issued {
			break
		}
	}
	if err != nil {
		return SaleStats{}, err
	}
	if b, err := m.balance(ctx, voucherID); err == nil {
		f.Balance = &b
	}
	return f, nil
}

// read reads all but the balance.
func (m *Monitor) read(ctx context.Context, voucherID int64) (SaleStats, error) {
	v, stale, err := m.voucher(ctx, voucherID)
	if err != nil {
		return SaleStats{}, err
	}
	if v.Sale == nil {
		return SaleStats{}, voucher.ErrNotSeckill
	}
	f := SaleStats{
		Issued: v.Sale.Issued, Recorded: v.Sale.Issued - v.Sale.Stock - v.Sale.Kept, Voucher: v,
		Partition: v.Sale.Partition, Stale: stale,
	}
	if f.LiveStats, err = m.live(ctx, v); err != nil {
		return SaleStats{}, fmt.Errorf("reading the stats of voucher %d: %w", voucherID, order.OrUnavailable(err))
	}
	if v.Sale.Retired { // Redis no longer holds it
		f.State, f.View.Stock, f.View.Buyers, f.View.Extra = voucher.StateEnded, v.Sale.Stock, f.Recorded, 0
		f.View.Begin, f.View.End = v.Sale.Begin, v.Sale.End
	}
	return f, nil
}

// voucher reads the voucher from the ledger, or from the catalog while the ledger is away.
func (m *Monitor) voucher(ctx context.Context, id int64) (v voucher.Voucher, stale bool, err error) {
	asking, cancel := context.WithTimeout(ctx, catalog.LoadTimeout)
	defer cancel()
	if v, err = m.ledger.Voucher(asking, id); err == nil {
		return v, false, nil
	}
	if known, errKnown := m.catalog.Find(ctx, id); errKnown == nil {
		return known, true, nil
	}
	return v, false, order.OrUnavailable(err)
}
