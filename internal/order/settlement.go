package order

import (
	"errors"
	"fmt"
	"maps"
)

// errNeedIDs: a settlement met more id collisions than it was given spare ids for.
var errNeedIDs = errors.New("more spare order ids are needed")

// settlement decides what becomes of claims that cannot simply be inserted, from what the ledger holds of them
// (rules 5 and 6, docs/architecture.md). It is a pure function of its input, so that a batch that is settled twice,
// by one process or by two, comes to the same end.
type settlement struct {
	view  LedgerView
	spare []int64 // ids for failed rows whose own id is taken
	stock map[int64]int64
	live  map[BuyerKey]int64
	rows  map[int64]Order

	collisions map[CollisionKey]int64
}

// settle decides about the claims in stream order. It returns errNeedIDs, wrapped, when spare runs out.
func settle(claims []Claim, view LedgerView, spare []int64) ([]Decision, error) {
	s := &settlement{
		view: view, spare: spare,
		stock: make(map[int64]int64, len(view.Sales)),
		live:  make(map[BuyerKey]int64, len(view.Live)),
		rows:  make(map[int64]Order, len(view.Rows)),

		collisions: make(map[CollisionKey]int64, len(view.Collided)),
	}
	for id, sale := range view.Sales {
		s.stock[id] = sale.Stock
	}
	maps.Copy(s.live, view.Live)
	maps.Copy(s.rows, view.Rows)
	maps.Copy(s.collisions, view.Collided)
	decisions := make([]Decision, len(claims))
	for i, c := range claims {
		d, err := s.decide(c)
		if err != nil {
			return nil, err
		}
		decisions[i] = d
	}
	return decisions, nil
}

func (s *settlement) decide(c Claim) (Decision, error) {
	if row, taken := s.rows[c.OrderID]; taken {
		if row.UserID == c.UserID && row.VoucherID == c.VoucherID {
			return s.replayed(c, row), nil
		}
		return s.collided(c, row)
	}
	if _, known := s.view.Sales[c.VoucherID]; !known {
		return s.fail(c, UnknownVoucher, fmt.Sprintf("no sale of voucher %d", c.VoucherID), 0), nil
	}
	if other, has := s.live[c.Buyer()]; has {
		return s.fail(c, DuplicateBuyer, fmt.Sprintf("the user's live order is %d", other), other), nil
	}
	if s.stock[c.VoucherID] <= 0 {
		return s.fail(c, NoStock, "the ledger has no unit left", 0), nil
	}
	s.stock[c.VoucherID]--
	s.live[c.Buyer()] = c.OrderID
	s.rows[c.OrderID] = Order{ID: c.OrderID, UserID: c.UserID, VoucherID: c.VoucherID, Status: Unpaid}
	return Decision{Claim: c, Verb: Insert, RowID: c.OrderID}, nil
}

// replayed: the ledger has this very order. A live one is settled; for one that ended, Redis is corrected again, which
// acts only if that did not happen before.
func (s *settlement) replayed(c Claim, row Order) Decision {
	d := Decision{Claim: c, Verb: Keep, RowID: row.ID}
	if row.Status.Live() {
		return d
	}
	giveBack := true // the unit of a cancelled or refunded order is in the ledger: what holds a place took another (Decision.freed)
	if row.Status == Failed {
		d.Reason = row.Reason
		giveBack = row.Reason.GivesUnitBack()
	}
	d.Return = s.giveBack(c, giveBack, s.live[c.Buyer()])
	if d.freed() {
		d.Return.Until, d.Early = s.view.Sales[c.VoucherID].Operation, s.view.Pending[row.ID]
	}
	return d
}

// collided: another order has the claim's id. The claim becomes a failed row under an id of its own, once.
func (s *settlement) collided(c Claim, row Order) (Decision, error) {
	key := CollisionKey{OrderID: c.OrderID, UserID: c.UserID}
	instead := s.live[c.Buyer()]
	if id, before := s.collisions[key]; before {
		return Decision{Claim: c, Verb: Keep, RowID: id, Reason: IDCollision, Return: s.giveBack(c, true, instead)}, nil
	}
	if len(s.spare) == 0 {
		return Decision{}, fmt.Errorf("order %d: %w", c.OrderID, errNeedIDs)
	}
	d := s.fail(c, IDCollision, fmt.Sprintf("id %d is an order of user %d for voucher %d", c.OrderID, row.UserID, row.VoucherID), instead)
	d.RowID, s.spare = s.spare[0], s.spare[1:]
	s.collisions[key] = d.RowID // the same claim may come twice in a batch
	return d, nil
}

func (s *settlement) fail(c Claim, reason Reason, detail string, instead int64) Decision {
	// A second entry of the same claim in this batch must find the row.
	if _, taken := s.rows[c.OrderID]; !taken {
		s.rows[c.OrderID] = Order{ID: c.OrderID, UserID: c.UserID, VoucherID: c.VoucherID, Status: Failed, Reason: reason}
	}
	return Decision{
		Claim: c, Verb: Fail, RowID: c.OrderID, Reason: reason, Detail: detail,
		Return: s.giveBack(c, reason.GivesUnitBack(), instead),
	}
}

func (s *settlement) giveBack(c Claim, unit bool, instead int64) *Return {
	return &Return{UserID: c.UserID, OrderID: c.OrderID, Sale: SaleRef{VoucherID: c.VoucherID}, GiveBack: unit, Instead: instead}
}

// reject decides that a single claim, which the ledger refuses for good or an operator has discarded, becomes a failed
// row that says so; unless it turns out to be recorded, or to fail, some other way.
func reject(c Claim, view LedgerView, spare []int64, cause error) ([]Decision, error) {
	decisions, err := settle([]Claim{c}, view, spare)
	if err != nil || decisions[0].Verb != Insert {
		return decisions, err
	}
	reason := RejectedByLedger
	if errors.Is(cause, errDiscarded) {
		reason = Discarded
	}
	decisions[0] = Decision{
		Claim: c, Verb: Fail, RowID: c.OrderID, Reason: reason, Detail: cause.Error(),
		Return: &Return{UserID: c.UserID, OrderID: c.OrderID, Sale: SaleRef{VoucherID: c.VoucherID}, GiveBack: true},
	}
	return decisions, nil
}
