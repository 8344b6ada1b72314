package sqlstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/testkit/ledgertest"
)

var actions = []order.Action{
	order.Pay, order.Cancel, order.Expire, order.RequestRefund, order.ConfirmRefund, order.Revive,
	order.Redeem, order.Lapse, order.Unredeem, order.Extend, order.Reinstate,
}

// Every action on an order in every state: one step where the domain allows it, with its time, its event and its unit;
// else nothing.
func TestTransition(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		plain := l.Ordinary(t)
		for _, action := range actions {
			v := l.Seckill(t, 100)
			var given int64
			for i, c := range l.NewOrders(t, v, 8) {
				from := order.Status(i + 1)
				l.Force(t, from, c.OrderID)
				before := l.ReadOrder(t, c.OrderID)
				got, err := l.Transition(t.Context(), c.OrderID, c.UserID, action, "tester")
				if action == order.Revive && from == order.Cancelled {
					if err == nil || !cmp.Equal(before, l.ReadOrder(t, c.OrderID)) {
						t.Errorf("revive without Redis: %v, %+v", err, got)
					}
					continue
				}
				if action.Check(c.OrderID, from) != nil {
					if !ledgertest.InState(err, from) || !cmp.Equal(before, l.ReadOrder(t, c.OrderID)) ||
						l.ReadHistory(t, c.OrderID) != "" {
						t.Errorf("%s %s: %v; it has become %+v", action, from, err, l.ReadOrder(t, c.OrderID))
					}
					continue
				}
				want := before
				want.Status = action.To()
				switch action {
				case order.Pay, order.Revive:
					want.PaidAt = ledgertest.RecordedAt
				case order.Cancel, order.Expire:
					want.CancelledAt = ledgertest.RecordedAt
				case order.RequestRefund:
					want.RefundingAt = ledgertest.RecordedAt
				case order.ConfirmRefund:
					want.RefundedAt = ledgertest.RecordedAt
				case order.Redeem:
					want.RedeemedAt = ledgertest.RecordedAt
				case order.Lapse:
					want.LapsedAt = ledgertest.RecordedAt
				case order.Unredeem:
					want.RedeemedAt, want.Revision = time.Time{}, 2
				case order.Reinstate:
					want.LapsedAt, want.Revision = time.Time{}, 2
				case order.Extend:
					want.Revision = 1
				}
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("%s: %v (-want +got):\n%s", action, err, diff)
				}
				if diff := cmp.Diff(want, l.ReadOrder(t, c.OrderID)); diff != "" {
					t.Errorf("%s, read again (-want +got):\n%s", action, diff)
				}
				if event := l.ReadHistory(t, c.OrderID); event != fmt.Sprintf("%s by tester: ", want.Status) {
					t.Errorf("%s: history %q", action, event)
				}
				if !action.GivesUnit() {
					continue
				}
				given++
				kind := map[order.Action]operation.Kind{
					order.Cancel: operation.Cancellation, order.Expire: operation.Expiration,
					order.ConfirmRefund: operation.Refund,
				}[action]
				wantOp := operation.Operation{
					VoucherID: v, Number: given, Kind: kind, Delta: 1, OrderID: c.OrderID, UserID: c.UserID,
				}
				if diff := cmp.Diff([]operation.Operation{wantOp}, l.ReadPending(t, v)); diff != "" {
					t.Errorf("%s: operations (-want +got):\n%s", action, diff)
				}
			}
			if sale := l.Sale(t, v); sale.Stock != 92+given || sale.LastOperation != given || sale.Issued != 100 {
				t.Errorf("%s: sale %+v, want %d units back", action, sale, given)
			}
		}
		c := l.Bought(t, plain, 1)
		for _, action := range []order.Action{order.Cancel, order.Revive, order.RequestRefund, order.ConfirmRefund} {
			l.Transitioned(t, c, action) // no sale has an operation
		}
	})
}

func TestTransitionOfAnotherOwner(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		c := l.NewOrders(t, l.Seckill(t, 1), 1)[0]
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
		v := l.Seckill(t, 5)
		c := l.NewOrders(t, v, 1)[0]
		l.RetireSale(t, v)
		l.Transitioned(t, c, order.Cancel)
		if got := l.States(t, v); got != [5]int64{2: 1} || l.Sale(t, v).Stock != 5 {
			t.Errorf("operations %v, sale %+v; want one absorbed and the unit back", got, l.Sale(t, v))
		}
		l.Conserved(t, v)
	})
}

// Two at once: one wins, the other gets the order's state.
func TestTwoTransitionsAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 20)
		for _, c := range l.NewOrders(t, v, 20) {
			move := func(action order.Action) func() error {
				return func() error {
					_, err := l.Transition(t.Context(), c.OrderID, c.UserID, action, order.Owner)
					return err
				}
			}
			pay, cancel := ledgertest.Both(move(order.Pay), move(order.Cancel))
			if (pay == nil) == (cancel == nil) || pay != nil && !ledgertest.InState(pay, order.Cancelled) ||
				cancel != nil && !ledgertest.InState(cancel, order.Paid) {
				t.Errorf("pay: %v, cancel: %v; want one to win", pay, cancel)
			}
		}
		l.Conserved(t, v)
	})
}

// The recorder locks a sale before orders when it settles, a transition after; the one that the database ends retries.
func TestTransitionRetriesAfterADeadlock(t *testing.T) {
	t.Parallel()
	l := openMySQL(t, ledgertest.MigratedMySQL(t))
	v := l.Seckill(t, 10)
	c := l.NewOrders(t, v, 1)[0]
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
	l.AwaitQuery(t, "SELECT % FROM `tb_seckill_voucher` % FOR UPDATE")
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
	if o := l.ReadOrder(t, c.OrderID); o.Status != order.Cancelled || len(l.ReadPending(t, v)) != 1 {
		t.Errorf("order %+v, operations %v", o, l.ReadPending(t, v))
	}
	l.Conserved(t, v)
}
