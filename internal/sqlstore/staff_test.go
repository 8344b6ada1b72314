package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"gorm.io/gorm"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// actOn is an act of an admin on an order, with a key.
func actOn(c order.Claim, key string) order.StaffAct {
	by := voucher.Author{AdminID: 7, Request: "r"}
	by.Key = idempotency.Key{Caller: 7, Name: key, Route: "POST /admin/order", Body: idempotency.Digest([]byte("{}"))}
	return order.StaffAct{OrderID: c.OrderID, By: by, Why: "the shop was closed"}
}

// isRepeated reports whether the error says that the order's act was done before.
func isRepeated(err error, c order.Claim) bool {
	before, is := errors.AsType[*idempotency.RepeatedError](err)
	return is && before.Made == fmt.Sprint(c.OrderID)
}

// audited returns the audit trail's words about an order of a voucher, the newest first.
func (l ledger) audited(t *testing.T, voucherID int64, a voucher.Action) []string {
	t.Helper()
	entries, err := l.Entries(t.Context(), voucher.AuditFilter{VoucherID: voucherID, AdminID: 7}, 1<<40, 100)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		if e.Action == a {
			found = append(found, fmt.Sprint(e.Changes))
		}
	}
	return found
}

// Staff cancel an unpaid order of anybody's: its units go back, and the trail says why, once for each key.
func TestCancelForStaff(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := l.NewOrders(t, v, 2)
		for range 2 { // with another key it stays as it is
			o, err := l.CancelForStaff(t.Context(), actOn(cs[0], fmt.Sprint("k", len(l.audited(t, v, "cancel")))))
			if err != nil || o.Status != order.Cancelled {
				t.Fatalf("CancelForStaff = %+v, %v", o, err)
			}
		}
		if _, err := l.CancelForStaff(t.Context(), actOn(cs[0], "k0")); !isRepeated(err, cs[0]) {
			t.Errorf("repeated: %v", err)
		}
		if _, err := l.CancelForStaff(t.Context(), actOn(cs[1], "k2")); err != nil {
			t.Errorf("another order: %v", err)
		}
		other := actOn(cs[1], "k0")
		other.By.Key.Route = "POST /other"
		if _, err := l.CancelForStaff(t.Context(), other); !errors.Is(err, idempotency.ErrReused) {
			t.Errorf("a key of another request: %v", err)
		}
		if got := l.ReadHistory(t, cs[0].OrderID); got != "cancelled by admin 7: STAFF_DECIDED" {
			t.Errorf("history %q", got)
		}
		want := fmt.Sprintf("[{orderId %d %d} {orderStatus unpaid cancelled} {why  the shop was closed}]",
			cs[0].OrderID, cs[0].OrderID)
		if got := l.audited(t, v, voucher.OrderCancelled); len(got) != 2 || got[1] != want {
			t.Errorf("audited %q, want %q", got, want)
		}
		if ops := l.ReadPending(t, v); len(ops) != 2 || ops[0].Kind != operation.Cancellation || ops[0].Delta != 1 {
			t.Errorf("operations %+v", ops)
		}
		l.Conserved(t, v)
	})
}

// Staff refund a paid order of anybody's by its payment. What bars its owner bars them, and leaves their key free.
func TestRefundForStaff(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := l.NewOrders(t, v, 2)
		if _, err := l.RefundForStaff(t.Context(), actOn(cs[0], "k")); !ledgertest.InState(err, order.Unpaid) {
			t.Errorf("of an unpaid order: %v", err)
		}
		none := order.Claim{OrderID: 5}
		if _, err := l.RefundForStaff(t.Context(), actOn(none, "k")); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("of none: %v", err)
		}
		p := l.Pays(t, cs[0])
		l.Receives(t, p)
		var barred error
		l.Use(sqlkit.Hook{Feature: "may", May: func(_ *gorm.DB, c order.Change) error {
			if c.By != order.ByAdmin(7) || c.Action != order.RequestRefund {
				t.Errorf("asked about %+v", c)
			}
			return barred
		}})
		why := errors.New("reserved")
		barred = &order.NotNowError{Why: why}
		if _, err := l.RefundForStaff(t.Context(), actOn(cs[0], "k")); !errors.Is(err, why) {
			t.Errorf("barred: %v", err)
		}
		barred = nil
		o, err := l.RefundForStaff(t.Context(), actOn(cs[0], "k"))
		if err != nil || o.Status != order.Refunding || l.ReadPayment(t, p.ID) != payment.Refunding {
			t.Fatalf("RefundForStaff = %+v, %v; payment %s", o, err, l.ReadPayment(t, p.ID))
		}
		if _, err := l.RefundForStaff(t.Context(), actOn(cs[0], "k")); !isRepeated(err, cs[0]) {
			t.Errorf("repeated: %v", err)
		}
		if o, err := l.Refunded(t.Context(), p.ID, p.ID, ""); err != nil || o.Status != order.Refunded {
			t.Errorf("Refunded = %+v, %v", o, err)
		}
		if o, err := l.RefundForStaff(t.Context(), actOn(cs[0], "another")); err != nil || o.Status != order.Refunded {
			t.Errorf("refunded before: %+v, %v", o, err)
		}
		if got := l.audited(t, v, voucher.OrderRefunded); len(got) != 1 {
			t.Errorf("audited %q", got)
		}
		want := "paid by payment provider: \nrefunding by admin 7: STAFF_DECIDED\n" +
			"refunded by payment provider: MONEY_BACK"
		if got := l.ReadHistory(t, cs[0].OrderID); got != want {
			t.Errorf("history\n%s", got)
		}
		l.Conserved(t, v)
	})
}

// Orders are found by their shop, and by a payment's id or the provider's reference of it.
func TestFindOrdersOfAPayment(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := l.NewOrders(t, v, 3)
		var paid []payment.Payment
		for _, c := range cs[:2] {
			paid = append(paid, l.Pays(t, c))
		}
		if err := l.Begun(t.Context(), paid[1].ID, "chg_1"); err != nil {
			t.Fatal(err)
		}
		shop, err := l.Voucher(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		for name, one := range map[string]struct {
			order.Filter
			want []order.Claim
		}{
			"by id":                 {order.Filter{Payment: paid[0].ID}, cs[:1]},
			"by reference":          {order.Filter{Payment: "chg_1"}, cs[1:2]},
			"by none":               {order.Filter{Payment: "chg_2"}, nil},
			"in its shop":           {order.Filter{Payment: "chg_1", ShopID: shop.ShopID}, cs[1:2]},
			"in another shop":       {order.Filter{Payment: "chg_1", ShopID: shop.ShopID + 1}, nil},
			"of another state":      {order.Filter{Payment: "chg_1", Status: order.Paid}, nil},
			"all of another's shop": {order.Filter{ShopID: shop.ShopID + 1}, nil},
		} {
			found, err := l.Find(t.Context(), one.Filter, 1<<62, 9)
			var ids, want []int64
			for _, o := range found {
				ids = append(ids, o.ID)
			}
			for _, c := range one.want {
				want = append(want, c.OrderID)
			}
			if err != nil || !slices.Equal(ids, want) {
				t.Errorf("%s: %v, %v, want %v", name, ids, err, want)
			}
		}
	})
}
