package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"seckill/internal/order"
)

// Every route is asked with unknown names by TestContract. These are what money depends on.
func TestPurchaseWithBody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target, body string
		units        int64  // 0: refused
		field        string // that is named
	}{
		{"/voucher/seckill/5", `{"quantity":3}`, 3, ""},
		{"/voucher/seckill/5?wait=0s", `{"quantity":3}`, 3, ""},
		{"/voucher/seckill/5", `{}`, 1, ""},
		{"/voucher/seckill/5", ` `, 1, ""},
		{"/voucher/seckill/5", `null`, 1, ""},
		{"/voucher/seckill/5?quantity=2", `{}`, 2, ""},
		{"/voucher/seckill/5?quantity=2", `{"quantity":2}`, 0, "quantity"},
		{"/voucher/seckill/5", `{"quantity":0}`, 0, "quantity"},
		{"/voucher/seckill/5", `{"quantity":21}`, 0, "quantity"},
		{"/voucher/seckill/5", `{"quantity":"3"}`, 0, "quantity"},
		{"/voucher/seckill/5", `{"qty":3}`, 0, "qty"},
		{"/voucher/seckill/5", `{"wait":"2s"}`, 0, "wait"},
		{"/voucher/seckill/5", `quantity=3`, 0, "body"},
		{"/voucher/seckill/5?qty=3", ``, 0, "qty"},
		{"/voucher/seckill/5?quantity=3;wait=2s", ``, 0, "query"},
		{"/voucher/seckill/5?%71uantity=3", ``, 3, ""},
		{"/voucher-order/seckill/5", `{"quantity":3}`, 1, ""},
		{"/voucher-order/seckill/5?qty=3", `no JSON`, 1, ""},
	} {
		asked := order.QuantityOf(77)
		a := newAPI(t, withPurchases(fakePurchases{Asked: &asked}))
		w := do(t, a, request{Method: http.MethodPost, Target: c.target, Body: c.body})
		switch {
		case c.units > 0 && (asked.Units() != c.units || w.Code >= http.StatusBadRequest):
			t.Errorf("%s %s: %d, asked for %s units, want %d", c.target, c.body, w.Code, asked, c.units)
		case c.units == 0:
			got := wantProblem(t, w, http.StatusBadRequest, "INVALID")
			if len(got.Errors) != 1 || got.Errors[0].Field != c.field || asked.Units() != 77 {
				t.Errorf("%s %s: %+v, asked for %s units", c.target, c.body, got.Errors, asked)
			}
		}
	}
}

// What is wrong with several names is said at once, and nothing is done.
func TestStrangeNames(t *testing.T) {
	t.Parallel()
	for target, body := range map[string]string{
		"/order/5/refund": `{"amount":100,"currency":"CNY"}`, "/order/5/cancel?a=1&b=2": "",
		"/order/5/pay": `{"a":{"b":1},"c":2}`, "/voucher/buy/5": `{"quantity":3,"key":"k"}`,
	} {
		got := wantProblem(t, do(t, newAPI(t), request{Method: http.MethodPost, Target: target, Body: body}),
			http.StatusBadRequest, "INVALID")
		if len(got.Errors) != 2 || got.Errors[0].Allowed != "leave it out" {
			t.Errorf("%s %s: %+v", target, body, got.Errors)
		}
	}
}

// unreadable is a body that must not be read.
type unreadable struct{ t *testing.T }

func (b unreadable) Read([]byte) (int, error) {
	b.t.Error("the body is read")
	return 0, io.EOF
}

// A purchase that declares no body costs no read.
func TestPurchaseWithoutBodyReadsNone(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, target := range []string{"/voucher/seckill/5", "/voucher-order/seckill/5"} {
		r := request{Method: http.MethodPost, Target: target}.HTTP(t, t.Context())
		r.Body, r.ContentLength = io.NopCloser(unreadable{t}), 0
		w := httptest.NewRecorder()
		if a.Handler().ServeHTTP(w, r); w.Code >= http.StatusBadRequest {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// A body that comes slowly takes none of the requests in flight while it is read, and one without a right token is
// not read.
func TestSlowBodiesAreNotInFlight(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	reading, sent := io.Pipe()
	r := request{Method: http.MethodPost, Target: "/voucher/seckill/5"}.HTTP(t, t.Context())
	r.Body, r.ContentLength = reading, -1
	r.Header.Set("Content-Type", "application/json")
	w, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		a.Handler().ServeHTTP(w, r)
	}()
	if _, err := fmt.Fprint(sent, `{"quantity":`); err != nil { // returns once it is read
		t.Fatal(err)
	}
	if n := a.Load().InFlight; n != 0 {
		t.Errorf("%d are in flight", n)
	}
	if _, err := fmt.Fprint(sent, `2}`); err != nil {
		t.Fatal(err)
	}
	_ = sent.Close()
	if <-done; w.Code != http.StatusAccepted || !strings.Contains(w.Body.String(), `"orderId"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	stranger := request{
		Method: http.MethodPost, Target: "/voucher/seckill/5", Header: map[string]string{"Authorization": "forged"},
	}.HTTP(t, t.Context())
	stranger.Body, stranger.ContentLength = io.NopCloser(unreadable{t}), -1
	w = httptest.NewRecorder()
	if a.Handler().ServeHTTP(w, stranger); w.Code != http.StatusUnauthorized {
		t.Errorf("a stranger: %d %s", w.Code, w.Body)
	}
}
