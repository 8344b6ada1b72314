package payment_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"seckill/internal/order/payment"
)

// payer is a provider that keeps state, for one payment.
type payer struct {
	names   bool // it tells of single refunds; otherwise of totals only
	ours    bool // it names them by our ids, too, and not by its own alone
	charged int64
	refunds []payment.Refund // what it has really done
	sent    []payment.Notice // on their way to the service
}

// gone is what has gone back in truth.
func (p *payer) gone() (cents int64) {
	for _, r := range p.refunds {
		if r.State == payment.RefundDone {
			cents += r.Amount
		}
	}
	return cents
}

// held is what cannot be refunded any more.
func (p *payer) held() (cents int64) {
	for _, r := range p.refunds {
		if r.State != payment.RefundFailed {
			cents += r.Amount
		}
	}
	return cents
}

// tell sends a notice about a refund.
func (p *payer) tell(r payment.Refund) {
	if p.names {
		n := payment.Notice{Kind: payment.NoticeRefund, Amount: r.Amount}
		n.Refund = payment.RefundNotice{ID: r.ID, Reference: r.Reference, State: r.State}
		if !p.ours {
			n.Refund.ID = ""
		}
		p.sent = append(p.sent, n)
	} else if r.State == payment.RefundDone {
		p.sent = append(p.sent, payment.Notice{Kind: payment.NoticeReturned, Amount: p.gone()})
	}
}

// refund takes a refund once for each id, or refuses it.
func (p *payer) refund(id string, cents int64, state payment.RefundState) payment.Outcome {
	for _, r := range p.refunds {
		if id != "" && r.ID == id {
			return payment.Outcome{State: r.State, Reference: r.Reference}
		}
	}
	if p.held()+cents > p.charged {
		return payment.Outcome{State: payment.RefundFailed, Reason: "not so much is left"}
	}
	r := payment.Refund{ID: id, Amount: cents, State: state, Reference: fmt.Sprint("re_", len(p.refunds)+1)}
	p.refunds = append(p.refunds, r)
	p.tell(r)
	return payment.Outcome{State: r.State, Reference: r.Reference}
}

// moves takes a refund on: one that is pending is done or fails, and one that is done may fail.
func (p *payer) moves(random *rand.Rand) {
	if len(p.refunds) == 0 || !p.names {
		return
	}
	r := &p.refunds[random.IntN(len(p.refunds))]
	switch {
	case r.State == payment.RefundPending:
		r.State += payment.RefundState(1 + random.IntN(2))
	case r.State == payment.RefundDone && random.IntN(3) == 0:
		r.State = payment.RefundFailed
	default:
		return
	}
	p.tell(*r)
}

// market is a payment's account in the service, and its provider.
type market struct {
	t      *testing.T
	random *rand.Rand
	now    time.Time
	payer  *payer
	a      *payment.Account
}

func newMarket(t *testing.T, seed uint64) *market {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 7))
	amount := 1 + random.Int64N(1000)
	return &market{
		t: t, random: random, now: time.Unix(1, 0),
		payer: &payer{names: random.IntN(2) == 0, ours: random.IntN(2) == 0, charged: amount},
		a:     &payment.Account{Payment: payment.Payment{ID: "pay", Amount: amount, State: payment.Received}},
	}
}

// step is one thing that happens.
func (m *market) step() {
	m.now = m.now.Add(time.Second)
	switch m.random.IntN(6) {
	case 0: // staff ask for a part, or for all
		left := m.a.Left()
		if left > 1 && m.random.IntN(3) > 0 {
			if _, err := m.a.AskPart(1+m.random.Int64N(left), "admin 7", "", m.now); err != nil {
				m.t.Fatal(err)
			}
		} else if m.a.All() == nil {
			m.a.AskAll("owner", "", m.now)
		}
	case 1: // somebody sends money back at the provider's counter
		m.payer.refund("", 1+m.random.Int64N(m.a.Amount), payment.RefundDone)
	case 2:
		m.payer.moves(m.random)
	case 3, 4:
		m.ask(m.random.IntN(3) == 0)
	default:
		m.deliver(m.random.IntN(3) > 0)
	}
	m.holds()
}

// ask sends what is to be sent; the answers may get lost.
func (m *market) ask(lost bool) {
	for _, r := range append([]payment.Refund{}, m.a.Refunds...) {
		now, ask := m.a.Send(r.ID, true, m.now)
		if !ask {
			continue
		}
		state := payment.RefundDone
		if m.payer.names && m.random.IntN(2) == 0 {
			state = payment.RefundPending
		}
		o := m.payer.refund(now.ID, now.Amount, state)
		if !lost {
			m.a.Answered(r.ID, o, m.now)
		}
	}
}

// deliver hands one notice in, in any order, and perhaps not for the last time.
func (m *market) deliver(last bool) {
	if len(m.payer.sent) == 0 {
		return
	}
	i := m.random.IntN(len(m.payer.sent))
	n := m.payer.sent[i]
	if last {
		m.payer.sent = append(m.payer.sent[:i], m.payer.sent[i+1:]...)
	}
	if n.Kind == payment.NoticeReturned {
		m.a.Total(n.Amount, m.now)
		return
	}
	if _, _, err := m.a.Told(n, m.now); err != nil {
		m.t.Fatalf("%+v: %v", n, err)
	}
}

// holds checks what is true at every moment.
func (m *market) holds() {
	m.t.Helper()
	ids := map[string]bool{}
	for _, r := range m.a.Refunds {
		if ids[r.ID] || r.Amount < 1 || r.PaymentID != "pay" {
			m.t.Fatalf("%+v", m.a.Refunds)
		}
		ids[r.ID] = true
	}
	if m.a.Returned != m.a.Sum(payment.RefundDone) || m.a.Left() < 0 {
		m.t.Fatalf("%d have gone back, %+v", m.a.Returned, m.a.Refunds)
	}
	under := m.a.Sum(payment.RefundAsked, payment.RefundPending, payment.RefundDone)
	if left := m.a.Left(); left > 0 && left+under > m.a.Amount {
		m.t.Fatalf("%d of %d are left, and %d are asked for, on their way or gone", left, m.a.Amount, under)
	}
}

// A provider takes refunds, loses answers, sends money back by itself, and lets refunds fail; its notices come in any
// order and repeatedly. In the end the account says what the provider says, to the cent, and no more has gone back than
// came in.
func TestAccountAgreesWithTheProvider(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		m := newMarket(t, seed)
		for range 5 + m.random.IntN(30) {
			m.step()
		}
		for asked := true; asked || len(m.payer.sent) > 0; {
			m.ask(false)
			m.deliver(true)
			asked = m.a.Sum(payment.RefundAsked) > 0
			m.now = m.now.Add(time.Second)
			m.holds()
		}
		if m.a.Returned != m.payer.gone() || m.payer.gone() > m.payer.charged {
			t.Fatalf("seed %d: %d have gone back, at the provider %d of %d (names: %t)\n%+v\n%+v", seed, m.a.Returned,
				m.payer.gone(), m.payer.charged, m.payer.names, m.a.Refunds, m.payer.refunds)
		}
	}
}

// What a version without refunds has stored becomes a refund by an earlier version, and one that it has sent is the
// service's own.
func TestAdopt(t *testing.T) {
	t.Parallel()
	now := time.Unix(9, 0)
	a := payment.Account{Payment: payment.Payment{
		ID: "pay", Amount: 1000, State: payment.Received, Flow: payment.Flow{Returned: 300},
	}}
	for range 2 {
		a.Adopt(now)
		if len(a.Refunds) != 1 || a.Refunds[0].Origin != payment.OriginEarlier || a.Refunds[0].Amount != 300 ||
			a.Left() != 700 {
			t.Fatalf("%+v", a.Refunds)
		}
	}
	all := a.AskAll("owner", "", now)
	if all.ID != "pay" || all.Amount != 700 || a.Left() != 0 {
		t.Fatalf("%+v", all)
	}
	a.State, a.Returned, a.RefundedAt = payment.Refunded, 1000, now // the other version has sent it
	a.Adopt(now)
	if r := a.All(); r.State != payment.RefundDone || a.Sum(payment.RefundDone) != 1000 || len(a.Refunds) != 2 {
		t.Errorf("%+v", a.Refunds)
	}
	for state, returned := range map[payment.RefundState]int64{payment.RefundFailed: 0, payment.RefundDone: 1000} {
		failed := payment.Refund{Amount: 1000, State: payment.RefundFailed, Origin: payment.OriginPart}
		other := payment.Refund{Amount: 1000, State: state, Origin: payment.OriginProvider}
		a = payment.Account{Payment: a.Payment, Refunds: []payment.Refund{failed, other}}
		a.Returned = returned
		a.Adopt(now)
		if missing := returned == 0; a.Refunds[0].NeedsStaff() != missing {
			t.Errorf("%d of 1000 have gone back: %+v", returned, a.Refunds)
		}
	}
}

// Parts come out of what is left, and what was not sent yet gives way to what has gone back in another way.
func TestLeft(t *testing.T) {
	t.Parallel()
	now := time.Unix(9, 0)
	a := payment.Account{Payment: payment.Payment{ID: "pay", Amount: 1000, State: payment.Received}}
	if _, err := a.AskPart(400, "admin 7", "soup", now); err != nil || a.Left() != 600 {
		t.Fatalf("%v, %d left", err, a.Left())
	}
	var left *payment.LeftError
	for _, cents := range []int64{0, -1, 601} {
		if _, err := a.AskPart(cents, "admin 7", "", now); !errors.As(err, &left) || left.Left != 600 {
			t.Errorf("%d: %v", cents, err)
		}
	}
	a.Total(900, now) // at the counter
	if r := a.Refunds[0]; r.Amount != 100 || a.Left() != 0 || a.Returned != 900 {
		t.Errorf("%+v, %d left", a.Refunds, a.Left())
	}
	if r, ask := a.Send(a.Refunds[0].ID, true, now); !ask || r.Amount != 100 || r.SentAt.IsZero() {
		t.Errorf("%+v, %t", r, ask)
	}
	a.Total(1000, now) // it cannot be taken any more: another one was first
	if r, ask := a.Send(a.Refunds[0].ID, true, now); ask || r.State != payment.RefundFailed || r.NeedsStaff() {
		t.Errorf("%+v, %t", r, ask)
	}
	a.Dispute, a.Disputed = payment.DisputeLost, 900
	if a.Left() != 0 || a.Kept() != 0 {
		t.Errorf("%d left, %d kept of money that never came", a.Left(), a.Kept())
	}
	a.ReceivedAt = now
	if a.Kept() != -900 || a.Overdrawn() != 900 || a.RefundedAmount()+a.LostAmount()+a.Kept() != a.Received() {
		t.Errorf("received %d = refunded %d + lost %d + kept %d, overdrawn %d", a.Received(), a.RefundedAmount(),
			a.LostAmount(), a.Kept(), a.Overdrawn())
	}
}

// A refund that was refused is asked for under its own id while a version without refunds may ask, too, and under
// another one from then on.
func TestAskAgain(t *testing.T) {
	t.Parallel()
	now := time.Unix(9, 0)
	for alone, want := range map[bool]string{false: "pay", true: "pay-2"} {
		a := payment.Account{Payment: payment.Payment{ID: "pay", Amount: 1000, State: payment.Refunding}}
		a.AskAll("owner", "", now)
		if !a.Answered("pay", payment.Outcome{State: payment.RefundFailed, Reason: "closed"}, now) ||
			!a.All().NeedsStaff() || a.Left() != 1000 {
			t.Fatalf("%+v", a.Refunds)
		}
		r := a.AskAgain(alone, "admin 7", "they say it works", now)
		if r.ID != want || r.State != payment.RefundAsked || r.Amount != 1000 || a.Left() != 0 {
			t.Errorf("alone %t: %+v", alone, a.Refunds)
		}
		a.Total(200, now)
		if r, ask := a.Send(want, alone, now); !ask || r.Amount != 800 {
			t.Errorf("alone %t: sent as %+v, %t", alone, r, ask)
		}
		a.Total(300, now) // meanwhile
		r, ask := a.Send(want, alone, now)
		if !alone && (!ask || r.Amount != 700) {
			t.Errorf("beside another version: %+v, %t", r, ask)
		}
		if alone && (ask || r.State != payment.RefundFailed) {
			t.Errorf("its amount has changed under one id: %+v, %t", r, ask)
		}
		if alone {
			if r := a.AskAll("service", "", now); r.ID != "pay-4" || r.Amount != 700 {
				t.Errorf("in its place: %+v", r)
			}
		}
	}
}
