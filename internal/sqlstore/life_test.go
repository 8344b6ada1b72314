package sqlstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// What the tests of an order's life have in common.

// admin changes vouchers here.
var admin = voucher.Author{AdminID: 7, Request: "r-1"}

// recorded creates unpaid orders of users 1, 2, … n.
func (l ledger) recorded(tb testing.TB, voucherID int64, n int) []order.Claim {
	tb.Helper()
	cs := claims(voucherID, 1, n)
	insert(tb, l, cs)
	return cs
}

// ordinary creates a voucher that is bought freely.
func (l ledger) ordinary(tb testing.TB) int64 {
	tb.Helper()
	return l.limited(tb, 0)
}

// limited creates an ordinary voucher of which a user may have n; 0: any number.
func (l ledger) limited(tb testing.TB, n int64) int64 {
	tb.Helper()
	v := draft()
	v.PerUser = n
	if err := l.CreateVoucher(tb.Context(), &v, admin); err != nil {
		tb.Fatal(err)
	}
	return v.ID
}

// bought creates an unpaid order of an ordinary voucher.
func (l ledger) bought(tb testing.TB, voucherID, user int64) order.Claim {
	tb.Helper()
	c := claims(voucherID, user, 1)[0]
	if _, err := l.RecordDirectSale(tb.Context(), c.OrderID, user, voucherID, ""); err != nil {
		tb.Fatal(err)
	}
	return c
}

// order reads an order.
func (l ledger) order(tb testing.TB, id int64) order.Order {
	tb.Helper()
	o, err := l.Order(tb.Context(), id)
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// force puts orders into a state past the store.
func (l ledger) force(tb testing.TB, status order.Status, ids ...int64) {
	tb.Helper()
	for _, id := range ids {
		l.exec(tb, "UPDATE tb_voucher_order SET status = ? WHERE id = ?", status, id)
	}
}

// due moves the deadline of orders to the time given after recordedAt.
func (l ledger) due(tb testing.TB, after time.Duration, cs ...order.Claim) {
	tb.Helper()
	args := []any{stored(recordedAt.Add(after))}
	for _, c := range cs {
		args = append(args, c.OrderID)
	}
	l.exec(tb, "UPDATE tb_voucher_order SET pay_deadline = ? WHERE id IN (0"+strings.Repeat(",?", len(cs))+")", args...)
}

// over ends the sale's window.
func (l ledger) over(tb testing.TB, voucherID int64) {
	tb.Helper()
	l.exec(tb, "UPDATE tb_seckill_voucher SET begin_time = ?, end_time = ? WHERE voucher_id = ?",
		stored(recordedAt.Add(-time.Hour)), stored(recordedAt), voucherID)
}

// retire ends the sale for good.
func (l ledger) retire(tb testing.TB, voucherID int64) {
	tb.Helper()
	l.over(tb, voucherID)
	if retired, err := l.Retire(tb.Context(), voucherID, l.sale(tb, voucherID).LastOperation); err != nil || !retired {
		tb.Fatalf("Retire = %t, %v", retired, err)
	}
}

// history returns the events of an order as text.
func (l ledger) history(tb testing.TB, id int64) string {
	tb.Helper()
	events, err := l.History(tb.Context(), id)
	if err != nil {
		tb.Fatal(err)
	}
	texts := make([]string, len(events))
	for i, e := range events {
		if !e.At.Equal(recordedAt) {
			tb.Errorf("order %d: an event is of %v, want %v", id, e.At, recordedAt)
		}
		texts[i] = fmt.Sprintf("%s by %s: %s", e.Status, e.By, e.Why)
	}
	return strings.Join(texts, "\n")
}

// pending returns the pending operations of a sale.
func (l ledger) pending(tb testing.TB, voucherID int64) []order.Operation {
	tb.Helper()
	ops, _, err := l.Pending(tb.Context(), voucherID, 1000)
	if err != nil {
		tb.Fatal(err)
	}
	return ops
}

// applyAll completes everything that is pending, as if Redis had units for all that takes some.
func (l ledger) applyAll(tb testing.TB, voucherID int64) {
	tb.Helper()
	if err := l.CompleteOperations(tb.Context(), voucherID, results(l.pending(tb, voucherID), true)); err != nil {
		tb.Fatalf("Settled: %v", err)
	}
}

func results(ops []order.Operation, taken bool) []order.OperationResult {
	rs := make([]order.OperationResult, len(ops))
	for i, op := range ops {
		rs[i] = order.OperationResult{Number: op.Number, Taken: taken || !op.Takes()}
	}
	return rs
}

// states returns how many operations of the sale are pending, applied, absorbed, refused and void.
func (l ledger) states(tb testing.TB, voucherID int64) (n [5]int64) {
	tb.Helper()
	for i := range n {
		n[i] = l.number(tb, "SELECT COUNT(*) FROM tb_voucher_operation WHERE voucher_id = ? AND state = ?",
			voucherID, i+1)
	}
	return n
}

// pays opens a payment for the order.
func (l ledger) pays(tb testing.TB, c order.Claim) order.Payment {
	tb.Helper()
	p, err := l.OpenPayment(tb.Context(), c.UserID, c.OrderID, fmt.Sprintf("pay_%d", c.OrderID), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// receives reports the money of a payment as arrived.
func (l ledger) receives(tb testing.TB, p order.Payment) (order.Payment, order.Order) {
	tb.Helper()
	got, o, err := l.Receive(tb.Context(), order.Notice{PaymentID: p.ID, Amount: p.Amount, Provider: p.Provider})
	if err != nil {
		tb.Fatal(err)
	}
	return got, o
}

// payment reads a payment's state.
func (l ledger) payment(tb testing.TB, id string) order.PaymentState {
	tb.Helper()
	var state order.PaymentState
	if err := l.raw.QueryRowContext(tb.Context(), "SELECT state FROM tb_payment WHERE id = ?",
		id).Scan(&state); err != nil {
		tb.Fatal(err)
	}
	return state
}

// transitioned takes an order one step.
func (l ledger) transitioned(tb testing.TB, c order.Claim, action order.Action) {
	tb.Helper()
	if _, err := l.Transition(tb.Context(), c.OrderID, 0, action, order.Owner); err != nil {
		tb.Fatal(err)
	}
}

// restock changes the sale's stock.
func (l ledger) restock(tb testing.TB, voucherID, delta int64, key string) voucher.StockChange {
	tb.Helper()
	change, err := l.ChangeStock(tb.Context(), voucherID, admin, delta, key)
	if err != nil {
		tb.Fatal(err)
	}
	return change
}

// both runs two functions at once and returns their errors.
func both(first, second func() error) (error, error) {
	begin, done := make(chan struct{}), make(chan error, 1)
	go func() {
		<-begin
		done <- first()
	}()
	close(begin)
	err := second()
	return <-done, err
}

// inState reports whether err says that the order is in a state from which the step is not possible.
func inState(err error, status order.Status) bool {
	state, is := errors.AsType[*order.StateError](err)
	return is && state.Status == status
}
