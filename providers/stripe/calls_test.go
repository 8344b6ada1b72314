package main

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/providers/stripe/internal/wire"
	"seckill/providers/stripe/standin"
)

// TestBegin shows that one payment has one session, however often, and with whatever else, it is begun.
func TestBegin(t *testing.T) {
	t.Parallel()
	r := openRig(t, standin.Options{}, nil)
	first := r.begin(nil)
	if first.State != "" || !strings.HasPrefix(first.Reference, "cs_") ||
		!strings.Contains(first.URL, first.Reference) {
		t.Fatalf("%+v", first)
	}
	for name, data := range map[string]map[string]any{
		"the same":           {},
		"another language":   {"language": "zh"},
		"a new title":        {"title": "Coffee"},
		"no title":           {"title": ""},
		"less time":          {"payBefore": time.Now().Add(10 * time.Minute)},
		"less, and language": {"payBefore": time.Now().Add(10 * time.Minute), "language": "ja"},
		"no deadline":        {"payBefore": nil},
	} {
		if again := r.begin(data); again.URL != first.URL || again.Reference != first.Reference {
			t.Errorf("%s: %+v, want %+v", name, again, first)
		}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if a := r.begin(map[string]any{"id": "pay_2"}); a.State != "" {
				t.Errorf("%+v", a)
			}
		})
	}
	all.Wait()
	if n := r.stripe.Sessions(); n[payID] != 1 || n["pay_2"] != 1 {
		t.Errorf("there are %v", n)
	}
}

func TestBeginOfWhatIsOver(t *testing.T) {
	t.Parallel()
	r := openRig(t, standin.Options{}, nil)
	r.paid()
	for _, language := range []string{"de-AT", "zh"} {
		if a := r.begin(map[string]any{"language": language}); a.State != wire.Refused || a.URL != "" {
			t.Errorf("%s: %+v", language, a)
		}
	}
}

func TestBeginRefused(t *testing.T) {
	t.Parallel()
	r := openRig(t, standin.Options{}, nil)
	for name, tc := range map[string]struct {
		data map[string]any
		says string
	}{
		"no way back":       {map[string]any{"returnUrl": ""}, "SECKILL_PAYMENT_RETURN_URL"},
		"another currency":  {map[string]any{"currency": "CNY"}, "set SECKILL_CURRENCY to one that it takes"},
		"a fifth of ariary": {map[string]any{"currency": "MGA", "amount": 1020}, "a multiple of 100"},
		"too little":        {map[string]any{"amount": 1}, "at least"},
	} {
		a := r.begin(map[string]any{"id": "pay_" + strings.ReplaceAll(name, " ", "_")})
		if a.State != "" {
			t.Fatalf("%+v", a)
		}
		tc.data["id"] = "pay_refused_" + strings.ReplaceAll(name, " ", "_")
		if a := r.begin(tc.data); a.State != wire.Refused || !strings.Contains(a.Reason, tc.says) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestUnitsOfStripe(t *testing.T) {
	t.Parallel()
	r := openRig(t, standin.Options{}, nil)
	for currency, want := range map[string]int64{"EUR": 1000, "ISK": 100_000, "KWD": 1000, "MGA": 10} {
		id := "pay_" + currency
		amount := 1000
		if currency == "MGA" { // above Stripe's least amount
			amount, want = 100_000, 1000
		}
		a := r.begin(map[string]any{"id": id, "currency": currency, "amount": amount})
		if err := r.stripe.Pay(a.Reference, false); err != nil {
			t.Fatal(err)
		}
		n := r.service.next(t, wire.Paid)
		if got := r.stripe.Statement()[id].Received; got != want || n.Data.Amount != int64(amount) {
			t.Errorf("%s: Stripe has %d, want %d; the service is told %d", currency, got, want, n.Data.Amount)
		}
		_, back := r.call(wire.Refund, map[string]any{
			"id": id, "refundId": id + "-1", "reference": n.Data.Reference, "amount": 100,
		})
		if back.State != wire.Done {
			t.Errorf("%s: %+v", currency, back)
		}
		if n := r.service.next(t, wire.Refunded); n.Data.Amount != 100 {
			t.Errorf("%s: the service is told %+v", currency, n)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	r := openRig(t, standin.Options{}, nil)
	cancel := func(id, reference string) string {
		t.Helper()
		status, a := r.call(wire.Cancel, map[string]any{"id": id, "reference": reference})
		if status != http.StatusOK {
			t.Errorf("%d %+v", status, a)
		}
		return a.State
	}
	if got := cancel("pay_0", ""); got != wire.Done {
		t.Errorf("never begun: %s", got)
	}
	session := r.begin(nil).Reference
	for range 2 {
		if got := cancel(payID, session); got != wire.Done {
			t.Errorf("open, and again: %s", got)
		}
	}
	if n := r.service.next(t, wire.Cancelled); n.Data.ID != payID {
		t.Errorf("%+v", n)
	}
	if err := r.stripe.Pay(session, false); err == nil {
		t.Error("it can still be paid")
	}
	later := r.begin(map[string]any{"id": "pay_2"}).Reference
	if err := r.stripe.Pay(later, true); err != nil {
		t.Fatal(err)
	}
	if got := cancel("pay_2", later); got != wire.Refused {
		t.Errorf("under way: %s", got)
	}
	if err := r.stripe.Settle(later, true); err != nil {
		t.Fatal(err)
	}
	reference := r.service.next(t, wire.Paid).Data.Reference
	if a, b := cancel("pay_2", later), cancel("pay_2", reference); a != wire.Refused || b != wire.Refused {
		t.Errorf("paid: %s, %s", a, b)
	}
	failed := r.begin(map[string]any{"id": "pay_3"}).Reference
	if err := r.stripe.Pay(failed, true); err != nil {
		t.Fatal(err)
	}
	if err := r.stripe.Settle(failed, false); err != nil {
		t.Fatal(err)
	}
	if got := cancel("pay_3", failed); got != wire.Done {
		t.Errorf("failed: %s", got)
	}
	status, a := r.call(wire.Cancel, map[string]any{"reference": "cs_gone"})
	if status != http.StatusServiceUnavailable || !strings.Contains(a.Reason, "of the other mode") {
		t.Errorf("of another account: %d %+v", status, a)
	}
}

func TestRefund(t *testing.T) {
	t.Parallel()
	fate := atomic.Value{}
	fate.Store("succeeded")
	r := openRig(t, standin.Options{Fate: func() string { return fate.Load().(string) }}, nil)
	session, reference := r.paid()
	refund := func(kind, id string, amount int) wire.Answer {
		t.Helper()
		status, a := r.call(kind, map[string]any{"refundId": id, "reference": reference, "amount": amount})
		if status != http.StatusOK {
			t.Errorf("%s %s: %d %+v", kind, id, status, a)
		}
		return a
	}
	first := refund(wire.Refund, "r1", 300)
	if again := refund(wire.Refund, "r1", 300); first.State != wire.Done || again != first {
		t.Errorf("%+v, then %+v", first, again)
	}
	if a := refund(wire.Refund, "r2", 701); a.State != wire.Refused || !strings.Contains(a.Reason, "greater") {
		t.Errorf("too much: %+v", a)
	}
	fate.Store("pending")
	if a := refund(wire.Refund, "r3", 100); a.State != wire.Pending {
		t.Errorf("%+v", a)
	}
	r.stripe.MoveRefunds(func(_, status string) string {
		if status == "pending" {
			return "failed"
		}
		return status
	})
	for _, kind := range []string{wire.ReadRefund, wire.Refund} {
		if a := refund(kind, "r3", 100); a.State != wire.Refused || a.Reason == "" {
			t.Errorf("failed, %s: %+v", kind, a)
		}
	}
	if a := refund(wire.ReadRefund, "r9", 100); a.State != wire.Refused {
		t.Errorf("unknown: %+v", a)
	}
	if err := r.stripe.Dispute(session, 500, "needs_response"); err != nil {
		t.Fatal(err)
	}
	data := map[string]any{"refundId": "r4", "reference": reference, "amount": 100}
	if status, a := r.call(wire.Refund, data); status != http.StatusServiceUnavailable {
		t.Errorf("disputed: %d %+v", status, a)
	}
	if err := r.stripe.Dispute(session, 0, "lost"); err != nil {
		t.Fatal(err)
	}
	if a := refund(wire.Refund, "r5", 100); a.State != wire.Refused {
		t.Errorf("lost: %+v", a)
	}
	if got := r.stripe.Statement()[payID]; got != (standin.Standing{Received: 1000, Refunded: 300, Lost: 500}) {
		t.Errorf("%+v", got)
	}
}

func TestRefundsThatCannotBe(t *testing.T) {
	t.Parallel()
	r := openRig(t, standin.Options{}, nil)
	session, paid := r.paid()
	open := r.begin(map[string]any{"id": "pay_2"}).Reference
	for name, data := range map[string]map[string]any{
		"nobody has paid":       {"id": "pay_2", "reference": open},
		"no reference":          {"reference": ""},
		"of another provider":   {"reference": "ch_1"},
		"of another payment":    {"id": "pay_2", "reference": paid},
		"more than was paid":    {"reference": paid, "amount": 1001},
		"the session, too much": {"reference": session, "amount": 1001},
	} {
		all := map[string]any{"refundId": "r-" + name[:5], "amount": 100}
		maps.Copy(all, data)
		if status, a := r.call(wire.Refund, all); status != http.StatusOK || a.State != wire.Refused || a.Reason == "" {
			t.Errorf("%s: %d %+v", name, status, a)
		}
	}
	if a, _ := r.call(wire.Refund, map[string]any{"refundId": "r1", "amount": 1, "reference": session}); a != 200 {
		t.Errorf("by the session: %d", a)
	}
}

// TestStripeAway has Stripe lose calls and answers, refuse some, and ask for patience: the service asks again, and each
// payment and refund is made once.
func TestStripeAway(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	r := openRig(t, standin.Options{Fault: func(req *http.Request) standin.Fault {
		if req.Method != http.MethodPost {
			return standin.None
		}
		return standin.Fault(n.Add(1) % 5)
	}}, nil)
	until := func(kind string, data map[string]any) wire.Answer {
		t.Helper()
		for range 20 {
			if status, a := r.call(kind, data); status == http.StatusOK && a.State != wire.Refused {
				return a
			}
		}
		t.Fatalf("%s: never", kind)
		return wire.Answer{}
	}
	for _, id := range []string{"pay_1", "pay_2", "pay_3"} {
		a := until(wire.Begin, map[string]any{
			"id": id, "amount": 1000, "currency": "EUR", "returnUrl": "https://shop.example/",
		})
		if err := r.stripe.Pay(a.Reference, false); err != nil {
			t.Fatal(err)
		}
		reference := r.service.next(t, wire.Paid).Data.Reference
		until(wire.Refund, map[string]any{"id": id, "refundId": id + "-1", "amount": 400, "reference": reference})
		if got := r.stripe.Statement()[id]; got.Refunded != 400 || r.stripe.Sessions()[id] != 1 {
			t.Errorf("%s: %+v, %v", id, got, r.stripe.Sessions())
		}
	}
}

func TestCallsRefused(t *testing.T) {
	t.Parallel()
	r := openRig(t, standin.Options{}, nil)
	other := "whsec_AfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	for name, tc := range map[string]struct {
		kind, secret string
		age          time.Duration
		data         map[string]any
		want         int
	}{
		"another secret": {wire.Begin, other, 0, nil, http.StatusUnauthorized},
		"old":            {wire.Begin, sharedSecret, 10 * time.Minute, nil, http.StatusUnauthorized},
		"a later type":   {"payment.later", sharedSecret, 0, nil, http.StatusBadRequest},
		"no payment":     {wire.Cancel, sharedSecret, 0, map[string]any{"id": ""}, http.StatusBadRequest},
		"no refund":      {wire.Refund, sharedSecret, 0, nil, http.StatusBadRequest},
	} {
		if got, a := r.callSigned(tc.kind, tc.data, tc.secret, time.Now().Add(-tc.age)); got != tc.want {
			t.Errorf("%s: %d %+v, want %d", name, got, a, tc.want)
		}
	}
	if !strings.Contains(r.log.text(), "is SECKILL_PAYMENT_SECRET the service's secret?") {
		t.Error("the log does not say what to do")
	}
}
