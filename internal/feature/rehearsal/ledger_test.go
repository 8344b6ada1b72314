package rehearsal_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature"
	"seckill/internal/feature/rehearsal"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// rehearses creates a rehearsal of a sale.
func rehearses(t *testing.T, l ledgertest.Ledger, of int64) voucher.Voucher {
	t.Helper()
	v := ledgertest.Draft()
	v.ShopID, v.Kind, v.Rehearses = voucher.RehearsalShop, voucher.Seckill, of
	v.Sale = &voucher.Sale{Stock: 7, Issued: 7, Begin: ledgertest.RecordedAt, End: ledgertest.RecordedAt.Add(time.Hour)}
	if err := l.CreateVoucher(t.Context(), &v, ledgertest.Admin); err != nil {
		t.Fatal(err)
	}
	return v
}

// What a rehearsal measured is a row that comes with its voucher and stays without it. Reports do not overwrite each
// other.
func TestRehearsalRuns(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		parts, err := rehearsal.New().Open(feature.Core{DB: l.DB()})
		if err != nil {
			t.Fatal(err)
		}
		l.Use(parts.Hooks...)
		kept := rehearsal.NewLedger(l.DB())
		first, other, last := rehearses(t, l, 3), rehearses(t, l, 4), rehearses(t, l, 3)
		run := rehearsal.Run{
			VoucherID: first.ID, Of: 3, AdminID: ledgertest.Admin.AdminID, Begin: ledgertest.RecordedAt,
			End: ledgertest.RecordedAt.Add(time.Hour), Figures: rehearsal.Figures{Stock: 7},
		}
		if got, err := kept.Find(t.Context(), first.ID); err != nil || !cmp.Equal(run, got) {
			t.Errorf("new: %v (-want +got):\n%s", err, cmp.Diff(run, got))
		}
		report(t, kept, first.ID, 5)
		run.Figures.Requests, run.ReportedAt, run.End, run.Done = 5, ledgertest.RecordedAt,
			ledgertest.RecordedAt.Add(time.Minute), true
		l.Exec(t, "DELETE FROM tb_seckill_voucher WHERE voucher_id = ?", first.ID)
		l.Exec(t, "DELETE FROM tb_voucher WHERE id = ?", first.ID)
		list, err := kept.List(t.Context(), 3, 9)
		if err != nil || len(list) != 2 || list[0].VoucherID != last.ID || !cmp.Equal(run, list[1]) {
			t.Errorf("reported: %v, %+v; want %d and then %+v", err, list, last.ID, run)
		}
		if list, err := kept.List(t.Context(), 3, 1); err != nil || len(list) != 1 || list[0].VoucherID != last.ID {
			t.Errorf("the last one: %v, %+v", err, list)
		}

		refused := errors.New("no")
		_, err = kept.Change(t.Context(), first.ID,
			func(_ time.Time, r *rehearsal.Run) error { r.Done = false; return refused })
		if got, again := kept.Find(t.Context(), first.ID); !errors.Is(err, refused) || again != nil || !got.Done {
			t.Errorf("refused: %v, %v, %+v", err, again, got)
		}
		_, missing := kept.Find(t.Context(), 4711)
		_, unchanged := kept.Change(t.Context(), 4711, func(time.Time, *rehearsal.Run) error { return nil })
		if !errors.Is(missing, rehearsal.ErrNone) || !errors.Is(unchanged, rehearsal.ErrNone) {
			t.Errorf("one that is not there: %v, %v", missing, unchanged)
		}
		l.Ordinary(t)
		l.Seckill(t, 7)
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_rehearsal"); n != 3 {
			t.Errorf("%d rows, want those of 3 rehearsals", n)
		}
		for of, want := range map[int64]*rehearsal.Run{3: &run, 4: nil, 5: nil} {
			if got, err := rehearsal.Last(t.Context(), l.DB(), of); err != nil || !cmp.Equal(want, got) {
				t.Errorf("the last result of %d: %v (-want +got):\n%s", of, err, cmp.Diff(want, got))
			}
		}
		l.Exec(t, "UPDATE tb_rehearsal SET figures = '{' WHERE voucher_id = ?", other.ID)
		if got, err := kept.Find(t.Context(), other.ID); err != nil || !got.ReportedAt.IsZero() ||
			got.Figures != (rehearsal.Figures{Stock: 7}) {
			t.Errorf("with figures that cannot be read: %v, %+v", err, got)
		}
	})
}

// report adds a request for each of n reports that come at once, and calls them the last.
func report(t *testing.T, kept *rehearsal.Ledger, id int64, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			_, err := kept.Change(t.Context(), id, func(now time.Time, r *rehearsal.Run) error {
				r.Figures.Requests++
				r.ReportedAt, r.End, r.Done = now, ledgertest.RecordedAt.Add(time.Minute), true
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
