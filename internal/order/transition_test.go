package order

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

var everyStatus = []Status{
	StatusUnknown, Queued, Unpaid, Paid, Redeemed, Cancelled, Refunding, Refunded, Failed, Lapsed,
}

// ways are all that an action may do, written down once more by hand.
var ways = map[Action]struct {
	from, to Status
	gives    bool
}{
	Pay:           {Unpaid, Paid, false},
	Cancel:        {Unpaid, Cancelled, true},
	Expire:        {Unpaid, Cancelled, true},
	RequestRefund: {Paid, Refunding, false},
	ConfirmRefund: {Refunding, Refunded, true},
	Revive:        {Cancelled, Paid, false},
	Redeem:        {Paid, Redeemed, false},
	Lapse:         {Paid, Lapsed, false},
}

func TestEveryActionInEveryState(t *testing.T) {
	t.Parallel()
	for action, way := range ways {
		for _, status := range everyStatus {
			err := action.Check(7, status)
			var state *StateError
			switch {
			case status == way.from && err != nil:
				t.Errorf("%s of an order that is %s: %v", action, status, err)
			case status != way.from &&
				(!errors.As(err, &state) || *state != StateError{OrderID: 7, Status: status, Action: action}):
				t.Errorf("%s of an order that is %s: %v, want a StateError that says so", action, status, err)
			}
		}
		if action.To() != way.to || action.GivesUnit() != way.gives {
			t.Errorf("%s leads to %s and gives %v, want %s and %v", action, action.To(),
				action.GivesUnit(), way.to, way.gives)
		}
	}
	if err := Action(99).Check(1, Unpaid); err == nil {
		t.Error("an action that does not exist is possible")
	}
	if got := fmt.Sprint(Action(99)); got != "do nothing" {
		t.Errorf("an action that does not exist is called %q", got)
	}
}

// Whatever is done to orders, a unit is with a live order or on sale; nothing leads out of a final state; and an order
// that gives its unit is not live afterwards.
func TestActionsConserveUnits(t *testing.T) {
	t.Parallel()
	actions := []Action{Pay, Cancel, Expire, RequestRefund, ConfirmRefund, Revive, Redeem, Lapse}
	rapid.Check(t, func(t *rapid.T) {
		const issued = 5
		orders, stock := make([]Status, 3), issued
		for i := range orders {
			orders[i] = Unpaid
			stock--
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			i := rapid.IntRange(0, len(orders)-1).Draw(t, "order")
			action := rapid.SampledFrom(actions).Draw(t, "action")
			if action.Check(int64(i), orders[i]) != nil {
				continue
			}
			before := orders[i]
			if before.Final() {
				t.Fatalf("%s leads out of %s", action, before)
			}
			orders[i] = action.To()
			if action.GivesUnit() {
				stock++
			}
			if action == Revive {
				stock--
			}
			live := 0
			for _, s := range orders {
				if s.Live() {
					live++
				}
			}
			if live+stock != issued {
				t.Fatalf("%s of an order that was %s: %d live, %d on sale, %d issued", action,
					before, live, stock, issued)
			}
		}
	})
}
