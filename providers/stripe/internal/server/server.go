// Package server is the program's HTTP side: calls of the service, webhooks of Stripe, health and metrics.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stripe/stripe-go/v84"
	"github.com/stripe/stripe-go/v84/webhook"

	"seckill/providers/stripe/internal/bridge"
	"seckill/providers/stripe/internal/wire"
)

const (
	// WebhookPath is where Stripe's events come, also behind nginx.
	WebhookPath = "/stripe/"
	// callTimeout is the most time of a call: the service waits 8 seconds.
	callTimeout = 7 * time.Second
	// webhookTimeout is the most time of a webhook.
	webhookTimeout = 15 * time.Second
	maxWebhook     = 1 << 20 // bytes
)

// Options are what a Server needs.
type Options struct {
	Bridge  *bridge.Bridge
	Calls   *wire.Reader
	Teller  *wire.Teller
	Secrets []string // of the webhook endpoint; one of them must have signed
	Metrics *Metrics
	Log     *slog.Logger
}

// Server answers calls and webhooks. It is safe for concurrent use.
type Server struct{ o Options }

// New returns a Server.
func New(o Options) *Server { return &Server{o} }

// Handler returns the routes. Only WebhookPath is for the public.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{$}", s.call)
	mux.HandleFunc("POST "+WebhookPath+"{$}", s.webhook)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n") // the caller sees what is missing
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.o.Metrics.registry, promhttp.HandlerOpts{}))
	return mux
}

// call answers a call of the service.
func (s *Server) call(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	c, err := s.o.Calls.Read(w, r)
	if err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, wire.ErrUnsigned) {
			status = http.StatusUnauthorized
			s.o.Log.WarnContext(r.Context(), "refused a call: is SECKILL_PAYMENT_SECRET the service's secret?",
				"error", err)
		}
		s.o.Metrics.called("none", "refused", time.Since(began))
		reply(w, status, wire.Answer{Reason: err.Error()})
		return
	}
	do := map[string]func(context.Context, wire.Data) (wire.Answer, error){
		wire.Begin: s.o.Bridge.Begin, wire.Cancel: s.o.Bridge.Cancel,
		wire.Refund: s.o.Bridge.Refund, wire.ReadRefund: s.o.Bridge.ReadRefund,
	}[c.Type]
	if do == nil {
		s.o.Metrics.called("other", "refused", time.Since(began))
		reply(w, http.StatusBadRequest, wire.Answer{Reason: "this type of call is not known"})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	answer, err := do(ctx, c.Data)
	no, final := errors.AsType[*bridge.RefusedError](err)
	log := s.o.Log.With("call", c.Type, "payment", c.Data.ID, "refund", c.Data.RefundID, "took", time.Since(began))
	switch {
	case final:
		s.o.Metrics.called(c.Type, "refused", time.Since(began))
		log.WarnContext(ctx, "refused", "reason", no.Reason)
		reply(w, http.StatusOK, wire.Answer{
			ID: c.Data.ID, RefundID: c.Data.RefundID, State: wire.Refused, Reason: no.Reason,
		})
	case err != nil:
		err = bridge.Explain(err)
		s.o.Metrics.called(c.Type, "failed", time.Since(began))
		log.ErrorContext(ctx, "not done; the service asks again", "error", err)
		reply(w, http.StatusServiceUnavailable, wire.Answer{Reason: err.Error()})
	default:
		s.o.Metrics.called(c.Type, "done", time.Since(began))
		log.InfoContext(ctx, "done", "state", answer.State, "stripe", answer.Reference)
		reply(w, http.StatusOK, answer)
	}
}

func reply(w http.ResponseWriter, status int, a wire.Answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(a) //nolint:errchkjson // the caller sees what is missing
}

// webhook takes an event of Stripe. It answers 200 only once the service has taken all that follows from it, so that
// nothing needs to be remembered: Stripe sends the event again, for three days.
func (s *Server) webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhook))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	e, err := s.event(body, r.Header.Get("Stripe-Signature"))
	if err != nil {
		s.o.Metrics.took("none", "refused")
		s.o.Log.WarnContext(r.Context(), "refused a webhook: is STRIPE_WEBHOOK_SECRET the signing secret of this "+
			"endpoint, in the mode (test, live) of STRIPE_API_KEY?", "error", err)
		http.Error(w, "not signed with this endpoint's secret, or too long ago", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), webhookTimeout)
	defer cancel()
	log := s.o.Log.With("event", e.ID, "type", e.Type)
	notices, err := s.o.Bridge.Notices(ctx, &e)
	if err != nil {
		s.o.Metrics.took(string(e.Type), "failed")
		log.ErrorContext(ctx, "an event cannot be read; Stripe sends it again", "error", bridge.Explain(err))
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	for _, n := range notices {
		if err := s.tell(ctx, log, n); err != nil {
			s.o.Metrics.took(string(e.Type), "failed")
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
	}
	result := "done"
	if len(notices) == 0 {
		result = "ignored"
	}
	s.o.Metrics.took(string(e.Type), result)
	w.WriteHeader(http.StatusOK)
}

// event returns a signed event. Its version may be another than the library's: what is read is the same in all.
func (s *Server) event(body []byte, signature string) (e stripe.Event, err error) {
	for _, secret := range s.o.Secrets {
		e, err = webhook.ConstructEventWithOptions(body, signature, secret,
			webhook.ConstructEventOptions{IgnoreAPIVersionMismatch: true})
		if err == nil {
			return e, nil
		}
	}
	return e, err
}

// tell sends a notice to the service. Nil also means that sending it again is useless.
func (s *Server) tell(ctx context.Context, log *slog.Logger, n wire.Notice) error {
	err := s.o.Teller.Tell(ctx, n)
	no, refused := errors.AsType[*wire.RefusalError](err)
	log = log.With("notice", n.Type, "payment", n.Data.ID)
	switch {
	case err == nil:
		s.o.Metrics.told(n.Type, "done")
		log.InfoContext(ctx, "told the service")
		return nil
	case refused && no.Final():
		s.o.Metrics.told(n.Type, "refused")
		log.ErrorContext(ctx, "the service refuses a notice; its console shows it", "error", err)
		return nil
	case refused && no.Status == http.StatusUnauthorized:
		log = log.With("hint", "SECKILL_PAYMENT_SECRET, or the clock, is not the service's")
	}
	s.o.Metrics.told(n.Type, "failed")
	log.ErrorContext(ctx, "not told; Stripe sends the event again", "error", err)
	return err
}
