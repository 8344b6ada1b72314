package issuers

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit/idp"
)

// What is fetched is the set and nothing else, from where the issuer's entry allows it.
func TestFetch(t *testing.T) {
	t.Parallel()
	set := idp.Set(t, idp.Keys(t))
	mux := http.NewServeMux()
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(set) })
	mux.HandleFunc("/largest", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte(" "), maxFile))
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte(" "), 2*maxFile))
	})
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/keys", http.StatusFound)
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	here := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for name, tc := range map[string]struct {
		path     string
		networks []netip.Prefix
		want     string // in the error; "": none
	}{
		"the keys":                   {"/keys", here, ""},
		"1 MB":                       {"/largest", here, ""},
		"2 MB":                       {"/large", here, "more than 1048576 bytes"},
		"a redirect":                 {"/elsewhere", here, "answers 302"},
		"an error":                   {"/broken", here, "answers 502"},
		"without TLS, not allowed":   {"/keys", nil, "may be dialled with TLS only"},
		"another network is allowed": {"/keys", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "may be dialled"},
	} {
		b, err := SourceOf(Issuer{JWKS: server.URL + tc.path, Networks: tc.networks})(t.Context())
		if tc.want == "" && (err != nil || len(b) == 0) ||
			tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %d bytes, %v; want %q", name, len(b), err, tc.want)
		}
	}
	private := "https" + strings.TrimPrefix(server.URL, "http") + "/keys"
	if _, err := SourceOf(Issuer{JWKS: private})(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "127.0.0.1 may not be dialled") {
		t.Errorf("a private address over TLS: %v", err)
	}
}

// A provider that accepts the connection and says nothing, or drips, is given up after five seconds.
func TestFetchIsBounded(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"drips": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(" "))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(50 * time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(answer))
			t.Cleanup(server.Close)
			read := SourceOf(Issuer{JWKS: server.URL, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
			began := time.Now()
			_, err := read(context.WithoutCancel(t.Context()))
			if took := time.Since(began); err == nil || took > fetchTimeout+2*time.Second {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
}
