package sender

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/webhook/dispatch"
)

func message(to string) dispatch.Message {
	return dispatch.Message{
		URL: to, ID: "order-1-1", At: time.Now(), Body: []byte("{}"), Secrets: []dispatch.Secret{dispatch.NewSecret()},
	}
}

// leadHere returns a resolver for which every name has the address 127.0.0.1, whatever the machine's /etc/hosts says.
func leadHere(t *testing.T) *net.Resolver {
	t.Helper()
	server, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() }) // nobody asks any more
	go func() {
		query := make([]byte, 4096)
		for {
			n, from, err := server.ReadFrom(query)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(here(query[:n]), from) // the client retries
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// here answers a question of DNS (RFC 1035): the name has the address 127.0.0.1, and nothing of another type.
func here(query []byte) []byte {
	const header, rest = 12, 5 // rest is the end of the name, its type and its class
	end := header
	for query[end] != 0 {
		end += 1 + int(query[end])
	}
	question := query[header : end+rest]
	counts, record := []byte{0, 1, 0, 0, 0, 0, 0, 0}, []byte(nil)
	if query[end+2] == 1 { // type A
		counts[3] = 1
		record = []byte{0xc0, header, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1}
	}
	return slices.Concat(query[:2], []byte{0x81, 0x80}, counts, question, record)
}

// A name that leads to this machine is refused when it is dialled, and nothing is sent.
func TestNamesOfThisMachineAreRefused(t *testing.T) {
	t.Parallel()
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	s := New(Options{names: leadHere(t)})
	defer s.Close()
	named := strings.Replace(server.URL, "127.0.0.1", "leads-here.example", 1)
	for _, to := range []string{
		server.URL, strings.Replace(server.URL, "http:", "https:", 1),
		named, strings.Replace(named, "http:", "https:", 1),
	} {
		want := dispatch.NeedsTLS
		if strings.HasPrefix(to, "https:") {
			want = dispatch.AddressNotAllowed
		}
		if f := s.Send(t.Context(), message(to)); f.Code != want || !netip.MustParseAddr(f.Address).IsLoopback() {
			t.Errorf("%s: %+v, want %s or %s", to, f, want, dispatch.AddressNotAllowed)
		}
	}
	if asked {
		t.Error("a request has arrived")
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	followed := false
	mux.HandleFunc("/target", func(http.ResponseWriter, *http.Request) { followed = true })
	mux.Handle("/moved", http.RedirectHandler("/target", http.StatusTemporaryRedirect))
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	mux.HandleFunc("/bad",
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret detail", http.StatusBadGateway) })
	mux.HandleFunc("/garbled", func(w http.ResponseWriter, _ *http.Request) {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nsecret detail\r\n\r\n"))
			_ = c.Close()
		}
	})
	mux.HandleFunc("/astray", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://secret detail:%")
		w.WriteHeader(http.StatusFound)
	})
	// It is cut off.
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) })
	server := httptest.NewServer(mux)
	defer server.Close()
	s := New(Options{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	defer s.Close()
	for path, want := range map[string]dispatch.Failure{
		"/long": {}, "/moved": {Code: dispatch.Redirect, Status: 307},
		"/gone": {Code: dispatch.Gone, Status: 410}, "/bad": {Code: dispatch.Status, Status: 502},
		"/garbled": {Code: dispatch.NotHTTP}, "/astray": {Code: dispatch.NotHTTP},
	} {
		if got := s.Send(t.Context(), message(server.URL+path)); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
	if followed {
		t.Error("a redirect was followed")
	}
}
