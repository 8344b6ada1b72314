package sqlstore_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"seckill/internal/order/payment"
	"seckill/internal/testkit/ledgertest"
)

// manyPayments gives two sales n payments each, in turn, four to a millisecond.
func (l ledger) manyPayments(t *testing.T, n int, vouchers ...int64) {
	t.Helper()
	stored := "2006-01-02 15:04:05.000"
	if l.Dialect == "sqlite" {
		stored = "2006-01-02 15:04:05.999-07:00" // as its driver writes times, so that they are equal
	}
	for first := 0; first < n; first += 100 {
		query := "INSERT INTO tb_payment (id, order_id, user_id, voucher_id, shop_id, amount, state, " +
			"create_time) VALUES "
		var args []any
		for i := first; i < first+100; i++ {
			at := ledgertest.RecordedAt.Add(time.Duration(i/4) * time.Millisecond).Format(stored)
			for j, v := range vouchers {
				if i > first || j > 0 {
					query += ", "
				}
				query += "(?, ?, 1, ?, ?, 1000, 2, ?)"
				args = append(args, fmt.Sprintf("pay_%d_%d", v, i), 1+i, v, 1+j, at)
			}
		}
		l.Exec(t, query, args...)
	}
}

// Payments, read page by page to the end, cost one index entry for each, whatever page it is and whatever they are
// selected by.
func TestPagesOfPaymentsAreLinear(t *testing.T) {
	const n, page = 3000, 250
	eachDialect(t, func(t *testing.T, l ledger) {
		v, other := l.Seckill(t, 10), l.Seckill(t, 10)
		l.manyPayments(t, n, v, other)
		from, to := ledgertest.RecordedAt.Add(100*time.Millisecond), ledgertest.RecordedAt.Add(600*time.Millisecond)
		for name, tc := range map[string]struct {
			f      payment.Filter
			want   int
			search string // what SQLite's plan says
		}{
			"all":          {payment.Filter{}, 2 * n, "idx_payment_time"},
			"of a time":    {payment.Filter{From: from, To: to}, 4000, "idx_payment_time (create_time>"},
			"of a shop":    {payment.Filter{ShopID: 2}, n, "idx_payment_shop (shop_id=?"},
			"of a voucher": {payment.Filter{VoucherID: v}, n, "idx_payment_voucher (voucher_id=?"},
			"in a state": {
				payment.Filter{State: payment.Received}, 2 * n, "idx_payment_state (state=?",
			},
			"of a shop, a time": {
				payment.Filter{ShopID: 1, From: from, To: to}, 2000, "idx_payment_shop (shop_id=? AND",
			},
		} {
			read := l.entriesRead(t, tc.search)
			rows, last := 0, payment.Payment{}
			for {
				payments, err := l.PaymentsAfter(t.Context(), tc.f, last, page)
				if err != nil {
					t.Fatal(err)
				}
				rows += len(payments)
				if len(payments) < page {
					break
				}
				last = payments[len(payments)-1]
			}
			entries := read()
			t.Logf("%s: %d index entries for %d payments", name, entries, rows)
			if rows != tc.want || float64(entries) > 1.1*float64(rows) {
				t.Errorf("%s: %d payments of %d, and %d index entries were read", name, rows, tc.want, entries)
			}
			listed, seen, before := 0, map[int64]bool{}, int64(math.MaxInt64)
			for before > 0 {
				payments, err := l.FindPayments(t.Context(), tc.f, before, page)
				if err != nil {
					t.Fatal(err)
				}
				before = 0
				for i, p := range payments {
					if i > 0 && p.CreatedAt.After(payments[i-1].CreatedAt) || seen[p.Number] {
						t.Fatalf("%s: %+v is not behind the one before, or comes again", name, p)
					}
					seen[p.Number], before = true, p.Number
				}
				listed += len(payments)
			}
			if listed != tc.want {
				t.Errorf("%s: %d listed of %d", name, listed, tc.want)
			}
		}
	})
}

// Each search finds what it names, and nothing else.
func TestFindPayments(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, other := l.Seckill(t, 10), l.Seckill(t, 10)
		cs, more := l.Paid(t, v, 2), l.Paid(t, other, 1)
		if _, err := l.AskRefund(t.Context(), cs[1].UserID, cs[1].OrderID); err != nil {
			t.Fatal(err)
		}
		first := fmt.Sprintf("pay_%d", cs[0].OrderID)
		l.Exec(t, "UPDATE tb_payment SET reference = 'r-1', dispute = 1 WHERE id = ?", first)
		open, none := payment.DisputeOpen, payment.DisputeNone
		at := ledgertest.RecordedAt
		for name, tc := range map[string]struct {
			f    payment.Filter
			want []int64
		}{
			"all":              {payment.Filter{}, []int64{more[0].OrderID, cs[1].OrderID, cs[0].OrderID}},
			"id":               {payment.Filter{Name: first}, []int64{cs[0].OrderID}},
			"reference":        {payment.Filter{Name: "r-1"}, []int64{cs[0].OrderID}},
			"no reference":     {payment.Filter{Name: "r-2"}, nil},
			"of another order": {payment.Filter{Name: "r-1", OrderID: cs[1].OrderID}, nil},
			"order":            {payment.Filter{OrderID: cs[1].OrderID}, []int64{cs[1].OrderID}},
			"voucher":          {payment.Filter{VoucherID: other}, []int64{more[0].OrderID}},
			"another shop":     {payment.Filter{ShopID: 2}, nil},
			"refunding":        {payment.Filter{State: payment.Refunding}, []int64{cs[1].OrderID}},
			"received": {
				payment.Filter{State: payment.Received, VoucherID: v}, []int64{cs[0].OrderID},
			},
			"disputed":     {payment.Filter{Dispute: &open, ShopID: 1}, []int64{cs[0].OrderID}},
			"not disputed": {payment.Filter{Dispute: &none, VoucherID: v}, []int64{cs[1].OrderID}},
			"later":        {payment.Filter{From: at.Add(time.Millisecond)}, nil},
			"until then":   {payment.Filter{To: at}, nil},
			"at that time": {
				payment.Filter{From: at, To: at.Add(time.Millisecond), VoucherID: other}, []int64{more[0].OrderID},
			},
		} {
			found, err := l.FindPayments(t.Context(), tc.f, math.MaxInt64, 10)
			var ids []int64
			for _, p := range found {
				ids = append(ids, p.OrderID)
			}
			if err != nil || fmt.Sprint(ids) != fmt.Sprint(tc.want) {
				t.Errorf("%s: %v, %v; want %v", name, ids, err, tc.want)
			}
		}
		if p, err := l.Payment(t.Context(), first); err != nil || p.OrderID != cs[0].OrderID || p.Reference != "r-1" {
			t.Errorf("%+v, %v", p, err)
		}
	})
}
