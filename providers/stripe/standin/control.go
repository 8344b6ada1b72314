package standin

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
)

// Pay has the buyer of a session pay. later leaves the money under way, until Settle.
func (s *Server) Pay(sessionID string, later bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessionOf(sessionID)
	if c == nil || c.status != open {
		return ErrNot
	}
	c.status, c.paymentStatus = complete, "paid"
	c.intent = &intent{id: newID("pi_"), status: succeeded, currency: c.currency, amount: c.amount, meta: c.intentMeta}
	if later {
		c.intent.status, c.paymentStatus = processing, "unpaid"
	}
	s.intents[c.intent.id] = c.intent
	s.emit("checkout.session.completed", c.object())
	return nil
}

// Settle ends the waiting for the money of a session.
func (s *Server) Settle(sessionID string, paid bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessionOf(sessionID)
	if c == nil || c.intent == nil || c.intent.status != processing {
		return ErrNot
	}
	if !paid {
		c.intent.status = "requires_payment_method"
		s.emit("checkout.session.async_payment_failed", c.object())
		return nil
	}
	c.intent.status, c.paymentStatus = succeeded, "paid"
	s.emit("checkout.session.async_payment_succeeded", c.object())
	return nil
}

// GiveBack refunds in the Dashboard.
func (s *Server) GiveBack(sessionID string, amount int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessionOf(sessionID)
	if c == nil || c.intent == nil {
		return ErrNot
	}
	if _, no := s.giveBack(c.intent, amount, nil); no != nil {
		return fmt.Errorf("%w: %s", ErrNot, no.message)
	}
	return nil
}

// Dispute opens a dispute, or gives the session's last one another status: needs_response, under_review, won, lost.
func (s *Server) Dispute(sessionID string, amount int64, status string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessionOf(sessionID)
	if c == nil || c.intent == nil || c.intent.status != succeeded {
		return ErrNot
	}
	for _, d := range s.disputes {
		if d.of == c.intent {
			if d.status == "won" || d.status == "lost" {
				return ErrNot
			}
			d.status = status
			kind := "charge.dispute.updated"
			if status == "won" || status == "lost" {
				kind = "charge.dispute.closed"
			}
			s.emit(kind, d.object())
			return nil
		}
	}
	d := &dispute{id: newID("dp_"), status: status, amount: min(amount, c.amount), of: c.intent}
	s.disputes = append(s.disputes, d)
	s.emit("charge.dispute.created", d.object())
	return nil
}

// MoveRefunds gives each refund the status that next returns for it, and sends the events about those that change.
func (s *Server) MoveRefunds(next func(id, status string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.refunds {
		status := next(r.id, r.status)
		if status == r.status {
			continue
		}
		r.status = status
		s.emit("refund.updated", r.object())
		if status == failed {
			s.emit("refund.failed", r.object())
		}
	}
}

// Standing is what became of a payment's money, in Stripe's units.
type Standing struct{ Received, Refunded, Lost int64 }

// Statement returns how the money of each payment of the service stands that was paid, by its id.
func (s *Server) Statement() map[string]Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]Standing{}
	for _, i := range s.intents {
		if i.status != succeeded || i.meta["seckill_payment"] == "" {
			continue
		}
		of := all[i.meta["seckill_payment"]]
		of.Received, of.Refunded = of.Received+i.amount, of.Refunded+s.sum(i, succeeded)
		for _, d := range s.disputes {
			if d.of == i && d.status == "lost" {
				of.Lost += d.amount
			}
		}
		all[i.meta["seckill_payment"]] = of
	}
	return all
}

// Sessions returns how many sessions there are for each payment.
func (s *Server) Sessions() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]int{}
	for _, c := range s.sessions {
		all[c.reference]++
	}
	return all
}

// Foreign sends events about money that is no payment of the service, as other programs of an account make it.
func (s *Server) Foreign() {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := &intent{id: newID("pi_"), status: succeeded, currency: "eur", amount: 500, meta: map[string]string{}}
	s.intents[i.id] = i
	c := &session{
		id: newID("cs_test_"), status: complete, paymentStatus: "paid", currency: "eur", amount: 500, intent: i,
	}
	r := &refund{id: newID("re_"), status: succeeded, amount: 100, of: i}
	s.emit("checkout.session.completed", c.object())
	s.emit("refund.created", r.object())
	s.emit("charge.refunded", object{"id": i.charge(), "object": "charge", "payment_intent": i.id})
	s.emit("charge.dispute.created", (&dispute{newID("dp_"), "needs_response", 500, i}).object())
	s.emit("customer.created", object{"id": "cus_1", "object": "customer"})
}

// page is where the buyer pays.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	c := s.sessionOf(r.PathValue("id"))
	text := ""
	if c != nil {
		text = fmt.Sprintf("%s %d: %s, %s", strings.ToUpper(c.currency), c.amount, c.status, c.paymentStatus)
	}
	s.mu.Unlock()
	if c == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<!doctype html><title>Not Stripe</title><h1>Not Stripe, but its stand-in</h1><p>"+
		html.EscapeString(text)+`<form method="post">`)
	for _, b := range []string{"pay", "pay later", "arrives", "fails", "give back", "dispute", "won", "lost"} {
		_, _ = fmt.Fprintf(w, `<button name="do" value="%s">%s</button> `, b, b)
	}
	_, _ = io.WriteString(w, "</form>") // the browser shows what is missing
}

// press does what a button of the page says.
func (s *Server) press(w http.ResponseWriter, r *http.Request) {
	const most, some, all = 1 << 10, 100, 1 << 40
	r.Body = http.MaxBytesReader(w, r.Body, most)
	id := r.PathValue("id")
	err := ErrNot
	switch r.FormValue("do") {
	case "pay":
		err = s.Pay(id, false)
	case "pay later":
		err = s.Pay(id, true)
	case "arrives":
		err = s.Settle(id, true)
	case "fails":
		err = s.Settle(id, false)
	case "give back":
		err = s.GiveBack(id, some)
	case "dispute":
		err = s.Dispute(id, all, "needs_response")
	case "won", "lost":
		err = s.Dispute(id, all, r.FormValue("do"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	http.Redirect(w, r, r.URL.Path, http.StatusSeeOther) //nolint:gosec // a session has this id
}
