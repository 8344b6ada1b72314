package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"seckill/internal/order/payment"
	"seckill/internal/order/service"
)

// clearingName is what payments call the clearing house.
const clearingName = "clearing"

// clearing is a provider whose refunds may take days: it tells of each one by itself. It may not be reached, loses its
// answers, and refuses some for good. It keeps to its ids: asking twice takes effect once. It is silent about a refund
// three times in a row at most, because the shop waits twice as long each time.
type clearing struct {
	t    *testing.T
	calm bool // it takes each refund at once

	mu      sync.Mutex
	random  *rand.Rand
	charges map[string]*charge // by payment
	own     int                // refunds that it has begun itself
	silent  map[string]int     // how often it was silent about a refund in a row
}

// charge is what it knows of a payment.
type charge struct {
	paid, lost int64
	disputed   bool
	refunds    map[string]*cleared // by our id, or by its own
	ids        []string            // in the order in which they began
}

// cleared is one refund.
type cleared struct {
	cents     int64
	state     payment.RefundState
	reference string
	ours      bool // the service has asked for it
}

func openClearing(t *testing.T) *clearing {
	return &clearing{t: t, random: rand.New(rand.NewPCG(5, 8)), charges: map[string]*charge{}, silent: map[string]int{}}
}

var (
	errLost   = errors.New("the clearing house does not answer")
	errNotNow = errors.New("not so much is left of the charge, or it is disputed")
)

// of returns the charge of a payment. The caller has the lock.
func (c *clearing) of(id string) *charge {
	if c.charges[id] == nil {
		c.charges[id] = &charge{refunds: map[string]*cleared{}}
	}
	return c.charges[id]
}

// charge describes what the provider knows of a payment.
func (c *clearing) charge(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.of(id)
	text := fmt.Sprintf("paid %d, lost %d, disputed %t", of.paid, of.lost, of.disputed)
	for _, name := range of.ids {
		text += fmt.Sprintf(", %s %+v", name, *of.refunds[name])
	}
	return text
}

// sum returns the cents of the refunds in any of the states.
func (c *charge) sum(states ...payment.RefundState) (cents int64) {
	for _, r := range c.refunds {
		for _, s := range states {
			if r.state == s {
				cents += r.cents
			}
		}
	}
	return cents
}

// has reports whether so much can be sent back.
func (c *charge) has(cents int64) bool {
	return !c.disputed && c.sum(payment.RefundPending, payment.RefundDone)+c.lost+cents <= c.paid
}

// Begin implements service.Provider.
func (c *clearing) Begin(context.Context, payment.Beginning) (service.Checkout, error) {
	return service.Checkout{URL: "https://clearing.example"}, nil
}

// Cancel implements service.Provider: buyers may still pay, since money may be under way.
func (c *clearing) Cancel(context.Context, payment.Payment) error { return nil }

// Refund implements service.Provider.
func (c *clearing) Refund(_ context.Context, p payment.Payment, r payment.Refund) (payment.Outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const kinds, unreached, lost, refused, pending, most = 12, 0, 1, 2, 6, 3
	fate := c.random.IntN(kinds)
	if c.calm || fate <= lost && c.silent[r.ID] == most {
		fate = kinds
	}
	c.silent[r.ID]++
	if fate > lost {
		c.silent[r.ID] = 0
	}
	if fate == unreached {
		return payment.Outcome{}, errLost
	}
	of := c.of(p.ID)
	known := of.refunds[r.ID]
	switch {
	case known != nil && known.cents != r.Amount:
		c.t.Errorf("refund %s of %d is asked for with %d", r.ID, known.cents, r.Amount)
		return payment.Outcome{}, errNotNow
	case known == nil && !of.has(r.Amount):
		return payment.Outcome{}, errNotNow
	case known == nil:
		known = &cleared{cents: r.Amount, state: payment.RefundDone, reference: "re_" + r.ID, ours: true}
		if fate == refused {
			known.state = payment.RefundFailed
		} else if fate < pending {
			known.state = payment.RefundPending
		}
		of.refunds[r.ID], of.ids = known, append(of.ids, r.ID)
	}
	if fate == lost {
		return payment.Outcome{}, errLost
	}
	if known.state == payment.RefundFailed {
		return payment.Outcome{}, &payment.RefusedError{Reason: closedAccount}
	}
	return payment.Outcome{State: known.state, Reference: known.reference}, nil
}

// ReadRefund implements service.Provider.
func (c *clearing) ReadRefund(_ context.Context, p payment.Payment, r payment.Refund) (payment.Outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.of(p.ID).refunds[r.ID]
	if known == nil {
		return payment.Outcome{}, errLost
	}
	return payment.Outcome{State: known.state, Reference: known.reference, Reason: closedAccount}, nil
}

// pays takes the buyer's money.
func (c *clearing) pays(id string) payment.Notice {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(id).paid = price
	return payment.Notice{Kind: payment.NoticePaid, PaymentID: id, Amount: price, Reference: "ch_" + id}
}

// givesBack sends money back by itself; its notices say that it is on its way, and that it has gone back.
func (c *clearing) givesBack(id string, cents int64) []payment.Notice {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.of(id)
	if !of.has(cents) {
		return nil
	}
	c.own++
	reference := fmt.Sprint("re_own_", c.own)
	of.refunds[reference] = &cleared{cents: cents, state: payment.RefundDone, reference: reference}
	of.ids = append(of.ids, reference)
	n := payment.Notice{Kind: payment.NoticeRefund, PaymentID: id, Amount: cents}
	n.Refund = payment.RefundNotice{Reference: reference, State: payment.RefundPending}
	done := n
	done.Refund.State = payment.RefundDone
	return []payment.Notice{n, done}
}

// disputes opens, wins or loses a dispute.
func (c *clearing) disputes(id string, kind payment.NoticeKind, cents int64) payment.Notice {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.of(id)
	of.disputed = kind == payment.NoticeDisputed
	if kind == payment.NoticeDisputeLost {
		of.lost += cents
	}
	return payment.Notice{Kind: kind, PaymentID: id, Amount: cents}
}

// moves lets a day pass: refunds that are on their way arrive or fail, and some that had arrived are sent back by the
// buyer's bank. It returns the notices.
func (c *clearing) moves(all bool) (sent []payment.Notice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const kinds, fails = 8, 2
	for id, of := range c.charges {
		for _, name := range of.ids {
			r := of.refunds[name]
			chance := c.random.IntN(kinds)
			switch {
			case r.state == payment.RefundPending && chance < fails,
				r.state == payment.RefundDone && chance == 0 && !all:
				r.state = payment.RefundFailed
			case r.state == payment.RefundPending && (chance < kinds/2 || all):
				r.state = payment.RefundDone
			default:
				continue
			}
			n := payment.Notice{Kind: payment.NoticeRefund, PaymentID: id, Amount: r.cents, Reason: closedAccount}
			n.Refund = payment.RefundNotice{Reference: r.reference, State: r.state}
			if r.ours {
				n.Refund.ID = name
			}
			sent = append(sent, n)
		}
	}
	c.random.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
	return sent
}

// standing is what a payment's money has become.
type standing struct{ received, refunded, lost, kept int64 }

func (s *standing) add(of standing) {
	s.received, s.refunded = s.received+of.received, s.refunded+of.refunded
	s.lost, s.kept = s.lost+of.lost, s.kept+of.kept
}

// statement returns what has become of each charge that was paid.
func (c *clearing) statement() map[string]standing {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]standing{}
	for id, of := range c.charges {
		if of.paid > 0 {
			refunded := of.sum(payment.RefundDone)
			all[id] = standing{of.paid, refunded, of.lost, of.paid - refunded - of.lost}
		}
	}
	return all
}

// read is the shop.CallbackReader of the clearing house.
func (c *clearing) read(h http.Header) (payment.ReadNotice, error) {
	if h.Get("Clearing") == "" {
		return nil, payment.ErrBadNotice
	}
	return func(_ context.Context, body []byte, _ payment.FindPayment) (n payment.Notice, err error) {
		err = json.Unmarshal(body, &n)
		n.Provider = clearingName
		return n, err
	}, nil
}
