package order

import (
	"testing"
	"time"
)

// On every path through the states, each step raises the number. What staff undo makes paths endless: they are followed
// as far as longest.
func TestNumberRisesWithEachStep(t *testing.T) {
	t.Parallel()
	const longest = 9
	at := time.Date(2026, 6, 1, 20, 0, 0, 0, time.UTC)
	var walk func(o Order, number int64)
	walk = func(o Order, number int64) {
		if got := o.Number(); got != number {
			t.Errorf("%+v has number %d, want %d", o, got, number)
		}
		for a := Pay; a <= Reinstate && number < longest; a++ {
			if a.Check(o.ID, o.Status) == nil {
				walk(stepped(o, a, at), number+1)
			}
		}
	}
	walk(Order{ID: 1, Status: Unpaid, CreatedAt: at}, 1)
	walk(Order{ID: 1, Status: Failed, CreatedAt: at, FailedAt: at}, 1)
}

// stepped is what the ledger does to an order's times.
func stepped(o Order, a Action, at time.Time) Order {
	switch o.Status = a.To(); a {
	case Pay, Revive:
		o.PaidAt = at
	case Cancel, Expire:
		o.CancelledAt = at
	case RequestRefund:
		o.RefundingAt = at
	case ConfirmRefund:
		o.RefundedAt = at
	case Redeem:
		o.RedeemedAt = at
	case Lapse:
		o.LapsedAt = at
	case Unredeem:
		o.RedeemedAt = time.Time{}
	case Reinstate:
		o.LapsedAt = time.Time{}
	case Extend:
	}
	o.Revision += a.Revisions()
	return o
}
