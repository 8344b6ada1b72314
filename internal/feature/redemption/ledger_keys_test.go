package redemption_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/redemption"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// Nobody waits for the table of keys: payments and batches go on while it does not answer, and their orders have codes.
func TestNobodyWaitsForTheKeys(t *testing.T) {
	t.Parallel()
	l := openMySQL(t, ledgertest.MigratedMySQL(t))
	dear, free := l.redeemable(t, 9, voucher.Redemption{}), l.free(t, 9)
	c, gratis := l.NewOrders(t, dear, 1)[0], ledgertest.Claims(free, 31, 1)
	l.Clock.Add(int64(time.Hour))
	p := l.Pays(t, c)
	unlock := l.LockTable(t, "tb_setting")
	if _, _, err := l.Receive(t.Context(),
		payment.Notice{PaymentID: p.ID, Amount: p.Amount, Provider: p.Provider}); err != nil {
		t.Errorf("a payment: %v", err)
	}
	l.Record(t, gratis)
	unlock()
	for _, c := range []order.Claim{c, gratis[0]} {
		if l.coupon(t, c).Code == "" {
			t.Errorf("order %d has no code", c.OrderID)
		}
	}
}

// An instance that has not read the keys yet pays orders without codes; they have them when they are read.
func TestCodesBeforeTheKeysAreRead(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		sales := l.salesWithCodes(t)
		l.Whole = ledgertest.WholeOf(sqlstore.New(l.DB())) // as another instance begins
		l = withCodes(l.Ledger)
		have := l.goesOnWithoutCodes(t, sales)
		keys, err := l.CouponKeys(t.Context())
		if err != nil || len(keys) != 1 {
			t.Fatalf("%d keys, %v", len(keys), err)
		}
		for _, c := range have {
			if code := l.coupon(t, c).Code; !keys[0].Made(code) {
				t.Errorf("order %d has the code %q", c.OrderID, code)
			}
		}
	})
}

// A row that is no key stops nobody: what is recorded or paid meanwhile has no code, also in a batch with orders of
// other sales, and has one when it is read after the row was mended.
func TestSpoiltKeyStopsNothing(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		for name, value := range map[string]string{
			"coupon_key_00": "short", "coupon_key_xx": strings.Repeat("x", redemption.KeyBytes),
		} {
			sales := l.salesWithCodes(t)
			l.Exec(t, "DELETE FROM tb_setting WHERE name LIKE 'coupon_key_%'")
			l.Exec(t, "INSERT INTO tb_setting VALUES (?, ?, '2026-06-01 20:00:00')", name, value)
			if _, err := l.CouponKeys(t.Context()); !errors.Is(err, redemption.ErrKeySpoilt) {
				t.Errorf("%s: %v", name, err)
			}
			have := l.goesOnWithoutCodes(t, sales)
			for _, c := range have {
				if c, err := l.CouponOf(t.Context(), l.ReadOrder(t, c.OrderID)); !errors.Is(err,
					redemption.ErrKeySpoilt) {
					t.Errorf("%s: an order has %+v, %v", name, c, err)
				}
			}
			l.Exec(t, "DELETE FROM tb_setting WHERE name = ?", name)
			l.readKeys(t)
			for _, c := range have {
				if l.coupon(t, c).Code == "" {
					t.Errorf("%s: order %d has no code", name, c.OrderID)
				}
			}
		}
	})
}

// salesWithCodes are sales whose orders have codes, free of charge and not, and one whose orders have none.
type salesWithCodes struct{ free, dear, other int64 }

func (l ledger) salesWithCodes(t *testing.T) salesWithCodes {
	t.Helper()
	return salesWithCodes{free: l.free(t, 99), dear: l.redeemable(t, 99, voucher.Redemption{}), other: l.Seckill(t, 99)}
}

// goesOnWithoutCodes records and pays orders that would have codes, in all ways, beside others, and returns them.
func (l ledger) goesOnWithoutCodes(t *testing.T, s salesWithCodes) []order.Claim {
	t.Helper()
	free, other, dear := s.free, s.other, s.dear
	others := ledgertest.Claims(other, 11, 2)
	batch, settled, later := ledgertest.Claims(free, 1, 2), ledgertest.Claims(free, 5, 1), ledgertest.Claims(free, 6, 1)
	l.Record(t, slices.Concat(batch, others))
	if err := l.Settle(t.Context(), settled, ledgertest.DecideAll(settled, order.Insert, "")); err != nil {
		t.Fatal(err)
	}
	l.Record(t, later)
	have := slices.Concat(batch, settled, later, l.Paid(t, dear, 1))
	for _, c := range have {
		if o := l.ReadOrder(t, c.OrderID); o.Status != order.Paid {
			t.Errorf("order %d is %s", c.OrderID, o.Status)
		}
	}
	for _, c := range others {
		if o := l.ReadOrder(t, c.OrderID); o.Status != order.Unpaid {
			t.Errorf("an order of another sale is %s", o.Status)
		}
	}
	return have
}

// Codes of every key stay good, and new ones are of the latest.
func TestRotationVoidsNoCode(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{})
		keyring := redemption.NewKeyring(l.CouponKeys, time.Now)
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
		keyring = redemption.NewKeyring(l.CouponKeys, time.Now)
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
