package order

import (
	"context"
	"fmt"
	"time"

	"seckill/internal/voucher"
)

// Pulse is what Redis knows of how a sale goes, at about one moment.
type Pulse struct {
	View    SaleView
	State   voucher.SaleState
	Told    Counts        // by all instances
	Waiting int64         // accepted orders of the sale's partition that have no row yet
	Oldest  time.Duration // how long the first of them has waited
	Dead    int64         // dead letters of the partition
}

// Pulses reads how sales go: redisstore.Store.
type Pulses interface {
	// Pulse returns how the sale of a seckill voucher goes, or ErrUnavailable.
	Pulse(ctx context.Context, v voucher.Voucher) (Pulse, error)
}

// Balances says whether the units of sales are accounted for: Auditor.
type Balances interface {
	// Balance returns the balance of a sale, a few seconds old at most. voucher.ErrNotSeckill for a sale that Redis no
	// longer holds, ErrUnavailable.
	Balance(ctx context.Context, voucherID int64) (Balance, error)
}

// Figures is how a sale goes, across all instances.
type Figures struct {
	Pulse
	Issued   int64 // units in all
	Recorded int64 // live orders in the ledger
	// Stale: the ledger could not be asked just now. Issued and Recorded are what was known last.
	Stale bool
	// Balance is whether all units are accounted for; nil when nobody can say.
	Balance *Balance
}

// Monitor tells how a sale goes, for those who watch over it.
type Monitor struct {
	ledger   Vouchers
	catalog  *Catalog
	pulses   Pulses
	balances Balances
}

// NewMonitor returns a monitor. The catalog helps out while the ledger is away.
func NewMonitor(ledger Vouchers, catalog *Catalog, pulses Pulses, balances Balances) *Monitor {
	return &Monitor{ledger: ledger, catalog: catalog, pulses: pulses, balances: balances}
}

// Figures returns how the sale goes now. It costs a query and two round trips to Redis,
// and every few seconds a balance, however many buy. It returns
// voucher.ErrNotFound, voucher.ErrNotSeckill, or ErrUnavailable when a store that is needed is away.
func (m *Monitor) Figures(ctx context.Context, voucherID int64) (Figures, error) {
	v, stale, err := m.voucher(ctx, voucherID)
	if err != nil {
		return Figures{}, err
	}
	if v.Sale == nil {
		return Figures{}, voucher.ErrNotSeckill
	}
	f := Figures{Issued: v.Sale.Issued, Recorded: v.Sale.Issued - v.Sale.Stock, Stale: stale}
	if f.Pulse, err = m.pulses.Pulse(ctx, v); err != nil {
		return Figures{}, fmt.Errorf("how the sale of voucher %d goes: %w", voucherID, err)
	}
	if v.Sale.Retired { // Redis holds nothing of it any more
		f.State, f.View.Stock, f.View.Buyers = voucher.StateEnded, v.Sale.Stock, f.Recorded
		f.View.Begin, f.View.End = v.Sale.Begin, v.Sale.End
	}
	if b, err := m.balances.Balance(ctx, voucherID); err == nil {
		f.Balance = &b
	}
	return f, nil
}

// voucher asks the ledger, and else the catalog.
func (m *Monitor) voucher(ctx context.Context, id int64) (v voucher.Voucher, stale bool, err error) {
	asking, cancel := context.WithTimeout(ctx, catalogLoadTime)
	defer cancel()
	if v, err = m.ledger.Voucher(asking, id); err == nil {
		return v, false, nil
	}
	if known, errKnown := m.catalog.Find(ctx, id); errKnown == nil {
		return known, true, nil
	}
	return v, false, orUnavailable(err)
}
