package contract

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestCheck checks that every kind of deviation from the description is noticed.
func TestCheck(t *testing.T) {
	t.Parallel()
	c, err := Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const bought = `{"success":true,"data":{"orderId":"5","status":"queued"}}`
	const soldOut = `{"type":"urn:seckill:problem:sold-out","title":"a","status":409,"detail":"a","success":false,` +
		`"code":"SOLD_OUT","errorMsg":"a"}`
	header := func(alter ...string) http.Header {
		h := http.Header{"X-Request-Id": {"r"}, "Content-Type": {"application/json"}}
		for i := 0; i < len(alter); i += 2 {
			h.Set(alter[i], alter[i+1])
		}
		return h
	}
	problem := header("Content-Type", "application/problem+json", "Content-Language", "en")
	for name, tc := range map[string]struct {
		method, target string
		status         int
		header         http.Header
		sent, body     string
		agrees         bool
	}{
		"accepted": {
			http.MethodPost, "/voucher/seckill/5", 202, header("Location", "/order/5"), "", bought, true,
		},
		"without a Location": {http.MethodPost, "/voucher/seckill/5", 202, header(), "", bought, false},
		"another type": {http.MethodPost, "/voucher/seckill/5", 202, header("Location", "/order/5",
			"Content-Type", "text/html"), "", bought, false},
		"an undescribed member": {
			http.MethodPost, "/voucher/seckill/5", 202, header("Location", "/order/5"), "",
			`{"success":true,"data":{"orderId":"5","x":1}}`, false,
		},
		"a number for an order id": {
			http.MethodPost, "/voucher/seckill/5", 202, header("Location", "/order/5"), "",
			`{"success":true,"data":{"orderId":5}}`, false,
		},
		"another status": {
			http.MethodPost, "/voucher/seckill/5", 203, header("Location", "/order/5"), "", bought, false,
		},
		"refused":                 {http.MethodPost, "/voucher/seckill/5", 409, problem, "", soldOut, true},
		"a code of another route": {http.MethodPost, "/order/5/cancel", 409, problem, "", soldOut, false},
		"429 without Retry-After": {http.MethodGet, "/order", 429, problem, "", soldOut, false},
		"no such path":            {http.MethodGet, "/nothing", 404, problem, "", `{"code":"NOT_FOUND"}`, true},
		"a path nobody described": {http.MethodGet, "/nothing", 200, header(), "", bought, false},
		"405 without Allow":       {http.MethodPut, "/order", 405, problem, "", `{"code":"METHOD"}`, false},
		"HEAD has no body":        {http.MethodHead, "/order", 200, header(), "", "", true},
		"asked as described": {
			http.MethodPost, "/payment/callback", 200, header(), `{"paymentId":"p","amount":1,"status":"succeeded"}`,
			`{"success":true}`, true,
		},
		"asked otherwise": {
			http.MethodPost, "/payment/callback", 200, header(), `{"paymentId":"p"}`, `{"success":true}`, false,
		},
		"events": {
			http.MethodGet, "/order/5/events", 200, header("Content-Type", "text/event-stream"), "",
			"retry: 2000\nevent: bye\ndata: {\"reason\":\"final\"}\n\n", true,
		},
		"an event with other data": {
			http.MethodGet, "/order/5/events", 200, header("Content-Type", "text/event-stream"), "",
			"event: bye\ndata: {\"reason\":\"bored\"}\n\n", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), tc.method, tc.target, http.NoBody)
			err := c.Check(Exchange{
				Request: r, RequestBody: []byte(tc.sent), Status: tc.status, Header: tc.header, Body: []byte(tc.body),
			})
			if agrees := err == nil; agrees != tc.agrees {
				t.Errorf("agrees: %t, want %t: %v", agrees, tc.agrees, err)
			}
		})
	}
}
