package sqlstore_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/order/service"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// callsOff calls the sale off under the key.
func (l ledger) callsOff(t *testing.T, voucherID int64, key string) voucher.Voucher {
	t.Helper()
	by := voucher.Author{AdminID: 7, Request: "r"}
	by.Key = idempotency.Key{Caller: 7, Name: key, Route: "POST /admin/voucher", Body: idempotency.Digest([]byte("{}"))}
	v, err := l.CallOff(t.Context(), voucherID, by, "the price was wrong")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// unwinds ends all orders of the sale, three in a transaction, and returns how many they were.
func (l ledger) unwinds(t *testing.T, voucherID int64) (n int) {
	t.Helper()
	var above int64
	for {
		orders, last, err := l.Unwind(t.Context(), 1, voucherID, above, 3)
		if err != nil {
			t.Fatal(err)
		}
		if last == 0 {
			return n
		}
		n, above = n+len(orders), last
	}
}

// Calling off ends the window, closes the sale in Redis by one operation, and is told and audited once. Nothing opens
// the sale again: no change of the shelf, the pause, the window or the stock.
func TestCallOff(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		told := 0
		l.Use(sqlkit.Hook{}, sqlkit.Hook{Feature: "told", CalledOff: func(_ *gorm.DB, w voucher.Voucher) error {
			told++
			if w.ID != v || w.Sale.CalledOff.IsZero() || w.Sale.LastOperation != 1 {
				t.Errorf("told %+v", w.Sale)
			}
			return nil
		}})
		first := l.callsOff(t, v, "k")
		if s := first.Sale; !s.IsCalledOff() || s.End.After(s.CalledOff) || !s.Begin.Before(s.End) || s.Stock != 10 {
			t.Errorf("called off: %+v", s)
		}
		if again := l.callsOff(t, v, "another"); !again.Sale.CalledOff.Equal(first.Sale.CalledOff) {
			t.Errorf("twice: %+v, then %+v", first.Sale, again.Sale)
		}
		by := voucher.Author{AdminID: 7}
		_, err := l.ChangeVoucher(t.Context(), v, by, func(w *voucher.Voucher) error {
			w.Status, w.Sale.Paused, w.Sale.End = voucher.OffShelf, true, w.Sale.End.Add(time.Hour)
			w.Sale.CalledOff = time.Time{}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range l.ReadPending(t, v) {
			if op.Mode != order.SaleCalledOff {
				t.Errorf("operation %+v opens the sale", op)
			}
		}
		if _, err := l.ChangeStock(t.Context(), v, by, 5, "s"); !errors.Is(err, voucher.ErrCalledOff) {
			t.Errorf("more stock: %v", err)
		}
		if s := l.Sale(t, v); !s.CalledOff.Equal(first.Sale.CalledOff) {
			t.Errorf("unset: %+v", s)
		}
		if got := l.audited(t, v, voucher.CalledOff); told != 1 || len(got) != 1 {
			t.Errorf("told %d times, audited %q", told, got)
		}
		l.Conserved(t, v)
	})
}

// A sale that was retired, or is none, cannot be called off. One that has not begun has an empty window.
func TestCallOffRefused(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		l.RetireSale(t, v)
		if _, err := l.CallOff(t.Context(), v, voucher.Author{}, "x"); !errors.Is(err, voucher.ErrRetired) {
			t.Errorf("retired: %v", err)
		}
		_, err := l.CallOff(t.Context(), l.Ordinary(t), voucher.Author{}, "x")
		if !errors.Is(err, voucher.ErrNotSeckill) {
			t.Errorf("ordinary: %v", err)
		}
		if _, err := l.CallOff(t.Context(), 1<<40, voucher.Author{}, "x"); !errors.Is(err, voucher.ErrNotFound) {
			t.Errorf("none: %v", err)
		}
		coming := l.Seckill(t, 10)
		l.Exec(t, "UPDATE tb_seckill_voucher SET begin_time = '2090-01-01 00:00:00', end_time = '2090-01-02 00:00:00' "+
			"WHERE voucher_id = ?", coming)
		s := l.callsOff(t, coming, "c").Sale
		if !s.End.Equal(s.CalledOff) || !s.Begin.Equal(s.End.Add(-time.Millisecond)) {
			t.Errorf("coming: %+v", s)
		}
	})
}

// Unwinding cancels what is unpaid and sends back the money of what is paid, a batch in a transaction. It leaves what
// is redeemed, lapsed, free, or has no payment, to staff; and it meets what is recorded or becomes paid later.
func TestUnwind(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 20)
		cs := l.NewOrders(t, v, 9)
		paid := make([]payment.Payment, 5)
		for i := range paid {
			paid[i] = l.Pays(t, cs[i])
			l.Receives(t, paid[i])
		}
		l.Force(t, order.Redeemed, cs[3].OrderID)
		l.Force(t, order.Lapsed, cs[4].OrderID)
		l.Force(t, order.Paid, cs[5].OrderID, cs[6].OrderID) // without a payment
		l.Exec(t, "UPDATE tb_voucher_order SET amount = 0 WHERE id = ?", cs[6].OrderID)
		if ids, err := l.SalesToUnwind(t.Context()); err != nil || slices.Contains(ids, v) {
			t.Errorf("to unwind before: %v, %v", ids, err)
		}
		l.callsOff(t, v, "k")
		if ids, err := l.SalesToUnwind(t.Context()); err != nil || !slices.Contains(ids, v) {
			t.Errorf("to unwind: %v, %v", ids, err)
		}
		if n := l.unwinds(t, v); n != 5 {
			t.Errorf("%d orders are unwound, want 5", n)
		}
		for i, want := range []order.Status{
			order.Refunding, order.Refunding, order.Refunding, order.Redeemed, order.Lapsed, order.Paid, order.Paid,
			order.Cancelled, order.Cancelled,
		} {
			if o := l.ReadOrder(t, cs[i].OrderID); o.Status != want {
				t.Errorf("order %d is %s, want %s", i, o.Status, want)
			}
		}
		for _, p := range paid[:3] {
			if s := l.ReadPayment(t, p.ID); s != payment.Refunding {
				t.Errorf("a payment is %s", s)
			}
			if _, err := l.Refunded(t.Context(), p.ID, p.ID, ""); err != nil {
				t.Error(err)
			}
		}
		if got := l.ReadHistory(t, cs[8].OrderID); got != "cancelled by unwinder: SALE_CALLED_OFF" {
			t.Errorf("history %q", got)
		}
		if n := l.unwinds(t, v); n != 0 {
			t.Errorf("%d more are unwound", n)
		}
		l.Force(t, order.Paid, cs[3].OrderID) // staff have undone the redemption
		if n := l.unwinds(t, v); n != 1 {
			t.Errorf("%d are unwound after that", n)
		}
		u, err := l.Unwinding(t.Context(), v)
		if err != nil || u.Orders[order.FateRefunded].Orders != 3 || u.Orders[order.FateRefunding].Orders != 1 ||
			u.Orders[order.FateCancelled].Orders != 2 || u.Orders[order.FateLapsed].Orders != 1 ||
			u.Orders[order.FateFree].Orders != 1 || u.Orders[order.FateNoPayment].Orders != 1 ||
			u.Withdrawn != 16 || u.Issued != 20 || !u.Pending() {
			t.Errorf("unwinding %+v, %v", u, err)
		}
		left, err := l.LeftToStaff(t.Context(), v, 1<<62, 9)
		var fates []order.Fate
		for _, o := range left {
			fates = append(fates, o.Fate)
		}
		slices.Sort(fates)
		if want := []order.Fate{order.FateFree, order.FateLapsed, order.FateNoPayment}; err != nil ||
			!slices.Equal(fates, want) {
			t.Errorf("left %v, %v", fates, err)
		}
		if _, _, err := l.Unwind(t.Context(), 0, v, 0, 3); !errors.Is(err, order.ErrSuperseded) {
			t.Errorf("superseded: %v", err)
		}
		l.Conserved(t, v)
	})
}

// Money that comes late for an order of a sale that was called off goes back, and no operation asks Redis for a unit:
// neither at first, nor after a rebuild that voided the operation.
func TestLatePaymentAfterCallingOff(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		c := l.NewOrders(t, v, 2)
		before, after := l.Pays(t, c[0]), l.Pays(t, c[1])
		for _, claim := range c {
			if _, err := l.Transition(t.Context(), claim.OrderID, claim.UserID, order.Cancel, order.Owner); err != nil {
				t.Fatal(err)
			}
		}
		l.Receives(t, before) // its revival is pending
		l.callsOff(t, v, "k")
		l.Receives(t, after)
		if s := l.ReadPayment(t, after.ID); s != payment.Refunding {
			t.Errorf("a late payment is %s", s)
		}
		l.Exec(t, "UPDATE tb_voucher_operation SET state = 5 WHERE voucher_id = ? AND kind = 'revive'", v)
		if _, err := l.ReviveLate(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if s := l.ReadPayment(t, before.ID); s != payment.Refunding {
			t.Errorf("a voided one is %s", s)
		}
		l.Conserved(t, v)
	})
}

var _ service.UnwindLedger = ledger{}
