package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// onPayment is an act of an admin on a payment, with a key.
func onPayment(id, route, key string) order.PaymentAct {
	by := voucher.Author{AdminID: 7, Request: "r"}
	by.Key = idempotency.Key{Caller: 7, Name: key, Route: route, Body: idempotency.Digest([]byte("{}"))}
	return order.PaymentAct{PaymentID: id, By: by, Why: "we have called them"}
}

func (l ledger) retries(t *testing.T, id, key string) (payment.Payment, error) {
	t.Helper()
	p, _, err := l.RetryRefund(t.Context(), onPayment(id, "retry", key))
	return p, err
}

func (l ledger) closes(t *testing.T, id, key string) (payment.Payment, order.Order, error) {
	t.Helper()
	return l.CloseRefund(t.Context(), onPayment(id, "close", key))
}

// stuckOf returns the id of the order's payment, which the owner has asked back and the provider refused.
func (l ledger) stuckOf(t *testing.T, c order.Claim) string {
	t.Helper()
	id := fmt.Sprintf("pay_%d", c.OrderID)
	if _, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); err != nil {
		t.Fatal(err)
	}
	l.refused(t, id, "the account is closed")
	return id
}

func (l ledger) refused(t *testing.T, id, reason string) payment.Payment {
	t.Helper()
	p, err := l.Refused(t.Context(), id, id, reason)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// isAs fails the test unless the payment and its order are in these states.
func (l ledger) isAs(t *testing.T, what, id string, payment payment.State, c order.Claim, status order.Status) {
	t.Helper()
	if p, o := l.ReadPayment(t, id), l.ReadOrder(t, c.OrderID); p != payment || o.Status != status {
		t.Errorf("%s: the payment is %s and its order %s, want %s and %s", what, p, o.Status, payment, status)
	}
}

// news has every news of payments.
func (l ledger) news() *[]string {
	var told []string
	l.Use(sqlkit.Hook{}, sqlkit.Hook{Feature: "news", PaymentChanged: func(_ *gorm.DB, c order.PaymentChange) error {
		told = append(told, fmt.Sprintf("%d %s: %s", c.Order.Number(), c.News, c.Payment.State))
		return nil
	}})
	return &told
}

// A provider's final no is noted once, with its reason. From then on the job leaves the payment alone, until staff have
// it asked again; once they close it, its order is refunded, its unit is back, and the provider has the money.
func TestStuckRefund(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		told := l.news()
		c := l.Paid(t, v, 2)[0]
		id := l.stuckOf(t, c)
		for range 2 { // the second is another instance's
			if p := l.refused(t, id, "late"); p.State != payment.Stuck || p.StuckAt.IsZero() ||
				p.Refusal != "the account is closed" {
				t.Fatalf("refused: %+v", p)
			}
		}
		l.isAs(t, "stuck", id, payment.Stuck, c, order.Refunding)
		if due, err := l.Refunding(t.Context(), 9); err != nil || len(due) != 0 {
			t.Errorf("due %+v, %v", due, err)
		}
		if n, err := l.NeedStaff(t.Context()); err != nil || n.Stuck < 1 {
			t.Errorf("need staff %+v, %v", n, err)
		}
		f := payment.Filter{State: payment.Stuck, VoucherID: v}
		if found, err := l.FindPayments(t.Context(), f, 1<<62, 9); err != nil || len(found) != 1 || found[0].ID != id {
			t.Errorf("listed %+v, %v", found, err)
		}
		p, err := l.retries(t, id, "r1")
		if err != nil || p.State != payment.Refunding || !p.StuckAt.IsZero() || p.Refusal != "" ||
			p.RefundingAt.IsZero() {
			t.Errorf("retried: %+v, %v", p, err)
		}
		if again, err := l.retries(t, id, "r2"); err != nil || again.State != payment.Refunding {
			t.Errorf("retried twice: %+v, %v", again, err)
		}
		_, err = l.retries(t, id, "r1")
		if made, is := errors.AsType[*idempotency.RepeatedError](err); !is || made.Made != id {
			t.Errorf("a lost reply: %v", err)
		}
		if due, err := l.Refunding(t.Context(), 9); err != nil || len(due) != 1 || due[0].ID != id {
			t.Errorf("due again: %+v, %v", due, err)
		}
		l.refused(t, id, "no\x00w\xff "+strings.Repeat("长", 400))
		if p, err := l.Payment(t.Context(), id); err != nil || !strings.HasPrefix(p.Refusal, "no w\uFFFD 长") ||
			len([]rune(p.Refusal)) != payment.MaxRefusal {
			t.Errorf("a strange reason: %+v, %v", p, err)
		}
		closed, o, err := l.closes(t, id, "c1")
		if err != nil || closed.State != payment.Closed || o.Status != order.Refunded ||
			closed.Kept() != 1000 || closed.Returned != 0 || closed.ClosedAt.IsZero() || closed.Refusal == "" {
			t.Errorf("closed: %+v, %+v, %v", closed, o, err)
		}
		if _, o, err := l.closes(t, id, "c2"); err != nil || o.Status != order.Refunded {
			t.Errorf("closed twice: %+v, %v", o, err)
		}
		if _, err := l.retries(t, id, "r3"); !isPaymentState(err, payment.Closed) {
			t.Errorf("retried once it is closed: %v", err)
		}
		l.isAs(t, "closed", id, payment.Closed, c, order.Refunded)
		const history = "paid by payment provider: \nrefunding by owner: \n" +
			"refunding by payment provider: REFUND_REFUSED\nrefunding by admin 7: REFUND_RETRIED\n" +
			"refunding by payment provider: REFUND_REFUSED\nrefunded by admin 7: REFUND_CLOSED"
		if got := l.ReadHistory(t, c.OrderID); got != history {
			t.Errorf("history\n%s", got)
		}
		news := []string{"4 stuck: stuck", "5 retried: refunding", "6 stuck: stuck", "7 closed: closed"}
		if !slices.Equal(*told, news) {
			t.Errorf("told %q", *told)
		}
		if o := l.ReadOrder(t, c.OrderID); o.Number() != 8 {
			t.Errorf("the order's last event has the number %d", o.Number())
		}
		want := fmt.Sprintf("[{paymentId %s %s} {paymentState stuck closed} {orderId %d %d} "+
			"{orderStatus refunding refunded} {why  we have called them}]", id, id, c.OrderID, c.OrderID)
		if got := l.audited(t, v, voucher.RefundClosed); len(got) != 1 || got[0] != want {
			t.Errorf("audited %q", got)
		}
		if got := l.audited(t, v, voucher.RefundRetried); len(got) != 1 {
			t.Errorf("audited %q", got)
		}
		l.ApplyAll(t, v)
		l.Conserved(t, v)
	})
}

func isPaymentState(err error, want payment.State) bool {
	state, is := errors.AsType[*payment.StateError](err)
	return is && state.State == want
}

// Only a stuck payment is retried or closed, and a final no sticks only to one that is to go back.
func TestStuckOnly(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		c := l.Paid(t, l.Seckill(t, 10), 1)[0]
		id := fmt.Sprintf("pay_%d", c.OrderID)
		if p := l.refused(t, id, "x"); p.State != payment.Received {
			t.Errorf("refused, and nobody asked: %+v", p)
		}
		if _, err := l.retries(t, id, "k"); !isPaymentState(err, payment.Received) {
			t.Errorf("retried: %v", err)
		}
		if _, _, err := l.closes(t, id, "k"); !isPaymentState(err, payment.Received) {
			t.Errorf("closed: %v", err)
		}
		if _, _, err := l.closes(t, "pay_none", "k"); !errors.Is(err, payment.ErrNotFound) {
			t.Errorf("none: %v", err)
		}
		if _, err := l.Refused(t.Context(), "pay_none", "pay_none", ""); !errors.Is(err, payment.ErrNotFound) {
			t.Errorf("none refused: %v", err)
		}
	})
}

// What the provider says later: all of the money has gone back, also after the refund was closed; or a part, or another
// instance's request was taken all the same.
func TestLateNewsOfAStuckRefund(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := l.Paid(t, v, 4)
		told := l.news()
		ids := make([]string, len(cs))
		for i, c := range cs {
			ids[i] = l.stuckOf(t, c)
		}
		back := func(id string, cents int64) {
			t.Helper()
			l.told(t, payment.Notice{Kind: payment.NoticeReturned, PaymentID: id, Amount: cents})
		}
		back(ids[0], 300)
		l.isAs(t, "a part", ids[0], payment.Stuck, cs[0], order.Refunding)
		back(ids[0], 1000)
		if _, _, err := l.closes(t, ids[1], "c"); err != nil {
			t.Fatal(err)
		}
		back(ids[1], 1000)
		for i, status := range []order.Status{order.Refunding, order.Refunded} {
			l.isAs(t, "all", ids[i], payment.Refunding, cs[i], status)
		}
		l.confirmAll(t)
		if o, err := l.Refunded(t.Context(), ids[2], ids[2], ""); err != nil || o.Status != order.Refunded {
			t.Errorf("taken all the same: %+v, %v", o, err)
		}
		if _, _, err := l.closes(t, ids[3], "c3"); err != nil {
			t.Fatal(err)
		}
		if o, err := l.Refunded(t.Context(), ids[3], ids[3], ""); err != nil || o.Status != order.Refunded {
			t.Errorf("taken once it is closed: %+v, %v", o, err)
		}
		if last := (*told)[len(*told)-1]; last != "7 returned: refunded" {
			t.Errorf("told last: %q", last)
		}
		for i, id := range ids {
			l.isAs(t, fmt.Sprint(i), id, payment.Refunded, cs[i], order.Refunded)
			if p, err := l.Payment(t.Context(), id); err != nil || p.Kept() != 0 || !p.StuckAt.IsZero() {
				t.Errorf("%d: %+v, %v", i, p, err)
			}
		}
		l.ApplyAll(t, v)
		l.Conserved(t, v)
	})
}

// A dispute of a stuck payment decides first: meanwhile nobody has it asked again, or closes it. Lost, the money is
// back; won, it is stuck as before. A final no about a disputed payment does not stick.
func TestDisputeOfAStuckRefund(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := l.Paid(t, v, 3)
		lost, won := l.stuckOf(t, cs[0]), l.stuckOf(t, cs[1])
		tell := func(id string, k payment.NoticeKind) {
			t.Helper()
			l.told(t, payment.Notice{Kind: k, PaymentID: id, Amount: 1000})
		}
		for _, id := range []string{lost, won} {
			tell(id, payment.NoticeDisputed)
			if _, err := l.retries(t, id, "r"); !errors.Is(err, payment.ErrDisputed) {
				t.Errorf("retried: %v", err)
			}
			if _, _, err := l.closes(t, id, "c"); !errors.Is(err, payment.ErrDisputed) {
				t.Errorf("closed: %v", err)
			}
		}
		tell(lost, payment.NoticeDisputeLost)
		tell(won, payment.NoticeDisputeWon)
		l.confirmAll(t)
		l.isAs(t, "lost", lost, payment.Refunded, cs[0], order.Refunded)
		l.isAs(t, "won", won, payment.Stuck, cs[1], order.Refunding)
		if _, _, err := l.closes(t, won, "c"); err != nil {
			t.Errorf("decided: %v", err)
		}
		if _, err := l.AskRefund(t.Context(), cs[2].UserID, cs[2].OrderID); err != nil {
			t.Fatal(err)
		}
		third := fmt.Sprintf("pay_%d", cs[2].OrderID)
		tell(third, payment.NoticeDisputed)
		if p := l.refused(t, third, "it is disputed"); p.State != payment.Refunding {
			t.Errorf("refused while it is disputed: %+v", p)
		}
		l.ApplyAll(t, v)
		l.Conserved(t, v)
	})
}

// Two of staff retry and close a stuck refund at the same time: one of them wins, and the books agree.
func TestRetryAndCloseAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 40)
		retried, closed := 0, 0
		for i, c := range l.Paid(t, v, 12) {
			id := l.stuckOf(t, c)
			errRetry, errClose := ledgertest.Both(
				func() error { _, err := l.retries(t, id, fmt.Sprint("r", i)); return err },
				func() error { _, _, err := l.closes(t, id, fmt.Sprint("c", i)); return err },
			)
			switch {
			case errRetry == nil && isPaymentState(errClose, payment.Refunding):
				retried++
				l.isAs(t, "retried", id, payment.Refunding, c, order.Refunding)
			case errClose == nil && isPaymentState(errRetry, payment.Closed):
				closed++
				l.isAs(t, "closed", id, payment.Closed, c, order.Refunded)
			default:
				t.Errorf("%v, %v", errRetry, errClose)
			}
		}
		if n := len(l.audited(t, v, voucher.RefundRetried)); n != retried {
			t.Errorf("%d audited, %d retried", n, retried)
		}
		if n := len(l.audited(t, v, voucher.RefundClosed)); n != closed {
			t.Errorf("%d audited, %d closed", n, closed)
		}
		l.confirmAll(t)
		l.ApplyAll(t, v)
		l.Conserved(t, v)
	})
}

// Money of a payment that its order does not need gets stuck, too: closing that ends nothing but the payment.
func TestStuckRefundOfMoneyTooMuch(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		c := l.NewOrders(t, v, 1)[0]
		first := l.Pays(t, c)
		l.Exec(t, "UPDATE tb_payment SET provider = 'other' WHERE id = ?", first.ID)
		second, err := l.OpenPayment(t.Context(), c.UserID, c.OrderID, "pay_second", []string{"bank"})
		if err != nil {
			t.Fatal(err)
		}
		first.Provider = "other"
		l.Receives(t, first)
		l.Receives(t, second.Payment)
		l.refused(t, second.ID, "")
		l.isAs(t, "stuck", second.ID, payment.Stuck, c, order.Paid)
		p, o, err := l.closes(t, second.ID, "c")
		if err != nil || p.State != payment.Closed || o.Status != order.Paid {
			t.Errorf("closed: %+v, %+v, %v", p, o, err)
		}
		if o, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); err != nil || o.Status != order.Refunding {
			t.Errorf("the other: %+v, %v", o, err)
		}
		l.confirmAll(t)
		l.isAs(t, "the other", first.ID, payment.Refunded, c, order.Refunded)
		l.ApplyAll(t, v)
		l.Conserved(t, v)
	})
}

// A sale that was called off is unwound although a refund is stuck: that one is counted, and left to staff.
func TestUnwoundButForStuckRefunds(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := l.Paid(t, v, 3)
		l.callsOff(t, v, "k")
		l.unwinds(t, v)
		for i, c := range cs {
			id := fmt.Sprintf("pay_%d", c.OrderID)
			if i == 0 {
				l.refused(t, id, "the account is closed")
			} else if _, err := l.Refunded(t.Context(), id, id, ""); err != nil {
				t.Fatal(err)
			}
		}
		l.ApplyAll(t, v)
		u, err := l.Unwinding(t.Context(), v)
		if err != nil || u.Pending() || u.Orders[order.FateStuck] != (order.Tally{Orders: 1, Units: 1, Cents: 1000}) ||
			u.Orders[order.FateRefunded].Orders != 2 || u.Orders[order.FateRefunding].Orders != 0 {
			t.Errorf("unwinding %+v, %v", u, err)
		}
		left, err := l.LeftToStaff(t.Context(), v, 1<<62, 9)
		if err != nil || len(left) != 1 || left[0].Fate != order.FateStuck || left[0].Order.ID != cs[0].OrderID {
			t.Errorf("left %+v, %v", left, err)
		}
		if _, _, err := l.closes(t, fmt.Sprintf("pay_%d", cs[0].OrderID), "c"); err != nil {
			t.Fatal(err)
		}
		l.ApplyAll(t, v)
		if u, err := l.Unwinding(t.Context(), v); err != nil || u.Orders[order.FateRefunded].Orders != 3 {
			t.Errorf("closed: %+v, %v", u, err)
		}
		l.Conserved(t, v)
	})
}

// Money that an order did not need is stuck after its sale was called off: it was paid twice, or once it was cancelled.
// Staff are shown that; the order's units are counted once, as withdrawn.
func TestStuckMoneyOfOrdersThatEnded(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := l.NewOrders(t, v, 3)
		first, late := l.Pays(t, cs[0]), l.Pays(t, cs[1])
		l.Exec(t, "UPDATE tb_payment SET provider = 'other' WHERE id = ?", first.ID)
		second, err := l.OpenPayment(t.Context(), cs[0].UserID, cs[0].OrderID, "pay_second", []string{"bank"})
		if err != nil {
			t.Fatal(err)
		}
		first.Provider = "other"
		l.Receives(t, first)
		l.Receives(t, second.Payment)
		l.callsOff(t, v, "k")
		l.unwinds(t, v)
		l.ApplyAll(t, v)
		l.Receives(t, late)
		l.ApplyAll(t, v)
		l.refused(t, second.ID, "")
		l.refused(t, late.ID, "")
		l.isAs(t, "late", late.ID, payment.Stuck, cs[1], order.Cancelled)
		one := order.Tally{Orders: 1, Units: 1, Cents: 1000}
		u, err := l.Unwinding(t.Context(), v)
		if err != nil || !u.Pending() || u.Orders[order.FateRefunding] != one {
			t.Errorf("the order's own money is on its way: %+v, %v", u, err)
		}
		if _, err := l.Refunded(t.Context(), first.ID, first.ID, ""); err != nil {
			t.Fatal(err)
		}
		l.ApplyAll(t, v)
		u, err = l.Unwinding(t.Context(), v)
		if err != nil || u.Pending() || u.Withdrawn != u.Issued || u.Orders[order.FateStuck].Units != 0 ||
			u.Orders[order.FateRefunded] != one || u.Orders[order.FateCancelled] != one.Plus(one) {
			t.Errorf("units %+v, %v", u, err)
		}
		left, err := l.LeftToStaff(t.Context(), v, 1<<62, 9)
		if err != nil || len(left) != 2 || left[0].Fate != order.FateStuck || left[1].Fate != order.FateStuck {
			t.Errorf("left %+v, %v", left, err)
		}
		l.Conserved(t, v)
	})
}

// The stored states are those that there are: a stuck payment has its time.
func TestStuckIsChecked(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		c := l.Paid(t, l.Seckill(t, 10), 1)[0]
		for _, state := range []payment.State{payment.Stuck, payment.Closed, 8, 0} {
			_, err := l.Raw.ExecContext(t.Context(),
				"UPDATE tb_payment SET state = ? WHERE order_id = ?", state, c.OrderID)
			if err == nil {
				t.Errorf("state %d was stored", state)
			}
		}
	})
}
