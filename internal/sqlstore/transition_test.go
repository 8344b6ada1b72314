package sqlstore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
)

var actions = []order.Action{
	order.Pay, order.Cancel, order.Expire, order.RequestRefund, order.ConfirmRefund, order.Revive,
	order.Redeem, order.Lapse,
}

// Every action on an order in every state: one step where the domain allows it, with its time, its event and its unit;
// else nothing.
func TestTransition(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		plain := l.ordinary(t)
		for _, action := range actions {
			v := l.seckill(t, 100)
			var given int64
			for i, c := range l.recorded(t, v, 8) {
				from := order.Status(i + 1)
				l.force(t, from, c.OrderID)
				before := l.order(t, c.OrderID)
				got, err := l.Transition(t.Context(), c.OrderID, c.UserID, action, "tester")
				if action == order.Revive && from == order.Cancelled {
					if err == nil || !cmp.Equal(before, l.order(t, c.OrderID)) {
						t.Errorf("revive without Redis: %v, %+v", err, got)
					}
					continue
				}
				if action.Check(c.OrderID, from) != nil {
					if !inState(err, from) || !cmp.Equal(before, l.order(t, c.OrderID)) ||
						l.history(t, c.OrderID) != "" {
						t.Errorf("%s %s: %v; it has become %+v", action, from, err, l.order(t, c.OrderID))
					}
					continue
				}
				want := before
				want.Status = action.To()
				switch action {
				case order.Pay, order.Revive:
					want.PaidAt = recordedAt
				case order.Cancel, order.Expire:
					want.CancelledAt = recordedAt
				case order.RequestRefund:
					want.RefundingAt = recordedAt
				case order.ConfirmRefund:
					want.RefundedAt = recordedAt
				case order.Redeem:
					want.RedeemedAt = recordedAt
				case order.Lapse:
					want.LapsedAt = recordedAt
				}
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("%s: %v (-want +got):\n%s", action, err, diff)
				}
				if diff := cmp.Diff(want, l.order(t, c.OrderID)); diff != "" {
					t.Errorf("%s, read again (-want +got):\n%s", action, diff)
				}
				if event := l.history(t, c.OrderID); event != fmt.Sprintf("%s by tester: ", want.Status) {
					t.Errorf("%s: history %q", action, event)
				}
				if !action.GivesUnit() {
					continue
				}
				given++
				kind := map[order.Action]order.OperationKind{
					order.Cancel: order.Cancellation, order.Expire: order.Expiration, order.ConfirmRefund: order.Refund,
				}[action]
				wantOp := order.Operation{
					VoucherID: v, Number: given, Kind: kind, Delta: 1, OrderID: c.OrderID, UserID: c.UserID,
				}
				if diff := cmp.Diff([]order.Operation{wantOp}, l.pending(t, v)); diff != "" {
					t.Errorf("%s: operations (-want +got):\n%s", action, diff)
				}
			}
			if sale := l.sale(t, v); sale.Stock != 92+given || sale.LastOperation != given || sale.Issued != 100 {
				t.Errorf("%s: sale %+v, want %d units back", action, sale, given)
			}
		}
		c := l.bought(t, plain, 1)
		for _, action := range []order.Action{order.Cancel, order.Revive, order.RequestRefund, order.ConfirmRefund} {
			l.transitioned(t, c, action) // no sale has an operation
		}
	})
}

func TestTransitionOfAnotherOwner(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		c := l.recorded(t, l.seckill(t, 1), 1)[0]
		for _, id := range []int64{c.OrderID, 4711} {
			if _, err := l.Transition(t.Context(), id, c.UserID+1, order.Cancel,
				order.Owner); !errors.Is(err, order.ErrNotFound) {
				t.Errorf("order %d: %v, want ErrNotFound", id, err)
			}
		}
		if _, err := l.Transition(t.Context(), c.OrderID, 0, order.Cancel, order.Owner); err != nil {
			t.Errorf("any user's: %v", err)
		}
	})
}

// A sale that Redis no longer holds gets its unit back without a pending operation.
func TestTransitionOfARetiredSale(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.seckill(t, 5)
		c := l.recorded(t, v, 1)[0]
		l.retire(t, v)
		l.transitioned(t, c, order.Cancel)
		if got := l.states(t, v); got != [5]int64{2: 1} || l.sale(t, v).Stock != 5 {
			t.Errorf("operations %v, sale %+v; want one absorbed and the unit back", got, l.sale(t, v))
		}
		l.conserved(t, v)
	})
}

// Two at once: one wins, the other gets the order's state.
func TestTwoTransitionsAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.seckill(t, 20)
		for _, c := range l.recorded(t, v, 20) {
			move := func(action order.Action) func() error {
				return func() error {
					_, err := l.Transition(t.Context(), c.OrderID, c.UserID, action, order.Owner)
					return err
				}
			}
			pay, cancel := both(move(order.Pay), move(order.Cancel))
			if (pay == nil) == (cancel == nil) || pay != nil && !inState(pay, order.Cancelled) ||
				cancel != nil && !inState(cancel, order.Paid) {
				t.Errorf("pay: %v, cancel: %v; want one to win", pay, cancel)
			}
		}
		l.conserved(t, v)
	})
}

// The recorder locks a sale before orders when it settles, a transition after; the one that the database ends retries.
func TestTransitionRetriesAfterADeadlock(t *testing.T) {
	t.Parallel()
	l := openMySQL(t, migratedMySQL(t))
	v := l.seckill(t, 10)
	c := l.recorded(t, v, 1)[0]
	holder := l.holding(t, v)
	for i := range 200 { // the server ends the transaction that has changed less
		if _, err := holder.ExecContext(t.Context(), "INSERT INTO tb_setting VALUES (?, '', NOW(3))", i); err != nil {
			t.Fatal(err)
		}
	}
	moved := make(chan error, 1)
	go func() {
		_, err := l.Transition(t.Context(), c.OrderID, 0, order.Cancel, order.Owner)
		moved <- err
	}()
	l.awaitQuery(t, "SELECT % FROM `tb_seckill_voucher` % FOR UPDATE")
	if _, err := holder.ExecContext(t.Context(), "UPDATE tb_voucher_order SET detail = 'seen' WHERE id = ?",
		c.OrderID); err != nil {
		t.Fatalf("the holder of the lock was ended: %v", err)
	}
	if err := holder.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-moved; err != nil {
		t.Errorf("Transition: %v", err)
	}
	if o := l.order(t, c.OrderID); o.Status != order.Cancelled || len(l.pending(t, v)) != 1 {
		t.Errorf("order %+v, operations %v", o, l.pending(t, v))
	}
	l.conserved(t, v)
}
