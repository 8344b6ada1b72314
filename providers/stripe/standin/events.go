package standin

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// endpoint is a webhook endpoint. It may have two secrets while one is changed.
type endpoint struct {
	id, url, status string
	events          []string
	secrets         []string
}

func (e *endpoint) object() object {
	return object{
		"id": e.id, "object": "webhook_endpoint", "url": e.url, "status": e.status, "enabled_events": e.events,
		"livemode": false,
	}
}

// event is an event and who has not taken it yet.
type event struct {
	id, kind string
	created  int64
	object   object
	waiting  int
}

func (e *event) body() object {
	return object{
		"id": e.id, "object": "event", "type": e.kind, "created": e.created, "api_version": "2026-02-25.clover",
		"livemode": false, "pending_webhooks": e.waiting, "data": object{"object": e.object},
	}
}

func (s *Server) readAccount(form) (any, *failure) {
	return object{
		"id": "acct_standin", "object": "account", "country": "DE", "charges_enabled": true,
		"default_currency": strings.ToLower(s.o.Currencies[0]),
	}, nil
}

func (s *Server) listEndpoints(f form) (any, *failure) {
	var all []object
	for _, e := range s.endpoints {
		all = append(all, e.object())
	}
	return list(f, all), nil
}

func (s *Server) createEndpoint(f form) (any, *failure) {
	e := s.addEndpoint(f.Get("url"), newID("whsec_"), values(f)...)
	o := e.object()
	o["secret"] = e.secrets[0]
	return o, nil
}

func values(f form) (events []string) {
	for i := range 100 {
		if e := f.Get(fmt.Sprintf("enabled_events[%d]", i)); e != "" {
			events = append(events, e)
		}
	}
	return events
}

func (s *Server) updateEndpoint(f form) (any, *failure) {
	for _, e := range s.endpoints {
		if e.id == f.id {
			e.events = values(f)
			return e.object(), nil
		}
	}
	return nil, missing("webhook endpoint", f.id)
}

func (s *Server) addEndpoint(url, secret string, events ...string) *endpoint {
	e := &endpoint{newID("we_"), url, "enabled", events, []string{secret}}
	s.endpoints = append(s.endpoints, e)
	return e
}

// AddEndpoint adds a webhook endpoint for some events, or for all: "*".
func (s *Server) AddEndpoint(url, secret string, events ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addEndpoint(url, secret, events...)
}

// Sign adds a secret to all endpoints: events are signed with the old ones, too.
func (s *Server) Sign(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.endpoints {
		e.secrets = append(e.secrets, secret)
	}
}

// Disable disables all endpoints.
func (s *Server) Disable() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.endpoints {
		e.status = "disabled"
	}
}

func (s *Server) listEvents(f form) (any, *failure) {
	var all []object
	for _, e := range s.events {
		if f.Get("type") == "" || f.Get("type") == e.kind {
			all = append(all, e.body())
		}
	}
	return list(f, all), nil
}

// emit sends an event about an object, as it is now, to each endpoint that wants it. The caller has the lock.
func (s *Server) emit(kind string, about object) {
	e := &event{id: newID("evt_"), kind: kind, created: time.Now().Unix(), object: about}
	s.events = append(s.events, e)
	body := mustJSON(e.body())
	for _, to := range s.endpoints {
		if to.status == "enabled" && (slices.Contains(to.events, kind) || slices.Contains(to.events, "*")) {
			e.waiting++
			s.sending.Go(func() { s.send(e, to, body) })
		}
	}
}

// send sends an event until it is answered 200 to 299.
func (s *Server) send(e *event, to *endpoint, body json.RawMessage) {
	for {
		if s.take(to, body) {
			s.mu.Lock()
			e.waiting--
			s.mu.Unlock()
			return
		}
		select {
		case <-time.After(s.o.Retry):
		case <-s.done:
			return
		}
	}
}

func (s *Server) take(to *endpoint, body []byte) bool {
	const most = 20 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	s.mu.Lock()
	secrets := slices.Clone(to.secrets)
	s.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("Stripe-Signature", Signature(time.Now(), body, secrets...))
	res, err := s.o.Client.Do(r)
	if err != nil {
		return false
	}
	_ = res.Body.Close() // nothing of it is read
	return res.StatusCode < http.StatusMultipleChoices
}

// Signature returns the header Stripe-Signature of an event, with a signature for each secret.
func Signature(at time.Time, body []byte, secrets ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "t=%d", at.Unix())
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		_, _ = fmt.Fprintf(mac, "%d.%s", at.Unix(), body) // a hash never fails
		b.WriteString(",v1=" + hex.EncodeToString(mac.Sum(nil)))
	}
	return b.String()
}

// Quiet reports whether each event was taken.
func (s *Server) Quiet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(s.events, func(e *event) bool { return e.waiting > 0 })
}

// SendAgain sends each event once more, in another order, as Stripe may.
func (s *Server) SendAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range slices.Backward(s.events) {
		body := mustJSON(e.body())
		for _, to := range s.endpoints {
			e.waiting++
			s.sending.Go(func() { s.send(e, to, body) })
		}
	}
}
