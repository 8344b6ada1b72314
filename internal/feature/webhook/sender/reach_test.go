package sender

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"seckill/internal/feature/webhook/dispatch"
)

// Where nothing can ever be sent is known from the URL alone, as far as it says so.
func TestNever(t *testing.T) {
	t.Parallel()
	inside := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("127.0.0.0/8")}
	const never, needsTLS = dispatch.AddressNotAllowed, dispatch.NeedsTLS
	for text, want := range map[string][2]dispatch.FailureCode{ // with nothing allowed, and with inside
		"https://shop.example/":       {},
		"https://8.8.8.8/":            {},
		"https://[2606:4700::1111]/":  {},
		"https://10.1.2.3/":           {never, ""},
		"https://10.2.0.1/":           {never, never},
		"https://[fe80::1%25eth0]/":   {never, never},
		"https://[::ffff:127.0.0.1]/": {never, ""},
		"https://169.254.169.254/":    {never, never},
		"https://localhost/":          {never, ""},
		"https://LOCALHOST./":         {never, ""},
		"https://a.localhost:8443/":   {never, ""},
		"http://shop.example/":        {needsTLS, ""}, // which address it has is not known yet
		"http://8.8.8.8/":             {needsTLS, needsTLS},
		"http://10.1.2.3/":            {needsTLS, ""},
		"http://localhost/":           {needsTLS, ""},
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for i, allowed := range [][]netip.Prefix{nil, inside} {
			s := New(Options{Allowed: allowed})
			if got := s.Never(u); got.Code != want[i] || got.Code != "" && got.Address != u.Hostname() {
				t.Errorf("%s with %v allowed: %+v, want %q", text, allowed, got, want[i])
			}
			s.Close()
		}
	}
}

// A receiver that drips its answer does not hold up what is sent to it: its status counts if it has come, and a header
// that does not come to its end is a failure.
func TestDrippingAnswers(t *testing.T) {
	t.Parallel()
	drip := func(w http.ResponseWriter, r *http.Request, begin string) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		_, err = c.Write([]byte(begin))
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for err == nil && r.Context().Err() == nil {
			<-ticker.C
			_, err = c.Write([]byte("x"))
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/body", func(w http.ResponseWriter, r *http.Request) {
		drip(w, r, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
	})
	mux.HandleFunc("/refusal", func(w http.ResponseWriter, r *http.Request) {
		drip(w, r, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 100000\r\n\r\n")
	})
	mux.HandleFunc("/header", func(w http.ResponseWriter, r *http.Request) {
		drip(w, r, "HTTP/1.1 200 OK\r\nX-Drip: ")
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) { // takes its time, and then answers at once
		time.Sleep(restTimeout + 200*time.Millisecond)
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	s := New(Options{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	defer s.Close()
	for path, want := range map[string]dispatch.Failure{
		"/body": {}, "/refusal": {Code: dispatch.Status, Status: 503}, "/header": {Code: dispatch.Timeout}, "/slow": {},
	} {
		began := time.Now()
		if got := s.Send(t.Context(), message(server.URL+path)); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
		if took := time.Since(began); took > 5*restTimeout {
			t.Errorf("%s: it took %v", path, took)
		}
	}
}
