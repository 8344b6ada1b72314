package report

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/day"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

func TestTodayDocument(t *testing.T) {
	t.Parallel()
	status, body, err := get(t, fullReports(), &audit{}, "/admin/today")
	const want = `{"since":"2026-01-02T00:00:00.000Z","zone":"UTC","currency":"CNY","received":{"payments":3,` +
		`"amount":3000},` +
		`"returned":{"payments":1,"amount":1000},"refunded":{"payments":1,"amount":600},` +
		`"lostInDisputes":{"payments":1,"amount":400}}`
	if err != nil || status != http.StatusOK || !strings.Contains(body, want) {
		t.Errorf("%d %s, %v; want %s", status, body, err, want)
	}
}

// Money counts from midnight on, by the shop of its voucher; rehearsals have none.
func TestTaken(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		reports := reportsOn(l)
		mine, other, rehearsal := l.Seckill(t, 9), l.Seckill(t, 9), l.Seckill(t, 9)
		l.Exec(t, "UPDATE tb_voucher SET shop_id = 2 WHERE id = ?", other)
		since := midnight(t, l)
		later := ledgertest.Stored(since.Add(time.Millisecond))
		for _, v := range []int64{mine, other, rehearsal} {
			for _, o := range l.Paid(t, v, 2) {
				if v == mine {
					l.Exec(t, "UPDATE tb_payment SET returned = 1000, return_time = ? WHERE order_id = ?",
						ledgertest.Stored(since.Add(-time.Millisecond)), o.OrderID)
				}
			}
			l.Exec(t, "UPDATE tb_payment SET receive_time = ? WHERE voucher_id = ?", later, v)
		}
		l.Exec(t, "UPDATE tb_voucher SET shop_id = ? WHERE id = ?", voucher.RehearsalShop, rehearsal)
		l.Exec(t, "UPDATE tb_payment SET returned = 1000, return_time = ? WHERE voucher_id = ?", later,
			other)
		for shop, want := range map[int64]Taken{
			0: {Received: Flow{4, 4000}, Returned: Flow{2, 2000}, Refunded: Flow{2, 2000}},
			1: {Received: Flow{2, 2000}},
			2: {Received: Flow{2, 2000}, Returned: Flow{2, 2000}, Refunded: Flow{2, 2000}}, 3: {},
		} {
			want.Since = since
			if got, err := reports.Taken(t.Context(), shop); err != nil || got != want {
				t.Errorf("shop %d: %+v, %v; want %+v", shop, got, err, want)
			}
		}
		before := ledgertest.Stored(since.Add(-time.Millisecond))
		l.Exec(t, "UPDATE tb_payment SET receive_time = ?, return_time = ?", before, before)
		if got, err := reports.Taken(t.Context(), 0); err != nil || got != (Taken{Since: since}) {
			t.Errorf("the day after: %+v, %v", got, err)
		}
	})
}

// midnight is the beginning of the day by the clock that writes the ledger's times.
func midnight(t *testing.T, l ledgertest.Ledger) (at time.Time) {
	t.Helper()
	err := l.DB().Write(t.Context(), func(tx *gorm.DB) error {
		now, err := l.DB().LedgerTime(tx)
		at = day.Begin(now, time.UTC)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Money counts on the day when it goes back: as a part of a refund at the provider, as the rest of one, and by a
// dispute that was lost. What went back on a day before is not counted once more, nor is money that never came.
func TestTakenInParts(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		reports := reportsOn(l)
		v := l.Seckill(t, 9)
		since := midnight(t, l)
		tell := func(c order.Claim, k payment.NoticeKind, cents int64) {
			t.Helper()
			n := payment.Notice{Kind: k, PaymentID: fmt.Sprintf("pay_%d", c.OrderID), Amount: cents}
			if _, _, err := l.TakeNotice(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		returned := func(what string, want Flow) {
			t.Helper()
			if got, err := reports.Taken(t.Context(), 0); err != nil || got.Returned != want {
				t.Errorf("%s: %+v, %v; want %+v", what, got.Returned, err, want)
			}
		}
		cs := l.NewOrders(t, v, 3)
		for _, c := range cs {
			l.Pays(t, c)
		}
		tell(cs[2], payment.NoticeReturned, 100)
		returned("before it has come", Flow{})
		for _, c := range cs {
			l.Receives(t, payment.Payment{ID: fmt.Sprintf("pay_%d", c.OrderID), Amount: 1000})
		}
		returned("once it has come", Flow{1, 100})
		tell(cs[0], payment.NoticeReturned, 200)
		tell(cs[0], payment.NoticeReturned, 300)
		tell(cs[1], payment.NoticeDisputed, 400)
		returned("two parts of one", Flow{2, 400})
		tell(cs[1], payment.NoticeDisputeLost, 400)
		returned("a lost dispute", Flow{3, 800})
		l.Exec(t, "UPDATE tb_payment SET return_time = ?", ledgertest.Stored(since.Add(-time.Millisecond)))
		returned("the day after", Flow{})
		if _, err := l.AskRefund(t.Context(), cs[0].UserID, cs[0].OrderID); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("pay_%d", cs[0].OrderID)
		if _, err := l.Refunded(t.Context(), id, id, ""); err != nil {
			t.Fatal(err)
		}
		returned("the rest", Flow{1, 700})
		tell(cs[1], payment.NoticeReturned, 50)
		tell(cs[1], payment.NoticeReturned, 60)
		returned("more of another", Flow{2, 760})
	})
}
