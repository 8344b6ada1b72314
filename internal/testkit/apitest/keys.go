package apitest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/idempotency"
	"seckill/internal/testkit/contract"
)

// FindKey returns a function for httpapi.Keys that finds every key used, by a request that made the thing with the id
// made; with "" it finds every key unused.
func FindKey(made string) func(context.Context, idempotency.Key) error {
	return func(context.Context, idempotency.Key) error {
		if made == "" {
			return nil
		}
		return &idempotency.RepeatedError{Made: made}
	}
}

const (
	keyHeader = "Idempotency-Key"
	madeID    = "3"
)

// askWithKeys sends requests with a key to a POST route; every POST route accepts keys. A route on which admins create
// something answers a repeated request like the first one, and refuses a malformed key.
func (p *provoker) askWithKeys(t *testing.T, open func(State) http.Handler, good Request) {
	t.Helper()
	r := p.route
	if r.Method != http.MethodPost {
		return
	}
	key := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(keyHeader, value) }
	}
	plain := p.ask(t, open(State{}), good).Code
	if w := p.ask(t, open(State{}), good, key("a-key")); w.Code != plain {
		t.Errorf("with a key: %d %s", w.Code, w.Body)
	}
	if creates := slices.Contains(p.operation.Outcomes(), "201"); creates && r.Access == httpkit.ForAdmins &&
		r.Again == nil {
		t.Error("it creates something, however often it is repeated with one key")
	}
	if !r.Keyed {
		return
	}
	if !p.operation.TakesKey() {
		t.Errorf("%s is not described", keyHeader)
	}
	w := p.ask(t, open(State{}), good, key("a key"))
	if w.Code != http.StatusBadRequest || contract.CodeOf(w.Body.Bytes()) != "INVALID" ||
		!strings.Contains(w.Body.String(), `"field":"`+keyHeader+`"`) {
		t.Errorf("with a malformed key: %d %s", w.Code, w.Body)
	}
	if r.Again == nil {
		return
	}
	if w := p.ask(t, open(State{Made: madeID}), good, key("a-key")); w.Code != plain {
		t.Errorf("repeated: %d %s", w.Code, w.Body)
	}
	if w := p.ask(t, open(State{Made: "x"}), good, key("a-key")); w.Code != http.StatusInternalServerError {
		t.Errorf("a row that makes no sense: %d %s", w.Code, w.Body)
	}
}
