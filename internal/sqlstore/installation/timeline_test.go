package installation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/histogram"
	"seckill/internal/order/gate"
	"seckill/internal/order/timeline"
	"seckill/internal/testkit/ledgertest"
)

// A row is the newest state of its minute, in whatever order and however often the states arrive. Rows of other
// processes, sales and minutes stand beside it.
func TestPutMinutes(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		start := ledgertest.RecordedAt.Truncate(time.Minute)
		minute := func(voucherID, run, n int64, start time.Time) timeline.Minute {
			return timeline.Minute{
				VoucherID: voucherID, Run: run, Start: start,
				Counts: map[gate.Answer]*timeline.Seconds{"accepted": {0: n}, "sold_out": {59: 2}},
				Took:   map[int]histogram.Counts{0: {0, n}, 59: {2}},
			}
		}
		for _, written := range [][]timeline.Minute{
			{minute(1, -5, 3, start), minute(1, 9, 1, start), minute(2, 9, 1, start)},
			{minute(1, -5, 7, start)},
			{minute(1, -5, 7, start), minute(1, -5, 1, start.Add(time.Minute))},
			{minute(1, -5, 4, start)}, // by a statement that its caller gave up
		} {
			if err := l.PutMinutes(t.Context(), written); err != nil {
				t.Fatal(err)
			}
		}
		want := []timeline.Minute{
			minute(1, -5, 7, start), minute(1, 9, 1, start), minute(1, -5, 1, start.Add(time.Minute)),
			minute(2, 9, 1, start),
		}
		rows, err := l.Raw.QueryContext(t.Context(), "SELECT voucher_id, run, asked, totals, seconds FROM "+
			"tb_sale_minute ORDER BY voucher_id, start_time, run")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var got []timeline.Minute
		for rows.Next() {
			var (
				m               timeline.Minute
				asked           int64
				totals, seconds string
			)
			if err := rows.Scan(&m.VoucherID, &m.Run, &asked, &totals, &seconds); err != nil {
				t.Fatal(err)
			}
			m.Start = want[min(len(got), len(want)-1)].Start
			m.Counts, m.Took = timeline.ParseSeconds(seconds)
			all, took := timeline.ParseTotals(totals)
			if diff := cmp.Diff(m.Totals(), all); diff != "" || asked != m.Asked() {
				t.Errorf("%+v: asked %d; totals (-seconds +totals):\n%s", m, asked, diff)
			}
			if diff := cmp.Diff(m.TookInAll(), took); diff != "" {
				t.Errorf("%+v: how long all took (-seconds +totals):\n%s", m, diff)
			}
			got = append(got, m)
		}
		if diff := cmp.Diff(want, got); rows.Err() != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", rows.Err(), diff)
		}
	})
}
