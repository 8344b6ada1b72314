package sqlstore_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// archives sets the voucher aside without asking Redis, or restores it.
func (l ledger) archives(t *testing.T, id int64, archived bool) (voucher.Voucher, error) {
	t.Helper()
	return l.ChangeVoucher(t.Context(), id, ledgertest.Admin, func(v *voucher.Voucher) error {
		switch {
		case !archived:
			v.Archived = time.Time{}
		case !v.IsArchived():
			v.Archived = ledgertest.RecordedAt
		}
		return nil
	})
}

// idsOf returns the ids of vouchers.
func idsOf(vs []voucher.Voucher) []int64 {
	ids := make([]int64, len(vs))
	for i, v := range vs {
		ids[i] = v.ID
	}
	return ids
}

// An archived voucher is in no list but those that ask for it, is still read by its id, and comes back as it was.
func TestArchivedIsNotListed(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		kept, archived := l.Ordinary(t), l.Seckill(t, 5)
		before, err := l.Voucher(t.Context(), archived)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time nothing changes
			v, err := l.archives(t, archived, true)
			read, errRead := l.Voucher(t.Context(), archived)
			if err := errors.Join(err, errRead); err != nil || !v.Archived.Equal(ledgertest.RecordedAt) ||
				v.Version != 2 {
				t.Fatalf("archived: %+v, %v", v, err)
			}
			if diff := cmp.Diff(v, read); diff != "" {
				t.Errorf("read (-changed +read):\n%s", diff)
			}
		}
		public, total, err := l.VouchersOfShop(t.Context(), 1, math.MaxInt64, 1)
		if diff := cmp.Diff([]int64{kept}, idsOf(public)); err != nil || diff != "" || total != 1 {
			t.Errorf("the public's list: %d in all, %v (-want +got):\n%s", total, err, diff)
		}
		for filter, want := range map[voucher.ArchiveFilter][]int64{
			voucher.NoArchived: {kept}, voucher.OnlyArchived: {archived}, voucher.WithArchived: {archived, kept},
		} {
			for _, title := range []string{"", "100 FOR"} {
				got, next, err := l.Vouchers(t.Context(),
					voucher.Search{ShopID: 1, Title: title, Archived: filter, Before: math.MaxInt64, Limit: 5})
				if diff := cmp.Diff(want, idsOf(got)); err != nil || next != 0 || diff != "" {
					t.Errorf("filter %q: next %d, %v (-want +got):\n%s", filter, next, err, diff)
				}
			}
		}
		restored, err := l.archives(t, archived, false)
		if err != nil || restored.IsArchived() || restored.Status != before.Status || restored.Version != 3 {
			t.Errorf("restored: %+v, %v", restored, err)
		}
		var actions []voucher.Action
		for _, e := range l.entries(t, voucher.AuditFilter{VoucherID: archived}) {
			actions = append(actions, e.Action)
		}
		want := []voucher.Action{voucher.Created, voucher.Archived, voucher.Restored}
		if diff := cmp.Diff(want, actions); diff != "" {
			t.Errorf("audited (-want +got):\n%s", diff)
		}
	})
}

// Nothing is archived while an order of it is unpaid, or while Redis has to decide about one.
func TestArchiveWaitsForOrders(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, ordinary := l.Seckill(t, 5), l.Ordinary(t)
		refused := func(id int64, why string) {
			t.Helper()
			if _, err := l.archives(t, id, true); !errors.Is(err, voucher.ErrOrdersWait) {
				t.Errorf("%s: %v", why, err)
			}
			if got, err := l.Voucher(t.Context(), id); err != nil || got.IsArchived() {
				t.Errorf("%s: archived %v, %v", why, got.Archived, err)
			}
		}
		c := l.NewOrders(t, v, 1)
		refused(v, "an unpaid order")
		l.Transitioned(t, c[0], order.Cancel)
		refused(v, "a unit on its way back")
		l.ApplyAll(t, v)
		l.OpenList(t, v)
		l.Exec(t, "UPDATE tb_seckill_voucher SET kept = 1, accepted = 1, stock = stock - 1 WHERE voucher_id = ?", v)
		refused(v, "an acceptance")
		l.Exec(t, "UPDATE tb_seckill_voucher SET kept = 0, accepted = 0, stock = stock + 1 WHERE voucher_id = ?", v)
		l.Paid(t, v, 1)
		if _, err := l.archives(t, v, true); err != nil {
			t.Errorf("with a paid order: %v", err)
		}
		if _, err := l.RecordDirectSale(t.Context(), 900, 1, ordinary, buying(1, ordinary, "")); err != nil {
			t.Fatal(err)
		}
		refused(ordinary, "an unpaid order of an ordinary voucher")
		l.Force(t, order.Paid, 900)
		if _, err := l.archives(t, ordinary, true); err != nil {
			t.Errorf("an ordinary one: %v", err)
		}
	})
}

// Archiving reads few of a sale's orders, as it holds the sale meanwhile. (SQLite reads by the index that it is given.)
func TestArchiveReadsFewOrders(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, other := l.Seckill(t, 2000), l.Seckill(t, 5)
		for user := int64(1); user <= 2000; user += 500 {
			l.Record(t, ledgertest.Claims(v, user, 500))
		}
		l.Exec(t, "UPDATE tb_voucher_order SET status = ?, pay_time = create_time WHERE voucher_id = ?", order.Paid, v)
		l.NewOrders(t, other, 1)
		read := func() int { return 0 }
		if l.Dialect != "sqlite" {
			read = l.entriesRead(t, "")
		}
		if _, err := l.archives(t, v, true); err != nil {
			t.Fatal(err)
		}
		if entries := read(); entries > 100 {
			t.Errorf("%d index entries and rows were read", entries)
		}
	})
}

// Neither stock nor a call-off changes an archived voucher, and nobody buys it. What was asked for before is answered.
func TestArchivedIsNotSold(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, ordinary := l.Seckill(t, 5), l.Ordinary(t)
		l.Restock(t, v, 2, "before")
		l.ApplyAll(t, v)
		for _, id := range []int64{v, ordinary} {
			if _, err := l.archives(t, id, true); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.ChangeStock(t.Context(), v, ledgertest.Admin, 1, "k"); !errors.Is(err, voucher.ErrArchived) {
			t.Errorf("stock: %v", err)
		}
		if l.Restock(t, v, 2, "before").State != voucher.StockDone {
			t.Error("a change of before is not answered")
		}
		if _, err := l.CallOff(t.Context(), v, ledgertest.Admin, "x"); !errors.Is(err, voucher.ErrArchived) {
			t.Errorf("call-off: %v", err)
		}
		_, err := l.RecordDirectSale(t.Context(), 900, 1, ordinary, buying(1, ordinary, ""))
		if !errors.Is(err, voucher.ErrOffShelf) {
			t.Errorf("bought: %v", err)
		}
		if s := l.Sale(t, v); s.Issued != 7 || s.IsCalledOff() {
			t.Errorf("the sale became %+v", s)
		}
		l.RetireSale(t, v)
		if _, err := l.ChangeStock(t.Context(), v, ledgertest.Admin, 1, "k"); !errors.Is(err, voucher.ErrArchived) {
			t.Errorf("stock of a retired sale: %v", err)
		}
	})
}

// endedRedis is a Redis in which every sale has ended, with what the ledger has left.
type endedRedis struct{}

func (endedRedis) Live(_ context.Context, vs []voucher.Voucher) ([]voucher.Live, time.Time, error) {
	live := make([]voucher.Live, len(vs))
	for i, v := range vs {
		live[i] = voucher.Live{State: voucher.StateEnded, Stock: v.Sale.Stock}
	}
	return live, ledgertest.RecordedAt.Add(time.Hour), nil
}

func (endedRedis) Flush(context.Context, int64) error       { return nil }
func (endedRedis) Open(context.Context, int64) error        { return nil }
func (endedRedis) Changed(context.Context, voucher.Voucher) {}

// A sale is sold again or archived, whichever comes first, and never both.
func TestArchiveRace(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		end := ledgertest.RecordedAt.Add(time.Hour)
		redis := endedRedis{}
		s := voucher.NewService(voucher.Parts{
			Ledger: l, Changes: l, Outbox: redis, Changed: redis.Changed, Live: redis.Live, Open: redis.Open,
			Now: func() time.Time { return end },
		})
		by := ledgertest.Admin
		for range 20 {
			id := l.Seckill(t, 5)
			var group errgroup.Group
			var archived, moved, stocked error
			group.Go(func() error { _, archived = s.SetArchived(t.Context(), by, id, true); return nil })
			group.Go(func() error {
				_, _, moved = s.Change(t.Context(), by, id, voucher.Change{End: new(end.Add(time.Hour))})
				return nil
			})
			group.Go(func() error { _, _, stocked = s.AddStock(t.Context(), by, id, 1, "k"); return nil })
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
			v, err := l.Voucher(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			sold := moved == nil || stocked == nil
			if v.IsArchived() == sold || (archived == nil) == sold {
				t.Fatalf("archived: %v, moved: %v, more stock: %v: %+v", archived, moved, stocked, v)
			}
			for _, err := range []error{moved, stocked} {
				if err != nil && !errors.Is(err, voucher.ErrArchived) {
					t.Errorf("the loser was answered %v", err)
				}
			}
			if archived != nil && !errors.Is(archived, voucher.ErrSaleNotOver) &&
				!errors.Is(archived, voucher.ErrOrdersWait) {
				t.Errorf("archiving was answered %v", archived)
			}
			l.Conserved(t, id)
		}
	})
}
