package sqlstore_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// entries reads the voucher's audit trail, oldest first, without ids.
func (l ledger) entries(t *testing.T, f voucher.AuditFilter) []voucher.Entry {
	t.Helper()
	got, err := l.Entries(t.Context(), f, math.MaxInt64, 100)
	if err != nil {
		t.Fatal(err)
	}
	oldest := make([]voucher.Entry, 0, len(got))
	for i := range got {
		oldest = append(oldest, got[len(got)-1-i])
	}
	return oldest
}

// The trail has each change of an admin once, and nothing that changed nothing or failed.
func TestAuditOfChanges(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		id := l.Seckill(t, 10)
		alter := func(by voucher.Author, alter func(v *voucher.Voucher)) {
			t.Helper()
			for range 2 { // the second time nothing changes
				_, err := l.ChangeVoucher(t.Context(), id, by, func(v *voucher.Voucher) error { alter(v); return nil })
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		other := voucher.Author{AdminID: 8, Request: strings.Repeat("r", 64)}
		alter(other, func(v *voucher.Voucher) { v.Title, v.Rules = `券 "'\`, strings.Repeat("限", voucher.MaxRules) })
		alter(ledgertest.Admin, func(v *voucher.Voucher) { v.Sale.Paused = true })
		alter(ledgertest.Admin, func(v *voucher.Voucher) { v.Sale.Paused = false })
		alter(ledgertest.Admin, func(v *voucher.Voucher) {
			v.Status, v.Sale.End = voucher.OffShelf, ledgertest.RecordedAt.Add(2*time.Hour)
		})
		for range 2 { // a key is used once
			if _, err := l.ChangeStock(t.Context(), id, other, 5, "k"); err != nil {
				t.Fatal(err)
			}
		}
		mine := errors.New("mine")
		if _, err := l.ChangeVoucher(t.Context(), id, ledgertest.Admin,
			func(v *voucher.Voucher) error { v.Title = "lost"; return mine }); !errors.Is(err, mine) {
			t.Fatal(err)
		}
		change := func(pairs ...string) (changes []voucher.FieldChange) {
			for i := 0; i < len(pairs); i += 3 {
				changes = append(changes, voucher.FieldChange{Field: pairs[i], From: pairs[i+1], To: pairs[i+2]})
			}
			return changes
		}
		begin, end := ledgertest.RecordedAt.Format(time.RFC3339Nano),
			ledgertest.RecordedAt.Add(time.Hour).Format(time.RFC3339Nano)
		want := []voucher.Entry{
			{By: ledgertest.Admin, Action: voucher.Created, Changes: change("shopId", "", "1", "title", "",
				"100 for 10", "subTitle", "", "tonight at eight", "rules", "", "one each", "picture", "",
				"https://img.shop.example/1.png", "payValue", "", "1000",
				"actualValue", "", "10000", "payWithinSeconds", "", "900", "perUser", "", "3", "status", "", "1",
				"stock", "", "10", "beginTime", "", begin, "endTime", "", end, "paused", "", "false")},
			{By: other, Action: voucher.Changed, Changes: change("title", "100 for 10", `券 "'\`, "rules", "one each",
				strings.Repeat("限", voucher.MaxRules))},
			{By: ledgertest.Admin, Action: voucher.Paused, Changes: change("paused", "false", "true")},
			{By: ledgertest.Admin, Action: voucher.Resumed, Changes: change("paused", "true", "false")},
			{By: ledgertest.Admin, Action: voucher.Changed, Changes: change("status", "1", "2", "endTime", end,
				ledgertest.RecordedAt.Add(2*time.Hour).Format(time.RFC3339Nano))},
			{
				By: other, Action: voucher.Restocked, Changes: []voucher.FieldChange{}, Delta: 5,
				Outcome: voucher.StockPending,
			},
		}
		for i := range want {
			want[i].VoucherID, want[i].ShopID, want[i].At = id, 1, ledgertest.RecordedAt
		}
		if diff := cmp.Diff(want, l.entries(t, voucher.AuditFilter{VoucherID: id}),
			cmpopts.IgnoreFields(voucher.Entry{}, "ID")); diff != "" {
			t.Errorf("trail (-want +got):\n%s", diff)
		}
	})
}

func TestAuditInPages(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		first, second := l.Seckill(t, 1), l.Ordinary(t)
		if _, err := l.ChangeStock(t.Context(), first, voucher.Author{AdminID: 9}, 1, "k"); err != nil {
			t.Fatal(err)
		}
		all, err := l.Entries(t.Context(), voucher.AuditFilter{}, math.MaxInt64, 100)
		if err != nil || len(all) != 3 || all[0].Action != voucher.Restocked || all[1].VoucherID != second ||
			all[2].VoucherID != first {
			t.Fatalf("%+v, %v", all, err)
		}
		page, err := l.Entries(t.Context(), voucher.AuditFilter{}, all[0].ID, 1)
		if diff := cmp.Diff(all[1:2], page); err != nil || diff != "" {
			t.Errorf("second page: %v (-want +got):\n%s", err, diff)
		}
		note := voucher.Entry{
			By: voucher.Author{AdminID: 10, Request: "r-2"}, Action: voucher.Replayed,
			Changes: []voucher.FieldChange{{Field: "why", To: "x"}},
		}
		if err := l.Note(t.Context(), note); err != nil {
			t.Fatal(err)
		}
		noted := l.entries(t, voucher.AuditFilter{AdminID: 10})
		note.At = ledgertest.RecordedAt
		if diff := cmp.Diff([]voucher.Entry{note}, noted, cmpopts.IgnoreFields(voucher.Entry{}, "ID")); diff != "" {
			t.Errorf("noted (-want +got):\n%s", diff)
		}
		if of := l.entries(t, voucher.AuditFilter{AdminID: 9}); len(of) != 1 || of[0].Delta != 1 {
			t.Errorf("of one admin: %+v", of)
		}
		if of := l.entries(t, voucher.AuditFilter{AdminID: 9, VoucherID: second}); len(of) != 0 {
			t.Errorf("of an admin who did nothing to it: %+v", of)
		}
	})
}

// What is of a shop is found by it: its lines of the audit trail, its orders, and its sales that have not ended.
func TestOfOneShop(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		theirs, others := ledgertest.Draft(), ledgertest.Draft()
		theirs.ShopID, others.ShopID = 3, 4
		for _, v := range []*voucher.Voucher{&theirs, &others} {
			v.Kind = voucher.Seckill
			v.Sale = &voucher.Sale{
				Stock: 7, Issued: 7, Begin: ledgertest.StartTime, End: ledgertest.RecordedAt.Add(time.Hour),
			}
			if err := l.CreateVoucher(t.Context(), v, ledgertest.Admin); err != nil {
				t.Fatal(err)
			}
		}
		rehearsal := ledgertest.Draft()
		rehearsal.ShopID, rehearsal.Rehearses, rehearsal.Kind = voucher.RehearsalShop, theirs.ID, voucher.Seckill
		rehearsal.Sale = theirs.Sale
		if err := l.CreateVoucher(t.Context(), &rehearsal, ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		about := voucher.Entry{By: ledgertest.Admin, Action: voucher.Exported, ShopID: 3}
		for _, e := range []voucher.Entry{about, {By: ledgertest.Admin, Action: voucher.Rotated}} {
			if err := l.Note(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		entries := l.entries(t, voucher.AuditFilter{ShopID: 3})
		if len(entries) != 3 || entries[0].VoucherID != theirs.ID || entries[1].VoucherID != rehearsal.ID ||
			entries[2].Action != voucher.Exported {
			t.Errorf("the shop's lines of the audit trail: %+v", entries)
		}
		for shop, want := range map[int64]int64{3: 1, 4: 1, 5: 0} {
			if n, err := l.OpenSales(t.Context(), shop); err != nil || n != want {
				t.Errorf("shop %d has %d sales that have not ended (%v), want %d", shop, n, err, want)
			}
		}
		l.Exec(t, "UPDATE tb_seckill_voucher SET begin_time = ?, end_time = ? WHERE voucher_id = ?",
			ledgertest.RecordedAt.Add(-time.Hour), ledgertest.RecordedAt, theirs.ID)
		if n, err := l.OpenSales(t.Context(), 3); err != nil || n != 0 {
			t.Errorf("after the end %d have not ended (%v)", n, err)
		}
	})
}

func TestVouchersOnAndOffTheShelf(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		first, second := l.Seckill(t, 1), l.Ordinary(t)
		_, err := l.ChangeVoucher(t.Context(), first, ledgertest.Admin,
			func(v *voucher.Voucher) error { v.Status = voucher.OffShelf; return nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			shop, before int64
			limit        int
			want         []int64
			next         int64
		}{
			{0, math.MaxInt64, 10, []int64{second, first}, 0},
			{1, math.MaxInt64, 1, []int64{second}, second},
			{0, second, 10, []int64{first}, 0},
			{0, second, 1, []int64{first}, 0},
			{2, math.MaxInt64, 10, nil, 0},
		} {
			vs, next, err := l.Vouchers(t.Context(),
				voucher.Search{ShopID: tc.shop, Before: tc.before, Limit: tc.limit})
			var ids []int64
			for _, v := range vs {
				ids = append(ids, v.ID)
			}
			if diff := cmp.Diff(tc.want, ids); err != nil || diff != "" || next != tc.next {
				t.Errorf("%+v: next %d, %v (-want +got):\n%s", tc, next, err, diff)
			}
		}
	})
}
