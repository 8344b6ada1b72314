package sqlstore_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/sqlstore"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// titled creates ordinary vouchers of a shop with these titles, and returns their ids.
func (l ledger) titled(tb testing.TB, shop int64, titles ...string) []int64 {
	tb.Helper()
	ids := make([]int64, len(titles))
	for i, title := range titles {
		v := voucher.Voucher{
			ShopID: shop, Title: title, PayValue: 1, ActualValue: 2, Kind: voucher.Ordinary, Status: voucher.OnShelf,
		}
		if err := l.CreateVoucher(tb.Context(), &v, ledgertest.Admin); err != nil {
			tb.Fatal(err)
		}
		ids[i] = v.ID
	}
	return ids
}

// A search finds a part of a title, in capitals or not, and takes every character as it is.
func TestSearchByTitle(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		titles := []string{"Noodles for ten", "五折 NOODLES", "100% off!", "100 off", `a_b\c`, "axb"}
		ids := l.titled(t, 1, titles...)
		other := l.titled(t, 2, "more noodles")[0]
		for part, want := range map[string][]int64{
			"noodles": {other, ids[1], ids[0]}, "NOODLES": {other, ids[1], ids[0]}, "五折": {ids[1]}, "100%": {ids[2]},
			"off!": {ids[2]}, "_b": {ids[4]}, `\`: {ids[4]},
			"%": {ids[2]}, "'; --": nil,
		} {
			vs, next, err := l.Vouchers(t.Context(), voucher.Search{Title: part, Before: math.MaxInt64, Limit: 10})
			var found []int64
			for _, v := range vs {
				found = append(found, v.ID)
			}
			if diff := cmp.Diff(want, found); diff != "" || err != nil || next != 0 {
				t.Errorf("%q: next %d, %v (-want +got):\n%s", part, next, err, diff)
			}
		}
		if vs, _, err := l.Vouchers(t.Context(), voucher.Search{
			ShopID: 2, Title: "noodles", Before: math.MaxInt64, Limit: 10,
		}); err != nil || len(vs) != 1 || vs[0].ID != other {
			t.Errorf("of one shop: %+v, %v", vs, err)
		}
		vs, next, err := l.Vouchers(t.Context(), voucher.Search{Title: "noodles", Before: math.MaxInt64, Limit: 2})
		if err != nil || len(vs) != 2 || next != ids[1] {
			t.Errorf("the first two: %+v, next %d, %v", vs, next, err)
		}
	})
}

// A page of a search ends after so many vouchers, and the following one goes on there.
func TestSearchIsBounded(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		wanted := l.titled(t, 1, "wanted")[0]
		l.titled(t, 1, "other")
		for n := 1; n < sqlstore.VouchersPerSearch; n *= 2 {
			l.Exec(t, "INSERT INTO tb_voucher (shop_id, title, pay_value, actual_value, type, "+
				"status, version, create_time, update_time) SELECT shop_id, title, pay_value, actual_value, type, "+
				"status, version, create_time, update_time FROM tb_voucher WHERE title = 'other'")
		}
		expect := func(q voucher.Search) {
			t.Helper()
			q.Before, q.Limit = math.MaxInt64, 10
			vs, next, err := l.Vouchers(t.Context(), q)
			if err != nil || len(vs) != 0 || next == 0 {
				t.Fatalf("the first page: %+v, next %d, %v; want none, and where to go on", vs, next, err)
			}
			q.Before = next
			vs, next, err = l.Vouchers(t.Context(), q)
			if err != nil || len(vs) != 1 || vs[0].ID != wanted || next != 0 {
				t.Errorf("the second page: %+v, next %d, %v; want %d, and no more", vs, next, err, wanted)
			}
		}
		expect(voucher.Search{Title: "wanted", Archived: voucher.WithArchived})
		if _, err := l.archives(t, wanted, true); err != nil {
			t.Fatal(err)
		}
		expect(voucher.Search{Archived: voucher.OnlyArchived})
		l.Exec(t, "UPDATE tb_voucher SET archived = CASE WHEN id = ? THEN NULL ELSE update_time END", wanted)
		expect(voucher.Search{ShopID: 1})
	})
}

// The public's list reads no archived voucher, however many a shop has.
func TestListIsLinear(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		shown := l.titled(t, 1, "a", "b", "c")
		for range 10 {
			l.Exec(t, "INSERT INTO tb_voucher (shop_id, title, pay_value, actual_value, type, "+
				"status, version, create_time, update_time, archived) SELECT shop_id, title, pay_value, "+
				"actual_value, type, status, version, create_time, update_time, update_time FROM tb_voucher")
		}
		entries := 0
		for range 2 { // for the first query a database that has just started reads tables of its own, too
			read := l.entriesRead(t, "idx_voucher_shop (shop_id=? AND status=? AND archived=?")
			vs, total, err := l.VouchersOfShop(t.Context(), 1, math.MaxInt64, 2)
			if diff := cmp.Diff([]int64{shown[2], shown[1]}, idsOf(vs)); err != nil || diff != "" || total != 3 {
				t.Errorf("%d in all, %v (-want +got):\n%s", total, err, diff)
			}
			entries = read()
		}
		if entries > 40 {
			t.Errorf("%d index entries were read", entries)
		}
	})
}
