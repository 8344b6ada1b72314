package sqlstore_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/testkit/ledgertest"
)

func TestOrderTimes(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 1)
		c := ledgertest.Claims(v, 1, 1)[0]
		l.Record(t, []order.Claim{c})
		at := func(hours int) time.Time { return ledgertest.RecordedAt.Add(time.Duration(hours) * time.Hour) }
		l.Exec(t, "UPDATE tb_voucher_order SET status = 6, pay_type = 1, reason = 'X', detail = 'Y', pay_time "+
			"= ?, redeem_time = ?, cancel_time = ?, refunding_time = ?, refund_time = ?, fail_time = ? WHERE id = ?",
			ledgertest.Stored(at(1)), ledgertest.Stored(at(2)), ledgertest.Stored(at(3)), ledgertest.Stored(at(4)),
			ledgertest.Stored(at(5)), ledgertest.Stored(at(6)), c.OrderID)
		got, err := l.Order(t.Context(), c.OrderID)
		want := order.Order{
			ID: c.OrderID, UserID: 1, VoucherID: v, Amount: 1000, Status: order.Refunded, Reason: "X",
			CreatedAt: ledgertest.RecordedAt, PayBefore: ledgertest.PayBefore, PaidAt: at(1), RedeemedAt: at(2),
			CancelledAt: at(3), RefundingAt: at(4), RefundedAt: at(5), FailedAt: at(6),
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if zone, _ := got.PaidAt.Zone(); zone != "UTC" {
			t.Errorf("times are in %s, want UTC", zone)
		}
	})
}

func TestOrderNotFound(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		if _, err := l.Order(t.Context(), 1); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("Order: %v, want ErrNotFound", err)
		}
		if _, err := l.LiveOrder(t.Context(),
			order.BuyerKey{VoucherID: 1, UserID: 1}); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("LiveOrder: %v, want ErrNotFound", err)
		}
	})
}

func TestLiveOrder(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, w := l.Seckill(t, 10), l.Seckill(t, 10)
		first, elsewhere := ledgertest.Claims(v, 1, 2), ledgertest.Claims(w, 1, 1)
		l.Record(t, slices.Concat(first, elsewhere))
		l.Exec(t, "UPDATE tb_voucher_order SET status = 4 WHERE id = ?", first[0].OrderID)
		if _, err := l.LiveOrder(t.Context(), first[0].Buyer()); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("after a cancel: %v, want ErrNotFound", err)
		}
		second := ledgertest.Claims(v, 1, 1)
		l.Record(t, second)
		for _, c := range []order.Claim{second[0], first[1], elsewhere[0]} {
			if o, err := l.LiveOrder(t.Context(), c.Buyer()); err != nil || o.ID != c.OrderID {
				t.Errorf("LiveOrder(%+v) = %d, %v; want %d", c.Buyer(), o.ID, err, c.OrderID)
			}
		}
	})
}

func TestOrdersOf(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		var ids []int64 // newest first
		for range 5 {
			c := ledgertest.Claims(l.Seckill(t, 10), 1, 2) // users 1 and 2
			l.Record(t, c)
			ids = append([]int64{c[0].OrderID}, ids...)
		}
		l.Exec(t, "UPDATE tb_voucher_order SET status = 7 WHERE id = ?", ids[2])
		for name, test := range map[string]struct {
			before int64
			limit  int
			want   []int64
		}{
			"first page":  {math.MaxInt64, 2, ids[:2]},
			"second page": {ids[1], 2, ids[2:4]},
			"last page":   {ids[3], 2, ids[4:]},
			"after it":    {ids[4], 2, []int64{}},
			"all":         {math.MaxInt64, 100, ids},
		} {
			orders, total, err := l.OrdersOf(t.Context(), order.Filter{UserID: 1}, test.before, test.limit)
			got := make([]int64, len(orders))
			for i, o := range orders {
				got[i] = o.ID
			}
			if diff := cmp.Diff(test.want, got); err != nil || total != 5 || diff != "" {
				t.Errorf("%s: total %d, want 5; %v (-want +got):\n%s", name, total, err, diff)
			}
		}
		if orders, total, err := l.OrdersOf(t.Context(), order.Filter{UserID: 3}, math.MaxInt64, 9); err != nil ||
			orders == nil || len(orders) != 0 || total != 0 {
			t.Errorf("a user without orders: %v, %d, %v; want an empty list", orders, total, err)
		}
	})
}

// Orders of a voucher come back by id, page by page, and no others.
func TestOrdersAfter(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		id := l.Seckill(t, 9)
		cs := l.NewOrders(t, id, 3)
		l.NewOrders(t, l.Seckill(t, 9), 2)
		for limit := 1; limit <= 4; limit++ {
			var got, want []int64
			for after := int64(0); ; {
				page, err := l.OrdersAfter(t.Context(), id, after, limit)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range page {
					got = append(got, o.ID)
					after = o.ID
				}
				if len(page) < limit {
					break
				}
			}
			for _, c := range cs {
				want = append(want, c.OrderID)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("in pages of %d (-want +got):\n%s", limit, diff)
			}
		}
	})
}

func TestRecorded(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 2000)
		cs := ledgertest.Claims(v, 1, 1001)
		l.Record(t, cs[:1000])
		l.Exec(t, "UPDATE tb_voucher_order SET status = 2 WHERE id = ?", cs[700].OrderID)
		ids, want := make([]int64, len(cs)), make(map[int64]order.Status)
		for i, c := range cs {
			ids[i] = c.OrderID
			if i < 1000 {
				want[c.OrderID] = order.Unpaid
			}
		}
		want[cs[700].OrderID] = order.Paid
		got, err := l.Recorded(t.Context(), ids)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if got, err := l.Recorded(t.Context(), nil); err != nil || len(got) != 0 {
			t.Errorf("Recorded(nil) = %v, %v", got, err)
		}
	})
}

func TestOrderIDs(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 2000)
		cs := ledgertest.Claims(v, 1, 1001)
		l.Record(t, cs)
		collided := order.Claim{OrderID: cs[0].OrderID, UserID: 5000, VoucherID: v}
		l.failed(t, collided, collided.RowID(1), reason.IDCollision) // an id that no worker gave
		read := func(from, to int64) (ids []int64) {
			if err := l.OrderIDs(t.Context(), from, to, func(id int64) { ids = append(ids, id) }); err != nil {
				t.Fatal(err)
			}
			return ids
		}
		all := read(0, math.MaxInt64)
		if len(all) != 1001 || !slices.IsSorted(all) {
			t.Fatalf("%d ids, sorted: %v; want 1001", len(all), slices.IsSorted(all))
		}
		if diff := cmp.Diff(all[10:20], read(all[10], all[20])); diff != "" {
			t.Errorf("a part (-want +got):\n%s", diff)
		}
		if got := read(all[10], all[10]); len(got) != 0 {
			t.Errorf("an empty part holds %v", got)
		}
		if err := l.OrderIDs(ledgertest.Cancelled(t), 0, math.MaxInt64, func(int64) {}); err == nil {
			t.Error("a cancelled context is no error")
		}
	})
}
