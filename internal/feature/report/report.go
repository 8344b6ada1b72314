package report

import (
	"context"
	"fmt"
	"time"

	"seckill/internal/feature"
	"seckill/internal/kit/histogram"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// Tally is a number of orders, with their units and their price.
type Tally struct {
	Orders int64 `json:"orders"`
	Units  int64 `json:"units"`
	Cents  int64 `json:"amount"`
}

func (t Tally) plus(o Tally) Tally {
	return Tally{t.Orders + o.Orders, t.Units + o.Units, t.Cents + o.Cents}
}

// Money is the money of a voucher's payments, in cents. Received is the amount that the providers have taken, also late
// and twice. Returned is the amount that has gone back, as refunds and by lost disputes; Lost is the latter alone.
//
//	Received = Refunded() + Lost + Kept()
//
// Stuck and Closed are parts of the amount kept: providers refuse for good to send Stuck back, and staff have closed
// the refunds of Closed. Overdrawn is what has gone back of payments beyond what came in.
type Money struct{ Received, Returned, Lost, Stuck, Closed, Overdrawn int64 }

// Refunded returns the amount that has gone back as refunds.
func (m Money) Refunded() int64 { return m.Returned - m.Lost }

// Kept returns the amount that was received and has not gone back.
func (m Money) Kept() int64 { return m.Received - m.Returned }

// Sums are the ledger's sums over a voucher at one moment. The tallies are by the present state of orders: each
// recorded order is in one of them.
type Sums struct {
	Stock, Issued int64 // 0 for a voucher without a sale
	Money         Money

	Unpaid, Paid, Redeemed, Lapsed, Refunding, Refunded Tally
	Processing                                          Tally // those of Unpaid whose money is under way
	Cancelled                                           Tally // cancelled before their payment deadline
	Expired                                             Tally // cancelled at their payment deadline or later
	Failed                                              Tally // accepted, but impossible to record
}

// Recorded returns the tally of all orders.
func (s Sums) Recorded() Tally {
	return s.Sold().plus(s.Refunded).plus(s.Cancelled).plus(s.Expired).plus(s.Failed)
}

// Sold returns the tally of the orders that have their units.
func (s Sums) Sold() Tally {
	return s.Unpaid.plus(s.Paid).plus(s.Redeemed).plus(s.Lapsed).plus(s.Refunding)
}

// Earned returns the tally of the orders that are paid for and not being refunded: the revenue.
func (s Sums) Earned() Tally { return s.Paid.plus(s.Redeemed).plus(s.Lapsed) }

// Report is the report on a voucher and its sale.
type Report struct {
	Voucher  voucher.Voucher
	Sums     Sums
	Waitlist any // the numbers of the waiting list, to be written as JSON; nil: the sale has no list
	Guards   Guards
	Timeline
}

// Timeline counts how all instances answered the requests for a sale. It is empty for an ordinary voucher.
type Timeline struct {
	Answers gate.Counts      // of all requests
	Took    histogram.Counts // how long they took, in the minutes that have such times
	Spoilt  int64            // minutes that cannot be read and are left out

	// FirstAccepted and LastAccepted are the seconds of the first and the last accepted request. SoldOut is the second
	// of the first request that was refused because nothing was left. Zero: there was no such request.
	FirstAccepted, LastAccepted, SoldOut time.Time

	Step   time.Duration // the distance between points: a second if there are at most maxPoints
	Points []Point       // in order, without steps that had no requests
}

// Point counts how the requests of one step were answered, and how long they took.
type Point struct {
	At     time.Time
	Counts gate.Counts
	Took   histogram.Counts
}

// reportTimeout bounds the making of one report.
const reportTimeout = 30 * time.Second

// Core has the functions of the core that reports need.
type Core struct {
	// Find returns a voucher with its sale from the ledger, or voucher.ErrNotFound.
	Find func(ctx context.Context, id int64) (voucher.Voucher, error)
	// Orders returns recorded orders of a voucher with an id above after, ascending, at most limit.
	Orders func(ctx context.Context, voucherID, after int64, limit int) ([]order.Order, error)
	// Entries returns entries of the audit trail that the filter selects, with an id below before, newest first, at
	// most limit.
	Entries func(ctx context.Context, f voucher.AuditFilter, before int64, limit int) ([]voucher.Entry, error)
	// Payments returns payments that the filter selects, behind last, oldest first, at most limit.
	Payments func(ctx context.Context, f payment.Filter, last payment.Payment, limit int) ([]payment.Payment, error)
}

// Reports makes reports of vouchers. It is safe for concurrent use.
type Reports struct {
	ledger  ledger
	core    Core
	members feature.Members
}

// Of returns the report of a voucher. It reads the voucher's orders by one statement, and its timeline page by page;
// its memory does not grow with them. Errors: voucher.ErrNotFound, order.ErrUnavailable.
func (r *Reports) Of(ctx context.Context, voucherID int64) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	v, err := r.core.Find(ctx, voucherID)
	if err != nil {
		return Report{}, order.OrUnavailable(err)
	}
	made := Report{Voucher: v, Timeline: Timeline{Answers: gate.Counts{}, Step: time.Second}}
	if made.Sums, err = r.ledger.sums(ctx, voucherID); err == nil && v.Sale != nil {
		made.Timeline, err = r.timeline(ctx, v)
	}
	if err == nil {
		made.Waitlist, err = r.waitlist(ctx, v)
	}
	if err != nil {
		return Report{}, order.OrUnavailable(fmt.Errorf("the report of voucher %d: %w", voucherID, err))
	}
	made.Guards = r.guards(ctx, v)
	return made, nil
}
