package journal

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// What two instances write is read as one: the earliest refusal, and the union of the spans. Writing twice changes
// nothing. Old rows go.
func TestLedger(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, whole ledgertest.Ledger) {
		l := NewLedger(whole.DB())
		at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
		refusals := []Refusal{
			{1, 3, 10, at(410), 2 * time.Millisecond, "SOLD_OUT"},
			{1, 3, 11, at(350), 3 * time.Millisecond, "SHARE_TAKEN"},
			{1, 4, 10, at(390), 0, "SOLD_OUT"},
			{1, 5, 11, at(20_000), 0, "SOLD_OUT"},
			{2, 3, 12, at(1), 0, "ENDED"},
		}
		notes := []Note{
			{VoucherID: 1, Run: 10, Users: 3, Written: 2, Missed: 5, Spans: []Span{{at(298), at(900)}}},
			{VoucherID: 1, Run: 11, Users: 2, Written: 2, Spans: []Span{{at(300), at(1900)}}, MoreSpans: 1},
		}
		for range 2 {
			if err := l.WriteRefusals(t.Context(), refusals); err != nil {
				t.Fatal(err)
			}
			refusals[0].At = at(1) // nothing changes a row
			for _, n := range notes {
				if err := l.WriteNote(t.Context(), n); err != nil {
					t.Fatal(err)
				}
			}
		}
		held := func(_ context.Context, _ order.SaleRef, _ []int64) ([]int64, error) { return []int64{0}, nil }
		r := NewReader(nil, l, held)
		v := voucher.Voucher{ID: 1, Sale: &voucher.Sale{Begin: noon, End: noon.Add(time.Hour)}}
		w, err := r.Of(t.Context(), v, 3)
		want := Why{
			Refusal: &Refusal{1, 3, 11, at(350), 3 * time.Millisecond, "SHARE_TAKEN"},
			Moments: Moments{
				FirstSoldOut: at(298), SoldOut: []Span{{at(298), at(1900)}}, More: 1, Ran: 2, Wrote: 1, Users: 5,
				Unwritten: 1, Missed: 5,
			},
		}
		if diff := cmp.Diff(want, w); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		if w, err := r.Of(t.Context(), v, 77); err != nil || w.Refusal != nil || w.OrderID != 0 {
			t.Errorf("nobody: %+v, %v", w, err)
		}
		f, err := r.Figures(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Tenth{{at(300), 2}}, f.Tenths); diff != "" {
			t.Errorf("tenths: %s", diff)
		}
		whole.Clock.Add(int64(keep))
		if n, err := l.Forget(t.Context(), 1, keep, 100); err != nil || n != 0 {
			t.Errorf("%d deleted, %v", n, err)
		}
	})
}

// What an instance remembers of somebody who was forgotten is not written: neither while that goes on nor afterwards,
// and again once they come back. A sign-out is no reason.
func TestForgottenUsersAreNotWritten(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, whole ledgertest.Ledger) {
		l, at := NewLedger(whole.DB()), ledgertest.StartTime
		after := func(d time.Duration) any { return ledgertest.Stored(at.Add(d)) }
		for user, void := range map[int64]time.Duration{
			3: time.Second, 4: 2 * time.Minute, 5: time.Hour,
			7: 3 * time.Minute, // signs out while 4 is being forgotten
		} {
			whole.Exec(t, "INSERT INTO tb_session_void (first_user, last_user, before_time, write_time) "+
				"VALUES (?, ?, ?, ?)", user, user, after(void), after(void))
		}
		whole.Exec(t, "INSERT INTO tb_session_void (first_user, last_user, before_time, write_time) "+
			"VALUES (1, 100, ?, ?)", after(time.Second), after(time.Second)) // an issuer's
		whole.Exec(t, "INSERT INTO tb_forgotten (pseudonym, user_id, create_time, end_time) VALUES "+
			"(9000000000000003, NULL, ?, ?), (9000000000000004, 4, ?, NULL)", after(time.Second), after(5*time.Second),
			after(time.Minute*2))
		whole.Exec(t, "UPDATE tb_session_void SET write_time = ? WHERE first_user = 5", after(time.Minute))
		refusals := []Refusal{
			{1, 3, 10, at, 0, "SOLD_OUT"},
			{1, 4, 10, at, 0, "SOLD_OUT"},
			{1, 5, 10, at, 0, "SOLD_OUT"},
			{1, 6, 10, at, 0, "SOLD_OUT"},
			{1, 7, 10, at, 0, "SOLD_OUT"},
			{2, 3, 10, at.Add(3 * time.Second), 0, "SOLD_OUT"},
			{3, 3, 10, at.Add(time.Minute), 0, "SOLD_OUT"},
		}
		for _, part := range [][]Refusal{refusals, refusals[:1]} {
			if err := l.WriteRefusals(t.Context(), part); err != nil {
				t.Fatal(err)
			}
		}
		for user, want := range map[int64]int64{3: 1, 4: 0, 5: 1, 6: 1, 7: 1} {
			if n := whole.Number(t, "SELECT COUNT(*) FROM tb_refusal WHERE user_id = ?", user); n != want {
				t.Errorf("%d refusals of user %d, want %d", n, user, want)
			}
		}
		if n := whole.Number(t, "SELECT voucher_id FROM tb_refusal WHERE user_id = 3"); n != 3 {
			t.Errorf("the refusal in sale %d is written", n)
		}
	})
}

// Rows are deleted once they are old, in batches.
func TestOldRowsGo(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, whole ledgertest.Ledger) {
		l, old := NewLedger(whole.DB()), ledgertest.Stored(ledgertest.StartTime.Add(-keep-time.Hour))
		for user := range 25 {
			whole.Exec(t, "INSERT INTO tb_refusal (voucher_id, user_id, run, refused_ms, within_ms, code, "+
				"create_time) VALUES (1, ?, 1, 1, 1, 'SOLD_OUT', ?)", user,
				ledgertest.Stored(ledgertest.StartTime.Add(-keep-time.Duration(1+user)*time.Minute)))
		}
		whole.Exec(t, "INSERT INTO tb_sale_journal (voucher_id, run, users, written, missed, sold_out, more_spans, "+
			"create_time, write_time) VALUES (1, 1, 1, 1, 0, '[]', 0, ?, ?)", old, old)
		if err := l.WriteRefusals(t.Context(), []Refusal{{1, 77, 1, noon, 0, "ENDED"}}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{11, 10, 5, 0} {
			if n, err := l.Forget(t.Context(), 1, keep, 10); err != nil || n != want {
				t.Errorf("%d deleted, %v, want %d", n, err, want)
			}
		}
		if left := whole.Number(t, "SELECT COUNT(*) FROM tb_refusal"); left != 1 {
			t.Errorf("%d rows are left", left)
		}
	})
}
