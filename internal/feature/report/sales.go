package report

import (
	"context"
	"time"

	"seckill/internal/order"
)

// Phase is where a sale is in its window, by the ledger's clock.
type Phase string

// The phases.
const (
	Running Phase = "running"
	Coming  Phase = "coming"
	Ended   Phase = "ended"
)

// String returns the phase's name.
func (p Phase) String() string { return string(p) }

// Phases returns all phases.
func Phases() []Phase { return []Phase{Running, Coming, Ended} }

// SalesSums are sums over one or several sales. A unit is sold while a live order has it. It is paid unless that
// order is unpaid or being refunded.
type SalesSums struct {
	Sales  int64 `json:"count"`
	Issued int64 `json:"issued"`  // units
	Sold   int64 `json:"sold"`    // units
	Paid   int64 `json:"paid"`    // units
	Unpaid int64 `json:"unpaid"`  // units
	Cents  int64 `json:"revenue"` // the price of the paid units
}

func (s SalesSums) plus(o SalesSums) SalesSums {
	return SalesSums{
		Sales: s.Sales + o.Sales, Issued: s.Issued + o.Issued, Sold: s.Sold + o.Sold, Paid: s.Paid + o.Paid,
		Unpaid: s.Unpaid + o.Unpaid, Cents: s.Cents + o.Cents,
	}
}

// Sale is a sale in the list of all.
type Sale struct {
	VoucherID, ShopID int64
	Title             string
	Begin, End        time.Time
	Phase             Phase
	CalledOff         time.Time // zero: the sale was not called off
	Sums              SalesSums // with Sales = 1
}

// salesTimeout bounds the reading of sales.
const salesTimeout = 10 * time.Second

// Sales implements Service.
func (r *Reports) Sales(
	ctx context.Context, shopID int64, phase Phase, before int64, limit int,
) ([]Sale, error) {
	ctx, cancel := context.WithTimeout(ctx, salesTimeout)
	defer cancel()
	sales, err := r.ledger.sales(ctx, shopID, phase, before, limit)
	return sales, order.OrUnavailable(err)
}

// SalesSums implements Service.
func (r *Reports) SalesSums(ctx context.Context, shopID int64) (map[Phase]SalesSums, error) {
	ctx, cancel := context.WithTimeout(ctx, salesTimeout)
	defer cancel()
	sums, err := r.ledger.salesSums(ctx, shopID)
	return sums, order.OrUnavailable(err)
}

// Flow is a number of payments, with their amounts.
type Flow struct {
	Payments int64 `json:"payments"`
	Cents    int64 `json:"amount"`
}

// Taken is the money that came in and the money that went back since midnight, whatever the state of its orders.
// Returned is what was refunded and what was lost in disputes. Refunded falls when a refund of a day before fails.
type Taken struct {
	Since              time.Time // midnight
	Received, Returned Flow
	Refunded, Lost     Flow
}

// Taken implements Service. The day is the ledger's, which keeps the amounts that went back before it.
func (r *Reports) Taken(ctx context.Context, shopID int64) (taken Taken, err error) {
	ctx, cancel := context.WithTimeout(ctx, salesTimeout)
	defer cancel()
	db := r.ledger.db
	now, err := db.LedgerTime(db.Read(ctx))
	if err == nil {
		taken, err = r.ledger.taken(ctx, shopID, db.Midnight(now))
	}
	return taken, order.OrUnavailable(err)
}
