package sqlstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/payment"
	"seckill/internal/testkit/ledgertest"
)

// TestConservation does what users, the expirer, the provider and Redis do, in any order, and compares the ledger with
// a count of its own after every step: stock and live orders are what was issued, operations have no gaps, and money
// is where the orders say.
func TestConservation(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) ledger{
		"mysql":  func(t *testing.T) ledger { return openMySQL(t, ledgertest.MigratedMySQL(t)) },
		"sqlite": func(t *testing.T) ledger { return openSQLite(t, ledgertest.MigratedSQLite(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t)
			rapid.Check(t, func(rt *rapid.T) {
				b := business{ledger: l, tb: t, voucher: l.Seckill(t, 6), units: 6}
				rt.Repeat(map[string]func(*rapid.T){
					"buy": b.buy, "act": b.act, "pay": b.pay, "receive": b.receive, "refund": b.refund,
					"expire": b.expire, "restock": b.restock, "complete": b.complete, "rebuild": b.rebuild, "": b.check,
				})
			})
		})
	}
}

// business is one sale with its orders and payments. The results of operations stand for Redis: they may be anything.
type business struct {
	ledger
	tb       *testing.T
	voucher  int64
	units    int64 // issued, as counted here
	orders   []order.Claim
	payments []payment.Payment
	keys     int
}

// allowed fails the test unless err is nil or one that the caller has to expect.
func (b *business) allowed(t *rapid.T, err error, expected ...error) {
	_, state := errors.AsType[*order.StateError](err)
	for _, e := range expected {
		state = state || errors.Is(err, e)
	}
	if err != nil && !state {
		t.Fatal(err)
	}
}

func (b *business) some(t *rapid.T) order.Claim {
	if len(b.orders) == 0 {
		t.Skip("no orders")
	}
	return rapid.SampledFrom(b.orders).Draw(t, "order")
}

func (b *business) buy(t *rapid.T) {
	c := ledgertest.Claims(b.voucher, rapid.Int64Range(1, 3).Draw(t, "user"), 1)[0]
	c.Epoch = b.Sale(b.tb, b.voucher).Epoch
	c.Quantity = order.QuantityOf(rapid.Int64Range(1, 4).Draw(t, "quantity"))
	var err error
	if rapid.Bool().Draw(t, "settled") {
		err = b.Settle(b.tb.Context(), []order.Claim{c}, func(view order.LedgerView) []order.Decision {
			if _, live := view.Live[c.Buyer()]; live || view.Sales[b.voucher].Stock < c.Quantity.Units() {
				return nil
			}
			return []order.Decision{{Claim: c, Verb: order.Insert, RowID: c.OrderID}}
		})
	} else {
		err = b.Insert(b.tb.Context(), []order.Claim{c})
	}
	b.allowed(t, err, order.ErrConflict)
	if err == nil && b.Number(b.tb, "SELECT COUNT(*) FROM tb_voucher_order WHERE id = ?", c.OrderID) > 0 {
		b.orders = append(b.orders, c)
	}
}

func (b *business) act(t *rapid.T) {
	action := rapid.SampledFrom([]order.Action{order.Pay, order.Cancel, order.Expire}).Draw(t, "action")
	_, err := b.Transition(b.tb.Context(), b.some(t).OrderID, 0, action, order.Owner)
	b.allowed(t, err)
}

func (b *business) pay(t *rapid.T) {
	c := b.some(t)
	p, err := b.OpenPayment(b.tb.Context(), c.UserID, c.OrderID,
		fmt.Sprintf("pay_%d_%d", c.OrderID, len(b.payments)), []string{""})
	b.allowed(t, err)
	if err == nil {
		b.payments = append(b.payments, p.Payment)
	}
}

func (b *business) receive(t *rapid.T) {
	if len(b.payments) == 0 {
		t.Skip("no payments")
	}
	p := rapid.SampledFrom(b.payments).Draw(t, "payment")
	_, _, err := b.Receive(b.tb.Context(), payment.Notice{PaymentID: p.ID, Amount: p.Amount, Provider: p.Provider})
	b.allowed(t, err)
}

func (b *business) refund(t *rapid.T) {
	if rapid.Bool().Draw(t, "ask") {
		c := b.some(t)
		if n := b.Number(b.tb, "SELECT COUNT(*) FROM tb_payment WHERE order_id = ? AND state = 2", c.OrderID); n == 0 {
			t.Skip("paid by hand")
		}
		_, err := b.AskRefund(b.tb.Context(), c.UserID, c.OrderID)
		b.allowed(t, err)
		return
	}
	back, err := b.Refunding(b.tb.Context(), 2)
	b.allowed(t, err)
	for _, p := range back {
		_, err := b.Refunded(b.tb.Context(), p.ID, p.ID, "")
		b.allowed(t, err)
	}
}

func (b *business) expire(t *rapid.T) {
	if len(b.orders) > 0 {
		b.Due(b.tb, 0, b.some(t))
	}
	_, err := b.ExpireDue(b.tb.Context(), 1, 2)
	b.allowed(t, err)
}

func (b *business) restock(t *rapid.T) {
	b.keys++
	delta := rapid.SampledFrom([]int64{-3, -1, 1, 2}).Draw(t, "delta")
	change, err := b.ChangeStock(b.tb.Context(), b.voucher, ledgertest.Admin, delta, fmt.Sprint(b.keys))
	b.allowed(t, err)
	if change.Delta > 0 {
		b.units += change.Delta
	}
}

func (b *business) complete(t *rapid.T) {
	ops := b.ReadPending(b.tb, b.voucher)
	ops = ops[:rapid.IntRange(0, len(ops)).Draw(t, "operations")]
	rs := make([]operation.Result, len(ops))
	for i, op := range ops {
		rs[i] = operation.Result{Number: op.Number, Taken: !op.Takes() || rapid.Bool().Draw(t, "taken")}
	}
	err := b.CompleteOperations(b.tb.Context(), b.voucher, rs)
	b.allowed(t, err, order.ErrConflict)
	for _, op := range ops {
		if op.Kind == operation.Restock && op.Takes() {
			b.units += op.Delta * b.Number(b.tb,
				"SELECT COUNT(*) FROM tb_voucher_operation WHERE voucher_id = ? AND number = ? AND state = 2",
				b.voucher, op.Number)
		}
	}
}

func (b *business) rebuild(t *rapid.T) {
	raised, err := b.RaiseEpoch(b.tb.Context(), b.voucher, 0, order.SaleView{})
	b.allowed(t, err)
	snap, err := b.Snapshot(b.tb.Context(), b.voucher, raised.Epoch)
	b.allowed(t, err)
	held := int64(0)
	for _, h := range snap.Live {
		held += h.Quantity.Units()
	}
	if snap.Voucher.Sale.Stock+held != b.units {
		t.Errorf("the snapshot has %d units and %d of live orders, of %d", snap.Voucher.Sale.Stock, held, b.units)
	}
	_, err = b.ReviveLate(b.tb.Context(), 10)
	b.allowed(t, err)
}

// wrong are queries about a voucher that all return 0.
var wrong = []string{
	// stock and units of live orders, beside what was issued
	"SELECT stock + (SELECT COALESCE(SUM(quantity), 0) FROM tb_voucher_order o WHERE o.voucher_id = " +
		"s.voucher_id AND live = 1) - issued FROM tb_seckill_voucher s WHERE voucher_id = ?",
	// orders whose amount is not that of their units
	"SELECT COUNT(*) FROM tb_voucher_order o JOIN tb_voucher v ON v.id = o.voucher_id WHERE o.voucher_id = ? AND " +
		"o.amount <> v.pay_value * o.quantity",
	// operations that give or take other than all units of their order
	"SELECT COUNT(*) FROM tb_voucher_operation a JOIN tb_voucher_order o ON o.id = a.order_id WHERE a.voucher_id = ? " +
		"AND ABS(a.delta) <> o.quantity",
	// operations that are missing
	"SELECT last_operation - (SELECT COUNT(*) FROM tb_voucher_operation o WHERE o.voucher_id = s.voucher_id) " +
		"FROM tb_seckill_voucher s WHERE voucher_id = ?",
	// late payments whose order is not cancelled, or that no pending operation decides about
	"SELECT COUNT(*) FROM tb_payment p JOIN tb_voucher_order o ON o.id = p.order_id " +
		"JOIN tb_voucher_operation a ON a.voucher_id = p.voucher_id AND a.number = p.operation " +
		"WHERE p.voucher_id = ? AND p.state = 3 AND (o.status <> 4 OR a.state <> 1)",
	// received payments whose order is not paid
	"SELECT COUNT(*) FROM tb_payment p JOIN tb_voucher_order o ON o.id = p.order_id " +
		"WHERE p.voucher_id = ? AND p.state = 2 AND o.status <> 2",
	// refunded orders whose money has not gone back
	"SELECT COUNT(*) FROM tb_voucher_order o WHERE o.voucher_id = ? AND o.status = 6 " +
		"AND NOT EXISTS (SELECT 1 FROM tb_payment p WHERE p.order_id = o.id AND p.state = 5)",
	// orders whose history does not end with their state
	"SELECT COUNT(*) FROM tb_voucher_order o WHERE o.voucher_id = ? AND o.status <> " +
		"COALESCE((SELECT e.status FROM tb_order_event e WHERE e.order_id = o.id ORDER BY e.id DESC LIMIT 1), 1)",
}

func (b *business) check(t *rapid.T) {
	if issued := b.Number(b.tb, "SELECT issued FROM tb_seckill_voucher WHERE voucher_id = ?",
		b.voucher); issued != b.units {
		t.Errorf("issued %d, counted %d", issued, b.units)
	}
	answers, args, into := make([]int64, len(wrong)), make([]any, len(wrong)), make([]any, len(wrong))
	for i := range wrong {
		args[i], into[i] = b.voucher, &answers[i]
	}
	row := b.Raw.QueryRowContext(b.tb.Context(), "SELECT ("+strings.Join(wrong, "), (")+")", args...)
	if err := row.Scan(into...); err != nil {
		t.Fatal(err)
	}
	totals, err := b.LedgerTotals(b.tb.Context(), b.voucher, 0)
	if err != nil || totals.Stock+totals.LiveUnits() != b.units || totals.Extra < 0 {
		t.Errorf("totals %+v, %v; %d units", totals, err, b.units)
	}
	for i, answer := range answers {
		if answer != 0 {
			t.Errorf("%d: %s", answer, wrong[i])
		}
	}
}
