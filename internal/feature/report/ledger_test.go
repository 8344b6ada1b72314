package report

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature"
	"seckill/internal/kit/histogram"
	"seckill/internal/order/figures"
	"seckill/internal/order/gate"
	"seckill/internal/order/timeline"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// reportsOn returns reports of a ledger, without members.
func reportsOn(l ledgertest.Ledger) *Reports {
	return NewReports(l.DB(), Core{Find: l.Voucher, Orders: l.OrdersAfter}, feature.Members{})
}

// counted is a minute of one process with n requests in its first second. A minute of an odd run also says how long the
// requests took.
func counted(voucherID, run, n int64) timeline.Minute {
	m := timeline.Minute{
		VoucherID: voucherID, Start: ledgertest.RecordedAt.Truncate(time.Minute), Run: run,
		Counts: map[gate.Answer]*timeline.Seconds{},
	}
	m.Counts["accepted"], m.Counts["sold_out"] = &timeline.Seconds{0: n}, &timeline.Seconds{59: 2}
	if run%2 != 0 {
		m.Took = map[int]histogram.Counts{0: {0, 0, n}, 59: {2}}
	}
	return m
}

// The minutes of a sale, of several processes, come back page by page. A report adds them up, and counts those that
// cannot be read.
func TestSaleMinutes(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		reports := reportsOn(l)
		later := counted(1, -4, 1)
		later.Start = later.Start.Add(time.Minute)
		if err := l.PutMinutes(t.Context(), []timeline.Minute{
			counted(1, -5, 7), counted(1, 9, 1), later, counted(2, 9, 1),
		}); err != nil {
			t.Fatal(err)
		}
		want := []timeline.Minute{counted(1, -5, 7), counted(1, 9, 1), later}
		for limit := 1; limit <= 4; limit++ {
			var got []timeline.Minute
			totals := gate.Counts{}
			for after := (place{}); ; {
				page, err := reports.ledger.minutes(t.Context(), 1, ledgertest.RecordedAt.Add(-time.Hour),
					ledgertest.RecordedAt.Add(time.Hour), after, limit)
				sums, errSums := reports.ledger.minuteTotals(t.Context(), 1, after, limit)
				if err != nil || errSums != nil || len(sums) != len(page) {
					t.Fatalf("%d minutes, %d totals; %v, %v", len(page), len(sums), err, errSums)
				}
				for i, m := range page {
					after = placeOf(m)
					if sums[i].place != after {
						t.Errorf("totals of %+v, minute of %+v", sums[i].place, after)
					}
					for answer, n := range sums[i].counts {
						totals[answer] += n
					}
				}
				got = append(got, page...)
				if len(page) < limit {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("minutes in pages of %d (-want +got):\n%s", limit, diff)
			}
			if diff := cmp.Diff(gate.Counts{"accepted": 9, "sold_out": 6}, totals); diff != "" {
				t.Errorf("totals (-want +got):\n%s", diff)
			}
		}
		if ms, err := reports.ledger.minutes(t.Context(), 1, later.Start, later.Start.Add(time.Minute), place{},
			9); err != nil || len(ms) != 1 {
			t.Errorf("one minute: %v, %v", ms, err)
		}
		l.Exec(t, "UPDATE tb_sale_minute SET seconds = '{\"accepted\": {\"60\": 1}}', totals = 'x' WHERE run "+
			"= 9 AND voucher_id = 1")
		ms, err := reports.ledger.minutes(t.Context(), 1, ledgertest.RecordedAt.Add(-time.Hour),
			ledgertest.RecordedAt.Add(time.Hour), place{}, 9)
		sums, errSums := reports.ledger.minuteTotals(t.Context(), 1, place{}, 9)
		if err != nil || errSums != nil || len(ms) != 3 || ms[1].Counts != nil ||
			sums[1].counts != nil || sums[0].counts == nil {
			t.Errorf("beside nonsense: %v, %v, %v, %v", ms, sums, err, errSums)
		}
		if id := l.Seckill(t, 5); id != 1 {
			t.Fatalf("voucher %d is the first", id)
		}
		made, err := reports.Of(t.Context(), 1)
		start := ledgertest.RecordedAt.Truncate(time.Minute)
		points := []Point{
			{At: start, Counts: gate.Counts{"accepted": 7}, Took: histogram.Counts{0, 0, 7}},
			{At: start.Add(59 * time.Second), Counts: gate.Counts{"sold_out": 2}, Took: histogram.Counts{2}},
			{At: start.Add(60 * time.Second), Counts: gate.Counts{"accepted": 1}},
			{At: start.Add(119 * time.Second), Counts: gate.Counts{"sold_out": 2}},
		}
		if diff := cmp.Diff(points, made.Points); err != nil || diff != "" || made.Spoilt != 1 ||
			made.Answers["accepted"] != 8 || !made.FirstAccepted.Equal(start) ||
			!slices.Equal(made.Took, histogram.Counts{2, 0, 7}) ||
			!made.LastAccepted.Equal(start.Add(time.Minute)) || !made.SoldOut.Equal(start.Add(59*time.Second)) {
			t.Errorf("the report: %+v, %v; points (-want +got):\n%s", made, err, diff)
		}
	})
}

// How long answers took is added up over processes, in all and by second, in the report and in the file. A process that
// does not say so adds nothing.
func TestHowLongAnswersTook(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		reports, id := reportsOn(l), l.Seckill(t, 5)
		rows := []timeline.Minute{counted(id, 1, 7), counted(id, 3, 5), counted(id, 4, 1)}
		if err := l.PutMinutes(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		want := []histogram.Counts{{4, 0, 12}, {0, 0, 12}, {4}}
		made, err := reports.Of(t.Context(), id)
		got := []histogram.Counts{made.Took}
		for _, p := range made.Points {
			got = append(got, p.Took)
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("the report: %v (-want +got):\n%s", err, diff)
		}
		got = got[:1]
		err = reports.Seconds(t.Context(), id, func(points []Point) error {
			for _, p := range points {
				got = append(got, p.Took)
			}
			return nil
		})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("the file: %v (-want +got):\n%s", err, diff)
		}
	})
}

// everyState makes a sale with orders in every state, and returns its tallies.
func everyState(t *testing.T, l ledgertest.Ledger, id int64) Sums {
	t.Helper()
	l.Record(t, ledgertest.Claims(id, 1, 30))
	rest := "WHERE voucher_id = ? AND status = 1 ORDER BY id LIMIT "
	if l.Dialect == "sqlite" {
		rest = "WHERE id IN (SELECT id FROM tb_voucher_order WHERE voucher_id = ? AND status = 1 ORDER BY id LIMIT "
	}
	become := func(n, set string) {
		query := "UPDATE tb_voucher_order SET " + set + " " + rest + n
		if l.Dialect == "sqlite" {
			query += ")"
		}
		l.Exec(t, query, id)
	}
	become("1", "status = 2, quantity = 3, amount = 3000")
	become("2", "status = 3")
	become("3", "status = 8")
	become("4", "status = 5")
	become("5", "status = 6")
	become("6", "status = 4, cancel_time = create_time")
	become("2", "status = 4, cancel_time = pay_deadline")
	become("1", "status = 7, amount = 0")
	l.Exec(t, "UPDATE tb_seckill_voucher SET stock = stock + 12 WHERE voucher_id = ?", id)
	tally := func(n int64) Tally { return Tally{Orders: n, Units: n, Cents: n * 1000} }
	return Sums{Stock: 100 - 18, Issued: 100, Orders: figures.Orders{
		Unpaid: tally(6), Paid: Tally{Orders: 1, Units: 3, Cents: 3000},
		Redeemed: tally(2), Lapsed: tally(3), Refunding: tally(4),
		Refunded: tally(5), Cancelled: tally(6), Expired: tally(2), Failed: Tally{Orders: 1, Units: 1},
	}}
}

// Sums, exported rows and the list of all sales agree with each other and with the rows. Rehearsals are in no list.
func TestReportSums(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		reports := reportsOn(l)
		id := l.Seckill(t, 100)
		want := everyState(t, l, id)
		sums, err := reports.ledger.sums(t.Context(), id)
		if diff := cmp.Diff(want, sums); err != nil || diff != "" {
			t.Fatalf("Sums: %v (-want +got):\n%s", err, diff)
		}
		// The money of payments: one received, one given back in part, one lost, one stuck and one closed after a part
		// went back, one that never came.
		for i, set := range []string{
			"", ", returned = 300", ", returned = 100, dispute = 3, disputed = 900",
			", returned = 400, state = 6, stuck_time = create_time",
			", returned = 50, state = 7, close_time = create_time", "-",
		} {
			l.Exec(t, fmt.Sprintf("INSERT INTO tb_payment (id, order_id, user_id, voucher_id, shop_id, amount, state, "+
				"create_time) VALUES ('pay_%d', %d, 1, %d, 1, 1000, 2, ?)", i, i+1, id),
				ledgertest.Stored(ledgertest.RecordedAt))
			if set != "-" {
				l.Exec(t, fmt.Sprintf("UPDATE tb_payment SET receive_time = create_time%s WHERE id = 'pay_%d'", set, i))
			}
		}
		want.Money = Money{Received: 5000, Returned: 1750, Lost: 900, Stuck: 600, Closed: 950}
		if sums, err = reports.ledger.sums(t.Context(), id); err != nil || sums != want {
			t.Errorf("with payments: %+v, %v", sums, err)
		}
		var all, expired Tally
		err = reports.Orders(t.Context(), id, false, func(page []ExportRow) error {
			for _, row := range page {
				all = all.Plus(Tally{Orders: 1, Units: row.Order.Quantity.Units(), Cents: row.Order.Amount})
				if row.Expired() {
					expired.Orders++
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if all != sums.Recorded() || expired.Orders != sums.Expired.Orders {
			t.Errorf("exported: %+v, %d of them expired; the sums have %+v, %d",
				all, expired.Orders, sums.Recorded(), sums.Expired.Orders)
		}
		if _, err := reports.ledger.sums(t.Context(), 404); !errors.Is(err, voucher.ErrNotFound) {
			t.Errorf("the sums of no voucher: %v", err)
		}
		v := ledgertest.Draft()
		if err := l.CreateVoucher(t.Context(), &v, ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		if sums, err := reports.ledger.sums(t.Context(), v.ID); err != nil || sums != (Sums{}) {
			t.Errorf("the sums of an ordinary voucher that nobody bought: %+v, %v", sums, err)
		}

		coming := l.Seckill(t, 7)
		l.Exec(t, "UPDATE tb_seckill_voucher SET begin_time = ? WHERE voucher_id = ?",
			ledgertest.Stored(ledgertest.RecordedAt.Add(time.Minute)), coming)
		ended := l.Seckill(t, 3)
		l.Exec(t, "UPDATE tb_seckill_voucher SET begin_time = ?, end_time = ? WHERE voucher_id = ?",
			ledgertest.Stored(ledgertest.RecordedAt.Add(-time.Hour)), ledgertest.Stored(ledgertest.RecordedAt), ended)
		l.Exec(t, "UPDATE tb_seckill_voucher SET called_off = end_time WHERE voucher_id = ?", ended)
		rehearsal := l.Seckill(t, 50)
		l.Exec(t, "UPDATE tb_voucher SET shop_id = ? WHERE id = ?", voucher.RehearsalShop, rehearsal)
		sold := SalesSums{
			Sales: 1, Issued: 100, Sold: sums.Sold().Units, Paid: sums.Earned().Units, Unpaid: sums.Unpaid.Units,
			Cents: sums.Earned().Cents,
		}
		phases := map[Phase]SalesSums{
			Running: sold, Coming: {Sales: 1, Issued: 7}, Ended: {Sales: 1, Issued: 3},
		}
		got, err := reports.SalesSums(t.Context(), 0)
		if diff := cmp.Diff(phases, got); err != nil || diff != "" {
			t.Errorf("SalesSums: %v (-want +got):\n%s", err, diff)
		}
		for _, test := range []struct {
			phase  Phase
			before int64
			limit  int
			want   []int64
		}{
			{"", math.MaxInt64, 9, []int64{ended, coming, id}},
			{"", ended, 1, []int64{coming}},
			{Running, math.MaxInt64, 9, []int64{id}},
			{Ended, math.MaxInt64, 9, []int64{ended}},
			{Coming, coming, 9, nil},
		} {
			sales, err := reports.Sales(t.Context(), 0, test.phase, test.before, test.limit)
			var ids []int64
			for _, s := range sales {
				ids = append(ids, s.VoucherID)
				if s.CalledOff.IsZero() == (s.VoucherID == ended) || s.Sums != phases[s.Phase] ||
					s.Title != "100 for 10" || !s.End.After(s.Begin) {
					t.Errorf("sale %+v, want the sums %+v", s, phases[s.Phase])
				}
			}
			if diff := cmp.Diff(test.want, ids); err != nil || diff != "" {
				t.Errorf("%s before %d: %v (-want +got):\n%s", test.phase, test.before, err, diff)
			}
		}
	})
}

// BenchmarkReport reads what a sale of a hundred thousand orders has left behind.
func BenchmarkReport(b *testing.B) {
	const orders = 100_000
	l := ledgertest.OpenMySQL(b, ledgertest.MigratedMySQL(b))
	id := l.Seckill(b, orders)
	for first := int64(0); first < orders; first += 500 {
		l.Record(b, ledgertest.Claims(id, 1+first, 500))
	}
	l.Exec(b, "UPDATE tb_voucher_order SET status = 2 WHERE voucher_id = ? AND id % 10 <> 0", id)
	for minute := range 60 {
		m := counted(id, 1, 100)
		m.Start = m.Start.Add(time.Duration(minute) * time.Minute)
		if err := l.PutMinutes(b.Context(), []timeline.Minute{m}); err != nil {
			b.Fatal(err)
		}
	}
	reports := reportsOn(l)
	b.Run("report", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if made, err := reports.Of(b.Context(), id); err != nil || made.Sums.Recorded().Orders != orders ||
				len(made.Points) != 120 {
				b.Fatalf("%+v, %d points, %v", made.Sums, len(made.Points), err)
			}
		}
	})
	b.Run("sales", func(b *testing.B) {
		for b.Loop() {
			if _, err := reports.Sales(b.Context(), 0, "", math.MaxInt64, 20); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("export", func(b *testing.B) {
		var most uint64
		for b.Loop() {
			rows, pages := 0, 0
			err := reports.Orders(b.Context(), id, false, func(page []ExportRow) error {
				rows += len(page)
				if pages++; pages%20 == 0 {
					runtime.GC()
					var now runtime.MemStats
					runtime.ReadMemStats(&now)
					most = max(most, now.HeapAlloc)
				}
				return nil
			})
			if err != nil || rows != orders {
				b.Fatalf("%d rows, %v", rows, err)
			}
		}
		b.ReportMetric(float64(most)/1e6, "MB-live")
	})
}
