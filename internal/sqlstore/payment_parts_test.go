package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// asksPart has staff send a part of a payment back.
func (l ledger) asksPart(t *testing.T, id, key string, cents int64) (payment.Payment, order.Order, error) {
	t.Helper()
	return l.RefundPart(t.Context(), onPayment(id, "refund", key), cents)
}

// refunds returns the refunds of a payment as "amount state origin".
func (l ledger) refunds(t *testing.T, id string) string {
	t.Helper()
	all, err := l.RefundsOf(t.Context(), []string{id})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{}
	for _, r := range all[id] {
		texts = append(texts, fmt.Sprint(r.Amount, " ", r.State, " ", r.Origin))
	}
	return strings.Join(texts, "; ")
}

// sends gives a refund to a provider that answers so.
func (l ledger) sends(t *testing.T, id, refund string, state payment.RefundState) (payment.Payment, order.Order) {
	t.Helper()
	_, r, due, err := l.SendRefund(t.Context(), id, refund)
	if err != nil || !due || r.SentAt.IsZero() {
		t.Fatalf("%+v, due %t, %v", r, due, err)
	}
	p, o, err := l.RefundAnswered(t.Context(), id, r.ID, payment.Outcome{State: state, Reason: "the bank says no"})
	if err != nil {
		t.Fatal(err)
	}
	return p, o
}

// A part goes back while the order stays paid; all that is left goes back with the order, whose unit then is back.
func TestRefundPart(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		told := l.news()
		c := l.Paid(t, v, 1)[0]
		id := fmt.Sprintf("pay_%d", c.OrderID)
		for _, format := range []string{"1.1", "1"} { // the word is raised before the last of them is known to be gone
			l.Exec(t, "UPDATE tb_format SET format = ?", format)
			if _, _, err := l.asksPart(t, id, "a", 300); !errors.Is(err, order.ErrUpgrading) {
				t.Fatalf("beside a version without refunds, format %s: %v", format, err)
			}
		}
		l.RefundsOn(t)
		if p, o, err := l.asksPart(t, id, "a", 300); err != nil || p.State != payment.Received ||
			o.Status != order.Paid || !o.HasRefunds {
			t.Fatalf("%+v, %+v, %v", p, o, err)
		}
		if _, _, err := l.asksPart(t, id, "a", 300); err == nil {
			t.Error("one key asks twice")
		}
		var left *payment.LeftError
		if _, _, err := l.asksPart(t, id, "b", 701); !errors.As(err, &left) || left.Left != 700 {
			t.Errorf("more than is left: %v", err)
		}
		asked, err := l.RefundsIn(t.Context(), payment.RefundAsked, payment.OriginPart, 9)
		if err != nil || len(asked) != 1 || asked[0].Amount != 300 || asked[0].Actor != "admin 7" {
			t.Fatalf("%+v, %v", asked, err)
		}
		for range 2 {
			p, o := l.sendsOnce(t, id, asked[0].ID, payment.RefundPending)
			if o.Status != order.Paid || p.Returned != 0 || p.Kept() != 1000 {
				t.Errorf("on its way: %+v of %+v", p, o)
			}
		}
		for range 2 { // the notice, twice
			p, o, err := l.TakeRefund(t.Context(), payment.Notice{
				Kind: payment.NoticeRefund, PaymentID: id, Amount: 300,
				Refund: payment.RefundNotice{ID: asked[0].ID, Reference: "re_1", State: payment.RefundDone},
			})
			if err != nil || o.Status != order.Paid || p.Returned != 300 || p.RefundedAmount() != 300 ||
				p.Kept() != 700 {
				t.Errorf("back: %+v of %+v, %v", p, o, err)
			}
		}
		// All that is left.
		if p, o, err := l.asksPart(t, id, "c", 700); err != nil || p.State != payment.Refunding ||
			o.Status != order.Refunding {
			t.Fatalf("%+v, %+v, %v", p, o, err)
		}
		if p, o := l.sends(t, id, "", payment.RefundPending); p.State != payment.Refunding ||
			o.Status != order.Refunded {
			t.Errorf("the rest is on its way: %+v of %+v", p, o)
		}
		l.ApplyAll(t, v)
		l.Conserved(t, v)
		if due, err := l.Refunding(t.Context(), 9); err != nil || len(due) != 0 {
			t.Errorf("asked again: %+v, %v", due, err)
		}
		p, o, err := l.RefundAnswered(t.Context(), id, id, payment.Outcome{State: payment.RefundDone})
		if err != nil || p.State != payment.Refunded || o.Status != order.Refunded || p.Kept() != 0 {
			t.Errorf("the rest is back: %+v of %+v, %v", p, o, err)
		}
		if got, want := l.refunds(t, id), "300 done part; 700 done all"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		// The bank sends it back, days later: the order takes no unit again.
		failed := payment.Outcome{State: payment.RefundFailed, Reason: "closed"}
		p, o, err = l.RefundAnswered(t.Context(), id, id, failed)
		if err != nil || p.State != payment.Stuck || o.Status != order.Refunded || p.Refusal != "closed" ||
			p.Kept() != 700 {
			t.Errorf("failed later: %+v of %+v, %v", p, o, err)
		}
		p, _, err = l.RetryRefund(t.Context(), onPayment(id, "retry", "r"))
		if err != nil || p.State != payment.Refunding {
			t.Errorf("retried: %+v, %v", p, err)
		}
		if p, o := l.sends(t, id, "", payment.RefundDone); p.State != payment.Refunded || o.Status != order.Refunded {
			t.Errorf("the second time: %+v of %+v", p, o)
		}
		if got, want := l.refunds(t, id), "300 done part; 700 failed all; 700 done all"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		l.Conserved(t, v)
		if !slices.Contains(*told, "3 refund: received") || !slices.ContainsFunc(*told, func(s string) bool {
			return strings.HasSuffix(s, "returned: received")
		}) {
			t.Errorf("told %q", *told)
		}
		if got := l.audited(t, v, voucher.PartRefunded); len(got) != 2 ||
			!strings.Contains(got[0]+got[1], "{refundAmount  300}") {
			t.Errorf("audited %q", got)
		}
	})
}

// A refund that fails once its payment is refunded, a part or one begun at the provider, leaves the payment stuck. What
// is missing is sent when staff retry, also after other notices; or they close it.
func TestRefundFailsOnceAllIsBack(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.RefundsOn(t)
		tell := func(t *testing.T, id string, state payment.RefundState) {
			t.Helper()
			n := payment.Notice{Kind: payment.NoticeRefund, PaymentID: id, Amount: 300, Reason: "the account is closed"}
			n.Refund = payment.RefundNotice{Reference: "re" + id, State: state}
			if _, _, err := l.TakeRefund(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		for name, begin := range map[string]func(t *testing.T, id string) (fail func()){
			"a part": func(t *testing.T, id string) func() {
				t.Helper()
				if _, _, err := l.asksPart(t, id, "a"+id, 300); err != nil {
					t.Fatal(err)
				}
				l.sends(t, id, id+"-1", payment.RefundDone)
				return func() {
					_, _, err := l.RefundAnswered(t.Context(), id, id+"-1",
						payment.Outcome{State: payment.RefundFailed, Reason: "the account is closed"})
					if err != nil {
						t.Fatal(err)
					}
				}
			},
			"at the provider": func(t *testing.T, id string) func() {
				t.Helper()
				tell(t, id, payment.RefundDone)
				return func() { tell(t, id, payment.RefundFailed) }
			},
		} {
			t.Run(name, func(t *testing.T) {
				for _, retried := range []bool{true, false} {
					c := l.Paid(t, l.Seckill(t, 10), 1)[0]
					id := fmt.Sprintf("pay_%d", c.OrderID)
					fail := begin(t, id)
					if _, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); err != nil {
						t.Fatal(err)
					}
					l.confirmAll(t)
					l.isAs(t, "all is back", id, payment.Refunded, c, order.Refunded)
					fail()
					for _, kind := range []payment.NoticeKind{payment.NoticeDisputed, payment.NoticeDisputeWon} {
						l.told(t, payment.Notice{Kind: kind, PaymentID: id, Amount: 1000})
					}
					p, err := l.Payment(t.Context(), id)
					if err != nil || p.State != payment.Stuck || p.Kept() != 300 || !p.RefundedAt.IsZero() ||
						p.Refusal != "the account is closed" {
						t.Fatalf("it has failed: %+v, %v", p, err)
					}
					if !retried {
						if p, o, err := l.closes(t, id, "c"+id); err != nil || p.State != payment.Closed ||
							o.Status != order.Refunded {
							t.Errorf("closed: %+v of %+v, %v", p, o, err)
						}
						continue
					}
					if _, err := l.retries(t, id, "r"+id); err != nil {
						t.Fatal(err)
					}
					_, r, due, err := l.SendRefund(t.Context(), id, "")
					if err != nil || !due || r.Amount != 300 {
						t.Errorf("sent again: %+v, %t, %v", r, due, err)
					}
					if p, _ := l.sends(t, id, "", payment.RefundDone); p.State != payment.Refunded || p.Kept() != 0 {
						t.Errorf("in the end: %+v; %s", p, l.refunds(t, id))
					}
				}
			})
		}
	})
}

// All of the money of an order whose coupon was used goes back without the order, which stays as it is.
func TestRefundPartOfSpentOrder(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		c := l.Paid(t, v, 1)[0]
		id := fmt.Sprintf("pay_%d", c.OrderID)
		l.RefundsOn(t)
		l.Transitioned(t, c, order.Redeem)
		if p, o, err := l.asksPart(t, id, "a", 1000); err != nil || p.State != payment.Received ||
			o.Status != order.Redeemed {
			t.Fatalf("%+v of %+v, %v", p, o, err)
		}
		asked, err := l.RefundsIn(t.Context(), payment.RefundAsked, payment.OriginPart, 9)
		if err != nil || len(asked) != 1 {
			t.Fatalf("%+v, %v", asked, err)
		}
		l.sends(t, id, asked[0].ID, payment.RefundDone)
		_, r, due, err := l.SendRefund(t.Context(), id, "")
		if err != nil || !due || r.Amount != 0 {
			t.Fatalf("%+v, due %t, %v", r, due, err)
		}
		if o, err := l.Refunded(t.Context(), id, id, ""); err != nil || o.Status != order.Redeemed {
			t.Errorf("%+v, %v", o, err)
		}
		if p := l.ReadPayment(t, id); p != payment.Refunded {
			t.Errorf("the payment is %s", p)
		}
		if got, want := l.refunds(t, id), "1000 done part"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		l.Conserved(t, v)
	})
}

// A notice that names a refund by the provider's own id, which the service knows from the answer, counts it once.
func TestNoticeAfterRefund(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		c := l.Paid(t, v, 1)[0]
		id := fmt.Sprintf("pay_%d", c.OrderID)
		if _, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Refunded(t.Context(), id, id, "re_1"); err != nil {
			t.Fatal(err)
		}
		p, o, err := l.TakeRefund(t.Context(), payment.Notice{
			Kind: payment.NoticeRefund, PaymentID: id, Amount: 1000,
			Refund: payment.RefundNotice{Reference: "re_1", State: payment.RefundDone},
		})
		if err != nil || p.Kept() != 0 || p.Returned != 1000 || o.Status != order.Refunded {
			t.Errorf("%+v of %+v, %v", p, o, err)
		}
		if got, want := l.refunds(t, id), "1000 done all"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// sendsOnce sends a part, unless its provider has taken it.
func (l ledger) sendsOnce(t *testing.T, id, refund string, state payment.RefundState) (payment.Payment, order.Order) {
	t.Helper()
	if _, _, due, err := l.SendRefund(t.Context(), id, refund); err != nil {
		t.Fatal(err)
	} else if due {
		return l.sends(t, id, refund, state)
	}
	p, o, err := l.RefundAnswered(t.Context(), id, refund, payment.Outcome{State: state})
	if err != nil {
		t.Fatal(err)
	}
	return p, o
}

// A part that its provider refuses needs staff, who have it asked for again, or close it; the order stays paid.
func TestFailedPart(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.RefundsOn(t)
		v := l.Seckill(t, 10)
		c := l.Paid(t, v, 1)[0]
		id := fmt.Sprintf("pay_%d", c.OrderID)
		if _, _, err := l.asksPart(t, id, "a", 300); err != nil {
			t.Fatal(err)
		}
		part := id + "-1"
		if p, o := l.sends(t, id, part, payment.RefundFailed); p.State != payment.Received || o.Status != order.Paid ||
			p.Returned != 0 {
			t.Errorf("refused: %+v of %+v", p, o)
		}
		needs := func(want int64) {
			t.Helper()
			n, err := l.NeedStaff(t.Context())
			found, listErr := l.FindPayments(t.Context(), payment.Filter{Refund: payment.RefundFailed}, 1<<62, 9)
			if err != nil || listErr != nil || n.FailedParts != want || len(found) != int(want) {
				t.Errorf("need staff %+v, %v; listed %d, %v; want %d", n, err, len(found), listErr, want)
			}
		}
		needs(1)
		p, _, err := l.RetryRefund(t.Context(), onPayment(id, "retry", "r"))
		if err != nil || p.State != payment.Received {
			t.Errorf("retried: %+v, %v", p, err)
		}
		needs(0)
		if got, want := l.refunds(t, id), "300 failed part; 300 asked part"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		l.sends(t, id, id+"-2", payment.RefundFailed)
		needs(1)
		p, o, err := l.CloseRefund(t.Context(), onPayment(id, "close", "c"))
		if err != nil || p.State != payment.Received || o.Status != order.Paid {
			t.Errorf("closed: %+v of %+v, %v", p, o, err)
		}
		needs(0)
		_, _, err = l.CloseRefund(t.Context(), onPayment(id, "close", "d"))
		if !isPaymentState(err, payment.Received) {
			t.Errorf("closed twice: %v", err)
		}
		if p, o, err := l.asksPart(t, id, "e", 1000); err != nil || p.State != payment.Refunding ||
			o.Status != order.Refunding {
			t.Errorf("all of it, after that: %+v of %+v, %v", p, o, err)
		}
	})
}

// The job finds that nothing is left to send, or its answer comes late, and before that is noted a notice changes what
// is left: only what the provider has sent is counted.
func TestNoticesBeforeTheAnswer(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.RefundsOn(t)
		notice := func(id, reference string, state payment.RefundState) payment.Notice {
			return payment.Notice{
				Kind: payment.NoticeRefund, PaymentID: id, Amount: 1000,
				Refund: payment.RefundNotice{Reference: reference, State: state},
			}
		}
		take := func(n payment.Notice) {
			t.Helper()
			if _, _, err := l.TakeRefund(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		pays := func() (id string) {
			t.Helper()
			c := l.Paid(t, l.Seckill(t, 10), 1)[0]
			if _, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("pay_%d", c.OrderID)
		}

		id := pays()
		lost := payment.Notice{Kind: payment.NoticeDisputeLost, PaymentID: id, Amount: 1000}
		if _, _, err := l.TakeNotice(t.Context(), lost); err != nil {
			t.Fatal(err)
		}
		if _, r, due, err := l.SendRefund(t.Context(), id, ""); err != nil || !due || r.Amount != 0 {
			t.Fatalf("%+v, %t, %v", r, due, err)
		}
		if _, err := l.NothingLeft(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if p, err := l.Payment(t.Context(), id); err != nil || p.Returned != 0 || p.State != payment.Refunded {
			t.Errorf("nothing was left: %+v, %v", p, err)
		}

		id = pays()
		if _, err := l.NothingLeft(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if p, err := l.Payment(t.Context(), id); err != nil || p.Returned != 0 || p.State != payment.Refunding {
			t.Errorf("something is left: %+v, %v", p, err)
		}
		if _, r, due, err := l.SendRefund(t.Context(), id, ""); err != nil || !due || r.Amount != 1000 {
			t.Fatalf("%+v, %t, %v", r, due, err)
		}
		take(notice(id, "re_own", payment.RefundDone)) // ours is given up, but the provider had taken it
		if _, err := l.Refunded(t.Context(), id, id, "re_ours"); err != nil {
			t.Fatal(err)
		}
		if p, err := l.Payment(t.Context(), id); err != nil || p.Returned != 2000 || p.State != payment.Refunded {
			t.Errorf("both have gone back: %+v, %v; %s", p, err, l.refunds(t, id))
		}
	})
}

// TestLateAnswer has an instance hear late that a provider had taken a refund: meanwhile that has failed after all, and
// staff have asked for another one. The answer does not end that.
func TestLateAnswer(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.RefundsOn(t)
		c := l.Paid(t, l.Seckill(t, 10), 1)[0]
		id := fmt.Sprintf("pay_%d", c.OrderID)
		if _, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); err != nil {
			t.Fatal(err)
		}
		_, first, due, err := l.SendRefund(t.Context(), id, "")
		if err != nil || !due {
			t.Fatal(due, err)
		}
		n := payment.Notice{Kind: payment.NoticeRefund, PaymentID: id, Amount: 1000, Reason: "the account is closed"}
		n.Refund = payment.RefundNotice{ID: first.ID, Reference: "re_1", State: payment.RefundFailed}
		if p, _, err := l.TakeRefund(t.Context(), n); err != nil || p.State != payment.Stuck {
			t.Fatalf("%+v, %v", p, err)
		}
		if _, _, err := l.RetryRefund(t.Context(), onPayment(id, "retry", "r")); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Refunded(t.Context(), id, first.ID, "re_1"); err != nil {
			t.Fatal(err)
		}
		_, second, due, err := l.SendRefund(t.Context(), id, "")
		if err != nil || !due || second.ID == first.ID || second.Amount != 1000 {
			t.Errorf("%+v is due %t, %v; %s", second, due, err, l.refunds(t, id))
		}
		if p, _ := l.sends(t, id, "", payment.RefundDone); p.State != payment.Refunded || p.Returned != 1000 {
			t.Errorf("the other one has gone back: %+v", p)
		}
	})
}

// TestAnswersTwice has two instances send the same refund, and hears the second one's answer late: after staff had
// another refund asked for in place of the refused one, or once a part beside the one that is done has failed.
func TestAnswersTwice(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.RefundsOn(t)
		for _, done := range []bool{false, true} {
			c := l.Paid(t, l.Seckill(t, 10), 1)[0]
			id := fmt.Sprintf("pay_%d", c.OrderID)
			if _, _, err := l.asksPart(t, id, "a"+id, 300); err != nil {
				t.Fatal(err)
			}
			l.sends(t, id, id+"-1", payment.RefundPending)
			if _, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); err != nil {
				t.Fatal(err)
			}
			if _, r, due, err := l.SendRefund(t.Context(), id, ""); err != nil || !due || r.ID != id {
				t.Fatalf("%+v, %t, %v", r, due, err)
			}
			answer, want := func() { l.refused(t, id, "no") }, "300 pending part; 700 failed all; 700 pending all"
			if done {
				answer, want = func() {
					if _, err := l.Refunded(t.Context(), id, id, "re"); err != nil {
						t.Fatal(err)
					}
				}, "300 failed part; 700 done all"
			}
			answer()
			if done {
				_, _, err := l.RefundAnswered(t.Context(), id, id+"-1", payment.Outcome{State: payment.RefundFailed})
				if err != nil {
					t.Fatal(err)
				}
			} else {
				if _, err := l.retries(t, id, "r"+id); err != nil {
					t.Fatal(err)
				}
				l.sends(t, id, "", payment.RefundPending)
			}
			answer()
			if got := l.refunds(t, id); got != want || l.ReadPayment(t, id) != payment.Refunding {
				t.Errorf("%s of one that is %s; want %s", got, l.ReadPayment(t, id), want)
			}
		}
	})
}

// A buyer asks for all while parts for all that is left are under way: nothing is due until one has failed, so that a
// hundred of them, which may be on their way for days, hold up no others.
func TestNothingIsDueBesideParts(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.RefundsOn(t)
		for _, last := range []payment.RefundState{payment.RefundDone, payment.RefundFailed} {
			c := l.Paid(t, l.Seckill(t, 10), 1)[0]
			id := fmt.Sprintf("pay_%d", c.OrderID)
			due := func(want int) {
				t.Helper()
				if found, err := l.Refunding(t.Context(), 9); err != nil || len(found) != want {
					t.Errorf("%+v are due, %v; want %d", found, err, want)
				}
			}
			if _, _, err := l.asksPart(t, id, "a"+id, 500); err != nil {
				t.Fatal(err)
			}
			n := payment.Notice{Kind: payment.NoticeRefund, PaymentID: id, Amount: 500}
			n.Refund = payment.RefundNotice{Reference: "re_own" + id, State: payment.RefundDone}
			if _, _, err := l.TakeRefund(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			if _, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); err != nil {
				t.Fatal(err)
			}
			due(0) // the part is asked for
			l.sends(t, id, id+"-1", payment.RefundPending)
			due(0)
			p, _, err := l.RefundAnswered(t.Context(), id, id+"-1", payment.Outcome{State: last})
			if err != nil {
				t.Fatal(err)
			}
			if last == payment.RefundDone {
				if due(0); p.State != payment.Refunded {
					t.Errorf("all has gone back: %+v", p)
				}
				continue
			}
			due(1)
			l.sends(t, id, "", payment.RefundPending)
			due(0)
			n.Refund.State = payment.RefundFailed
			if _, _, err := l.TakeRefund(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			due(0) // until the one of all that was left has arrived
			_, _, err = l.RefundAnswered(t.Context(), id, id, payment.Outcome{State: payment.RefundDone})
			if err != nil {
				t.Fatal(err)
			}
			due(1)
			if p, _ := l.sends(t, id, "", payment.RefundDone); p.State != payment.Refunded {
				t.Errorf("the rest has gone back: %+v", p)
			}
		}
	})
}

// All the rest goes back while a part is on its way: nothing is sent until that has arrived, or failed.
func TestRestGoesBackBeforeAPart(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.RefundsOn(t)
		for _, last := range []payment.RefundState{payment.RefundDone, payment.RefundFailed} {
			c := l.Paid(t, l.Seckill(t, 10), 1)[0]
			id := fmt.Sprintf("pay_%d", c.OrderID)
			due := func(want ...string) {
				t.Helper()
				found, err := l.Refunding(t.Context(), 9)
				ids := []string{}
				for _, p := range found {
					ids = append(ids, p.ID)
				}
				if err != nil || !slices.Equal(ids, want) {
					t.Errorf("due are %q, %v; want %q", ids, err, want)
				}
			}
			if _, _, err := l.asksPart(t, id, "a"+id, 300); err != nil {
				t.Fatal(err)
			}
			l.sends(t, id, id+"-1", payment.RefundPending)
			if _, _, err := l.asksPart(t, id, "b"+id, 700); err != nil {
				t.Fatal(err)
			}
			due(id)
			if _, r, send, err := l.SendRefund(t.Context(), id, ""); err != nil || !send || r.Amount != 700 {
				t.Fatalf("%+v, %t, %v", r, send, err)
			}
			if _, err := l.Refunded(t.Context(), id, id, "re"); err != nil {
				t.Fatal(err)
			}
			due()
			p, _, err := l.RefundAnswered(t.Context(), id, id+"-1", payment.Outcome{State: last})
			if err != nil {
				t.Fatal(err)
			}
			if last == payment.RefundDone {
				if due(); p.State != payment.Refunded {
					t.Errorf("all has arrived: %+v", p)
				}
				continue
			}
			due(id)
			if p, _ := l.sends(t, id, "", payment.RefundDone); p.State != payment.Refunded {
				t.Errorf("the rest of it: %+v", p)
			}
		}
	})
}

// A provider tells of refunds that it has begun by itself, in any order and repeatedly; a total before takes no part in
// the sum twice.
func TestRefundNotices(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.RefundsOn(t)
		v := l.Seckill(t, 10)
		c := l.Paid(t, v, 1)[0]
		id := fmt.Sprintf("pay_%d", c.OrderID)
		tell := func(reference string, cents int64, state payment.RefundState) (payment.Payment, order.Order) {
			t.Helper()
			p, o, err := l.TakeRefund(t.Context(), payment.Notice{
				Kind: payment.NoticeRefund, PaymentID: id, Amount: cents,
				Refund: payment.RefundNotice{Reference: reference, State: state},
			})
			if err != nil {
				t.Fatal(err)
			}
			return p, o
		}
		l.told(t, payment.Notice{Kind: payment.NoticeReturned, PaymentID: id, Amount: 300})
		for range 2 {
			if p, _ := tell("re_1", 300, payment.RefundDone); p.Returned != 300 {
				t.Errorf("the total's: %+v", p)
			}
		}
		tell("re_2", 200, payment.RefundFailed)
		if p, _ := tell("re_2", 200, payment.RefundPending); p.Returned != 300 {
			t.Errorf("late news of one that has failed: %+v", p)
		}
		if _, _, err := l.TakeRefund(t.Context(), payment.Notice{
			Kind: payment.NoticeRefund, PaymentID: id, Amount: 301,
			Refund: payment.RefundNotice{Reference: "re_1", State: payment.RefundDone},
		}); !errors.Is(err, payment.ErrWrongAmount) {
			t.Errorf("another amount: %v", err)
		}
		p, o := tell("re_3", 700, payment.RefundDone)
		if p.State != payment.Refunding || o.Status != order.Refunding || p.Kept() != 0 {
			t.Errorf("all of it: %+v of %+v", p, o)
		}
		l.confirmAll(t)
		l.ApplyAll(t, v)
		l.isAs(t, "in the end", id, payment.Refunded, c, order.Refunded)
		if got, want := l.refunds(t, id), "300 done provider; 200 failed provider; 700 done provider"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		l.Conserved(t, v)
	})
}

// Beside a version without refunds both ask for the same refund, under the payment's id; whichever notes that it is
// through, the refunds and the payment's own sum say the same.
func TestRefundsBesideVersionsWithout(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := l.Paid(t, v, 4)
		id := func(i int) string { return fmt.Sprintf("pay_%d", cs[i].OrderID) }
		for i, c := range cs {
			if i == 3 { // asked for by the other version: there is no refund
				l.Exec(t, "UPDATE tb_payment SET state = 4, refunding_time = create_time WHERE id = ?", id(i))
				l.Exec(t, "UPDATE tb_voucher_order SET status = 5, refunding_time = create_time WHERE id = ?",
					c.OrderID)
			} else if _, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); err != nil {
				t.Fatal(err)
			}
			_, r, due, err := l.SendRefund(t.Context(), id(i), "")
			if err != nil || !due || r.ID != id(i) || r.Amount != 1000 {
				t.Fatalf("%d: sent as %+v, due %t, %v", i, r, due, err)
			}
		}
		// The other version has noted that one is through; at the next the provider has told it a total meanwhile.
		l.Exec(t, "UPDATE tb_payment SET state = 5, returned = 1000, refund_time = create_time, "+
			"return_time = create_time WHERE id = ?", id(0))
		l.Exec(t, "UPDATE tb_payment SET returned = 300, return_time = create_time WHERE id = ?", id(1))
		_, r, due, err := l.SendRefund(t.Context(), id(1), "")
		if err != nil || !due || r.ID != id(1) || r.Amount != 700 {
			t.Errorf("what is left is sent as %+v, due %t, %v", r, due, err)
		}
		// The provider refuses the third for good; the other version has it asked for again, and closes it.
		l.refused(t, id(2), "no")
		l.Exec(t, "UPDATE tb_payment SET state = 4, stuck_time = NULL, refusal = '' WHERE id = ?", id(2))
		if _, r, due, err = l.SendRefund(t.Context(), id(2), ""); err != nil || !due || r.ID != id(2) {
			t.Errorf("asked for again as %+v, due %t, %v", r, due, err)
		}
		if _, _, _, err := l.SendRefund(t.Context(), id(0), ""); err != nil {
			t.Error(err)
		}
		l.confirmAll(t)
		l.ApplyAll(t, v)
		for i, want := range []string{
			"1000 asked all", "700 done all; 300 done earlier", "1000 done all", "1000 done all",
		} {
			if i == 0 { // it is adopted once something happens to it
				l.told(t, payment.Notice{Kind: payment.NoticeDisputed, PaymentID: id(0), Amount: 1})
				want = "1000 done all"
			}
			p, err := l.Payment(t.Context(), id(i))
			if got := l.refunds(t, id(i)); got != want || err != nil || p.Returned != 1000 ||
				p.State != payment.Refunded {
				t.Errorf("%d: %s of %+v, %v; want %s", i, got, p, err, want)
			}
		}
		l.Conserved(t, v)
		if migrated, err := l.Schema().Word(t.Context()); err != nil || !strings.HasPrefix(migrated, "1/") {
			t.Errorf("the ledger's format is %q, %v", migrated, err)
		}
	})
}

// The open payments of an order that has ended, or was paid by another one, are to be cancelled at their providers.
func TestPaymentsToCancel(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := l.NewOrders(t, v, 4)
		open := func(i int, id string) payment.Payment { return l.opens(t, cs[i], id, "bank") }
		cancelled, paid, expired, goes := open(0, "cancelled"), open(1, "paid"), open(2, "expired"), open(3, "goes on")
		l.Exec(t, "UPDATE tb_payment SET provider = 'other' WHERE id = ?", paid.ID)
		other := open(1, "other")
		l.Transitioned(t, cs[0], order.Cancel)
		l.Receives(t, other)
		l.Due(t, -time.Hour, cs[2])
		if _, err := l.ExpireDue(t.Context(), 1, 9); err != nil {
			t.Fatal(err)
		}
		list := func(want ...string) {
			t.Helper()
			found, err := l.ToCancel(t.Context(), 9)
			got := []string{}
			for _, p := range found {
				got = append(got, p.ID)
			}
			slices.Sort(got)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("to cancel %q, %v; want %q", got, err, want)
			}
		}
		list("cancelled", "expired", "paid")
		for range 2 {
			if err := l.Cancelled(t.Context(), cancelled.ID); err != nil {
				t.Error(err)
			}
		}
		list("expired", "paid")
		// One that begins while its order ends is to be cancelled, too.
		l.Transitioned(t, cs[3], order.Cancel)
		if err := l.Cancelled(t.Context(), goes.ID); err != nil {
			t.Error(err)
		}
		if err := l.Begun(t.Context(), goes.ID, "chk_1"); err != nil {
			t.Error(err)
		}
		list("expired", "goes on", "paid")
		_ = expired
	})
}
