package sqlstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

func TestChangeVoucher(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		later := ledgertest.RecordedAt.Add(2 * time.Hour)
		mode := func(kind operation.Kind, mode order.SaleMode) operation.Operation {
			return operation.Operation{
				Kind: kind, Mode: mode, Begin: ledgertest.RecordedAt, End: ledgertest.RecordedAt.Add(time.Hour),
			}
		}
		moved := mode(operation.Rescheduling, order.SaleOpen)
		moved.End = later
		for name, test := range map[string]struct {
			alter func(v *voucher.Voucher)
			ops   []operation.Operation
		}{
			"texts":      {func(v *voucher.Voucher) { v.Title, v.SubTitle, v.Rules = "another", "", "none" }, nil},
			"a picture":  {func(v *voucher.Voucher) { v.Picture = "https://img.shop.example/2.png" }, nil},
			"no picture": {func(v *voucher.Voucher) { v.Picture = "" }, nil},
			"pause": {
				func(v *voucher.Voucher) { v.Sale.Paused = true },
				[]operation.Operation{mode(operation.Pausing, order.SalePaused)},
			},
			"guards": {func(v *voucher.Voucher) {
				v.Sale.Guards = &guards.Settings{Conditions: &guards.Conditions{MinLevel: 2, DryRun: true}}
			}, nil},
			"shelf": {
				func(v *voucher.Voucher) { v.Status = voucher.OffShelf },
				[]operation.Operation{mode(operation.Shelving, order.SaleOffShelf)},
			},
			"end": {
				func(v *voucher.Voucher) { v.Sale.End = later.Add(time.Microsecond).In(time.FixedZone("east", 3600)) },
				[]operation.Operation{moved},
			},
			"pause, off the shelf": {
				func(v *voucher.Voucher) { v.Sale.Paused, v.Status = true, voucher.OffShelf },
				[]operation.Operation{
					mode(operation.Shelving, order.SaleOffShelf), mode(operation.Pausing, order.SaleOffShelf),
				},
			},
		} {
			id := l.Seckill(t, 10)
			want, err := l.Voucher(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			sale := *want.Sale
			want.Sale = &sale
			test.alter(&want)
			want.Sale.End = want.Sale.End.Truncate(time.Millisecond).UTC()
			want.Version, want.Sale.LastOperation = 2, int64(len(test.ops))
			for range 2 { // the second time nothing changes
				got, err := l.ChangeVoucher(t.Context(), id, ledgertest.Admin,
					func(v *voucher.Voucher) error { test.alter(v); return nil })
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
				}
			}
			got, err := l.Voucher(t.Context(), id)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s, read: %v (-want +got):\n%s", name, err, diff)
			}
			for i := range test.ops {
				test.ops[i].VoucherID, test.ops[i].Number = id, int64(i)+1
			}
			if diff := cmp.Diff(test.ops, l.ReadPending(t, id)); diff != "" {
				t.Errorf("%s: operations (-want +got):\n%s", name, diff)
			}
			if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_operation WHERE voucher_id = ? AND actor = 'admin 7'",
				id); n != int64(len(test.ops)) {
				t.Errorf("%s: %d operations are the admin's", name, n)
			}
			l.Conserved(t, id)
		}
	})
}

// Guards that somebody wrote by hand, and that are none, keep nobody from buying; setting them anew mends the row.
func TestUnreadableGuards(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		id := l.Seckill(t, 10)
		for _, text := range []string{
			"nonsense", `{"limits":7}`, `{"limits":{"perUser":{"requests":0,"seconds":0}}}`, "null]", `[]`,
		} {
			l.Exec(t, "UPDATE tb_voucher SET guards = ? WHERE id = ?", text, id)
			v, err := l.Voucher(t.Context(), id)
			if err != nil || v.Sale.Guards == nil || *v.Sale.Guards != (guards.Settings{Unreadable: true}) {
				t.Errorf("%s: %+v, %v", text, v.Sale, err)
			}
		}
		// A change of something else leaves what a later version may have written.
		l.Exec(t, "UPDATE tb_voucher SET guards = ? WHERE id = ?", `{"later":true}`, id)
		if _, err := l.ChangeVoucher(t.Context(), id, ledgertest.Admin,
			func(v *voucher.Voucher) error { v.Title = "another"; return nil }); err != nil {
			t.Fatal(err)
		}
		if n := l.Number(t,
			`SELECT COUNT(*) FROM tb_voucher WHERE guards = '{"later":true}' AND title = 'another'`); n != 1 {
			t.Error("a change of the title has rewritten the guards")
		}
		l.Exec(t, "UPDATE tb_voucher SET guards = ? WHERE id = ?", "nonsense", id)
		v, err := l.ChangeVoucher(t.Context(), id, ledgertest.Admin, func(v *voucher.Voucher) error {
			v.Sale.Guards = guards.Change{}.Apply(v.Sale.Guards)
			return nil
		})
		if err != nil || v.Sale.Guards != nil || l.Number(t, "SELECT COUNT(*) FROM tb_voucher WHERE guards = ''") != 1 {
			t.Errorf("mended: %+v, %v", v.Sale, err)
		}
	})
}

// What never changes does not, whatever alter does; its error rolls back; and an ordinary voucher has no sale.
func TestChangeVoucherRefuses(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		id, plain := l.Seckill(t, 10), l.Limited(t, ledgertest.Draft().PerUser)
		mine := errors.New("mine")
		alter := func(v *voucher.Voucher) error {
			v.Title, v.PayValue, v.ShopID, v.PayWithin = "another", 1, 2, time.Second
			if v.Sale != nil {
				v.Sale.Stock, v.Sale.Issued, v.Sale.Epoch = 99, 99, 99
				return mine
			}
			return nil
		}
		if _, err := l.ChangeVoucher(t.Context(), id, ledgertest.Admin, alter); !errors.Is(err, mine) {
			t.Errorf("%v, want alter's error", err)
		}
		if _, err := l.ChangeVoucher(t.Context(), 4711, ledgertest.Admin, alter); !errors.Is(err, voucher.ErrNotFound) {
			t.Errorf("%v, want ErrNotFound", err)
		}
		got, err := l.ChangeVoucher(t.Context(), plain, ledgertest.Admin, alter)
		want := ledgertest.Draft()
		want.ID, want.Title, want.Version, want.CreatedAt, want.UpdatedAt = plain, "another", 2,
			ledgertest.RecordedAt, ledgertest.RecordedAt
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if v, err := l.Voucher(t.Context(), id); err != nil || v.Version != 1 ||
			v.Title == "another" || v.Sale.Stock != 10 {
			t.Errorf("%v; it has become %+v, %+v", err, v, v.Sale)
		}
		l.RetireSale(t, id)
		_, err = l.ChangeVoucher(t.Context(), id, ledgertest.Admin,
			func(v *voucher.Voucher) error { v.Status = voucher.OffShelf; return nil })
		if got := l.States(t, id); err != nil || got != [5]int64{2: 1} {
			t.Errorf("of a retired sale: %v, operations %v; want one absorbed", err, got)
		}
	})
}

func TestChangeStockRefuses(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, gone := l.Seckill(t, 10), l.Seckill(t, 10)
		l.Restock(t, v, 5, "key")
		if _, err := l.ChangeStock(t.Context(), v, ledgertest.Admin, 6, "key"); !errors.Is(err, idempotency.ErrReused) {
			t.Errorf("another delta: %v, want ErrReused", err)
		}
		if got := l.Restock(t, v, 6, "Key"); got.Number != 2 {
			t.Errorf("another key: %+v", got)
		}
		before := l.Restock(t, gone, -5, "key")
		l.ApplyAll(t, gone)
		l.RetireSale(t, gone)
		if got := l.Restock(t, gone, -5, "key"); got.Number != before.Number || got.State != voucher.StockDone {
			t.Errorf("asked again after retiring: %+v", got)
		}
		for id, want := range map[int64]error{
			gone: voucher.ErrRetired, l.Ordinary(t): voucher.ErrNotSeckill, 4711: voucher.ErrNotFound,
		} {
			for _, delta := range []int64{-1, 1} {
				if _, err := l.ChangeStock(t.Context(), id, ledgertest.Admin, delta, "new"); !errors.Is(err, want) {
					t.Errorf("voucher %d: %v, want %v", id, err, want)
				}
			}
		}
		var wrong *invalid.Error
		if _, err := l.ChangeStock(t.Context(), v, ledgertest.Admin, voucher.MaxStock-20,
			"beyond"); !errors.As(err, &wrong) ||
			!cmp.Equal(wrong.Problems[0].Data, invalid.Data{
				"value": int64(voucher.MaxStock - 20), "issued": int64(voucher.MaxStock + 1),
				"max": int64(voucher.MaxStock - 21),
			}) {
			t.Errorf("more than a sale may issue: %v", err)
		}
		if sale := l.Sale(t, v); sale.Stock != 21 || sale.Issued != 21 || sale.LastOperation != 2 {
			t.Errorf("sale %+v", sale)
		}
	})
}

// The same request twice at once adds once.
func TestChangeStockAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		for round := range 10 {
			var got [2]voucher.StockChange
			change := func(i int) func() error {
				return func() (err error) {
					got[i], err = l.ChangeStock(t.Context(), v, ledgertest.Admin, 1, fmt.Sprint(round))
					return err
				}
			}
			if err := errors.Join(ledgertest.Both(change(0), change(1))); err != nil || got[0] != got[1] {
				t.Errorf("%v: %+v and %+v", err, got[0], got[1])
			}
		}
		if sale := l.Sale(t, v); sale.Stock != 20 || sale.LastOperation != 10 {
			t.Errorf("sale %+v, want 10 units more", sale)
		}
	})
}

// A sale retires only when no operation is pending and nothing has changed since it was looked at.
func TestRetireWaits(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		retire := func(last int64, want bool) {
			t.Helper()
			if got, err := l.Retire(t.Context(), v, last); err != nil || got != want || l.Sale(t, v).Retired != want {
				t.Errorf("Retire(%d) = %t, %v; want %t", last, got, err, want)
			}
		}
		retire(0, false) // its end has not come
		l.Over(t, v)
		l.Restock(t, v, 1, "key")
		retire(1, false) // pending
		l.ApplyAll(t, v)
		retire(0, false) // changed since
		retire(1, true)
		retire(0, true) // before
	})
}
