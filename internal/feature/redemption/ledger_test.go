package redemption_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/redemption"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

var till = redemption.Till{ID: 70, ShopID: 1}

// ledger is one of ledgertest whose transactions make codes, and the ledger of those.
type ledger struct {
	ledgertest.Ledger
	*coupons
}

type coupons = redemption.Ledger

func withCodes(l ledgertest.Ledger) ledger {
	kept := redemption.NewLedger(l.DB(), l.Features)
	l.Use(kept.Hook())
	return ledger{l, kept}
}

// eachDialect runs the test on an empty, migrated ledger in MariaDB and in SQLite.
func eachDialect(t *testing.T, test func(t *testing.T, l ledger)) {
	t.Helper()
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) { test(t, withCodes(l)) })
}

func openMySQL(tb testing.TB, dsn string) ledger {
	tb.Helper()
	return withCodes(ledgertest.OpenMySQL(tb, dsn))
}

// readKeys reads the keys of codes, as the program does at its start and every so often.
func (l ledger) readKeys(tb testing.TB) {
	tb.Helper()
	if _, err := l.CouponKeys(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// redeemable creates a seckill voucher whose paid orders have codes.
func (l ledger) redeemable(tb testing.TB, stock int64, r voucher.Redemption) int64 {
	tb.Helper()
	return l.sale(tb, stock, 1000, r)
}

// free creates a seckill voucher that costs nothing, and whose orders have codes.
func (l ledger) free(tb testing.TB, stock int64) int64 {
	tb.Helper()
	return l.sale(tb, stock, 0, voucher.Redemption{ValidDays: 30})
}

// sale creates a seckill voucher with a waiting list, whose paid orders have codes, at a price in cents.
func (l ledger) sale(tb testing.TB, stock, cents int64, r voucher.Redemption) int64 {
	tb.Helper()
	l.readKeys(tb)
	v := ledgertest.Draft()
	r.ByCode = true
	v.Kind, v.PayValue, v.Redemption = voucher.Seckill, cents, r
	v.Sale = &voucher.Sale{
		Stock: stock, Issued: stock, Begin: ledgertest.RecordedAt, End: ledgertest.RecordedAt.Add(time.Hour),
		InviteWindow: 10 * time.Minute,
	}
	if err := l.CreateVoucher(tb.Context(), &v, ledgertest.Admin); err != nil {
		tb.Fatal(err)
	}
	if got, err := l.Voucher(tb.Context(), v.ID); err != nil || !cmp.Equal(got.Redemption, r) {
		tb.Fatalf("redeemed by %+v, %v; want %+v", got.Redemption, err, r)
	}
	if _, err := l.RaiseEpoch(tb.Context(), v.ID, 0, order.SaleView{}); err != nil {
		tb.Fatal(err)
	}
	return v.ID
}

// coupon reads the coupon of an order.
func (l ledger) coupon(tb testing.TB, c order.Claim) redemption.Coupon {
	tb.Helper()
	coupon, err := l.CouponOf(tb.Context(), l.ReadOrder(tb, c.OrderID))
	if err != nil {
		tb.Fatal(err)
	}
	return coupon
}

// do gives a command to the ledger, again while no connection was free, which on a busy machine is so now and then.
func do(tb testing.TB, s redemption.Coupons, cmd redemption.Command) redemption.Outcome {
	tb.Helper()
	outcomes, err := s.Do(tb.Context(), []redemption.Command{cmd})
	for errors.Is(err, bulkhead.ErrFull) && tb.Context().Err() == nil {
		outcomes, err = s.Do(tb.Context(), []redemption.Command{cmd})
	}
	if err != nil {
		tb.Fatal(err)
	}
	return outcomes[0]
}

func redeem(c redemption.Coupon, key string) redemption.Command {
	return redemption.Command{Verb: redemption.Redeem, Till: till, Code: c.Code, Key: key}
}

func reserve(c redemption.Coupon, id string) redemption.Command {
	return redemption.Command{Verb: redemption.Reserve, Till: till, Code: c.Code, Key: "reserve", Reservation: id}
}

// A paid order has a code if its voucher says so, and no other order has one.
func TestPaidOrdersHaveCodes(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		until := ledgertest.RecordedAt.Add(48 * time.Hour)
		days, date := l.redeemable(t, 9, voucher.Redemption{ValidDays: 3}), l.redeemable(t, 9,
			voucher.Redemption{ValidUntil: until})
		keys, err := l.CouponKeys(t.Context())
		if err != nil || len(keys) != 1 {
			t.Fatalf("CouponKeys = %d keys, %v", len(keys), err)
		}
		for v, want := range map[int64]time.Time{days: ledgertest.RecordedAt.AddDate(0, 0, 3), date: until} {
			cs := l.Paid(t, v, 3)
			first := l.coupon(t, cs[0])
			if !keys[0].Made(first.Code) || first.Code == l.coupon(t, cs[1]).Code || !first.ValidUntil.Equal(want) {
				t.Errorf("coupons %+v and %+v", first, l.coupon(t, cs[1]))
			}
			if first != l.coupon(t, cs[0]) || first.OrderID != cs[0].OrderID || first.VoucherID != v ||
				first.ShopID != 1 || first.Status != order.Paid {
				t.Errorf("coupon %+v", first)
			}
			unpaid := ledgertest.Claims(v, 50, 1)
			l.Record(t, unpaid)
			if c, err := l.CouponOf(t.Context(), l.ReadOrder(t, unpaid[0].OrderID)); !errors.Is(err,
				redemption.ErrNotFound) {
				t.Errorf("an unpaid order has %+v, %v", c, err)
			}
		}
		plain := l.Paid(t, l.Seckill(t, 1), 1)[0]
		if c, err := l.CouponOf(t.Context(), l.ReadOrder(t, plain.OrderID)); !errors.Is(err, redemption.ErrNotFound) {
			t.Errorf("an order without a code has %+v, %v", c, err)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_coupon"); n != 6 {
			t.Errorf("%d coupons, want 6", n)
		}
	})
}

// The coupons of a rehearsal go with its orders, and no others.
func TestRemovedOrdersLeaveNoCoupons(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		kept, shadow := l.redeemable(t, 9, voucher.Redemption{ValidDays: 3}), l.redeemable(t, 9,
			voucher.Redemption{ValidDays: 3})
		cs := l.Paid(t, kept, 1)
		l.Paid(t, shadow, 2)
		l.Exec(t, "UPDATE tb_voucher SET shop_id = ? WHERE id = ?", voucher.RehearsalShop, shadow)
		l.Exec(t, "UPDATE tb_seckill_voucher SET retired = 1 WHERE voucher_id = ?", shadow)
		if done, err := l.EmptyRehearsal(t.Context(), shadow, 9); err != nil || done {
			t.Fatalf("emptying: %t, %v", done, err)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_coupon"); n != 1 || l.coupon(t, cs[0]).OrderID != cs[0].OrderID {
			t.Errorf("%d coupons are left, want that of the sale's order", n)
		}
	})
}

// Coupons of several orders are read at once; an order without one is left out.
func TestCoupons(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		cs := l.Paid(t, l.redeemable(t, 9, voucher.Redemption{ValidDays: 30}), 2)
		codeless := l.Paid(t, l.Seckill(t, 5), 1)[0]
		got, err := l.Coupons(t.Context(), []int64{cs[0].OrderID, codeless.OrderID, cs[1].OrderID})
		if err != nil || len(got) != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		for _, c := range cs {
			want := l.coupon(t, c)
			if g := got[c.OrderID]; g.Code != want.Code || g.Code == "" || !g.ValidUntil.Equal(want.ValidUntil) ||
				g.ValidUntil.IsZero() {
				t.Errorf("%+v, want %+v", g, want)
			}
		}
	})
}

// A till is told how many units the one code of an order is for.
func TestCouponsOfSeveralUnits(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		cs := ledgertest.Claims(l.redeemable(t, 9, voucher.Redemption{}), 1, 1)
		cs[0].Quantity = order.QuantityOf(3)
		l.Record(t, cs)
		l.Receives(t, l.Pays(t, cs[0]))
		coupon := l.coupon(t, cs[0])
		o := do(t, l, redeem(coupon, "k"))
		if o.Err != nil || coupon.Quantity.Units() != 3 || o.Coupon.Quantity.Units() != 3 {
			t.Errorf("the order has %s units, the till is told %s, %v; want 3",
				coupon.Quantity, o.Coupon.Quantity, o.Err)
		}
	})
}

// An order that is revived by a late payment, in the ledger or by Redis, has a code too; one that a program without
// codes has paid gets it when it is read, once.
func TestLatePaidOrdersHaveCodes(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{})
		c := l.NewOrders(t, v, 1)[0]
		p := l.Pays(t, c)
		l.Transitioned(t, c, order.Cancel)
		l.ApplyAll(t, v)
		l.Receives(t, p)
		l.ApplyAll(t, v)
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_coupon"); n != 1 { // reading would make up for it
			t.Errorf("%d coupons once the order is revived, want 1", n)
		}
		if coupon := l.coupon(t, c); coupon.Status != order.Paid || !coupon.ValidUntil.IsZero() {
			t.Errorf("the revived order has %+v", coupon)
		}
		v = l.redeemable(t, 9, voucher.Redemption{})
		other := l.Paid(t, v, 2)[1]
		l.Exec(t, "DELETE FROM tb_coupon WHERE order_id = ?", other.OrderID)
		codes := make(chan redemption.Code, 8)
		for range cap(codes) {
			go func() {
				coupon, err := l.CouponOf(t.Context(), order.Order{ID: other.OrderID, VoucherID: v, Status: order.Paid})
				if err != nil {
					t.Error(err)
				}
				codes <- coupon.Code
			}()
		}
		first := <-codes
		for range cap(codes) - 1 {
			if code := <-codes; code != first || code == "" {
				t.Errorf("codes %q and %q", code, first)
			}
		}
	})
}

// What costs nothing has a code once it is recorded, in whichever way it is recorded; beside orders of other sales that
// have none.
func TestFreeOrdersHaveCodes(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		free, dear := l.free(t, 4), l.redeemable(t, 9, voucher.Redemption{})
		batch := ledgertest.Claims(free, 1, 3)
		l.Record(t, append(batch, ledgertest.Claims(dear, 11, 2)...))
		decided := ledgertest.Claims(free, 5, 1) // by the conflict resolver
		if err := l.Settle(t.Context(), decided, ledgertest.DecideAll(decided, order.Insert, "")); err != nil {
			t.Fatal(err)
		}
		ordinary := ledgertest.Draft()
		ordinary.PayValue, ordinary.Redemption = 0, voucher.Redemption{ByCode: true, ValidDays: 30}
		if err := l.CreateVoucher(t.Context(), &ordinary, ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		l.OpenList(t, free) // for the unit that is given back
		if _, err := l.AskRefund(t.Context(), batch[0].UserID, batch[0].OrderID); err != nil {
			t.Fatal(err)
		}
		accepted := ledgertest.Claims(free, 21, 1)[0]
		l.Accepts(t, free, accepted.UserID, accepted.OrderID)
		l.ApplyAll(t, free)
		codes := map[redemption.Code]bool{}
		for _, c := range append(batch, decided[0], accepted, l.Bought(t, ordinary.ID, 7)) {
			o, coupon := l.ReadOrder(t, c.OrderID), l.coupon(t, c)
			if !coupon.ValidUntil.Equal(o.PaidAt.AddDate(0, 0, 30)) {
				t.Errorf("order %d, paid %v, has the coupon %+v", c.OrderID, o.PaidAt, coupon)
			}
			codes[coupon.Code] = true
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_coupon"); len(codes) != 6 || n != 6 || codes[""] {
			t.Errorf("%d codes, %d rows; want six", len(codes), n)
		}
	})
}
