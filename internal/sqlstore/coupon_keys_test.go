package sqlstore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/redemption"
	"seckill/internal/sqlstore"
	"seckill/internal/voucher"
)

// hangs runs call until the test ends, or the returned function ends it and says what came of it.
func hangs(t *testing.T, call func(ctx context.Context) error) (end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- call(ctx) }()
	return func() error {
		cancel()
		select {
		case err := <-result:
			return err
		case <-time.After(time.Minute):
			t.Fatal("it goes on without its caller")
			return nil
		}
	}
}

// Who needs the key of new codes, and waits for the server to tell it, keeps nobody else waiting: neither those who need it too, who each
// end with their own context, nor those who need none, nor the order's row.
func TestNobodyWaitsForAnothersKey(t *testing.T) {
	t.Parallel()
	l := openMySQL(t, migratedMySQL(t))
	const asking = "SELECT * FROM `tb_setting`%"
	dear, plain, free := l.redeemable(t, 9, voucher.Redemption{}), l.seckill(t, 9), l.free(t, 9)
	cs, other, gratis := l.recorded(t, dear, 3), claims(plain, 21, 2), claims(free, 31, 2)
	insert(t, l, other[:1])
	l.clock.Add(int64(time.Minute)) // a key that was known is not any more
	notice := func(c order.Claim) order.Notice {
		p := l.pays(t, c)
		return order.Notice{PaymentID: p.ID, Amount: p.Amount, Provider: p.Provider}
	}
	notices := []order.Notice{notice(cs[0]), notice(cs[1]), notice(cs[2]), notice(other[0])}
	pay := func(i int) func(context.Context) error {
		return func(ctx context.Context) error {
			_, _, err := l.Receive(ctx, notices[i])
			return err
		}
	}
	unlock := lockTable(t, l, "tb_setting")
	first := hangs(t, pay(0))
	l.awaitQueries(t, asking, 1)
	second := hangs(t, pay(1))
	l.awaitQueries(t, asking, 2)
	batch := hangs(t, func(ctx context.Context) error { return l.Insert(ctx, gratis) })
	l.awaitQueries(t, asking, 3) // with a lock that all wait for there would be one
	if err := second(); !errors.Is(err, context.Canceled) {
		t.Errorf("the second, whose caller has left: %v", err)
	}
	if err := batch(); !errors.Is(err, context.Canceled) {
		t.Errorf("the batch, whose caller has left: %v", err)
	}
	if n := l.number(t, "SELECT COUNT(*) FROM (SELECT id FROM tb_voucher_order WHERE voucher_id = ? FOR UPDATE NOWAIT) AS free", dear); n != 3 {
		t.Errorf("%d orders are not locked", n)
	}
	if err := pay(3)(t.Context()); err != nil {
		t.Errorf("a payment for what has no code: %v", err)
	}
	insert(t, l, other[1:])
	if err := first(); !errors.Is(err, context.Canceled) {
		t.Errorf("the first, whose caller has left: %v", err)
	}
	unlock()
	for i, c := range cs {
		if err := pay(i)(t.Context()); err != nil || l.coupon(t, c).Code == "" {
			t.Errorf("order %d: %v", c.OrderID, err)
		}
	}
	insert(t, l, gratis)
	l.paidForNothing(t, gratis[0].OrderID)
}

// The first code ever makes the key, in a transaction of its own, and the payment is made once.
func TestTheFirstCodeMakesTheKey(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		dear, free := l.redeemable(t, 9, voucher.Redemption{}), l.free(t, 9)
		l.exec(t, "DELETE FROM tb_setting WHERE name LIKE 'coupon_key_%'")
		l.clock.Add(int64(time.Minute))
		c := l.paid(t, dear, 1)[0]
		if n := l.number(t, "SELECT COUNT(*) FROM tb_order_event WHERE order_id = ?", c.OrderID); n != 1 {
			t.Errorf("%d lines of history", n)
		}
		l.exec(t, "DELETE FROM tb_setting WHERE name LIKE 'coupon_key_%'")
		l.clock.Add(int64(time.Minute))
		gratis := claims(free, 31, 1)
		insert(t, l, gratis)
		keys, err := l.CouponKeys(t.Context())
		if err != nil || len(keys) != 1 || !keys[0].Made(l.coupon(t, gratis[0]).Code) {
			t.Errorf("%d keys, %v", len(keys), err)
		}
	})
}

// A row that is no key stops nobody: what is recorded or paid meanwhile has no code, also in a batch with orders of other sales, and has
// one when it is read after the row was mended.
func TestSpoiltKeyStopsNothing(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		for name, value := range map[string]string{"coupon_key_00": "short", "coupon_key_xx": strings.Repeat("x", redemption.KeyBytes)} {
			l.exec(t, "DELETE FROM tb_setting WHERE name LIKE 'coupon_key_%'")
			l.exec(t, "INSERT INTO tb_setting VALUES (?, ?, '2026-06-01 20:00:00')", name, value)
			l.clock.Add(int64(time.Minute)) // a key that was known is not any more
			have := l.goesOnWithoutCodes(t)
			for _, c := range have {
				if c, err := l.CouponOf(t.Context(), l.order(t, c.OrderID)); !errors.Is(err, sqlstore.ErrKeySpoilt) {
					t.Errorf("%s: an order has %+v, %v", name, c, err)
				}
			}
			l.exec(t, "DELETE FROM tb_setting WHERE name = ?", name)
			l.clock.Add(int64(time.Minute))
			for _, c := range have {
				if l.coupon(t, c).Code == "" {
					t.Errorf("%s: order %d has no code", name, c.OrderID)
				}
			}
		}
	})
}

// goesOnWithoutCodes records and pays orders that would have codes, in all ways, beside others, and returns them.
func (l ledger) goesOnWithoutCodes(t *testing.T) []order.Claim {
	t.Helper()
	free, other, dear := l.free(t, 9), l.seckill(t, 9), l.redeemable(t, 9, voucher.Redemption{})
	others := claims(other, 11, 2)
	batch, settled, later := claims(free, 1, 2), claims(free, 5, 1), claims(free, 6, 1)
	insert(t, l, slices.Concat(batch, others))
	l.clock.Add(int64(time.Minute)) // it is read again, within a transaction
	if err := l.Settle(t.Context(), settled, decideAll(settled, order.Insert, "")); err != nil {
		t.Fatal(err)
	}
	insert(t, l, later) // it is known
	have := slices.Concat(batch, settled, later, l.paid(t, dear, 1))
	for _, c := range have {
		if o := l.order(t, c.OrderID); o.Status != order.Paid {
			t.Errorf("order %d is %s", c.OrderID, o.Status)
		}
	}
	for _, c := range others {
		if o := l.order(t, c.OrderID); o.Status != order.Unpaid {
			t.Errorf("an order of another sale is %s", o.Status)
		}
	}
	return have
}
