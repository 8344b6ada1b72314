package entry

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// nginx's log of requests that no instance answers contains no token, although a token may be in a query, in any form.
func TestTokensAreNotLogged(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	e := startBefore(t, gone.Listener.Addr().String(), "")
	const secret = "s3cr3t"
	for _, line := range []string{
		"GET /order/7/events?access_token=" + secret + " HTTP/1.1",
		"GET //order/7/events?access_token=" + secret + " HTTP/1.1",
		"GET /order/7/events/?access_token=" + secret + " HTTP/1.1",
		"GET /order/x/events?access_token=" + secret + " HTTP/1.1",
		"GET /order/7/event%73?access_token=" + secret + " HTTP/1.1",
		"GET /./order/7/events?access%5Ftoken=" + secret + " HTTP/1.1",
		"GET /order/7/events%3Faccess_token=" + secret + " HTTP/1.1",
		"GET /order/7/events%253Faccess_token=" + secret + " HTTP/1.1",
		"GET /order/7/events;access_token=" + secret + " HTTP/1.1",
		"GET /order/7/events&access_token=" + secret + " HTTP/1.1",
		"GET http://shop/order/7/events?access_token=" + secret + " HTTP/1.1",
		"POST /voucher/seckill/7?access_token=" + secret + " HTTP/1.1",
		"GET /order/7/events?access_token=" + secret + " HTTP/1.9",
		"GET /order/7/events?access_token=" + secret + " HTTP/3.x",
		"GET /order/7/events?access_token=" + secret + strings.Repeat("x", 9000) + " HTTP/1.1",
		"POST /voucher?access_token=" + secret + " HTTP/1.1\r\nContent-Length: 1000000",
		"GET /%zz?access_token=" + secret + " HTTP/1.1",
		"TRACE /?access_token=" + secret + " HTTP/1.1",
	} {
		if a := e.ask("127.0.0.1", line+"\r\nHost: shop\r\nReferer: http://shop/?access_token="+secret+
			"\r\nConnection: close\r\n\r\n"); a.status < 400 {
			t.Errorf("%.60q: %d, with no instance", line, a.status)
		}
	}
	e.nginx.Stop() // flushes its log
	log, err := e.nginx.Log()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log, secret) {
		t.Errorf("logged:\n%s", log)
	}
	for _, line := range []string{" 127.0.0.1 GET /order/7/events: 503 from [" + gone.Listener.Addr().String() +
		"] [502] ", " POST /voucher/seckill/7: 504 from "} {
		if !strings.Contains(log, line) {
			t.Errorf("no line %q in\n%s", line, log)
		}
	}
}
