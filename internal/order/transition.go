package order

import "fmt"

// Action moves a recorded order from one state to the next.
type Action int8

// The actions, each with its two states. Nothing else changes an order's state.
const (
	Pay           Action = iota // unpaid → paid: the provider has the money
	Cancel                      // unpaid → cancelled, by its owner
	Expire                      // unpaid → cancelled, after the payment deadline
	RequestRefund               // paid → refunding: the money is to go back
	ConfirmRefund               // refunding → refunded: the money has gone back
	Revive                      // cancelled → paid: the money came late, and there still was a unit
	Redeem                      // paid → redeemed: a till has taken its coupon
	Lapse                       // paid → lapsed: its coupon is no longer valid
	Unredeem                    // redeemed → paid: staff undo what a till has done
	Extend                      // paid → paid: staff give its coupon a later date
	Reinstate                   // lapsed → paid: staff give its lapsed coupon a later date
)

// step is the transition of one action.
type step struct {
	name     string
	from, to Status
	gives    bool // the order's unit goes back on sale
}

var steps = [...]step{
	Pay:           {"pay", Unpaid, Paid, false},
	Cancel:        {"cancel", Unpaid, Cancelled, true},
	Expire:        {"expire", Unpaid, Cancelled, true},
	RequestRefund: {"refund", Paid, Refunding, false},
	ConfirmRefund: {"confirm refund", Refunding, Refunded, true},
	Revive:        {"revive", Cancelled, Paid, false},
	Redeem:        {"redeem", Paid, Redeemed, false},
	Lapse:         {"lapse", Paid, Lapsed, false},
	Unredeem:      {"undo the redemption of", Redeemed, Paid, false},
	Extend:        {"extend", Paid, Paid, false},
	Reinstate:     {"reinstate", Lapsed, Paid, false},
}

func (a Action) step() step {
	if a < 0 || int(a) >= len(steps) {
		return step{"do nothing", StatusUnknown, StatusUnknown, false}
	}
	return steps[a]
}

// String returns the action's name.
func (a Action) String() string { return a.step().name }

// To returns the state to which the action leads.
func (a Action) To() Status { return a.step().to }

// GivesUnit reports whether the action puts the order's unit back on sale.
func (a Action) GivesUnit() bool { return a.step().gives }

// Pays reports whether the action pays for the order. Other actions that lead to Paid concern an order paid before.
func (a Action) Pays() bool { return a == Pay || a == Revive }

// Revisions returns by how much the action raises the order's Revision, which makes up for times that it resets.
func (a Action) Revisions() int64 {
	switch a {
	case Extend:
		return 1 // it sets no time
	case Unredeem, Reinstate:
		return 2 // it resets one
	default:
		return 0
	}
}

// Check returns a *StateError when the action cannot be taken on an order in the given state.
func (a Action) Check(orderID int64, s Status) error {
	if a.step().from != s {
		return &StateError{OrderID: orderID, Status: s, Action: a}
	}
	return nil
}

// StateError says that an action is not possible in the state in which the order is.
type StateError struct {
	OrderID int64
	Status  Status
	Action  Action
}

func (e *StateError) Error() string {
	return fmt.Sprintf("cannot %s order %d, which is %s", e.Action, e.OrderID, e.Status)
}
