package sqlstore_test

import (
	"testing"
	"time"

	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// rehearsal creates a rehearsal's voucher whose sale is at epoch 1.
func (l ledger) rehearsal(tb testing.TB, stock int64) int64 {
	tb.Helper()
	id := l.Seckill(tb, stock)
	l.Exec(tb, "UPDATE tb_voucher SET shop_id = ? WHERE id = ?", voucher.RehearsalShop, id)
	return id
}

// A rehearsal is emptied batch by batch, and its voucher goes last; of a sale that is none, or is not retired,
// nothing is touched.
func TestEmptyRehearsal(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		sale, shadow := l.Seckill(t, 10), l.rehearsal(t, 10)
		l.Record(t, ledgertest.Claims(sale, 1, 3))
		l.Record(t, ledgertest.Claims(shadow, 1, 5))
		rows := func() [2]int64 {
			of := func(id int64) int64 {
				return l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ?", id)
			}
			return [2]int64{of(sale), of(shadow)}
		}
		if ids, err := l.RetiredRehearsals(t.Context()); err != nil || len(ids) != 0 {
			t.Errorf("retired rehearsals %v, %v; want none", ids, err)
		}
		if done, err := l.EmptyRehearsal(t.Context(), shadow, 2); err == nil || done {
			t.Errorf("emptying one that is not retired: %t, %v", done, err)
		}
		l.Exec(t, "UPDATE tb_seckill_voucher SET retired = 1, begin_time = ?, end_time = ?",
			ledgertest.Stored(ledgertest.RecordedAt.Add(-2*time.Hour)),
			ledgertest.Stored(ledgertest.RecordedAt.Add(-time.Hour)))
		if done, err := l.EmptyRehearsal(t.Context(), sale, 2); err == nil || done || rows() != [2]int64{3, 5} {
			t.Fatalf("emptying a real sale: %t, %v; orders %v", done, err, rows())
		}
		if ids, err := l.RetiredRehearsals(t.Context()); err != nil || len(ids) != 1 || ids[0] != shadow {
			t.Errorf("retired rehearsals %v, %v; want %d", ids, err, shadow)
		}
		for i, want := range []int64{3, 1, 0} {
			if done, err := l.EmptyRehearsal(t.Context(), shadow, 2); err != nil || done ||
				rows() != [2]int64{3, want} {
				t.Fatalf("batch %d: %t, %v; orders %v", i+1, done, err, rows())
			}
		}
		for range 2 { // the second is a try whose answer was lost
			if done, err := l.EmptyRehearsal(t.Context(), shadow, 2); err != nil || !done {
				t.Fatalf("the voucher: %t, %v", done, err)
			}
		}
		for _, table := range []string{
			"tb_voucher WHERE id = ?", "tb_seckill_voucher WHERE voucher_id = ?",
			"tb_order_event WHERE order_id NOT IN (SELECT id FROM tb_voucher_order) AND 0 < ?",
		} {
			if n := l.Number(t, "SELECT COUNT(*) FROM "+table, shadow); n != 0 {
				t.Errorf("%d rows are left in %s", n, table)
			}
		}
		if _, err := l.Voucher(t.Context(), sale); err != nil {
			t.Errorf("the real sale: %v", err)
		}
	})
}

// The list of all vouchers has no rehearsal.
func TestRehearsalsAreInNoList(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		sale := l.Seckill(t, 10)
		l.rehearsal(t, 1000)
		vs, _, err := l.Vouchers(t.Context(), voucher.Search{Before: voucher.MaxID, Limit: 10})
		if err != nil || len(vs) != 1 || vs[0].ID != sale {
			t.Errorf("vouchers %+v, %v; want %d", vs, err, sale)
		}
	})
}
