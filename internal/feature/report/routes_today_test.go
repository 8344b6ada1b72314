package report

import (
	"net/http"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones, wherever the test runs

	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

func TestMidnight(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ zone, now, want string }{
		{"UTC", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z"},
		{"Asia/Shanghai", "2026-01-02T15:59:59Z", "2026-01-01T16:00:00Z"},
		{"Asia/Shanghai", "2026-01-02T16:00:00Z", "2026-01-02T16:00:00Z"},
		{"America/New_York", "2026-11-02T03:00:00Z", "2026-11-01T04:00:00Z"}, // a day of 25 hours
		{"Africa/Cairo", "2026-04-24T10:00:00Z", "2026-04-23T22:00:00Z"},     // its clocks skip midnight
	} {
		zone, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, test.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := midnight(now, zone).UTC().Format(time.RFC3339); got != test.want {
			t.Errorf("%s at %s: %s, want %s", test.zone, test.now, got, test.want)
		}
	}
}

func TestTodayDocument(t *testing.T) {
	t.Parallel()
	status, body, err := get(t, fullReports(), &audit{}, "/admin/today")
	const want = `{"since":"2026-01-02T00:00:00.000Z","zone":"UTC","currency":"CNY","received":{"payments":3,` +
		`"amount":3000},` +
		`"returned":{"payments":1,"amount":1000}}`
	if err != nil || status != http.StatusOK || !strings.Contains(body, want) {
		t.Errorf("%d %s, %v; want %s", status, body, err, want)
	}
}

// Money counts from the moment on, by the shop of its voucher; rehearsals have none.
func TestTaken(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		reports := reportsOn(l)
		mine, other, rehearsal := l.Seckill(t, 9), l.Seckill(t, 9), l.Seckill(t, 9)
		l.Exec(t, "UPDATE tb_voucher SET shop_id = 2 WHERE id = ?", other)
		since, later := ledgertest.RecordedAt, ledgertest.Stored(ledgertest.RecordedAt.Add(time.Millisecond))
		for _, v := range []int64{mine, other, rehearsal} {
			for _, o := range l.Paid(t, v, 2) {
				if v == mine {
					l.Exec(t, "UPDATE tb_payment SET refund_time = ? WHERE order_id = ?",
						ledgertest.Stored(since.Add(-time.Millisecond)), o.OrderID)
				}
			}
			l.Exec(t, "UPDATE tb_payment SET receive_time = ? WHERE voucher_id = ?", later, v)
		}
		l.Exec(t, "UPDATE tb_voucher SET shop_id = ? WHERE id = ?", voucher.RehearsalShop, rehearsal)
		l.Exec(t, "UPDATE tb_payment SET refund_time = ? WHERE voucher_id = ?", later, other)
		for shop, want := range map[int64]Taken{
			0: {Received: Flow{4, 4000}, Returned: Flow{2, 2000}},
			1: {Received: Flow{2, 2000}}, 2: {Received: Flow{2, 2000}, Returned: Flow{2, 2000}}, 3: {},
		} {
			if got, err := reports.Taken(t.Context(), shop, since); err != nil || got != want {
				t.Errorf("shop %d: %+v, %v; want %+v", shop, got, err, want)
			}
		}
		if got, err := reports.Taken(t.Context(), 0, since.Add(2*time.Millisecond)); err != nil || got != (Taken{}) {
			t.Errorf("two milliseconds later: %+v, %v", got, err)
		}
	})
}
