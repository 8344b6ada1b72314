package sqlstore_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/preflight"
	"seckill/internal/voucher"
)

const (
	within = time.Hour
	aYear  = 365 * 24 * time.Hour
)

// stored is a time as the store writes it, which compares what it has written with what it has read.
func (l ledger) stored(at time.Time) string {
	if l.dialect == "mysql" {
		return stored(at)
	}
	return at.UTC().Format("2006-01-02 15:04:05.999999999-07:00")
}

// begins creates a sale that begins then, and exists since half an hour before that.
func (l ledger) begins(t *testing.T, title string, at time.Time) int64 {
	t.Helper()
	v := draft()
	v.Title, v.Kind = title, voucher.Seckill
	v.Sale = &voucher.Sale{Stock: 7, Issued: 7, Begin: at, End: at.Add(3 * aYear)}
	if err := l.CreateVoucher(t.Context(), &v, admin); err != nil {
		t.Fatal(err)
	}
	l.exec(t, "UPDATE tb_voucher SET create_time = ? WHERE id = ?", l.stored(at.Add(-30*time.Minute)), v.ID)
	return v.ID
}

// without returns the sales that have begun within the hour and have no setup.
func (l ledger) without(t *testing.T) []preflight.BegunSale {
	t.Helper()
	sales, err := l.SalesWithoutSetup(t.Context(), within, 100)
	if err != nil {
		t.Fatal(err)
	}
	return sales
}

// keeps gives the sales a setup.
func (l ledger) keeps(t *testing.T, setup preflight.Setup, sales ...preflight.BegunSale) int64 {
	t.Helper()
	kept, err := l.KeepSetup(t.Context(), sales, setup, aYear)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// last returns the last sale before a voucher's.
func (l ledger) last(t *testing.T, id int64) *preflight.LastSale {
	t.Helper()
	last, err := l.LastSale(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

func TestSalesWithoutSetup(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		ago := func(d time.Duration) time.Time { return recordedAt.Add(-d) }
		l.begins(t, "in a second", ago(-time.Second))
		l.begins(t, "long ago", ago(within+time.Second))
		l.exec(t, "UPDATE tb_seckill_voucher SET paused = ? WHERE voucher_id = ?", true, l.begins(t, "paused", ago(time.Minute)))
		l.exec(t, "UPDATE tb_seckill_voucher SET retired = ? WHERE voucher_id = ?", true, l.begins(t, "retired", ago(time.Minute)))
		l.exec(t, "UPDATE tb_voucher SET status = ? WHERE id = ?", voucher.OffShelf, l.begins(t, "off the shelf", ago(time.Minute)))
		l.rehearses(t, 3)
		second := l.begins(t, "a minute ago", ago(time.Minute))
		first := l.begins(t, "an hour ago", ago(within-time.Second))
		late := l.begins(t, "created late", ago(aYear)) // and on sale since then
		l.exec(t, "UPDATE tb_voucher SET create_time = ? WHERE id = ?", l.stored(ago(time.Second)), late)
		now := l.begins(t, "now", ago(0))

		want := []preflight.BegunSale{
			{VoucherID: first, Begin: ago(within - time.Second), Ago: within - time.Second},
			{VoucherID: second, Begin: ago(time.Minute), Ago: time.Minute},
			{VoucherID: late, Begin: ago(time.Second), Ago: time.Second},
			{VoucherID: now, Begin: recordedAt},
		}
		got := l.without(t)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if few, err := l.SalesWithoutSetup(t.Context(), within, 2); err != nil || !cmp.Equal(want[:2], few) {
			t.Errorf("two of them: %v, %v", few, err)
		}
		if kept := l.keeps(t, preflight.Setup{}, got[1:]...); kept != 3 {
			t.Errorf("%d are kept, want 3", kept)
		}
		if diff := cmp.Diff(want[:1], l.without(t)); diff != "" {
			t.Errorf("of those that have one (-want +got):\n%s", diff)
		}
	})
}

// The first one that writes is right, also if others write at the same time or later.
func TestASetupIsKeptOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.begins(t, "Yesterday's", recordedAt.Add(-time.Minute))
		sales := l.without(t)
		var (
			kept    atomic.Int64
			writers sync.WaitGroup
		)
		for i := range 8 {
			writers.Go(func() {
				n, err := l.KeepSetup(context.WithoutCancel(t.Context()), sales, preflight.Setup{"instances": strings.Repeat("x", i+1)}, aYear)
				if err != nil {
					t.Error(err)
				}
				kept.Add(n)
			})
		}
		writers.Wait()
		next := l.begins(t, "next", recordedAt.Add(within))
		was := l.last(t, next)
		if n := l.keeps(t, preflight.Setup{"instances": "another"}, sales...); n != 0 || kept.Load() != 1 {
			t.Errorf("kept %d times, and %d later", kept.Load(), n)
		}
		want := &preflight.LastSale{VoucherID: sales[0].VoucherID, Title: "Yesterday's", Begin: sales[0].Begin, Setup: was.Setup}
		if got := l.last(t, next); !cmp.Equal(want, got) || len(got.Setup["instances"]) == 0 {
			t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
		}
	})
}

// A sale is compared with the last one that began before it, and its begin may be moved.
func TestLastSale(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		ids := make([]int64, 4)
		for i := range ids {
			ids[i] = l.begins(t, "one of several", recordedAt.Add(time.Duration(i-4)*time.Minute))
		}
		l.keeps(t, preflight.Setup{"instances": "2"}, l.without(t)...)
		next := l.begins(t, "next", recordedAt.Add(within))
		expect := func(when string, of, want int64) {
			t.Helper()
			last := l.last(t, of)
			if want == 0 && last == nil {
				return
			}
			if last == nil || last.VoucherID != want {
				t.Errorf("%s: %+v, want voucher %d", when, last, want)
			}
		}
		expect("one that is to come", next, ids[3])
		expect("one that has begun", ids[2], ids[1])
		expect("the first", ids[0], 0)
		l.exec(t, "UPDATE tb_seckill_voucher SET begin_time = ? WHERE voucher_id = ?", l.stored(recordedAt.Add(within)), ids[2])
		expect("one that is to begin once more", ids[2], ids[3])
		l.exec(t, "UPDATE tb_seckill_voucher SET begin_time = ? WHERE voucher_id = ?", l.stored(recordedAt.Add(-time.Second)), ids[2])
		if again := l.without(t); len(again) != 1 || again[0].VoucherID != ids[2] {
			t.Errorf("one that has begun once more: %+v", again)
		}
		l.keeps(t, preflight.Setup{}, l.without(t)...)
		expect("after one that has begun twice", next, ids[2])
		expect("one that has begun twice", ids[2], ids[3])

		l.exec(t, "UPDATE tb_seckill_voucher SET retired = ? WHERE voucher_id = ?", true, ids[2])
		expect("a retired one counts", next, ids[2])
		l.exec(t, "UPDATE tb_sale_setup SET setup = '{' WHERE voucher_id = ?", ids[2])
		if last := l.last(t, next); last == nil || last.VoucherID != ids[2] || last.Setup != nil {
			t.Errorf("with a setup that cannot be read: %+v", last)
		}
	})
}

// Setups are removed when they are old, but the last one is there for the next sale, however long that takes.
func TestOldSetupsAreRemoved(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		old, older := l.begins(t, "old", recordedAt.Add(-time.Minute)), l.begins(t, "older", recordedAt.Add(-2*time.Minute))
		l.keeps(t, preflight.Setup{}, l.without(t)...)
		l.exec(t, "UPDATE tb_sale_setup SET begin_time = ? WHERE voucher_id = ?", l.stored(recordedAt.Add(-aYear)), old)
		l.exec(t, "UPDATE tb_sale_setup SET begin_time = ? WHERE voucher_id = ?", l.stored(recordedAt.Add(-aYear-time.Second)), older)
		l.exec(t, "UPDATE tb_seckill_voucher SET begin_time = ?", l.stored(recordedAt.Add(-2*aYear)))
		l.exec(t, "UPDATE tb_voucher SET create_time = ?", l.stored(recordedAt.Add(-2*aYear)))
		next := l.begins(t, "next", recordedAt)
		if last := l.last(t, next); last == nil || last.VoucherID != old {
			t.Errorf("before the next one begins: %+v", last)
		}
		l.keeps(t, preflight.Setup{}, l.without(t)...)
		if n := l.number(t, "SELECT COUNT(*) FROM tb_sale_setup"); n != 2 {
			t.Errorf("%d setups are left, want those of the last two", n)
		}
	})
}
