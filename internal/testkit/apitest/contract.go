package apitest

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/testkit/contract"
)

// BodyLimit is the largest body that an API in these tests takes, in bytes.
const BodyLimit = 64 << 10

// beyondLimits is more than any route reads, in bytes: notices of payment providers may be larger than other bodies.
const beyondLimits = 1 << 20

// Case says how a route succeeds, and which refusals it has beyond those of every route of its kind.
type Case struct {
	Access   httpkit.Access // who may call it
	Good     Request
	Ways     int      // how many kinds of success it has; 0: one
	Known    *Request // a request whose answer the caller has already (304)
	Invalid  *Request // an invalid request; nil: no request is invalid
	Refusals []error
	Never    []int // statuses that other routes of its kind have, and this one cannot
}

// State is the condition of an API under test.
type State struct {
	Way    int    // which kind of success (Case.Ways)
	Err    error  // everything fails with this error
	Strict bool   // allow a single request per user
	Full   bool   // too many requests are in flight
	Made   string // the id that earlier requests with a key created (Keys)
}

// Ask sends a request, after altering it, to an API, and compares the answer with the description.
type Ask func(
	t *testing.T, api http.Handler, req Request, alter ...func(*http.Request),
) *httptest.ResponseRecorder

// Contract compares routes with their description.
type Contract struct {
	Routes []httpkit.Route
	Cases  map[string]Case // by method and pattern
	// Open returns the API in a state. It may ignore Full if every refusal for lack of room can be provoked otherwise.
	Open func(t *testing.T, r httpkit.Route, s State) http.Handler
	// More sends requests that only some routes need; nil: none.
	More func(t *testing.T, r httpkit.Route, good Request, ask Ask)
}

// Hold provokes every described answer of the routes: each answer must match its description, each described status and
// code must be reachable, and no others may occur.
func (c Contract) Hold(t *testing.T) {
	t.Helper()
	described, err := contract.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Cases) != len(c.Routes) {
		t.Errorf("%d cases for %d routes", len(c.Cases), len(c.Routes))
	}
	for _, r := range c.Routes {
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			t.Parallel()
			one, known := c.Cases[r.Method+" "+r.Path]
			o, found := described.Find(r.Method, r.Path)
			if !known || !found {
				t.Fatalf("describe it in web/openapi.yaml (found: %t) and in the cases (found: %t)", found, known)
			}
			if r.Access != one.Access {
				t.Errorf("access %d, want %d", r.Access, one.Access)
			}
			p := &provoker{contract: described, operation: o, route: r, seen: map[string]bool{}}
			c.askEverything(t, p, one)
			if diff := cmp.Diff(o.Outcomes(), slices.Sorted(maps.Keys(p.seen))); diff != "" {
				t.Errorf("described (-) and actual (+) outcomes:\n%s", diff)
			}
		})
	}
}

// askEverything provokes all answers of the route.
func (c Contract) askEverything(t *testing.T, p *provoker, one Case) {
	t.Helper()
	ways := max(1, one.Ways)
	open := func(s State) http.Handler { return c.Open(t, p.route, s) }
	for way := range ways {
		p.ask(t, open(State{Way: way}), one.Good)
	}
	if one.Known != nil {
		p.ask(t, open(State{Way: ways - 1}), *one.Known)
	}
	if one.Invalid != nil {
		p.ask(t, open(State{}), *one.Invalid)
	}
	for _, err := range one.Refusals {
		p.ask(t, open(State{Err: err}), one.Good)
	}
	if !slices.Contains(one.Never, http.StatusInternalServerError) {
		p.ask(t, open(State{Err: errors.New("unexpected")}), one.Good)
	}
	p.ask(t, open(State{}), one.Good, func(r *http.Request) { r.ContentLength = beyondLimits })
	p.askStrangers(t, open, one.Good)
	p.askStrangely(t, open, one.Good)
	p.askWithKeys(t, open, one.Good)
	switch p.route.Access {
	case httpkit.ForUsers, httpkit.ForBuyers, httpkit.ForTills:
		strict := open(State{Strict: true})
		p.ask(t, strict, one.Good)
		p.ask(t, strict, one.Good)
	case httpkit.ForAll, httpkit.ForAdmins, httpkit.ForMerchants, httpkit.ForCrowds:
	}
	if c.More != nil {
		c.More(t, p.route, one.Good, p.ask)
	}
	if !p.route.Uncounted {
		p.ask(t, open(State{Full: true}), one.Good)
	}
}

// askStrangers sends the request as callers who may not use the route.
func (p *provoker) askStrangers(t *testing.T, open func(State) http.Handler, good Request) {
	t.Helper()
	works := open(State{})
	switch p.route.Access {
	case httpkit.ForAdmins, httpkit.ForTills, httpkit.ForCrowds:
		p.ask(t, works, good, func(r *http.Request) { r.Header.Set("Authorization", Token(t, BuyerID, "")) })
	case httpkit.ForBuyers:
		p.ask(t, works, good, func(r *http.Request) { r.Header.Set("Authorization", TillToken(t)) })
	case httpkit.ForMerchants:
		p.ask(t, works, good, func(r *http.Request) { r.Header.Set("Authorization", Token(t, BuyerID, "")) })
		p.ask(t, works, good, func(r *http.Request) { r.Header.Set("Authorization", MerchantToken(t, OtherShopID)) })
		strict, other := open(State{Strict: true}), MerchantToken(t, OtherShopID)
		for range 2 {
			p.ask(t, strict, good, func(r *http.Request) { r.Header.Set("Authorization", other) })
		}
	case httpkit.ForAll, httpkit.ForUsers:
	}
	if p.route.Access != httpkit.ForAll {
		p.ask(t, works, good, func(r *http.Request) { r.Header.Del("Authorization") })
		p.ask(t, works, good, func(r *http.Request) { r.Header.Set("Authorization", "forged") })
	}
}

// provoker sends requests to APIs and collects the outcomes of one route.
type provoker struct {
	contract  *contract.Contract
	operation contract.Operation
	route     httpkit.Route
	seen      map[string]bool // "409 SOLD_OUT"
}

// ask sends a request to an API, checks the answer against the description, and records it.
func (p *provoker) ask(
	t *testing.T, api http.Handler, req Request, alter ...func(*http.Request),
) *httptest.ResponseRecorder {
	t.Helper()
	if req.Target == "" {
		req.Target = p.route.Path
	}
	req.Method = p.route.Method
	header := map[string]string{"Authorization": tokenFor(t, p.route.Access)}
	maps.Copy(header, req.Header)
	req.Header = header
	r := req.HTTP(t, t.Context())
	for _, f := range alter {
		f(r)
	}
	var body []byte
	if req.Body != "" {
		body = []byte(req.Body)
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	if err := p.contract.Check(contract.Exchange{
		Request: r, RequestBody: body, Status: w.Code, Header: w.Header(), Body: w.Body.Bytes(),
	}); err != nil {
		t.Error(err)
	}
	p.seen[strings.TrimSpace(strconv.Itoa(w.Code)+" "+contract.CodeOf(w.Body.Bytes()))] = true
	return w
}
