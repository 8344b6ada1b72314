package report

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"seckill/internal/feature"
	"seckill/internal/kit/histogram"
	"seckill/internal/order"
	"seckill/internal/order/figures"
	"seckill/internal/order/gate"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// Tally is a number of orders.
type Tally = figures.Tally

// Money is the money of a voucher's payments.
type Money = figures.Money

// Sums are the ledger's sums over a voucher at one moment, of the orders that are there and of those that were purged.
type Sums struct {
	Stock, Issued int64 // 0 for a voucher without a sale
	figures.Orders

	Purge Purge
}

// Purge says what of a voucher was purged; the zero Purge: nothing.
type Purge struct {
	At       time.Time // when it began
	Orders   int64     // how many orders were deleted; their figures are among the sums
	Waitlist string    // the numbers of the waiting list, as JSON; "": there was none
}

// Report is the report on a voucher and its sale.
type Report struct {
	Voucher  voucher.Voucher
	Sums     Sums
	Waitlist any // the numbers of the waiting list, to be written as JSON; nil: the sale has no list
	Guards   Member
	Journal  Member // of who got nothing
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
	if text := made.Sums.Purge.Waitlist; text != "" {
		made.Waitlist = json.RawMessage(text)
	} else if err == nil {
		made.Waitlist, err = r.waitlist(ctx, v)
	}
	if err != nil {
		return Report{}, order.OrUnavailable(fmt.Errorf("the report of voucher %d: %w", voucherID, err))
	}
	made.Guards = r.member(ctx, "guards", guardsTimeout, v)
	made.Journal = r.member(ctx, "journal", journalTimeout, v)
	return made, nil
}
