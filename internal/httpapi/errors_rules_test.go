package httpapi_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/order"
	"seckill/internal/order/gate"
)

// Rules of routes that are marked early stand before all else; others before this package's own.
func TestEarlyRules(t *testing.T) {
	t.Parallel()
	late := httpkit.Rule{Failure: httpkit.Failure{Code: "LATE"}}
	early := httpkit.Rule{Failure: httpkit.Failure{Code: "EARLY"}, Early: true}
	all := rules([]httpkit.Rule{late, early})
	if first, behind := all[0].Failure.Code, all[1+len(rushRules)].Failure.Code; first != "EARLY" || behind != "LATE" {
		t.Errorf("first comes %s, and behind the rush %s", first, behind)
	}
}

// Whatever admission answers has a rule with the code under which it is counted, and a label for the console.
func TestEveryOutcomeHasAnAnswer(t *testing.T) {
	t.Parallel()
	labels := map[string]bool{}
	for _, r := range rules(shop.Rules()) {
		if !slices.Contains(r.Failure.Label[:], "") {
			labels[r.Failure.Code] = true
		}
	}
	for _, o := range gate.Outcomes() {
		err := gate.Result{Outcome: o, OrderID: 5}.Err()
		if err == nil || o.Answer() == gate.NoAnswer {
			continue
		}
		want := httpkit.CodeOf(o.Answer())
		i := slices.IndexFunc(rules(shop.Rules()), func(r httpkit.Rule) bool { return r.Matches(err) })
		switch {
		case i < 0 || rules(shop.Rules())[i].Failure.Code != want:
			t.Errorf("the outcome %s (%v) needs a rule with the code %s in shop/errors.go", o, err, want)
		case slices.Contains(rules(shop.Rules())[i].Failure.Label[:], ""):
			t.Errorf("the rule of %s for %v needs a label in every language", want, err)
		}
		delete(labels, want)
	}
	for code := range labels {
		t.Errorf("%s has a label and is no answer of admission", code)
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, target := range []string{
		"/", "/nothing", "/voucher/1/2", "/voucher/list", "/metrics", "/debug/pprof/", "/order/", "/VOUCHER/5",
	} {
		w := do(t, a, request{Method: http.MethodGet, Target: target})
		if target == "/voucher/list" { // the id "list"
			wantProblem(t, w, http.StatusBadRequest, "INVALID")
			continue
		}
		wantProblem(t, w, http.StatusNotFound, "NOT_FOUND")
	}
	for _, c := range []struct{ method, target, allow string }{
		{http.MethodPut, "/voucher", "POST"},
		{http.MethodDelete, "/order/5", "GET, HEAD"},
		{http.MethodPost, "/order", "GET, HEAD"},
		{http.MethodPut, "/voucher/5", "GET, HEAD, PATCH"},
		{http.MethodGet, "/voucher/5/stock", "POST"},
		{http.MethodPost, "/order/5/events", "GET, HEAD"},
		{http.MethodDelete, "/admin/order/5", "GET, HEAD"},
		{http.MethodGet, "/payment/callback", "POST"},
		{http.MethodGet, "/voucher/seckill/5", "POST"},
		{http.MethodHead, "/voucher/seckill/5", "POST"},
		{http.MethodPost, "/healthz", "GET, HEAD"},
		{"BREW", "/readyz", "GET, HEAD"},
	} {
		w := do(t, a, request{Method: c.method, Target: c.target})
		wantProblem(t, w, http.StatusMethodNotAllowed, "METHOD")
		if got := w.Header().Get("Allow"); got != c.allow {
			t.Errorf("%s %s: Allow is %q, want %q", c.method, c.target, got, c.allow)
		}
	}
}

// A golden document: what clients have built upon.
func TestProblemDocument(t *testing.T) {
	t.Parallel()
	w := do(t, buying(t, &gate.AlreadyBoughtError{OrderID: 5, Status: order.Unpaid}),
		request{Method: http.MethodPost, Target: "/voucher/seckill/5"})
	want := `{"type":"urn:seckill:problem:already-bought","title":"Already bought","status":409,` +
		`"detail":"This user has a live order for this voucher; data says which. One order to a person.",` +
		`"success":false,"code":"ALREADY_BOUGHT","errorMsg":"You have bought this already.",` +
		`"data":{"orderId":"5","status":"unpaid"}}`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Error(diff)
	}
}
