package httpapi

import (
	"errors"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// toldErrors are what callers may hear of the domain. privateErrors stay inside it, or between it and its stores; one
// that got out would be INTERNAL.
var (
	toldErrors = map[string]error{
		"voucher.ErrNotFound": voucher.ErrNotFound, "voucher.ErrNotSeckill": voucher.ErrNotSeckill, "voucher.ErrOffShelf": voucher.ErrOffShelf,
		"order.ErrNotFound": order.ErrNotFound, "order.ErrNotStarted": order.ErrNotStarted, "order.ErrEnded": order.ErrEnded,
		"order.ErrSoldOut": order.ErrSoldOut, "order.ErrPaused": order.ErrPaused, "order.ErrUnavailable": order.ErrUnavailable,
		"order.ErrUnknownOutcome": order.ErrUnknownOutcome, "order.ErrSeckill": order.ErrSeckill, "order.ErrKeyReused": order.ErrKeyReused,
		"order.ErrNoProvider": order.ErrNoProvider, "order.ErrNoPayment": order.ErrNoPayment, "order.ErrWrongAmount": order.ErrWrongAmount,
		"order.ErrBadNotice": order.ErrBadNotice, "order.ErrNoLetter": order.ErrNoLetter, "order.ErrNotReplayable": order.ErrNotReplayable,
		"voucher.ErrRetired": voucher.ErrRetired, "voucher.ErrKeyReused": voucher.ErrKeyReused, "voucher.ErrUndecided": voucher.ErrUndecided,
		"voucher.InvalidError": &voucher.InvalidError{}, "order.AlreadyBoughtError": &order.AlreadyBoughtError{},
		"voucher.InsufficientStockError": &voucher.InsufficientStockError{}, "order.StateError": &order.StateError{},
	}
	privateErrors = map[string]error{
		"order.ErrConflict": order.ErrConflict, "order.ErrRejected": order.ErrRejected, "order.ErrSuperseded": order.ErrSuperseded,
		"order.ErrOutdated": order.ErrOutdated,
		"order.ErrBusy":     order.ErrBusy, "order.ErrDismissed": order.ErrDismissed,
	}
)

// Every error that the domain exports is in one of the two lists above, and those of the first are in the table.
func TestEveryDomainErrorHasAnAnswer(t *testing.T) {
	t.Parallel()
	book, err := newErrorBook()
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"voucher", "order"} {
		for _, name := range exportedErrors(t, pkg) {
			private, isPrivate := privateErrors[name]
			public, isPublic := toldErrors[name]
			switch {
			case isPublic == isPrivate:
				t.Errorf("%s: decide whether callers are told of it", name)
			case isPublic && book.match(public) == &book.internal:
				t.Errorf("%s is not in the table", name)
			case isPrivate && book.match(private) != &book.internal:
				t.Errorf("%s is in the table", name)
			}
		}
	}
	for _, err := range []error{errNoToken, errBadToken, errForbidden, errTooLarge, errNoRoute, errMethod, errUnkeyedOutcome, errManyStreams, errUserStreams, errOverloaded, errRateLimited, &orderFailedError{}} {
		if book.match(err) == &book.internal {
			t.Errorf("%v is not in the table", err)
		}
	}
}

// exportedErrors reads the names of a package's exported sentinel errors and error types from its source.
func exportedErrors(t *testing.T, pkg string) []string {
	t.Helper()
	var names []string
	dir := "../" + pkg
	parsed, err := parser.ParseDir(gotoken.NewFileSet(), dir, func(f fs.FileInfo) bool { //nolint:staticcheck // build tags do not matter here
		return !strings.HasSuffix(f.Name(), "_test.go")
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parsed {
		for _, f := range p.Files {
			for name, object := range f.Scope.Objects {
				sentinel := object.Kind == ast.Var && strings.HasPrefix(name, "Err")
				kind := object.Kind == ast.Typ && strings.HasSuffix(name, "Error")
				if (sentinel || kind) && ast.IsExported(name) {
					names = append(names, pkg+"."+name)
				}
			}
		}
	}
	if len(names) < 2 {
		t.Fatalf("found only %v in %s", names, dir)
	}
	slices.Sort(names)
	return names
}

// Every failure is complete: a stable code, a fitting status, texts for developers and in both languages for people.
func TestFailuresAreComplete(t *testing.T) {
	t.Parallel()
	code := regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`)
	failures := []failure{internalFailure(), cancelledFailure()}
	for _, r := range rules {
		failures = append(failures, r.failure)
	}
	statuses := map[string]int{}
	for _, f := range failures {
		if !code.MatchString(f.code) || f.title == "" || f.detail == "" || f.english == "" {
			t.Errorf("%+v is not complete", f)
		}
		if !strings.ContainsFunc(f.chinese, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s: %q is not Chinese", f.code, f.chinese)
		}
		if strings.ContainsFunc(f.english+f.title+f.detail, func(r rune) bool { return r > unicode.MaxASCII }) {
			t.Errorf("%s: the English is not plain", f.code)
		}
		if again := f.status == http.StatusServiceUnavailable || f.status == http.StatusTooManyRequests; again != (f.retryAfter != "") {
			t.Errorf("%s: status %d with Retry-After %q", f.code, f.status, f.retryAfter)
		}
		if (f.status == http.StatusUnauthorized) != (f.challenge != "") {
			t.Errorf("%s: status %d with challenge %q", f.code, f.status, f.challenge)
		}
		if known, has := statuses[f.code]; has && known != f.status {
			t.Errorf("%s has the statuses %d and %d", f.code, known, f.status)
		}
		statuses[f.code] = f.status
	}
	want := map[string]int{
		"NOT_FOUND": 404, "OFF_SHELF": 409, "NOT_SECKILL": 409, "NOT_STARTED": 403, "ENDED": 403, "SOLD_OUT": 409,
		"ALREADY_BOUGHT": 409, "ORDER_FAILED": 409, "INVALID": 400, "TOO_LARGE": 413, "METHOD": 405,
		"UNAUTHENTICATED": 401, "FORBIDDEN": 403, "PAUSED": 503, "UNAVAILABLE": 503, "UNKNOWN_OUTCOME": 504,
		"INTERNAL": 500, "CANCELLED": 499, "RATE_LIMITED": 429,
		"ORDER_STATE": 409, "INSUFFICIENT_STOCK": 409, "KEY_REUSED": 409, "SECKILL_ONLY": 409, "NO_PROVIDER": 501, "NOT_REPLAYABLE": 409,
		"PAYMENT_MISMATCH": 409, "BAD_NOTICE": 401,
	}
	if diff := cmp.Diff(want, statuses); diff != "" {
		t.Errorf("codes and statuses (-want +got):\n%s", diff)
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, target := range []string{"/", "/nothing", "/voucher/1/2", "/voucher/list", "/metrics", "/debug/pprof/", "/order/", "/VOUCHER/5"} {
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
	w := do(t, buying(t, &order.AlreadyBoughtError{OrderID: 5, Status: order.Unpaid}), request{method: http.MethodPost, target: "/voucher/seckill/5"})
	want := `{"type":"urn:seckill:problem:already-bought","title":"Already bought","status":409,` +
		`"detail":"This user has a live order for this voucher; data says which. One to a person.",` +
		`"success":false,"code":"ALREADY_BOUGHT","errorMsg":"You have bought this already.",` +
		`"data":{"orderId":"5","status":"unpaid"}}`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Error(diff)
	}
}

// Bodies are shared between requests: adding members must not write into them.
func TestSharedBodiesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	book, err := newErrorBook()
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		&order.AlreadyBoughtError{OrderID: 1}, &orderFailedError{}, &voucher.InvalidError{}, &order.StateError{}, &voucher.InsufficientStockError{},
	} {
		for tongue := range tongues {
			e := book.match(err)
			e.problem[tongue] = slices.Grow(e.problem[tongue], 1000) // with room behind, appending would write into it
			before := string(e.problem[tongue])
			_ = e.body(problemDocument, tongue, err)
			if after := string(e.problem[tongue]); after != before {
				t.Errorf("%s became %s", before, after)
			}
		}
	}
	if !errors.Is(errors.Join(order.ErrSoldOut), order.ErrSoldOut) || book.match(errors.Join(order.ErrSoldOut)).code != "SOLD_OUT" {
		t.Error("a joined error is not found")
	}
}
