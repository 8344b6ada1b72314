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

// Phases are all phases.
func Phases() []Phase { return []Phase{Running, Coming, Ended} }

// SalesSums are sums over one or several sales. A unit is sold while a live order has it, and paid unless that order
// is unpaid or its money is on its way back.
type SalesSums struct{ Sales, Issued, Sold, Paid, Cents int64 }

// Sale is a sale in the list of all.
type Sale struct {
	VoucherID, ShopID int64
	Title             string
	Begin, End        time.Time
	Phase             Phase
	Sums              SalesSums // Sales is 1
}

// SalesLedger reads all sales.
type SalesLedger interface {
	// SalesPage returns sales with a voucher id below before, of one phase or with "" of all, newest first, at most
	// limit. It is one statement, however many sales there are: it reads the sales and the orders that are unpaid or
	// being refunded just now, and no others. For every other live order has paid what its voucher costs.
	SalesPage(ctx context.Context, phase Phase, before int64, limit int) ([]Sale, error)
	// SalesSums returns the sums over all sales of each phase, by one statement.
	SalesSums(ctx context.Context) (map[Phase]SalesSums, error)
}

// salesTimeout is how long reading the sales may take.
const salesTimeout = 10 * time.Second

// Sales returns a page of sales; its parameters are those of SalesPage. order.ErrUnavailable.
func (r *Reports) Sales(ctx context.Context, phase Phase, before int64, limit int) ([]Sale, error) {
	ctx, cancel := context.WithTimeout(ctx, salesTimeout)
	defer cancel()
	sales, err := r.ledger.SalesPage(ctx, phase, before, limit)
	return sales, order.OrUnavailable(err)
}

// SalesSums returns the sums over all sales of each phase. order.ErrUnavailable.
func (r *Reports) SalesSums(ctx context.Context) (map[Phase]SalesSums, error) {
	ctx, cancel := context.WithTimeout(ctx, salesTimeout)
	defer cancel()
	sums, err := r.ledger.SalesSums(ctx)
	return sums, order.OrUnavailable(err)
}
