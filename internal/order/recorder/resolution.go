package recorder

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"seckill/internal/order"
	"seckill/internal/order/reason"
)

// settle is the conflict resolver: it settles claims one by one, according to what the ledger holds of them. It returns
// the decision that was written for each claim, and the sales as the ledger had them. If rejected is not nil, it is why
// the ledger refuses the only claim for good, and the claim becomes a failed order.
func settle(
	ctx context.Context, ledger Ledger, claims []order.Claim, rejected error,
) (decisions []order.Decision, sales map[int64]order.LedgerSale, err error) {
	err = ledger.Settle(ctx, claims, func(view order.LedgerView) []order.Decision {
		sales = view.Sales
		if rejected != nil {
			decisions = reject(claims[0], view, rejected)
		} else {
			decisions = resolve(claims, view)
		}
		return decisions
	})
	return decisions, sales, err
}

// resolution decides what to do with claims that cannot simply be inserted, from what the ledger holds of them (rules 5
// and 6, docs/architecture.md). It is a pure function of its input: a batch that is settled twice, by one process or by
// two, has the same outcome both times.
type resolution struct {
	view  order.LedgerView
	stock map[int64]int64
	live  map[order.BuyerKey]order.Held
	rows  map[int64]order.Order
}

// resolve decides the claims in stream order.
func resolve(claims []order.Claim, view order.LedgerView) []order.Decision {
	s := &resolution{
		view:  view,
		stock: make(map[int64]int64, len(view.Sales)),
		live:  make(map[order.BuyerKey]order.Held, len(view.Live)),
		rows:  make(map[int64]order.Order, len(view.Rows)),
	}
	for id, sale := range view.Sales {
		s.stock[id] = sale.Stock
	}
	maps.Copy(s.live, view.Live)
	maps.Copy(s.rows, view.Rows)
	decisions := make([]order.Decision, len(claims))
	for i, c := range claims {
		decisions[i] = s.decide(c)
	}
	return decisions
}

func (s *resolution) decide(c order.Claim) order.Decision {
	row, taken := s.rows[c.OrderID]
	switch {
	case taken && c.HasRow(row):
		return s.replayed(c, row)
	case taken:
		return s.collided(c, row)
	}
	sale, known := s.view.Sales[c.VoucherID]
	switch {
	case !known:
		return s.fail(c, c.OrderID, reason.UnknownVoucher, fmt.Sprintf("no sale of voucher %d", c.VoucherID),
			order.Held{})
	case !sale.Admitted(c):
		return s.fail(c, c.OrderID, reason.UnknownVoucher, fmt.Sprintf("a lost voucher had the id %d", c.VoucherID),
			order.Held{})
	}
	if other, has := s.live[c.Buyer()]; has {
		return s.fail(c, c.OrderID, reason.DuplicateBuyer,
			fmt.Sprintf("the user's live order is %d", other.OrderID), other)
	}
	if left := s.stock[c.VoucherID]; left < c.Quantity.Units() {
		return s.fail(c, c.OrderID, reason.NoStock, lacking(left, c.Quantity), order.Held{})
	}
	s.stock[c.VoucherID] -= c.Quantity.Units()
	s.live[c.Buyer()] = c.Held()
	s.rows[c.OrderID] = order.Order{
		ID: c.OrderID, UserID: c.UserID, VoucherID: c.VoucherID, Quantity: c.Quantity, Status: order.Unpaid,
	}
	return order.Decision{Claim: c, Verb: order.Insert, RowID: c.OrderID}
}

// lacking returns a text with the number of units that the ledger has left for an order that asks for more.
func lacking(left int64, q order.Quantity) string {
	if left <= 0 {
		return "the ledger has no unit left"
	}
	return fmt.Sprintf("the ledger has %d units left for an order of %s", left, q)
}

// replayed decides a claim whose order the ledger already has. A live order needs nothing. For one that has ended,
// Redis is corrected again, which does nothing if that was done before.
func (s *resolution) replayed(c order.Claim, row order.Order) order.Decision {
	d := order.Decision{Claim: c, Verb: order.Keep, RowID: row.ID}
	if row.Status.Live() {
		return d
	}
	// The ledger has the unit of a cancelled or refunded order back. If the order still makes its user a holder in
	// Redis, it took another unit (order.Decision.Freed).
	giveBack := true
	if row.Status == order.Failed {
		d.Reason = row.Reason
		giveBack = row.Reason.GivesUnitBack()
	}
	d.Correction = s.giveBack(c, giveBack, s.live[c.Buyer()])
	if d.Freed() {
		d.Correction.Until, d.Early = s.view.Sales[c.VoucherID].Operation, s.view.Pending[row.ID]
	}
	return d
}

// collided decides a claim whose id another order has. It becomes a failed row under another id, the first of
// order.Claim.RowID that no order has. When the claim is settled again, that row is found there.
func (s *resolution) collided(c order.Claim, other order.Order) order.Decision {
	for try := 1; ; try++ {
		row, taken := s.rows[c.RowID(try)]
		switch {
		case !taken:
			detail := fmt.Sprintf("id %d is an order for voucher %d", c.OrderID, other.VoucherID)
			return s.fail(c, c.RowID(try), reason.IDCollision, detail, s.live[c.Buyer()])
		case c.HasRow(row):
			return s.replayed(c, row)
		}
	}
}

func (s *resolution) fail(
	c order.Claim, rowID int64, reason reason.Failure, detail string, instead order.Held,
) order.Decision {
	// A second entry of the same claim in this batch must find this row.
	s.rows[rowID] = order.Order{
		ID: rowID, UserID: c.UserID, VoucherID: c.VoucherID, Quantity: c.Quantity, Status: order.Failed, Reason: reason,
	}
	return order.Decision{
		Claim: c, Verb: order.Fail, RowID: rowID, Reason: reason, Detail: detail,
		Correction: s.giveBack(c, reason.GivesUnitBack(), instead),
	}
}

func (s *resolution) giveBack(c order.Claim, units bool, instead order.Held) *order.Correction {
	return &order.Correction{
		UserID: c.UserID, OrderID: c.OrderID, Quantity: c.Quantity, Sale: order.SaleRef{VoucherID: c.VoucherID},
		GiveBack: units, New: instead,
	}
}

// reject decides a single claim that the ledger refuses for good or an operator has discarded: it becomes a failed row
// that says so, unless the claim turns out to be recorded or to fail for another reason.
func reject(c order.Claim, view order.LedgerView, cause error) []order.Decision {
	decisions := resolve([]order.Claim{c}, view)
	if decisions[0].Verb != order.Insert {
		return decisions
	}
	why := reason.RejectedByLedger
	if errors.Is(cause, errDiscarded) {
		why = reason.Discarded
	}
	decisions[0] = order.Decision{
		Claim: c, Verb: order.Fail, RowID: c.OrderID, Reason: why, Detail: cause.Error(),
		Correction: (&resolution{}).giveBack(c, true, order.Held{}),
	}
	return decisions
}
