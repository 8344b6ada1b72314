package standin

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// The states of sessions, intents and refunds.
const (
	open       = "open"
	complete   = "complete"
	expired    = "expired"
	succeeded  = "succeeded"
	processing = "processing"
	pending    = "pending"
	failed     = "failed"
	canceled   = "canceled"
)

// session is a Checkout Session.
type session struct {
	id, status, paymentStatus  string
	reference, currency, url   string
	amount, created, expiresAt int64
	meta, intentMeta           map[string]string
	intent                     *intent
}

func (c *session) object() object {
	o := object{
		"id": c.id, "object": "checkout.session", "status": c.status, "payment_status": c.paymentStatus,
		"client_reference_id": c.reference, "currency": c.currency, "amount_total": c.amount, "created": c.created,
		"expires_at": c.expiresAt, "metadata": c.meta, "mode": "payment", "payment_intent": nil, "url": nil,
	}
	if c.intent != nil {
		o["payment_intent"] = c.intent.id
	}
	if c.status == open {
		o["url"] = c.url
	}
	return o
}

// intent is a PaymentIntent with its charge.
type intent struct {
	id, status, currency string
	amount               int64
	meta                 map[string]string
}

func (i *intent) object() object {
	return object{
		"id": i.id, "object": "payment_intent", "status": i.status, "currency": i.currency, "amount": i.amount,
		"metadata": i.meta, "latest_charge": i.charge(),
	}
}

func (i *intent) charge() string { return strings.Replace(i.id, "pi_", "ch_", 1) }

type refund struct {
	id, status string
	amount     int64
	of         *intent
	meta       map[string]string
}

func (r *refund) object() object {
	o := object{
		"id": r.id, "object": "refund", "status": r.status, "amount": r.amount, "currency": r.of.currency,
		"payment_intent": r.of.id, "charge": r.of.charge(), "metadata": r.meta,
	}
	if r.status == failed {
		o["failure_reason"] = "expired_or_canceled_card"
	}
	return o
}

type dispute struct {
	id, status string
	amount     int64
	of         *intent
}

func (d *dispute) object() object {
	return object{
		"id": d.id, "object": "dispute", "status": d.status, "amount": d.amount, "currency": d.of.currency,
		"payment_intent": d.of.id, "charge": d.of.charge(), "metadata": object{},
	}
}

func (s *Server) createSession(f form) (any, *failure) {
	const item, least = "line_items[0][price_data]", 50
	amount, currency := f.number(item+"[unit_amount]"), f.Get(item+"[currency]")
	now := time.Now()
	expires := now.Add(24 * time.Hour).Unix()
	switch {
	case f.Get("success_url") == "":
		return nil, invalid("success_url", "parameter_missing", "Missing required param: success_url.")
	case !slices.Contains(s.o.Currencies, strings.ToUpper(currency)):
		return nil, invalid(item+"[currency]", "", "Invalid currency: %s. Only these are supported: %s", currency,
			strings.ToLower(strings.Join(s.o.Currencies, ", ")))
	case amount < least:
		return nil, invalid("", "amount_too_small", "The total amount due must be at least 0.50.")
	case f.Get("expires_at") != "":
		expires = f.number("expires_at")
		if at := time.Unix(expires, 0); at.Before(now.Add(30*time.Minute)) || at.After(now.Add(24*time.Hour)) {
			return nil, invalid("expires_at", "", "It must be between 30 minutes and 24 hours from now.")
		}
	}
	c := &session{
		id: newID("cs_test_"), status: open, paymentStatus: "unpaid", reference: f.Get("client_reference_id"),
		currency: currency, amount: amount, created: now.Unix(), expiresAt: expires, meta: f.under("metadata"),
		intentMeta: f.under("payment_intent_data[metadata]"),
	}
	c.url = s.o.Base + "/pay/" + c.id
	s.sessions = append(s.sessions, c)
	return c.object(), nil
}

func (s *Server) listSessions(f form) (any, *failure) {
	var all []object
	for _, c := range s.sessions {
		if (f.Get("status") == "" || f.Get("status") == c.status) && c.created >= f.number("created[gte]") {
			all = append(all, c.object())
		}
	}
	return list(f, all), nil
}

func (s *Server) sessionOf(id string) *session {
	at := slices.IndexFunc(s.sessions, func(c *session) bool { return c.id == id })
	if at < 0 {
		return nil
	}
	return s.sessions[at]
}

func (s *Server) readSession(f form) (any, *failure) {
	c := s.sessionOf(f.id)
	if c == nil {
		return nil, missing("checkout.session", f.id)
	}
	return c.object(), nil
}

func (s *Server) expireSession(f form) (any, *failure) {
	c := s.sessionOf(f.id)
	switch {
	case c == nil:
		return nil, missing("checkout.session", f.id)
	case c.status != open:
		return nil, invalid("", "", "Only Checkout Sessions with a status in [\"open\"] can be expired.")
	}
	c.status = expired
	s.emit("checkout.session.expired", c.object())
	return c.object(), nil
}

func (s *Server) readIntent(f form) (any, *failure) {
	i := s.intents[f.id]
	if i == nil {
		return nil, missing("payment_intent", f.id)
	}
	return i.object(), nil
}

// sum returns what the intent's refunds in one of the states are worth.
func (s *Server) sum(of *intent, states ...string) (amount int64) {
	for _, r := range s.refunds {
		if r.of == of && slices.Contains(states, r.status) {
			amount += r.amount
		}
	}
	return amount
}

func (s *Server) isDisputed(of *intent) bool {
	return slices.ContainsFunc(s.disputes, func(d *dispute) bool { return d.of == of && d.status != "won" })
}

func (s *Server) createRefund(f form) (any, *failure) {
	i := s.intents[f.Get("payment_intent")]
	if i == nil {
		return nil, missing("payment_intent", f.Get("payment_intent"))
	}
	r, no := s.giveBack(i, f.number("amount"), f.under("metadata"))
	if no != nil {
		return nil, no
	}
	return r.object(), nil
}

func (s *Server) giveBack(i *intent, amount int64, meta map[string]string) (*refund, *failure) {
	left := i.amount - s.sum(i, succeeded, pending)
	switch {
	case i.status != succeeded:
		return nil, invalid("payment_intent", "payment_intent_unexpected_state", "This PaymentIntent has no charge.")
	case s.isDisputed(i):
		return nil, invalid("", "charge_disputed", "Charge %s was charged back: no refund.", i.charge())
	case left == 0:
		return nil, invalid("", "charge_already_refunded", "Charge %s has already been refunded.", i.charge())
	case amount > left:
		return nil, invalid("amount", "", "The amount (%d) is greater than what is left (%d)", amount, left)
	}
	r := &refund{id: newID("re_"), status: succeeded, amount: amount, of: i, meta: meta}
	if s.o.Fate != nil {
		r.status = s.o.Fate()
	}
	s.refunds = append(s.refunds, r)
	s.emit("refund.created", r.object())
	s.emit("charge.refunded", object{
		"id": i.charge(), "object": "charge", "payment_intent": i.id, "amount": i.amount,
		"amount_refunded": s.sum(i, succeeded, pending),
	})
	if r.status == failed {
		s.emit("refund.failed", r.object())
	}
	return r, nil
}

func (s *Server) listRefunds(f form) (any, *failure) {
	of := f.Get("payment_intent")
	if s.intents[of] == nil {
		return nil, missing("payment_intent", of)
	}
	var all []object
	for _, r := range s.refunds {
		if r.of.id == of {
			all = append(all, r.object())
		}
	}
	return list(f, all), nil
}

func (s *Server) listDisputes(f form) (any, *failure) {
	var all []object
	for _, d := range s.disputes {
		if d.of.id == f.Get("payment_intent") {
			all = append(all, d.object())
		}
	}
	return list(f, all), nil
}

// ErrNot means that the state of the money does not allow what was asked for.
var ErrNot = errors.New("standin: not in this state")
