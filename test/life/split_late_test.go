package life

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/internal/order"
)

// TestLatePaymentOfSplitSale: a payment that comes after its order was cancelled gets a unit as long as any share has one, whatever
// happens to the calls that move it, and while the sale is paused; its money goes back only once all shares have none.
func TestLatePaymentOfSplitSale(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const shares, units = 3, 3
	for name, f := range map[string]struct {
		call    string
		kind    fault
		paused  bool
		soldOut bool
	}{
		"a unit is moved":                   {},
		"the sale is paused":                {paused: true},
		"it is sold out":                    {soldOut: true},
		"it is sold out, and it dies":       {call: "refuse lacking", kind: diesAfter, soldOut: true},
		"a look fails":                      {call: "look", kind: notSent},
		"it dies before the move":           {call: "request move", kind: diesBefore},
		"it dies after the move is asked":   {call: "request move", kind: diesAfter},
		"it dies before Redis is asked":     {call: "revive lacking", kind: diesBefore},
		"it dies after Redis is asked":      {call: "revive lacking", kind: diesAfter},
		"the answer to that asking is lost": {call: "revive lacking", kind: answerLost},
	} {
		t.Run(name, func(t *testing.T) {
			b := splitBuyers{env: e, p: newProcess(e.stores, func(order.Batch) {})}
			defer func() { b.dead = append(b.dead, b.p) }()
			v := e.splitSale(t, b.p, shares, units)
			buyers := usersOf(v.ID, shares, 0, 2)
			late := b.gets(t, buyers[0], v.ID)
			b.record(t)
			payment, _, err := b.p.payments.Pay(t.Context(), late.UserID, late.ID)
			must(t, err)
			_, err = b.p.orders.Cancel(t.Context(), late.UserID, late.ID)
			must(t, err)
			must(t, b.p.outbox.Flush(t.Context(), v.ID))
			time.Sleep(order.ReturnDelay + 10*time.Millisecond) // the unit that came back is the next buyer's, and none is moved for them
			b.gets(t, buyers[1], v.ID)
			live := int64(2)
			if f.soldOut {
				b.gets(t, usersOf(v.ID, shares, 1, 1)[0], v.ID)
				b.gets(t, usersOf(v.ID, shares, 2, 1)[0], v.ID)
				live = units
			}
			b.record(t)
			if f.paused {
				_, _, err = b.p.vouchers.Pause(t.Context(), admin, v.ID)
				must(t, err)
			}
			if f.call != "" {
				b.p.faults.plan(f.call, f.kind)
			}
			must(t, b.p.payments.Confirm(t.Context(), order.Notice{PaymentID: payment.ID, Amount: payment.Amount, Provider: payment.Provider}))
			b.seesToPayments(t, v.ID)
			e.splitStocks(t, b.p, v.ID, units, live)

			o, err := b.p.orders.Order(t.Context(), late.ID)
			must(t, err)
			wanted, state := order.Paid, order.PaymentReceived
			if f.soldOut {
				wanted, state = order.Cancelled, order.PaymentRefunded
			}
			payments, err := b.p.payments.Of(t.Context(), late.ID)
			if err != nil || o.Status != wanted || len(payments) != 1 || payments[0].State != state {
				t.Errorf("the order is %s, with the payments %+v, %v; want %s, and %s", o.Status, payments, err, wanted, state)
			}
			now, err := e.stores.sql.Voucher(t.Context(), v.ID)
			must(t, err)
			if moved := now.Sale.MovedIn; moved != now.Sale.MovedOut || (moved > 0) == f.soldOut { // after a crash it may be more than one
				t.Errorf("%d units went and %d came", now.Sale.MovedOut, moved)
			}
		})
	}
}

// seesToPayments has payments and what they need done until none of the sale is under way, by one process after the other.
func (b *splitBuyers) seesToPayments(t *testing.T, voucherID int64) {
	t.Helper()
	left := func() (n int64) {
		must(t, b.db.QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM tb_payment WHERE state IN (3, 4) AND voucher_id = ?) + "+
			"(SELECT COUNT(*) FROM tb_voucher_operation WHERE state = 1 AND voucher_id = ?)", voucherID, voucherID).Scan(&n))
		return n
	}
	for end := time.Now().Add(quiesceTimeout); left() > 0; {
		if time.Now().After(end) {
			t.Fatalf("%d payments and operations are under way", left())
		}
		if b.p.faults.isDead() {
			b.dead = append(b.dead, b.p)
			b.p = newProcess(b.stores, func(order.Batch) {})
		}
		p := b.p
		p.run(t.Context(), func(ctx context.Context) error {
			var jobs errgroup.Group
			jobs.Go(func() error { return p.payments.Run(ctx) })
			jobs.Go(func() error { return p.outbox.Run(ctx) })
			return jobs.Wait()
		}, quiesceTimeout, func() bool { return left() == 0 })
	}
}
