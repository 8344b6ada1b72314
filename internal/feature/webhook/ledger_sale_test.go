package webhook_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/webhook"
	"seckill/internal/kit/moment"
	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// ofSale returns the events of a sale, as "number type".
func (l ledger) ofSale(tb testing.TB, voucherID int64) string {
	tb.Helper()
	l.numbered(tb)
	rows, err := l.Raw.QueryContext(tb.Context(),
		"SELECT subject_number, type, body FROM tb_webhook_event WHERE subject = ? ORDER BY number",
		order.SubjectOfSale(voucherID))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // it was read to its end
	var parts []string
	for last := int64(0); rows.Next(); {
		var number int64
		var kind, body string
		if err := rows.Scan(&number, &kind, &body); err != nil {
			tb.Fatal(err)
		}
		var p struct {
			Number int64
			Type   string
			Data   struct{ VoucherID, ShopID int64 }
		}
		if err := json.Unmarshal([]byte(body), &p); err != nil || p.Number != number || p.Type != kind ||
			p.Data.VoucherID != voucherID || number <= last {
			tb.Errorf("event %d, %s, behind %d: %s, %v", number, kind, last, body, err)
		}
		last = number
		parts = append(parts, strings.TrimPrefix(kind, "sale."))
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return strings.Join(parts, " ")
}

// Each thing that happens to a sale is one event, in its order, with rising numbers, however many instances look.
func TestEventsOfSales(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.endpoint(t, 1)
		const instances = 2
		look := func() {
			t.Helper()
			done := make(chan error, instances)
			for range instances {
				go func() { done <- l.WriteAllDue(t.Context()) }()
			}
			for range instances {
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
		}
		v := l.sale(t, 2, 0)
		want := "created"
		step := func(what string, more string) {
			t.Helper()
			look()
			if want += more; l.ofSale(t, v) != want {
				t.Errorf("%s: %s, want %s", what, l.ofSale(t, v), want)
			}
		}
		step("begun", " started")
		step("nothing new", "")
		change := func(alter func(v *voucher.Voucher)) {
			t.Helper()
			_, err := l.ChangeVoucher(t.Context(), v, ledgertest.Admin, func(v *voucher.Voucher) error {
				alter(v)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		change(func(v *voucher.Voucher) { v.Title = "another" })
		step("another title", " changed")
		change(func(*voucher.Voucher) {})
		step("no change", "")
		change(func(v *voucher.Voucher) { v.Sale.Paused = true })
		step("paused", " changed")
		l.ApplyAll(t, v)
		l.Record(t, ledgertest.Claims(v, 1, 2))
		step("sold out", " sold_out")
		l.Restock(t, v, 3, "more")
		step("more units", " changed")
		l.Record(t, ledgertest.Claims(v, 11, 3))
		step("sold out again", "")
		l.Restock(t, v, 2, "even more")
		l.ApplyAll(t, v)
		want += " changed"
		l.Restock(t, v, -1, "fewer")
		step("units are asked back", "")
		l.ApplyAll(t, v)
		step("units are taken back", " changed")
		ended := ledgertest.RecordedAt.Add(-time.Minute)
		l.Exec(t, "UPDATE tb_seckill_voucher SET begin_time = ?, end_time = ? WHERE voucher_id = ?",
			ledgertest.Stored(ended.Add(-time.Hour)), ledgertest.Stored(ended), v)
		step("over", " ended")
		step("still over", "")

		v, want = l.sale(t, 2, 0), "created"
		if _, err := l.CallOff(t.Context(), v, ledgertest.Admin, "rain"); err != nil {
			t.Fatal(err)
		}
		step("called off", " called_off")
	})
}

// Sales of shops whose events are not written have none, and neither have rehearsals and ordinary vouchers.
func TestNoEventsOfOtherSales(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.endpoint(t, 2)
		v := l.sale(t, 2, 0)
		l.Ordinary(t)
		if err := l.WriteAllDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.endpoint(t, 0)
		l.Ordinary(t)
		l.Exec(t, "UPDATE tb_voucher SET shop_id = ? WHERE id = ?", voucher.RehearsalShop, v)
		if err := l.WriteAllDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_webhook_event"); n != 0 {
			t.Errorf("%d events", n)
		}
		l.Exec(t, "UPDATE tb_voucher SET shop_id = 1 WHERE id = ?", v)
		if err := l.WriteAllDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := l.ofSale(t, v); got != "started" {
			t.Errorf("of a sale that was there before: %s", fmt.Sprint(got))
		}
	})
}

// The event of a beginning long ago is as young as the moment at which it is written, and stays as long as others.
func TestLateEventsOfSalesStay(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.sale(t, 2, 0)
		ended := ledgertest.RecordedAt.Add(-100 * 24 * time.Hour)
		l.Exec(t, "UPDATE tb_seckill_voucher SET begin_time = ?, end_time = ? WHERE voucher_id = ?",
			ledgertest.Stored(ended.Add(-time.Hour)), ledgertest.Stored(ended), v)
		l.opened(t)
		if err := l.WriteDue(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		clean := func() {
			t.Helper()
			if done, err := l.Clean(t.Context(), webhook.Place{}, time.Hour, time.Hour, 100); err != nil ||
				done.Deleted != 0 {
				t.Errorf("Clean = %+v, %v", done, err)
			}
		}
		l.numbered(t)
		clean()
		l.Exec(t, "UPDATE tb_webhook_event SET create_time = ?, number = NULL", ledgertest.Stored(ended))
		clean() // as nobody can have read what has no number
		want := moment.Of(ended).String()
		if got := l.Number(t, "SELECT COUNT(*) FROM tb_webhook_event WHERE type = 'sale.ended' AND body LIKE ?",
			"%\"timestamp\":\""+want+"\"%"); got != 1 {
			t.Errorf("%d events say that the sale ended at %s", got, want)
		}
	})
}

// An event has the sale as the transaction before it has left it, and a sale that was called off does not start.
func TestDueEventsAreNotStale(t *testing.T) {
	t.Parallel()
	l := withEvents(ledgertest.OpenMySQL(t, ledgertest.MigratedMySQL(t)))
	l.opened(t)
	v := l.sale(t, 2, 0)
	held, err := l.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback() }() // unless it is committed
	for _, change := range []string{
		"UPDATE tb_voucher SET title = 'newer' WHERE id = ?",
		"UPDATE tb_sale_event SET number = number + 1 WHERE voucher_id = ?",
	} {
		if _, err := held.ExecContext(t.Context(), change, v); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- l.WriteDue(t.Context(), v) }()
	l.AwaitLockWait(t)
	if err := held.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := l.Number(t, "SELECT COUNT(*) FROM tb_webhook_event WHERE type = 'sale.started' AND body LIKE ?",
		`%"title":"newer"%`); n != 1 {
		t.Errorf("%d events have the new title", n)
	}
	v = l.sale(t, 2, 0)
	if _, err := l.CallOff(t.Context(), v, ledgertest.Admin, "rain"); err != nil {
		t.Fatal(err)
	}
	if err := l.WriteDue(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if got := l.ofSale(t, v); got != "created called_off" {
		t.Errorf("of a sale that was called off: %s", got)
	}
}

// The first event that this version writes about a sale has another number than the last one of the version before,
// which is the number of an operation.
func TestSaleGoesOnAfterAnUpgrade(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.sale(t, 2, 0)
		l.Restock(t, v, 1, "more")
		l.opened(t)
		operation := l.Sale(t, v).LastOperation
		l.event(t, 1, string(order.SubjectOfSale(v)), operation, "waitlist.released")
		if err := l.WriteDue(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		const next = "SELECT subject_number FROM tb_webhook_event WHERE type = 'sale.started'"
		if got := l.Number(t, next); got != operation+1 || operation == 0 {
			t.Errorf("number %d behind operation %d", got, operation)
		}
	})
}
