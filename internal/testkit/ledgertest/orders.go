package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// Admin is the author of changes to vouchers.
var Admin = voucher.Author{AdminID: 7, Request: "r-1"}

// NewOrders creates unpaid orders of users 1, 2, … n.
func (l Ledger) NewOrders(tb testing.TB, voucherID int64, n int) []order.Claim {
	tb.Helper()
	cs := Claims(voucherID, 1, n)
	l.Record(tb, cs)
	return cs
}

// Ordinary creates an ordinary voucher.
func (l Ledger) Ordinary(tb testing.TB) int64 {
	tb.Helper()
	return l.Limited(tb, 0)
}

// Limited creates an ordinary voucher with a limit of n per user; 0: no limit.
func (l Ledger) Limited(tb testing.TB, n int64) int64 {
	tb.Helper()
	v := Draft()
	v.PerUser = n
	if err := l.CreateVoucher(tb.Context(), &v, Admin); err != nil {
		tb.Fatal(err)
	}
	return v.ID
}

// Bought creates an unpaid order of an ordinary voucher.
func (l Ledger) Bought(tb testing.TB, voucherID, user int64) order.Claim {
	tb.Helper()
	c := Claims(voucherID, user, 1)[0]
	if _, err := l.RecordDirectSale(tb.Context(), c.OrderID, user, voucherID, idempotency.Key{}); err != nil {
		tb.Fatal(err)
	}
	return c
}

// ReadOrder reads an order.
func (l Ledger) ReadOrder(tb testing.TB, id int64) order.Order {
	tb.Helper()
	orders, err := l.OrdersByID(tb.Context(), []int64{id})
	o, has := orders[id]
	if err != nil || !has {
		tb.Fatalf("order %d: found %t, %v", id, has, err)
	}
	return o
}

// Force puts orders into a state directly, bypassing the store.
func (l Ledger) Force(tb testing.TB, status order.Status, ids ...int64) {
	tb.Helper()
	for _, id := range ids {
		l.Exec(tb, "UPDATE tb_voucher_order SET status = ? WHERE id = ?", status, id)
	}
}

// RefundsOn makes the ledger one to which no version without refunds writes, until the test ends.
func (l Ledger) RefundsOn(tb testing.TB) {
	tb.Helper()
	tb.Cleanup(func() { // its schema may be another test's then
		const off = "DELETE FROM tb_setting WHERE name = 'refunds_on'"
		if _, err := l.Raw.ExecContext(context.WithoutCancel(tb.Context()), off); err != nil {
			tb.Error(err)
		}
	})
	for range 2 { // by two instances
		if err := l.SwitchRefundsOn(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
}

// Due sets the orders' payment deadline to a time after RecordedAt.
func (l Ledger) Due(tb testing.TB, after time.Duration, cs ...order.Claim) {
	tb.Helper()
	args := []any{Stored(RecordedAt.Add(after))}
	for _, c := range cs {
		args = append(args, c.OrderID)
	}
	l.Exec(tb, "UPDATE tb_voucher_order SET pay_deadline = ? WHERE id IN (0"+strings.Repeat(",?", len(cs))+")", args...)
}

// Over ends the sale's window.
func (l Ledger) Over(tb testing.TB, voucherID int64) {
	tb.Helper()
	l.Exec(tb, "UPDATE tb_seckill_voucher SET begin_time = ?, end_time = ? WHERE voucher_id = ?",
		Stored(RecordedAt.Add(-time.Hour)), Stored(RecordedAt), voucherID)
}

// RetireSale ends the sale for good.
func (l Ledger) RetireSale(tb testing.TB, voucherID int64) {
	tb.Helper()
	l.Over(tb, voucherID)
	if retired, err := l.Retire(tb.Context(), voucherID, l.Sale(tb, voucherID).LastOperation); err != nil || !retired {
		tb.Fatalf("Retire = %t, %v", retired, err)
	}
}

// ReadHistory returns the events of an order as text.
func (l Ledger) ReadHistory(tb testing.TB, id int64) string {
	tb.Helper()
	events, err := l.History(tb.Context(), id)
	if err != nil {
		tb.Fatal(err)
	}
	texts := make([]string, len(events))
	for i, e := range events {
		if !e.At.Equal(RecordedAt) {
			tb.Errorf("order %d: an event is of %v, want %v", id, e.At, RecordedAt)
		}
		texts[i] = fmt.Sprintf("%s by %s: %s", e.Status, e.By, e.Why)
	}
	return strings.Join(texts, "\n")
}

// ReadPending returns the pending operations of a sale.
func (l Ledger) ReadPending(tb testing.TB, voucherID int64) []operation.Operation {
	tb.Helper()
	ops, _, err := l.Pending(tb.Context(), voucherID, 1000)
	if err != nil {
		tb.Fatal(err)
	}
	return ops
}

// ApplyAll completes all pending operations, as if Redis had all requested units.
func (l Ledger) ApplyAll(tb testing.TB, voucherID int64) {
	tb.Helper()
	if err := l.CompleteOperations(tb.Context(), voucherID, Results(l.ReadPending(tb, voucherID), true)); err != nil {
		tb.Fatalf("Settled: %v", err)
	}
}

// Results returns the results of operations that Redis has decided.
func Results(ops []operation.Operation, taken bool) []operation.Result {
	rs := make([]operation.Result, len(ops))
	for i, op := range ops {
		rs[i] = operation.Result{Number: op.Number, Taken: taken || !op.Takes()}
	}
	return rs
}

// States returns how many operations of the sale are pending, applied, absorbed, refused and void.
func (l Ledger) States(tb testing.TB, voucherID int64) (n [5]int64) {
	tb.Helper()
	for i := range n {
		n[i] = l.Number(tb, "SELECT COUNT(*) FROM tb_voucher_operation WHERE voucher_id = ? AND state = ?",
			voucherID, i+1)
	}
	return n
}

// Pays opens a payment for the order.
func (l Ledger) Pays(tb testing.TB, c order.Claim) payment.Payment {
	tb.Helper()
	p, err := l.OpenPayment(tb.Context(), c.UserID, c.OrderID, fmt.Sprintf("pay_%d", c.OrderID), []string{""})
	if err != nil {
		tb.Fatal(err)
	}
	return p.Payment
}

// Receives reports the money of a payment as arrived.
func (l Ledger) Receives(tb testing.TB, p payment.Payment) (payment.Payment, order.Order) {
	tb.Helper()
	got, o, err := l.Receive(tb.Context(), payment.Notice{PaymentID: p.ID, Amount: p.Amount, Provider: p.Provider})
	if err != nil {
		tb.Fatal(err)
	}
	return got, o
}

// Paid creates n paid orders of users 1, 2, … n.
func (l Ledger) Paid(tb testing.TB, voucherID int64, n int) []order.Claim {
	tb.Helper()
	cs := l.NewOrders(tb, voucherID, n)
	for _, c := range cs {
		l.Receives(tb, l.Pays(tb, c))
	}
	return cs
}

// ReadPayment reads a payment's state.
func (l Ledger) ReadPayment(tb testing.TB, id string) payment.State {
	tb.Helper()
	var state payment.State
	if err := l.Raw.QueryRowContext(tb.Context(), "SELECT state FROM tb_payment WHERE id = ?",
		id).Scan(&state); err != nil {
		tb.Fatal(err)
	}
	return state
}

// Transitioned applies an action to an order.
func (l Ledger) Transitioned(tb testing.TB, c order.Claim, action order.Action) {
	tb.Helper()
	if _, err := l.Transition(tb.Context(), c.OrderID, 0, action, order.Owner); err != nil {
		tb.Fatal(err)
	}
}

// Restock changes the sale's stock.
func (l Ledger) Restock(tb testing.TB, voucherID, delta int64, key string) voucher.StockChange {
	tb.Helper()
	change, err := l.ChangeStock(tb.Context(), voucherID, Admin, delta, key)
	if err != nil {
		tb.Fatal(err)
	}
	return change
}

// Both runs two functions at once and returns their errors.
func Both(first, second func() error) (error, error) {
	begin, done := make(chan struct{}), make(chan error, 1)
	go func() {
		<-begin
		done <- first()
	}()
	close(begin)
	err := second()
	return <-done, err
}

// InState reports whether err says that the order's state does not allow the step.
func InState(err error, status order.Status) bool {
	state, is := errors.AsType[*order.StateError](err)
	return is && state.Status == status
}
