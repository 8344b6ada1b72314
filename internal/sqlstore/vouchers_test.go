package sqlstore_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/testkit"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

func TestVoucherIsReadAsItWasCreated(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		full := ledgertest.Draft()
		full.Title = strings.Repeat("券", voucher.MaxTitle)
		full.SubTitle = strings.Repeat("🎟", voucher.MaxTitle) // four bytes each
		full.Rules = strings.Repeat("限", voucher.MaxRules)
		full.ShopID, full.PayValue, full.ActualValue = voucher.MaxID, 0, voucher.MaxMoney
		quoted := ledgertest.Draft()
		quoted.Title, quoted.SubTitle, quoted.Rules = `it's \ "fine"? :a @b`, "", "a\nb\t%_"
		seckill := ledgertest.Draft()
		seckill.Kind = voucher.Seckill
		seckill.Sale = &voucher.Sale{
			Stock: voucher.MaxStock, Issued: voucher.MaxStock,
			Begin: time.Date(2000, 1, 1, 0, 0, 0, int(time.Millisecond), time.FixedZone("east", 8*3600)),
			End:   time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
		}
		for name, v := range map[string]voucher.Voucher{
			"full": full, "quoted": quoted, "seckill": seckill, "plain": ledgertest.Draft(),
		} {
			want := v
			if err := l.CreateVoucher(t.Context(), &v, ledgertest.Admin); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if v.ID <= 0 || v.Version != 1 || !v.CreatedAt.Equal(ledgertest.RecordedAt) ||
				!v.UpdatedAt.Equal(ledgertest.RecordedAt) {
				t.Errorf("%s: created %+v, want an id, version 1 and the time", name, v)
			}
			want.ID, want.Version, want.CreatedAt, want.UpdatedAt = v.ID, 1,
				ledgertest.RecordedAt, ledgertest.RecordedAt
			got, err := l.Voucher(t.Context(), v.ID)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if diff := cmp.Diff(got, v); diff != "" {
				t.Errorf("%s: created and read differ (-read +created):\n%s", name, diff)
			}
		}
	})
}

func TestVoucherIsCreatedWholeOrNotAtAll(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		long, backwards := ledgertest.Draft(), ledgertest.Draft()
		long.Title = strings.Repeat("x", voucher.MaxTitle+1)
		// The check on the second row.
		backwards.Sale = &voucher.Sale{Stock: 1, Issued: 1, Begin: ledgertest.RecordedAt, End: ledgertest.RecordedAt}
		for name, v := range map[string]voucher.Voucher{"too long": long, "bad sale": backwards} {
			if err := l.CreateVoucher(t.Context(), &v, ledgertest.Admin); err == nil {
				t.Errorf("%s: created", name)
			}
			if v.ID != 0 {
				t.Errorf("%s: the caller's voucher was given id %d", name, v.ID)
			}
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher"); n != 0 {
			t.Errorf("%d rows were left", n)
		}
	})
}

func TestVoucherNotFound(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		for _, id := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
			if _, err := l.Voucher(t.Context(), id); !errors.Is(err, voucher.ErrNotFound) {
				t.Errorf("Voucher(%d): %v, want ErrNotFound", id, err)
			}
		}
	})
}

func TestVouchersOfShop(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		create := func(change func(*voucher.Voucher)) int64 {
			v := ledgertest.Draft()
			change(&v)
			if err := l.CreateVoucher(t.Context(), &v, ledgertest.Admin); err != nil {
				t.Fatal(err)
			}
			return v.ID
		}
		oldest := create(func(*voucher.Voucher) {})
		create(func(v *voucher.Voucher) { v.Status = voucher.OffShelf })
		create(func(v *voucher.Voucher) { v.Status = voucher.Expired })
		create(func(v *voucher.Voucher) { v.ShopID = 2 })
		sold := l.Seckill(t, 7)
		newest := create(func(*voucher.Voucher) {})

		for _, test := range []struct {
			before int64
			limit  int
			want   []int64
		}{
			{math.MaxInt64, 10, []int64{newest, sold, oldest}},
			{math.MaxInt64, 3, []int64{newest, sold, oldest}},
			{math.MaxInt64, 2, []int64{newest, sold}},
			{newest, 10, []int64{sold, oldest}},
			{newest, 1, []int64{sold}},
			{oldest, 1, nil},
		} {
			vs, total, err := l.VouchersOfShop(t.Context(), 1, test.before, test.limit)
			if err != nil {
				t.Fatal(err)
			}
			var ids []int64
			for _, v := range vs {
				ids = append(ids, v.ID)
				if (v.Sale != nil) != (v.ID == sold) {
					t.Errorf("voucher %d: sale %+v", v.ID, v.Sale)
				}
			}
			if diff := cmp.Diff(test.want, ids); diff != "" || total != 3 {
				t.Errorf("limit %d: total %d, want 3; ids (-want +got):\n%s", test.limit, total, diff)
			}
		}
		if vs, total, err := l.VouchersOfShop(t.Context(), 3, math.MaxInt64, 10); err != nil || vs == nil ||
			len(vs) != 0 || total != 0 {
			t.Errorf("a shop without vouchers: %v, %d, %v; want an empty list", vs, total, err)
		}
	})
}

func TestVoucherIDs(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		if ids, shops, _, err := l.VoucherIDs(t.Context(), 0); err != nil || len(ids)+len(shops) != 0 {
			t.Errorf("without vouchers: %v of %v, %v", ids, shops, err)
		}
		var want []int64
		for shop := range int64(3) {
			v := ledgertest.Draft()
			v.ShopID, v.Status = 5+shop, voucher.OffShelf
			if err := l.CreateVoucher(t.Context(), &v, ledgertest.Admin); err != nil {
				t.Fatal(err)
			}
			want = append(want, v.ID)
		}
		for from := range want {
			ids, shops, _, err := l.VoucherIDs(t.Context(), want[from]-1)
			slices.Sort(shops)
			if err != nil || !slices.Equal(ids, want[from:]) || !slices.Equal(shops, []int64{5, 6, 7}[from:]) {
				t.Errorf("from %d on: %v of %v, %v", want[from], ids, shops, err)
			}
		}
	})
}

// A hidden voucher is in no list and cannot be bought until its time, by the ledger's clock, and its id is known as
// hidden.
func TestHiddenVoucher(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		hidden := func(from time.Time) int64 {
			v := ledgertest.Draft()
			v.VisibleFrom = from
			if err := l.CreateVoucher(t.Context(), &v, ledgertest.Admin); err != nil {
				t.Fatal(err)
			}
			if got, err := l.Voucher(t.Context(), v.ID); err != nil || !got.VisibleFrom.Equal(from) {
				t.Fatalf("visible from %v, %v; want %v", got.VisibleFrom, err, from)
			}
			return v.ID
		}
		later := hidden(ledgertest.RecordedAt.Add(time.Hour))
		now := hidden(ledgertest.RecordedAt)
		check := func(listed []int64, concealed ...int64) {
			t.Helper()
			vs, total, err := l.VouchersOfShop(t.Context(), 1, math.MaxInt64, 10)
			var ids []int64
			for _, v := range vs {
				ids = append(ids, v.ID)
			}
			if diff := cmp.Diff(listed, ids); err != nil || diff != "" || total != int64(len(listed)) {
				t.Errorf("%d are listed, %v (-want +got):\n%s", total, err, diff)
			}
			known, _, until, err := l.VoucherIDs(t.Context(), 0)
			if err != nil || !slices.Equal(known, []int64{later, now}) || len(until) != len(concealed) {
				t.Errorf("%v are known, %v hidden, %v", known, until, err)
			}
			for _, id := range concealed {
				if !until[id].Equal(ledgertest.RecordedAt.Add(time.Hour)) {
					t.Errorf("voucher %d is hidden until %v", id, until[id])
				}
			}
		}
		check([]int64{now}, later)
		if _, err := l.RecordDirectSale(t.Context(), 1, 5, later,
			idempotency.Key{}); !errors.Is(err, voucher.ErrNotFound) {
			t.Errorf("buying a hidden voucher: %v", err)
		}
		sale := ledgertest.Draft()
		sale.Kind, sale.VisibleFrom = voucher.Seckill, ledgertest.RecordedAt.Add(time.Hour)
		sale.Sale = &voucher.Sale{
			Stock: 1, Issued: 1, Begin: ledgertest.RecordedAt.Add(time.Hour),
			End: ledgertest.RecordedAt.Add(2 * time.Hour),
		}
		if err := l.CreateVoucher(t.Context(), &sale, ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		if _, err := l.RecordDirectSale(t.Context(), 3, 5, sale.ID,
			idempotency.Key{}); !errors.Is(err, voucher.ErrNotFound) {
			t.Errorf("buying a hidden sale as an ordinary voucher: %v", err)
		}
		l.Exec(t, "DELETE FROM tb_seckill_voucher WHERE voucher_id = ?", sale.ID)
		l.Exec(t, "DELETE FROM tb_voucher WHERE id = ?", sale.ID)
		if _, err := l.RecordDirectSale(t.Context(), 2, 5, now, idempotency.Key{}); err != nil {
			t.Errorf("buying at its time: %v", err)
		}
		v, err := l.ChangeVoucher(t.Context(), later, ledgertest.Admin,
			func(v *voucher.Voucher) error { v.VisibleFrom = ledgertest.RecordedAt; return nil })
		if err != nil || !v.VisibleFrom.Equal(ledgertest.RecordedAt) || v.Version != 2 {
			t.Fatalf("revealed: %+v, %v", v, err)
		}
		check([]int64{now, later})
	})
}

// The error says that nothing happened only where certainly nothing was written.
func TestCreateVoucherWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	dsn := ledgertest.MigratedMySQL(t)
	l := openMySQL(t, dsn)
	for name, tc := range map[string]struct {
		fault  func(*testkit.Proxy)
		absent bool // certainly nothing was written
	}{
		"no connection":        {fault: (*testkit.Proxy).Cut, absent: true},
		"the first reply lost": {fault: func(p *testkit.Proxy) { p.DropRepliesTo("INSERT", 1) }, absent: true},
		"the last reply lost":  {fault: func(p *testkit.Proxy) { p.DropRepliesTo("COMMIT", 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, proxy := ledgertest.Proxied(t, dsn, ledgertest.Options(l.Clock))
			tc.fault(proxy)
			err := store.CreateVoucher(t.Context(),
				&voucher.Voucher{ShopID: 1, Title: name, ActualValue: 1, Status: voucher.OnShelf}, ledgertest.Admin)
			if err == nil || errors.Is(err, order.ErrUnavailable) != tc.absent {
				t.Errorf("error = %v; unavailable wanted: %v", err, tc.absent)
			}
			var rows int
			query := "SELECT COUNT(*) FROM tb_voucher WHERE title = ?"
			if err := l.Raw.QueryRowContext(t.Context(), query, name).Scan(&rows); err != nil {
				t.Fatal(err)
			}
			if (rows == 0) != tc.absent {
				t.Errorf("%d rows; absent wanted: %v", rows, tc.absent)
			}
		})
	}
}
