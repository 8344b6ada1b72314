package redemption_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
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
	kept := redemption.NewLedger(l.DB(), l.Orders())
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
		OfferWithin: 10 * time.Minute,
	}
	if err := l.CreateVoucher(tb.Context(), &v, ledgertest.Admin); err != nil {
		tb.Fatal(err)
	}
	if got, err := l.Voucher(tb.Context(), v.ID); err != nil || !cmp.Equal(got.Redemption, r) {
		tb.Fatalf("redeemed by %+v, %v; want %+v", got.Redemption, err, r)
	}
	if _, err := l.RaiseEpoch(tb.Context(), v.ID, 0); err != nil {
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
		if _, err := l.Join(t.Context(), free, []int64{21}); err != nil { // for the unit that is given back
			t.Fatal(err)
		}
		if _, err := l.AskRefund(t.Context(), batch[0].UserID, batch[0].OrderID); err != nil {
			t.Fatal(err)
		}
		accepted := ledgertest.Claims(free, 21, 1)[0]
		if _, err := l.Accept(t.Context(), free, accepted.UserID, accepted.OrderID); err != nil {
			t.Fatal(err)
		}
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

// What tills do is in the order, in the coupon and in the history; what they are refused is nowhere.
func TestTillsChangeTheLedger(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{})
		cs := l.Paid(t, v, 4)
		coupons := make([]redemption.Coupon, len(cs))
		for i, c := range cs {
			coupons[i] = l.coupon(t, c)
		}
		other := redemption.Till{ID: 71, ShopID: 1}
		late := redeem(coupons[1], "late")
		late.Reservation = "r1"
		byOther := redeem(coupons[1], "k")
		byOther.Till = other
		release := redemption.Command{Verb: redemption.Release, Till: till, Code: coupons[1].Code, Reservation: "r1"}
		foreign := redeem(coupons[2], "k")
		foreign.Till.ShopID = 2
		outcomes, err := l.Do(t.Context(), []redemption.Command{
			redeem(coupons[0], "k"), redeem(coupons[0], "k"), redeem(coupons[0], "l"),
			reserve(coupons[1], "r1"), byOther, release, late,
			foreign,
			{Verb: redemption.Validate, Till: till, Code: coupons[2].Code},
			redeem(redemption.Coupon{Code: "no such code"}, "k"),
			reserve(coupons[3], "r3"),
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []error{
			nil, nil, redemption.ErrRedeemed, nil, redemption.ErrReserved, nil, redemption.ErrReservationOver,
			redemption.ErrNotFound, nil, redemption.ErrNotFound, nil,
		} {
			if got := outcomes[i]; !errors.Is(got.Err, want) || want == nil && got.Err != nil ||
				got.Repeated != (i == 1) || !got.At.Equal(ledgertest.RecordedAt) {
				t.Errorf("command %d: %+v, want %v", i, got, want)
			}
		}
		if o := l.ReadOrder(t, cs[0].OrderID); o.Status != order.Redeemed ||
			!o.RedeemedAt.Equal(ledgertest.RecordedAt) {
			t.Errorf("the redeemed order is %+v", o)
		}
		got := l.coupon(t, cs[0])
		if got.RedeemedBy != till.ID || got.RedeemKey != "k" || !got.RedeemedAt.Equal(ledgertest.RecordedAt) ||
			got.Status != order.Redeemed {
			t.Errorf("the redeemed coupon is %+v", got)
		}
		if outcome := do(t, l, redeem(coupons[0], "k")); !outcome.Repeated {
			t.Errorf("asked again in another transaction: %+v", outcome)
		}
		if got := l.coupon(t, cs[3]).Reservation; got.ID != "r3" || got.Till != till.ID ||
			!got.Until.Equal(ledgertest.RecordedAt.Add(redemption.ReservationTime)) {
			t.Errorf("reservation %+v", got)
		}
		for i, want := range []string{
			"redeemed by till 70: ",
			"paid by till 70: RESERVED 2026-06-01T20:02:00Z\npaid by till 70: RELEASED",
			"", "paid by till 70: RESERVED 2026-06-01T20:02:00Z",
		} {
			_, since, _ := strings.Cut(l.ReadHistory(t, cs[i].OrderID)+"\n", "\n")
			if strings.TrimSuffix(since, "\n") != want {
				t.Errorf("history %d: %q, want %q", i, since, want)
			}
		}
		l.Conserved(t, v)
	})
}

// A reservation bars the refund, until its time by the ledger's clock; a date that has passed bars it for good.
func TestRefundOfCoupons(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{})
		cs := l.Paid(t, v, 3)
		ask := func(c order.Claim) error {
			_, err := l.AskRefund(t.Context(), c.UserID, c.OrderID)
			return err
		}
		coupon := l.coupon(t, cs[0])
		do(t, l, reserve(coupon, "r"))
		if err := ask(cs[0]); !errors.Is(err, redemption.ErrReserved) {
			t.Errorf("while it is reserved: %v", err)
		}
		l.Exec(t, "UPDATE tb_coupon SET reserved_until = ?", ledgertest.Stored(ledgertest.RecordedAt))
		if err := ask(cs[0]); err != nil {
			t.Errorf("after that: %v", err)
		}
		if o := do(t, l, redeem(coupon, "k")); !errors.Is(o.Err, redemption.ErrVoid) {
			t.Errorf("redeeming a refunded one: %+v", o)
		}
		do(t, l, redeem(l.coupon(t, cs[1]), "k"))
		if err := ask(cs[1]); !ledgertest.InState(err, order.Redeemed) {
			t.Errorf("a redeemed one: %v", err)
		}
		l.Exec(t, "UPDATE tb_coupon SET valid_until = ? WHERE order_id = ?",
			ledgertest.Stored(ledgertest.RecordedAt), cs[2].OrderID)
		if err := ask(cs[2]); !ledgertest.InState(err, order.Lapsed) ||
			l.ReadOrder(t, cs[2].OrderID).Status != order.Paid {
			t.Errorf("past its date: %v", err)
		}
		l.Conserved(t, v)
	})
}

func TestLapseDue(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{ValidDays: 1})
		cs := l.Paid(t, v, 7)
		date := func(at time.Time, cs ...order.Claim) {
			for _, c := range cs {
				l.Exec(t, "UPDATE tb_coupon SET valid_until = ?, due_time = ? WHERE order_id = ?",
					ledgertest.Stored(at), ledgertest.Stored(at), c.OrderID)
			}
		}
		do(t, l, redeem(l.coupon(t, cs[2]), "k"))
		do(t, l, reserve(l.coupon(t, cs[3]), "r"))
		date(ledgertest.RecordedAt, cs[0], cs[1], cs[3], cs[4], cs[6])
		date(ledgertest.RecordedAt.Add(time.Millisecond), cs[5])
		l.Force(t, order.Refunded, cs[4].OrderID)
		lapse := func(token int64, n, wantLapsed, wantSeen int) {
			t.Helper()
			lapsed, seen, err := l.LapseDue(t.Context(), token, n)
			if err != nil || len(lapsed) != wantLapsed || seen != wantSeen {
				t.Errorf("LapseDue = %d lapsed of %d, %v; want %d of %d", len(lapsed), seen, err, wantLapsed, wantSeen)
			}
			for _, o := range lapsed {
				if o.Status != order.Lapsed || !o.LapsedAt.Equal(ledgertest.RecordedAt) {
					t.Errorf("lapsed: %+v", o)
				}
			}
		}
		lapse(2, 2, 2, 2)
		lapse(2, 9, 1, 2) // one is refunded, and is not looked at again
		lapse(2, 9, 0, 0)
		if _, _, err := l.LapseDue(t.Context(), 1, 9); !errors.Is(err, order.ErrSuperseded) {
			t.Errorf("a lower token: %v", err)
		}
		var got []order.Status
		for _, c := range cs {
			got = append(got, l.ReadOrder(t, c.OrderID).Status)
		}
		want := []order.Status{
			order.Lapsed, order.Lapsed, order.Redeemed, order.Paid, order.Refunded, order.Paid, order.Lapsed,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("orders (-want +got):\n%s", diff)
		}
		if h := l.ReadHistory(t, cs[0].OrderID); !strings.HasSuffix(h, "lapsed by lapser: NOT_REDEEMED_IN_TIME") {
			t.Errorf("history %q", h)
		}
		l.Exec(t, "UPDATE tb_coupon SET reserved_until = ? WHERE order_id = ?",
			ledgertest.Stored(ledgertest.RecordedAt), cs[3].OrderID)
		lapse(3, 9, 1, 1)
		if o := do(t, l, redeem(l.coupon(t, cs[0]), "k")); !errors.Is(o.Err, redemption.ErrLapsed) {
			t.Errorf("redeeming a lapsed one: %+v", o)
		}
		l.Exec(t, "UPDATE tb_voucher_order SET status = 2 WHERE id = ?", cs[4].OrderID) // as it was forced
		l.Conserved(t, v)                                                               // a lapsed order keeps its unit
	})
}

// Codes of every key stay good, and new ones are of the latest.
func TestRotationVoidsNoCode(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{})
		keyring := redemption.NewKeyring(l, time.Now)
		made := func(c redemption.Coupon) {
			t.Helper()
			if ok, err := keyring.Made(t.Context(), c.Code); err != nil || !ok {
				t.Errorf("code %s is not known: %v", c.Code, err)
			}
		}
		first := l.coupon(t, l.Paid(t, v, 1)[0])
		made(first)
		if id, err := l.RotateCouponKey(t.Context()); err != nil || id != 1 {
			t.Fatalf("RotateCouponKey = %d, %v", id, err)
		}
		l.readKeys(t)
		cs := ledgertest.Claims(v, 2, 1)
		l.Record(t, cs)
		l.Receives(t, l.Pays(t, cs[0]))
		second := l.coupon(t, cs[0])
		if first.Code.KeyID() != 0 || second.Code.KeyID() != 1 {
			t.Errorf("codes %s and %s", first.Code, second.Code)
		}
		keyring = redemption.NewKeyring(l, time.Now)
		made(first)
		made(second)
		if o := do(t, l, redeem(first, "k")); o.Err != nil {
			t.Errorf("redeeming the old code: %v", o.Err)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_audit WHERE action = 'rotate'"); n != 1 {
			t.Errorf("%d lines of audit", n)
		}
		for id := 2; id <= redemption.MaxKeyID; id++ {
			if got, err := l.RotateCouponKey(t.Context()); err != nil || got != id {
				t.Fatalf("RotateCouponKey = %d, %v; want %d", got, err, id)
			}
		}
		if _, err := l.RotateCouponKey(t.Context()); !errors.Is(err, redemption.ErrKeysExhausted) {
			t.Errorf("one more: %v", err)
		}
	})
}

func TestKeysOfCodesThatAreNone(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		for name, value := range map[string]string{
			"coupon_key_00": "short", "coupon_key_xx": strings.Repeat("x", 32),
			"coupon_key_32": strings.Repeat("x", 32),
		} {
			l.Exec(t, "INSERT INTO tb_setting VALUES (?, ?, '2026-06-01 20:00:00')", name, value)
			if keys, err := l.CouponKeys(t.Context()); err == nil {
				t.Errorf("%s: %v, want an error", name, keys)
			}
			l.Exec(t, "DELETE FROM tb_setting")
		}
	})
}

// raceRounds is how often a race is run: make -C lab races runs them more often.
func raceRounds(few, many int) int {
	if os.Getenv("SECKILL_TEST_RACES") == "many" {
		return many
	}
	return few
}

// Sixty-four tills redeem one code at once, over and over: exactly one of them each time.
func TestManyTillsRedeemOneCode(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		const tills = 64
		rounds := raceRounds(40, 1000)
		if l.Dialect == "sqlite" {
			rounds = 5
		}
		v := l.redeemable(t, int64(rounds), voucher.Redemption{})
		for _, c := range l.Paid(t, v, rounds) {
			coupon := l.coupon(t, c)
			outcomes := make([]redemption.Outcome, tills)
			var wg sync.WaitGroup
			for i := range outcomes {
				wg.Go(func() {
					cmd := redeem(coupon, fmt.Sprint("key ", i))
					cmd.Till.ID = int64(i + 1)
					outcomes[i] = do(t, l, cmd)
				})
			}
			wg.Wait()
			won := 0
			for i, o := range outcomes {
				switch {
				case o.Err == nil && !o.Repeated && o.Coupon.RedeemedBy == int64(i+1):
					won++
				case !errors.Is(o.Err, redemption.ErrRedeemed):
					t.Errorf("till %d: %+v", i+1, o)
				}
			}
			if events := l.Number(t, "SELECT COUNT(*) FROM tb_order_event WHERE order_id = ? AND status = 3",
				c.OrderID); won != 1 || events != 1 {
				t.Fatalf("%d tills have redeemed order %d, with %d events", won, c.OrderID, events)
			}
		}
		l.Conserved(t, v)
	})
}

// Of two that want the same coupon at once, one wins, and the other one is told what it has become.
func TestCouponRaces(t *testing.T) {
	t.Parallel()
	rounds := raceRounds(300, 10_000)
	for name, race := range map[string]struct {
		first, second func(ledger, redemption.Coupon, order.Claim) error
		won           func(first, second error) bool // exactly one, or as it may be
	}{
		"refund against redeem": {
			first: func(l ledger, c redemption.Coupon, _ order.Claim) error {
				return do(t, l, redeem(c, "k")).Err
			},
			second: func(l ledger, _ redemption.Coupon, c order.Claim) error {
				_, err := l.AskRefund(t.Context(), c.UserID, c.OrderID)
				return err
			},
			won: func(redeem, refund error) bool {
				return redeem == nil && ledgertest.InState(refund, order.Redeemed) ||
					errors.Is(redeem, redemption.ErrVoid) && refund == nil
			},
		},
		"refund against reserve": {
			first: func(l ledger, c redemption.Coupon, _ order.Claim) error {
				return do(t, l, reserve(c, "r")).Err
			},
			second: func(l ledger, _ redemption.Coupon, c order.Claim) error {
				_, err := l.AskRefund(t.Context(), c.UserID, c.OrderID)
				return err
			},
			won: func(reserve, refund error) bool {
				return reserve == nil && errors.Is(refund, redemption.ErrReserved) ||
					errors.Is(reserve, redemption.ErrVoid) && refund == nil
			},
		},
		"lapse against a reserved redeem": {
			first: func(l ledger, c redemption.Coupon, _ order.Claim) error {
				cmd := redeem(c, "k")
				cmd.Reservation = "r"
				return do(t, l, cmd).Err
			},
			second: func(l ledger, _ redemption.Coupon, _ order.Claim) error {
				_, _, err := l.LapseDue(t.Context(), 1, 10)
				return err
			},
			won: func(redeem, lapse error) bool { return redeem == nil && lapse == nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openMySQL(t, ledgertest.MigratedMySQL(t))
			v := l.redeemable(t, int64(rounds), voucher.Redemption{})
			for _, c := range l.Paid(t, v, rounds) {
				coupon := l.coupon(t, c)
				if strings.HasPrefix(name, "lapse") {
					do(t, l, reserve(coupon, "r"))
					l.Exec(t, "UPDATE tb_coupon SET valid_until = ?, due_time = ? WHERE order_id = ?",
						ledgertest.Stored(ledgertest.RecordedAt), ledgertest.Stored(ledgertest.RecordedAt), c.OrderID)
				}
				first, second := ledgertest.Both(func() error { return race.first(l, coupon, c) },
					func() error { return race.second(l, coupon, c) })
				if !race.won(first, second) {
					t.Fatalf("%v against %v; the order is %s", first, second, l.ReadOrder(t, c.OrderID).Status)
				}
			}
			l.Conserved(t, v)
		})
	}
}

// The lapser has chosen a coupon, and a till is first to lock it: the reservation bars the lapse.
func TestLapseSeesAReservation(t *testing.T) {
	t.Parallel()
	l := openMySQL(t, ledgertest.MigratedMySQL(t))
	v := l.redeemable(t, 1, voucher.Redemption{ValidDays: 1})
	c := l.Paid(t, v, 1)[0]
	l.Exec(t, "UPDATE tb_coupon SET due_time = ?", ledgertest.Stored(ledgertest.RecordedAt))
	tx, err := l.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // it has been committed
	for _, statement := range []string{
		fmt.Sprintf("SELECT id FROM tb_voucher_order WHERE id = %d FOR UPDATE", c.OrderID),
		fmt.Sprintf("UPDATE tb_coupon SET reservation = 'r', reserved_by = 1, reserve_key = 'k', reserved_until = '%s'",
			ledgertest.Stored(ledgertest.RecordedAt.Add(time.Minute))),
	} {
		if _, err := tx.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() {
		lapsed, _, err := l.LapseDue(t.Context(), 1, 10)
		if err == nil && len(lapsed) > 0 {
			err = errors.New("a reserved coupon lapsed")
		}
		done <- err
	}()
	l.AwaitLockWait(t)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || l.ReadOrder(t, c.OrderID).Status != order.Paid {
		t.Errorf("%v; the order is %s", err, l.ReadOrder(t, c.OrderID).Status)
	}
}

// The reply to COMMIT is lost: the same request, repeated, says what has happened.
func TestLostCommitReplyOfTills(t *testing.T) {
	t.Parallel()
	dsn := ledgertest.MigratedMySQL(t)
	l := openMySQL(t, dsn)
	core, proxy := ledgertest.Proxied(t, ledgertest.Stopped(t, dsn, ledgertest.StartTime), ledgertest.Options(l.Clock))
	store := redemption.NewLedger(core.DB(), core.Orders())
	v := l.redeemable(t, 9, voucher.Redemption{})
	cs := l.Paid(t, v, 3)
	held := l.coupon(t, cs[2])
	do(t, l, reserve(held, "r"))
	for name, cmd := range map[string]redemption.Command{
		"redeem": redeem(l.coupon(t, cs[0]), "k"), "reserve": reserve(l.coupon(t, cs[1]), "r"),
		"release": {Verb: redemption.Release, Till: till, Code: held.Code, Reservation: "r"},
	} {
		lost := proxy.Lost()
		proxy.DropRepliesTo("COMMIT", 1)
		_, err := store.Do(t.Context(), []redemption.Command{cmd})
		ledgertest.Infrastructure(t, err)
		if proxy.Lost() != lost+1 {
			t.Fatalf("%s: no reply was lost", name)
		}
		again := cmd
		if cmd.Verb == redemption.Reserve {
			again.Reservation = "another"
		}
		if o := do(t, store, again); o.Err != nil || !o.Repeated {
			t.Errorf("%s again: %+v", name, o)
		}
	}
	l.Exec(t, "UPDATE tb_coupon SET due_time = ? WHERE redeemed_by IS NULL AND reservation IS NULL",
		ledgertest.Stored(ledgertest.RecordedAt))
	proxy.DropRepliesTo("COMMIT", 1)
	_, _, err := store.LapseDue(t.Context(), 1, 9)
	ledgertest.Infrastructure(t, err)
	if lapsed, seen, err := store.LapseDue(t.Context(), 1, 9); err != nil || len(lapsed) != 0 || seen != 0 {
		t.Errorf("lapsing again: %d of %d, %v", len(lapsed), seen, err)
	}
	if got := l.ReadOrder(t, cs[2].OrderID).Status; got != order.Lapsed {
		t.Errorf("the due order is %s", got)
	}
	l.Conserved(t, v)
}
