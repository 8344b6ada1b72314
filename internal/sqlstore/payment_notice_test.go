package sqlstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"seckill/internal/order"
	"seckill/internal/order/payment"
)

// told passes a notice on as the service does.
func (l ledger) told(t *testing.T, n payment.Notice) (payment.Payment, order.Order) {
	t.Helper()
	take := l.TakeNotice
	if n.Kind == payment.NoticePaid {
		take = l.Receive
	}
	p, o, err := take(t.Context(), n)
	if err != nil {
		t.Fatalf("%+v: %v", n, err)
	}
	return p, o
}

// confirmAll confirms all refunds that have nothing left to send, and of the others those that a provider would send.
func (l ledger) confirmAll(t *testing.T) {
	t.Helper()
	due, err := l.Refunding(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range due {
		if p.Dispute == payment.DisputeOpen {
			t.Errorf("%+v is to go back while it is disputed", p)
		}
		if _, err := l.Refunded(t.Context(), p.ID, p.ID, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// What a notice does to a payment and its order.
func TestTakeNotice(t *testing.T) {
	const by = "%s by payment provider: %s"
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 100)
		cs := l.Paid(t, v, 12)
		user := 0
		for name, tc := range map[string]struct {
			from    order.Status
			kind    payment.NoticeKind
			cents   int64
			status  order.Status
			payment payment.State
			history string
		}{
			"a part": {
				order.Paid, payment.NoticeReturned, 300, order.Paid, payment.Received,
				fmt.Sprintf(by, "paid", "MONEY_RETURNED_IN_PART"),
			},
			"all": {
				order.Paid, payment.NoticeReturned, 1000, order.Refunding, payment.Refunding,
				fmt.Sprintf(by, "refunding", "MONEY_RETURNED"),
			},
			"disputed": {
				order.Paid, payment.NoticeDisputed, 1000, order.Paid, payment.Received,
				fmt.Sprintf(by, "paid", "DISPUTE_OPENED"),
			},
			"won": {
				order.Paid, payment.NoticeDisputeWon, 1000, order.Paid, payment.Received,
				fmt.Sprintf(by, "paid", "DISPUTE_WON"),
			},
			"lost in part": {
				order.Paid, payment.NoticeDisputeLost, 400, order.Paid, payment.Received,
				fmt.Sprintf(by, "paid", "DISPUTE_LOST"),
			},
			"lost": {
				order.Paid, payment.NoticeDisputeLost, 1000, order.Refunding, payment.Refunding,
				fmt.Sprintf(by, "refunding", "DISPUTE_LOST"),
			},
			"redeemed, and all back": {
				order.Redeemed, payment.NoticeReturned, 1000, order.Redeemed, payment.Refunding,
				fmt.Sprintf(by, "redeemed", "MONEY_RETURNED"),
			},
			"lapsed, and lost": {
				order.Lapsed, payment.NoticeDisputeLost, 1000, order.Lapsed, payment.Refunding,
				fmt.Sprintf(by, "lapsed", "DISPUTE_LOST"),
			},
		} {
			c := cs[user]
			user++
			id := fmt.Sprintf("pay_%d", c.OrderID)
			l.Force(t, tc.from, c.OrderID)
			before := l.ReadHistory(t, c.OrderID)
			n := payment.Notice{Kind: tc.kind, PaymentID: id, Amount: tc.cents}
			var number int64
			for i := range 2 { // the second is a repetition
				p, o := l.told(t, n)
				if p.State != tc.payment || o.Status != tc.status {
					t.Errorf("%s: %s, order %s", name, p.State, o.Status)
				}
				if got := l.ReadHistory(t, c.OrderID); got != before+tc.history+"\n" && got != before+"\n"+tc.history {
					t.Errorf("%s: the history\n%s\nwant added\n%s", name, got, tc.history)
				}
				if i == 1 && o.Number() != number {
					t.Errorf("%s: a repetition has taken the order from event %d to %d", name, number, o.Number())
				}
				number = o.Number()
			}
			l.Force(t, tc.status, c.OrderID)
		}
		l.confirmAll(t)
		l.Conserved(t, v)
		if _, _, err := l.TakeNotice(t.Context(), payment.Notice{
			Kind: payment.NoticeReturned, PaymentID: "pay_0", Amount: 1,
		}); !errors.Is(err, payment.ErrNotFound) {
			t.Errorf("an unknown payment: %v", err)
		}
		for _, cents := range []int64{0, 1001} {
			if _, _, err := l.TakeNotice(t.Context(), payment.Notice{
				Kind: payment.NoticeDisputed, PaymentID: fmt.Sprintf("pay_%d", cs[11].OrderID), Amount: cents,
			}); !errors.Is(err, payment.ErrWrongAmount) {
				t.Errorf("%d cents: %v", cents, err)
			}
		}
	})
}

// A disputed payment is not sent back: neither when its owner asks, nor by the job, until the dispute is decided.
func TestDisputedIsNotRefunded(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		c := l.Paid(t, l.Seckill(t, 10), 1)[0]
		tell := func(k payment.NoticeKind) {
			t.Helper()
			l.told(t, payment.Notice{Kind: k, PaymentID: fmt.Sprintf("pay_%d", c.OrderID), Amount: 1000})
		}
		tell(payment.NoticeDisputed)
		if _, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); !errors.Is(err, payment.ErrDisputed) {
			t.Errorf("a refund of a disputed payment: %v", err)
		}
		tell(payment.NoticeDisputeWon)
		if o, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); err != nil || o.Status != order.Refunding {
			t.Fatalf("once it is decided: %+v, %v", o, err)
		}
		if due, err := l.Refunding(t.Context(), 9); err != nil || len(due) != 1 || due[0].Rest() != 1000 {
			t.Errorf("%+v, %v", due, err)
		}
	})
}

// Money that comes late and has gone back by the time that there is a unit for it pays for nothing in the end; neither
// does money whose return is told first.
func TestLateMoneyThatHasGone(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := l.NewOrders(t, v, 2)
		for i, c := range cs {
			p := l.Pays(t, c)
			paid := payment.Notice{PaymentID: p.ID, Amount: 1000}
			back := payment.Notice{Kind: payment.NoticeReturned, PaymentID: p.ID, Amount: 1000}
			if i == 0 {
				l.Transitioned(t, c, order.Cancel)
				l.ApplyAll(t, v)
				l.told(t, paid)
				l.told(t, back)
			} else {
				l.told(t, back)
				l.told(t, paid)
			}
			l.ApplyAll(t, v)
			l.confirmAll(t)
			l.ApplyAll(t, v)
			if o := l.ReadOrder(t, c.OrderID); o.Status == order.Paid {
				t.Errorf("%d: the order is %s", i, o.Status)
			}
			if got := l.ReadPayment(t, p.ID); got != payment.Refunded {
				t.Errorf("%d: the payment is %s", i, got)
			}
		}
		l.Conserved(t, v)
	})
}

// facts are what a provider has to tell about one payment, once it is over.
func facts(random *rand.Rand, id string) []payment.Notice {
	of := func(k payment.NoticeKind, cents int64) payment.Notice {
		return payment.Notice{Kind: k, PaymentID: id, Amount: cents}
	}
	told := []payment.Notice{of(payment.NoticePaid, 1000)}
	if part := random.Int64N(3) * 500; part > 0 {
		told = append(told, of(payment.NoticeReturned, 1+random.Int64N(part)), of(payment.NoticeReturned, part))
	}
	switch random.IntN(4) {
	case 0:
		told = append(told, of(payment.NoticeDisputed, 500))
	case 1:
		told = append(told, of(payment.NoticeDisputed, 500), of(payment.NoticeDisputeWon, 500))
	case 2:
		told = append(told, of(payment.NoticeDisputed, 500), of(payment.NoticeDisputeLost, 500))
	default:
	}
	for range random.IntN(3) {
		told = append(told, told[random.IntN(len(told))])
	}
	random.Shuffle(len(told), func(i, j int) { told[i], told[j] = told[j], told[i] })
	return told
}

// Whatever a provider tells of payments, in whatever order and however often, while their orders are paid late, twice,
// and refunded: in the end the ledger has each cent where the provider has it, and no unit is lost.
func TestNoticesInAnyOrder(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		random := rand.New(rand.NewPCG(7, 9))
		const orders = 60
		v := l.Seckill(t, 2*orders)
		var all [][]payment.Notice
		for i, c := range l.NewOrders(t, v, orders) {
			pays := 1
			if i%5 == 0 {
				pays = 2
			}
			for j := range pays {
				p, err := l.OpenPayment(t.Context(), c.UserID, c.OrderID, fmt.Sprintf("pay_%d_%d", i, j),
					[]string{fmt.Sprintf("bank%d", j)})
				if err != nil {
					t.Fatal(err)
				}
				l.Exec(t, "UPDATE tb_payment SET provider = '' WHERE id = ?", p.ID)
				if j+1 < pays { // the next one finds no open one
					l.Exec(t, "UPDATE tb_payment SET provider = 'other' WHERE id = ?", p.ID)
				}
				all = append(all, facts(random, p.ID))
			}
			if i%3 == 0 {
				l.Transitioned(t, c, order.Cancel)
			}
		}
		l.Exec(t, "UPDATE tb_payment SET provider = ''")
		l.ApplyAll(t, v)
		for left := true; left; {
			left = false
			for i := range all {
				if len(all[i]) > 0 {
					l.told(t, all[i][0])
					all[i], left = all[i][1:], true
				}
			}
			l.ApplyAll(t, v)
			l.confirmAll(t)
		}
		l.confirmAll(t)
		l.ApplyAll(t, v)
		l.Conserved(t, v)
		l.eachPaymentSettled(t, v)
	})
}

// eachPaymentSettled checks the payments of a voucher once everything was told.
func (l ledger) eachPaymentSettled(t *testing.T, v int64) {
	t.Helper()
	payments, err := l.PaymentsAfter(t.Context(), payment.Filter{VoucherID: v}, payment.Payment{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	accepted := map[int64]payment.Payment{}
	states := map[payment.State]int{}
	for _, p := range payments {
		states[p.State]++
		switch {
		case p.State == payment.Received && p.AllGone(),
			p.State == payment.Refunded && !p.AllGone(),
			p.State == payment.Refunding && p.Dispute != payment.DisputeOpen,
			p.State == payment.Open, p.State == payment.Late:
			t.Errorf("in the end: %+v", p)
		case p.State == payment.Received:
			accepted[p.OrderID] = p
		}
		if o := l.ReadOrder(t, p.OrderID); o.Status == order.Paid && p.State == payment.Received {
			delete(accepted, p.OrderID)
		}
	}
	for id, p := range accepted {
		t.Errorf("order %d is %s, and its payment %+v", id, l.ReadOrder(t, id).Status, p)
	}
	if states[payment.Received] < 5 || states[payment.Refunded] < 5 {
		t.Errorf("hardly anything has happened: %v", states)
	}
	t.Logf("%v", states)
}
