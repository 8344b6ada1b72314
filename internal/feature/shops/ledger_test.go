package shops_test

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/shops"
	"seckill/internal/kit/invalid"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// A shop has a row once something of it is set. Each change has an entry in the audit trail, and the same change again
// has none.
func TestShops(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		ledger := shops.NewLedger(l.DB())
		find := func(id int64, want shops.Shop) {
			t.Helper()
			got, err := ledger.Find(t.Context(), id)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		find(7, shops.Shop{ID: 7})
		owner := voucher.Author{AdminID: 9, Shop: 7, Request: "r"}
		want := shops.Shop{ID: 7, Face: shops.Face{Name: "茶馆"}, UpdatedAt: ledgertest.RecordedAt}
		for range 2 { // repeated after a lost answer
			got, err := ledger.Change(t.Context(), owner, 7, shops.Change{Name: new("茶馆")})
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("%v (-want +got):\n%s", err, diff)
			}
		}
		want.Bounds = voucher.Bounds{Sales: 5, Units: 2000}
		want.Picture = "https://img.shop.example/7.png"
		if _, err := ledger.Change(t.Context(), owner, 7, shops.Change{Picture: &want.Picture}); err != nil {
			t.Fatal(err)
		}
		// Its host may not be named any more: the same picture is no reason to refuse the rest of a form.
		elsewhere := invalid.New("picture", invalid.Malformed, invalid.Omit, nil)
		repeated := shops.Change{Name: new("茶馆"), Picture: &want.Picture, Elsewhere: elsewhere}
		if got, err := ledger.Change(t.Context(), owner, 7, repeated); err != nil || got.Picture != want.Picture {
			t.Errorf("the same picture: %+v, %v", got, err)
		}
		other := shops.Change{Name: new("Bar"), Picture: new("https://old.example/8.png"), Elsewhere: elsewhere}
		for _, id := range []int64{7, 8} {
			_, err := ledger.Change(t.Context(), ledgertest.Admin, id, other)
			if e, is := errors.AsType[*invalid.Error](err); !is || e.Problems[0].Field != "picture" {
				t.Errorf("another picture elsewhere: %v", err)
			}
		}
		find(8, shops.Shop{ID: 8})
		c := shops.Change{MaxSales: new(int64(5)), MaxUnits: new(int64(2000))}
		if _, err := ledger.Change(t.Context(), ledgertest.Admin, 7, c); err != nil {
			t.Fatal(err)
		}
		find(7, want)
		if got, err := ledger.Bounds(t.Context(), 7); err != nil || got != want.Bounds {
			t.Errorf("bounds %+v, %v", got, err)
		}
		if got, err := ledger.Bounds(t.Context(), 8); err != nil || got != (voucher.Bounds{}) {
			t.Errorf("bounds of a shop without a row %+v, %v", got, err)
		}
		entries, err := l.Entries(t.Context(), voucher.AuditFilter{ShopID: 7}, math.MaxInt64, 10)
		if err != nil || len(entries) != 3 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		changes := [][]voucher.FieldChange{
			{{Field: "maxSales", To: "5"}, {Field: "maxUnits", To: "2000"}},
			{{Field: "picture", To: want.Picture}},
			{{Field: "shopName", To: "茶馆"}},
		}
		if diff := cmp.Diff(changes, [][]voucher.FieldChange{
			entries[0].Changes, entries[1].Changes, entries[2].Changes,
		}); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		if _, err := ledger.Change(t.Context(), owner, 9, shops.Change{Name: new("Bar")}); err != nil {
			t.Fatal(err)
		}
		faces, err := ledger.Faces(t.Context(), []int64{7, 8, 9})
		want9 := shops.Face{Name: "Bar"}
		if diff := cmp.Diff(map[int64]shops.Face{7: want.Face, 9: want9}, faces); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		for _, tc := range []struct {
			before int64
			n      int
			want   []int64
		}{{math.MaxInt64, 10, []int64{9, 7}}, {9, 10, []int64{7}}, {math.MaxInt64, 1, []int64{9}}, {7, 10, nil}} {
			page, err := ledger.Page(t.Context(), tc.before, tc.n)
			var ids []int64
			for _, s := range page {
				ids = append(ids, s.ID)
			}
			if diff := cmp.Diff(tc.want, ids); err != nil || diff != "" {
				t.Errorf("before %d: %v (-want +got):\n%s", tc.before, err, diff)
			}
		}
	})
}

// A shop is found by its number, if it has a row or a voucher, and by a part of its name; a merchant's is the only one
// that they find.
func TestSearch(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		ledger := shops.NewLedger(l.DB())
		l.Seckill(t, 1) // of shop 1
		for id, name := range map[int64]string{7: "Tea house", 8: "The Art of TEA", 9: "100% Bar", 10: "茶馆"} {
			if _, err := ledger.Change(t.Context(), ledgertest.Admin, id, shops.Change{Name: &name}); err != nil {
				t.Fatal(err)
			}
		}
		find := func(want string, q voucher.ShopSearch) {
			t.Helper()
			found, more, err := ledger.Search(t.Context(), q)
			if got := fmt.Sprint(found, more); err != nil || got != want {
				t.Errorf("%+v: %s, %v; want %s", q, got, err, want)
			}
		}
		find("[{1 false}] false", voucher.ShopSearch{Number: 1, Part: "1 ", Limit: 5})
		find("[] false", voucher.ShopSearch{Number: 2, Part: "2", Limit: 5})
		find("[{8 true} {7 true}] false", voucher.ShopSearch{Part: "tea", Limit: 5})
		find("[{8 true}] true", voucher.ShopSearch{Part: "tea", Limit: 1})
		find("[{9 true}] false", voucher.ShopSearch{Part: "%", Limit: 5})
		find("[{10 true}] false", voucher.ShopSearch{Part: "茶", Limit: 5})
		find("[{7 true}] false", voucher.ShopSearch{Part: "tea", Only: 7, Limit: 5})
		find("[] false", voucher.ShopSearch{Number: 8, Part: "8", Only: 7, Limit: 5})
		find("[{7 false}] false", voucher.ShopSearch{Number: 7, Part: "7", Only: 7, Limit: 5})
		find("[] false", voucher.ShopSearch{Number: voucher.RehearsalShop, Part: "x", Limit: 5})
		l.Exec(t, "UPDATE tb_shop SET name = '9 lives' WHERE id = 9")
		find("[{9 false}] false", voucher.ShopSearch{Number: 9, Part: "9", Limit: 5}) // once
		for id := range 400 {
			l.Exec(t, "INSERT INTO tb_shop (id, name, create_time, update_time) VALUES (?, 'x', ?, ?)", 100+id,
				ledgertest.RecordedAt, ledgertest.RecordedAt)
		}
		find("[] true", voucher.ShopSearch{Part: "tea", Limit: 5}) // behind those that are compared
	})
}

// Admins and merchants who change a shop at once each change their own fields.
func TestAtOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		ledger := shops.NewLedger(l.DB())
		var wg sync.WaitGroup
		for i := range int64(8) {
			wg.Go(func() {
				c := shops.Change{Name: new(fmt.Sprint("Bar ", i))}
				if i%2 == 0 {
					c = shops.Change{MaxSales: new(i + 1)}
				}
				if _, err := ledger.Change(t.Context(), ledgertest.Admin, 7, c); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s, err := ledger.Find(t.Context(), 7)
		if err != nil || s.Name == "" || s.Bounds.Sales == 0 {
			t.Errorf("%+v, %v", s, err)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_audit WHERE shop_id = 7"); n != 8 {
			t.Errorf("%d entries of the audit trail, want 8", n)
		}
	})
}
