package redemption_test

import (
	"errors"
	"fmt"
	"testing"

	"seckill/internal/feature/redemption"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// While the payment of an order is disputed no till redeems it, also with a reservation from before, and never again
// once the dispute is lost; when it is won, tills go on.
func TestDisputedAtTills(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{})
		cs := l.Paid(t, v, 4)
		free, reserved, lost, redeemed := l.coupon(t, cs[0]), l.coupon(t, cs[1]), l.coupon(t, cs[2]), l.coupon(t, cs[3])
		do(t, l, reserve(reserved, "r"))
		if o := do(t, l, redeem(redeemed, "k")); o.Err != nil {
			t.Fatal(o.Err)
		}
		tell := func(kind payment.NoticeKind, cents int64, cs ...order.Claim) {
			t.Helper()
			for _, c := range cs {
				n := payment.Notice{Kind: kind, PaymentID: fmt.Sprintf("pay_%d", c.OrderID), Amount: cents}
				if _, _, err := l.TakeNotice(t.Context(), n); err != nil {
					t.Fatal(err)
				}
			}
		}
		tell(payment.NoticeDisputed, 1000, cs...)
		named := redeem(reserved, "k")
		named.Reservation = "r"
		check := redeem(free, "")
		check.Verb = redemption.Validate
		for name, cmd := range map[string]redemption.Command{
			"validate": check, "redeem": redeem(free, "k"), "reserve": reserve(free, "s"),
			"redeem what is reserved": named,
		} {
			if o := do(t, l, cmd); !errors.Is(o.Err, redemption.ErrDisputed) {
				t.Errorf("%s: %+v", name, o)
			}
		}
		if o := do(t, l, redeem(redeemed, "k")); o.Err != nil || !o.Repeated {
			t.Errorf("repeated: %+v", o)
		}
		tell(payment.NoticeDisputeWon, 1000, cs[0], cs[1])
		tell(payment.NoticeDisputeLost, 400, cs[2])
		for name, cmd := range map[string]redemption.Command{"won": redeem(free, "k"), "won, reserved": named} {
			if o := do(t, l, cmd); o.Err != nil {
				t.Errorf("%s: %v", name, o.Err)
			}
		}
		if o := do(t, l, redeem(lost, "k")); !errors.Is(o.Err, redemption.ErrDisputed) {
			t.Errorf("lost: %+v", o)
		}
		l.Conserved(t, v)
	})
}

// Staff undo the redemption of an order whose money has gone back, or goes back: no till redeems it again, and it can
// be refunded, with its unit; at once, or with its payment.
func TestUnredeemedOnceTheMoneyIsBack(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.RefundsOn(t)
		v := l.redeemable(t, 9, voucher.Redemption{})
		cs := l.Paid(t, v, 4)
		for i, want := range []payment.State{payment.Refunded, payment.Refunding, payment.Stuck, payment.Closed} {
			c := cs[i]
			id, coupon := fmt.Sprintf("pay_%d", c.OrderID), l.coupon(t, c)
			do(t, l, redeem(coupon, "k"))
			back := payment.Notice{Kind: payment.NoticeRefund, PaymentID: id, Amount: 1000}
			back.Refund = payment.RefundNotice{Reference: "re" + id, State: payment.RefundDone}
			_, _, err := l.TakeRefund(t.Context(), back)
			nothingLeft := func() {
				t.Helper()
				if _, err := l.NothingLeft(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			closes := func() {
				t.Helper()
				act := order.PaymentAct{PaymentID: id, By: actOn(c, "c"+id).By, Why: "we gave it in cash"}
				if _, _, err := l.CloseRefund(t.Context(), act); err != nil {
					t.Fatal(err)
				}
			}
			if want != payment.Refunding {
				nothingLeft()
			}
			if err == nil && (want == payment.Stuck || want == payment.Closed) {
				back.Refund.State = payment.RefundFailed
				_, _, err = l.TakeRefund(t.Context(), back)
			}
			if err != nil {
				t.Fatal(err)
			}
			if want == payment.Closed {
				closes()
			}
			if _, err := l.Unredeem(t.Context(), actOn(c, "u"+id)); err != nil || l.ReadPayment(t, id) != want {
				t.Fatalf("%s: %v; the payment is %s", want, err, l.ReadPayment(t, id))
			}
			if o := do(t, l, redeem(coupon, "k2")); !errors.Is(o.Err, redemption.ErrVoid) {
				t.Errorf("%s: redeemed again: %+v", want, o)
			}
			if _, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); err != nil {
				t.Errorf("%s: asked for a refund: %v", want, err)
			}
			switch want {
			case payment.Refunding:
				nothingLeft()
			case payment.Stuck:
				closes()
			default:
			}
			if o := l.ReadOrder(t, c.OrderID); o.Status != order.Refunded {
				t.Errorf("%s: in the end the order is %s", want, o.Status)
			}
		}
		l.ApplyAll(t, v)
		l.Conserved(t, v)
	})
}

// A dispute that comes while a till redeems waits for it, or the till for the dispute: never does a till redeem what is
// disputed already.
func TestDisputeAndTillAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.redeemable(t, 9, voucher.Redemption{})
		for i, c := range l.Paid(t, v, 5) {
			coupon := l.coupon(t, c)
			var outcome redemption.Outcome
			var disputed order.Order
			errTill, errNotice := ledgertest.Both(func() error {
				got, err := l.Do(t.Context(), []redemption.Command{redeem(coupon, "k")})
				if err == nil {
					outcome = got[0]
				}
				return err
			}, func() (err error) {
				_, disputed, err = l.TakeNotice(t.Context(), payment.Notice{
					Kind: payment.NoticeDisputed, PaymentID: fmt.Sprintf("pay_%d", c.OrderID), Amount: 1000,
				})
				return err
			})
			if errTill != nil || errNotice != nil {
				t.Fatalf("%v, %v", errTill, errNotice)
			}
			if first := disputed.Status == order.Paid; first != errors.Is(outcome.Err, redemption.ErrDisputed) {
				t.Errorf("%d: the dispute saw the order %s, and the till %v", i, disputed.Status, outcome.Err)
			}
		}
	})
}
