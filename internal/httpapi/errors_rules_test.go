package httpapi

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/payment"
)

// privateErrors stay inside the domain, or between it and its stores; one that got out would be INTERNAL. All other
// exported errors of the domain have a rule.
var privateErrors = map[string]error{
	"order.ErrConflict": order.ErrConflict, "order.ErrRejected": order.ErrRejected,
	"order.ErrContended": order.ErrContended, "order.ErrSuperseded": order.ErrSuperseded,
	"order.ErrOutdated": order.ErrOutdated, "order.ErrBusy": order.ErrBusy, "order.ErrStopping": order.ErrStopping,
	"gate.ErrBarred": gate.ErrBarred, "order.UnreadableHolderError": &order.UnreadableHolderError{},
	"order.NotNowError":    &order.NotNowError{Why: errors.New("a feature's")},
	"payment.RefusedError": &payment.RefusedError{},
}

func TestEveryDomainErrorHasAnAnswer(t *testing.T) {
	t.Parallel()
	table := renderErrors(rules(shop.Rules()))
	var source []byte
	for _, pattern := range []string{"errors_*.go", "shop/errors*.go", "../feature/*/rules.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source = append(source, text...)
		}
	}
	for _, dir := range []string{
		"voucher", "order", "order/admission", "order/audit", "order/catalog", "order/gate",
		"order/operation", "order/outbox", "order/payment", "order/reason",
		"order/recorder", "order/recovery", "order/service", "voucher/listing",
	} {
		for _, name := range exportedErrors(t, dir) {
			_, isPrivate := privateErrors[name]
			if hasRule := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).Match(source); hasRule == isPrivate {
				t.Errorf("%s: has a rule: %t, is in privateErrors: %t; it must be in one of them",
					name, hasRule, isPrivate)
			}
		}
	}
	for name, private := range privateErrors {
		if table.match(private) != &table.internal {
			t.Errorf("%s is private, and answered %s", name, table.match(private).code)
		}
	}
	for _, err := range []error{
		errNoToken, errBadToken, errNotTill, errNotBuyer, errNotMerchant, httpkit.ErrNoShop, httpkit.ErrForbidden,
		httpkit.ErrTooLarge, httpkit.ErrNoRoute,
		errMethod,
		shop.ErrUnkeyedOutcome, httpkit.ErrManyStreams, httpkit.ErrUserStreams, httpkit.ErrOverloaded, errRateLimited,
		errManyDemoBuyers, errUsedLink, errNotLocal, &shop.OrderFailedError{},
	} {
		if table.match(err) == &table.internal {
			t.Errorf("%v is not in the table", err)
		}
	}
}

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

// exportedErrors reads the names of a package's exported sentinel errors and error types from its source.
func exportedErrors(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	//nolint:staticcheck // build tags do not matter here
	parsed, err := parser.ParseDir(gotoken.NewFileSet(), "../"+dir, func(f fs.FileInfo) bool {
		return !strings.HasSuffix(f.Name(), "_test.go")
	}, 0)
	if err != nil || len(parsed) == 0 {
		t.Fatalf("%s has no package: %v", dir, err)
	}
	for _, p := range parsed {
		for _, f := range p.Files {
			for name, object := range f.Scope.Objects {
				sentinel := object.Kind == ast.Var && strings.HasPrefix(name, "Err")
				kind := object.Kind == ast.Typ && strings.HasSuffix(name, "Error")
				if (sentinel || kind) && ast.IsExported(name) {
					names = append(names, p.Name+"."+name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, target := range []string{
		"/", "/nothing", "/voucher/1/2", "/voucher/list", "/metrics", "/debug/pprof/", "/order/", "/VOUCHER/5",
	} {
		w := do(t, a, request{method: http.MethodGet, target: target})
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
		w := do(t, a, request{method: c.method, target: c.target})
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
		request{method: http.MethodPost, target: "/voucher/seckill/5"})
	want := `{"type":"urn:seckill:problem:already-bought","title":"Already bought","status":409,` +
		`"detail":"This user has a live order for this voucher; data says which. One order to a person.",` +
		`"success":false,"code":"ALREADY_BOUGHT","errorMsg":"You have bought this already.",` +
		`"data":{"orderId":"5","status":"unpaid"}}`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Error(diff)
	}
}

// An error is found wherever it is wrapped or joined.
func TestJoinedErrors(t *testing.T) {
	t.Parallel()
	table := renderErrors(rules(shop.Rules()))
	for _, err := range []error{
		errors.Join(gate.ErrSoldOut), fmt.Errorf("admitting: %w", errors.Join(errors.New("other"), gate.ErrSoldOut)),
	} {
		if code := table.match(err).code; code != "SOLD_OUT" {
			t.Errorf("%v is answered %s", err, code)
		}
	}
}
