package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/retention"
	"seckill/internal/testkit/ledgertest"
)

// shown is what reports say of money and orders.
type shown struct {
	Sums  Sums
	Taken map[int64]Taken // by shop
}

func shownBy(t *testing.T, r *Reports, id int64) shown {
	t.Helper()
	s, err := r.ledger.sums(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	s.Purge = Purge{}
	all := shown{s, map[int64]Taken{}}
	for shop := range int64(3) {
		if all.Taken[shop], err = r.Taken(t.Context(), shop); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// purgedStays purges a sale in small steps, and after each one the report and the money of the day are as before. It
// returns how many orders went, and how many stay because they owe something.
func purgedStays(t *testing.T, l ledgertest.Ledger, r *Reports, id int64) (gone int, owed int64) {
	t.Helper()
	l.ApplyAll(t, id)
	l.RetireSale(t, id)
	want := shownBy(t, r, id)
	purge := retention.NewLedger(l.DB(), l.Features)
	c := retention.Candidate{VoucherID: id, Sale: true, Retired: true, Before: ledgertest.RecordedAt.Add(time.Hour)}
	if err := purge.Begin(t.Context(), c, "", retention.Trail{By: "ann", Why: "old"}); err != nil {
		t.Fatal(err)
	}
	for at, done := (retention.Cursor{}), false; !done; {
		batch, err := purge.Delete(t.Context(), c, 0, at, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range batch.Owed {
			owed += n
		}
		gone, at, done = gone+batch.Orders, batch.Next, batch.Done
		if diff := cmp.Diff(want, shownBy(t, r, id)); diff != "" {
			t.Fatalf("with %d orders gone (-before +after):\n%s", gone, diff)
		}
	}
	return gone, owed
}

// Orders in every state, and payments in some, count after a purge as before it.
func TestPurgedSums(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		reports, id := reportsOn(l), l.Seckill(t, 100)
		everyState(t, l, id)
		l.Exec(t, "INSERT INTO tb_payment (receive_time, close_time, create_time, id, order_id, user_id, voucher_id, "+
			"shop_id, amount, state, returned) SELECT create_time, create_time AS closed, create_time AS begun, "+
			"'pay_closed', id, 1, voucher_id, 1, 1000, 7, 50 FROM tb_voucher_order "+
			"WHERE voucher_id = ? AND status = 3 LIMIT 1", id)
		if gone, owed := purgedStays(t, l, reports, id); gone != 20 || owed != 10 { // unpaid and refunding ones stay
			t.Errorf("%d orders are gone, %d stay", gone, owed)
		}
		made, err := reports.Of(t.Context(), id)
		if p := made.Sums.Purge; err != nil || p.Orders != 20 || !p.At.Equal(ledgertest.RecordedAt) {
			t.Errorf("%+v, %v", p, err)
		}
	})
}
