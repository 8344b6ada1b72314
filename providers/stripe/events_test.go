package main

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/providers/stripe/internal/wire"
	"seckill/providers/stripe/standin"
)

// TestMoney goes through what can happen to money, as the service is told.
func TestMoney(t *testing.T) {
	t.Parallel()
	fate := "pending"
	r := openRig(t, standin.Options{Fate: func() string { return fate }}, nil)
	session := r.begin(nil).Reference
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(r.stripe.Pay(session, true))
	n := r.service.next(t, wire.Processing)
	if left := time.Until(*n.Data.Until); n.Data.ID != payID || n.Data.Amount != 1000 || left < 13*24*time.Hour {
		t.Errorf("%+v", n)
	}
	do(r.stripe.Settle(session, true))
	if n = r.service.next(t, wire.Paid); n.Data.Amount != 1000 || !strings.HasPrefix(n.Data.Reference, "pi_") {
		t.Errorf("%+v", n)
	}
	reference := n.Data.Reference

	r.call(wire.Refund, map[string]any{"refundId": "r1", "reference": reference, "amount": 100})
	n = r.service.next(t, wire.Refunded)
	if n.Data.RefundID != "r1" || n.Data.State != wire.Pending || n.Data.Amount != 100 {
		t.Errorf("ours: %+v", n)
	}
	do(r.stripe.GiveBack(session, 50))
	for n.Data.RefundID != "" {
		n = r.service.next(t, wire.Refunded)
	}
	if n.Data.State != wire.Pending || !strings.HasPrefix(n.Data.RefundReference, "re_") {
		t.Errorf("the Dashboard's: %+v", n)
	}
	r.quiet()
	r.stripe.MoveRefunds(func(string, string) string { return "succeeded" })
	r.quiet()
	for n.Data.State == wire.Pending {
		n = r.service.next(t, wire.Refunded)
	}
	if n.Data.State != wire.Done {
		t.Errorf("%+v", n)
	}
	r.stripe.MoveRefunds(func(string, string) string { return "failed" })
	for n.Data.State != wire.Failed {
		n = r.service.next(t, wire.Refunded)
	}
	if n.Data.Reason == "" {
		t.Errorf("no reason: %+v", n)
	}
	for _, d := range []struct{ status, kind string }{{"needs_response", wire.Disputed}, {"won", wire.DisputeWon}} {
		do(r.stripe.Dispute(session, 1<<40, d.status))
		if n = r.service.next(t, d.kind); n.Data.ID != payID || n.Data.Amount != 1000 {
			t.Errorf("%s: %+v", d.status, n)
		}
	}
	r.quiet()
}

func TestAttemptsThatFail(t *testing.T) {
	t.Parallel()
	r := openRig(t, standin.Options{}, nil)
	session := r.begin(nil).Reference
	if err := r.stripe.Pay(session, true); err != nil {
		t.Fatal(err)
	}
	if err := r.stripe.Settle(session, false); err != nil {
		t.Fatal(err)
	}
	if n := r.service.next(t, wire.Failed); n.Data.ID != payID || n.Data.Reason == "" {
		t.Errorf("%+v", n)
	}
}

// TestNothingOfOurs has events about other money of the account, and inquiries: they are taken, and nobody is told.
func TestNothingOfOurs(t *testing.T) {
	t.Parallel()
	r := openRig(t, standin.Options{}, nil)
	session, _ := r.paid()
	r.stripe.Foreign()
	if err := r.stripe.Dispute(session, 100, "warning_needs_response"); err != nil {
		t.Fatal(err)
	}
	r.quiet()
	r.service.none(t)
}

// TestServiceAway has the service answer with errors, and refuse: Stripe sends again what may be taken one day, with
// the same id, and no more than that.
func TestServiceAway(t *testing.T) {
	t.Parallel()
	for status, again := range map[int]bool{
		http.StatusServiceUnavailable: true, http.StatusBadGateway: true, http.StatusUnauthorized: true,
		http.StatusMovedPermanently: true, http.StatusNotFound: false, http.StatusConflict: false,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			r := openRig(t, standin.Options{}, nil)
			session := r.begin(nil).Reference
			r.service.answers(status, status)
			if err := r.stripe.Pay(session, false); err != nil {
				t.Fatal(err)
			}
			first := r.service.next(t, wire.Paid)
			if again {
				for range 2 {
					if n := r.service.next(t, wire.Paid); n.ID != first.ID {
						t.Errorf("%+v, then %+v", first, n)
					}
				}
			}
			r.quiet()
			r.service.none(t)
		})
	}
}

func TestEventsRefused(t *testing.T) {
	t.Parallel()
	r := openRig(t, standin.Options{}, nil)
	body := []byte(`{"id":"evt_1","object":"event","type":"checkout.session.expired","created":1,"data":{"object":` +
		`{"object":"checkout.session","metadata":{"seckill_payment":"pay_1"}}}}`)
	now := time.Now()
	for name, tc := range map[string]struct {
		signature string
		want      int
	}{
		"none":         {"", http.StatusBadRequest},
		"another's":    {standin.Signature(now, body, "whsec_other"), http.StatusBadRequest},
		"another body": {standin.Signature(now, body[1:], webhookSecret), http.StatusBadRequest},
		"old":          {standin.Signature(now.Add(-6*time.Minute), body, webhookSecret), http.StatusBadRequest},
		"signed":       {standin.Signature(now, body, webhookSecret), http.StatusOK},
	} {
		got, text := r.post(r.url+"/stripe/", body, map[string]string{"Stripe-Signature": tc.signature})
		if got != tc.want {
			t.Errorf("%s: %d %s", name, got, text)
		}
	}
	r.service.next(t, wire.Cancelled)
	r.service.none(t)
	if !strings.Contains(r.log.text(), "is STRIPE_WEBHOOK_SECRET the signing secret of this endpoint") {
		t.Error("the log does not say what to do")
	}
}

// TestChangedSecret changes the endpoint's secret: Stripe signs with the old one, then with both, then with the new
// one. The program, which has both, takes each; one that has one of them takes what is signed with both.
func TestChangedSecret(t *testing.T) {
	t.Parallel()
	const newer = "whsec_newer"
	both := map[string]string{"STRIPE_WEBHOOK_SECRET": newer, "STRIPE_WEBHOOK_PREVIOUS_SECRET": webhookSecret}
	for name, tc := range map[string]struct {
		env    map[string]string
		stripe []string
	}{
		"not yet":    {both, []string{webhookSecret}},
		"meanwhile":  {both, []string{webhookSecret, newer}},
		"afterwards": {both, []string{newer}},
		"old alone":  {map[string]string{"STRIPE_WEBHOOK_SECRET": webhookSecret}, []string{webhookSecret, newer}},
		"new alone":  {map[string]string{"STRIPE_WEBHOOK_SECRET": newer}, []string{webhookSecret, newer}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, standin.Options{})
			maps.Copy(r.env, tc.env)
			r.start()
			r.stripe.AddEndpoint(r.url+"/stripe/", tc.stripe[0], "*")
			if len(tc.stripe) > 1 {
				r.stripe.Sign(tc.stripe[1])
			}
			r.paid()
		})
	}
}

// TestNoSecrets plays a day with errors, and looks for secrets in the log and the metrics.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	r := openRig(t, standin.Options{}, nil)
	session, _ := r.paid()
	r.call(wire.Cancel, map[string]any{"reference": "cs_gone"})
	r.post(r.url+"/stripe/", []byte("{}"), map[string]string{"Stripe-Signature": "t=1,v1=00"})
	r.callSigned(wire.Begin, nil, "whsec_AfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", time.Now())
	r.service.answers(http.StatusUnauthorized)
	if err := r.stripe.GiveBack(session, 1); err != nil {
		t.Fatal(err)
	}
	r.quiet()
	metrics := r.get("/metrics")
	for _, want := range []string{
		`seckill_stripe_calls_total{call="payment.begin",result="done"} 1`, `seckill_stripe_live{version="dev"} 0`,
		`seckill_stripe_webhooks_total{result="refused",type="none"} 1`,
		`seckill_stripe_notices_total{result="done",type="paid"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
	for _, secret := range []string{apiKey, webhookSecret, sharedSecret, "MfKQ9r8", "standin_"} {
		if strings.Contains(r.log.text(), secret) || strings.Contains(metrics, secret) {
			t.Errorf("%s is in the log or the metrics", secret)
		}
	}
}

func (r *rig) get(path string) string {
	r.Helper()
	res, err := http.Get(r.url + path) //nolint:noctx // a test
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	var b strings.Builder
	if err := res.Write(&b); err != nil {
		r.Fatal(err)
	}
	return b.String()
}
