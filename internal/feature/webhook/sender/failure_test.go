package sender

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/kit/words"
)

// breaking answers nothing, or half an answer.
func breaking(t *testing.T) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	hangUp := func(last string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, last)
			if last == "" {
				_ = c.(*net.TCPConn).SetLinger(0) // a reset
			}
			_ = c.Close()
		}
	}
	mux.HandleFunc("/half", hangUp("HTTP/1.1 200 OK\r\n"))
	mux.HandleFunc("/reset", hangUp(""))
	return mux
}

// Each way in which real servers and certificates fail has its code and data, and words that say which it is.
func TestFailures(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(breaking(t))
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(breaking(t))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	known := x509.NewCertPool()
	known.AddCert(secure.Certificate())
	later := func() time.Time { return time.Now().AddDate(200, 0, 0) }
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	nobody := closed.Addr().String()

	said := make(map[string]string)
	for name, tc := range map[string]struct {
		url     string
		tls     *tls.Config
		timeout time.Duration
		want    dispatch.Failure
	}{
		"slow": {
			url: plain.URL + "/slow", timeout: 100 * time.Millisecond, want: dispatch.Failure{Code: dispatch.Timeout},
		},
		"half": {url: plain.URL + "/half", want: dispatch.Failure{Code: dispatch.ConnectionClosed}},
		"refused": {
			url: "http://" + nobody + "/", want: dispatch.Failure{Code: dispatch.ConnectionRefused, Address: nobody},
		},
		"not known": {url: secure.URL + "/ok", want: dispatch.Failure{Code: dispatch.TLSUnknownAuthority}},
		"of another": {
			url: secure.URL + "/ok", tls: &tls.Config{RootCAs: known, ServerName: "shop.test"},
			want: dispatch.Failure{Code: dispatch.TLSHost, Host: "shop.test"},
		},
		"expired": {
			url: secure.URL + "/ok", tls: &tls.Config{RootCAs: known, Time: later},
			want: dispatch.Failure{Code: dispatch.TLSExpired},
		},
		"old version": {url: secure.URL + "/ok", tls: &tls.Config{
			RootCAs: known, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10,
		}, want: dispatch.Failure{Code: dispatch.TLSHandshake, Detail: "tls: protocol version not supported"}},
		"without TLS": {
			url: strings.Replace(plain.URL, "http:", "https:", 1) + "/ok", want: dispatch.Failure{Code: dispatch.NoTLS},
		},
		"control": {
			url: "http://127.0.0.1:0x/", want: dispatch.Failure{Code: dispatch.Other, Detail: "the URL cannot be used"},
		},
	} {
		s := New(Options{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, TLS: tc.tls})
		t.Cleanup(s.Close)
		ctx, cancel := context.WithCancel(t.Context())
		if tc.timeout > 0 {
			ctx, cancel = context.WithTimeout(t.Context(), tc.timeout)
		}
		f := s.Send(ctx, message(tc.url))
		cancel()
		if f != tc.want {
			t.Errorf("%s: %+v, want %+v", name, f, tc.want)
		}
		chinese := f.In(words.Chinese)
		if other := said[chinese]; other != "" || strings.Contains(chinese+f.In(words.English), "{") {
			t.Errorf("%s: %q, %q", name, chinese, other)
		}
		said[chinese] = name
		if tc.want.Code != dispatch.Other && !strings.ContainsFunc(chinese,
			func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s: %q is not Chinese", name, chinese)
		}
	}
}

// A reset may arrive as such, or as the end of the connection; a name may be unknown, or its servers away. Both are
// told apart from other failures.
func TestResetsAndNames(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(breaking(t))
	t.Cleanup(server.Close)
	s := New(Options{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(s.Close)
	if f := s.Send(t.Context(), message(server.URL+"/reset")); f.Code != dispatch.ConnectionClosed {
		t.Errorf("a reset: %+v", f)
	}
	for _, e := range []struct {
		err  net.DNSError
		want dispatch.Failure
	}{
		{
			net.DNSError{Name: "nobody.invalid", Err: "no such host", IsNotFound: true},
			dispatch.Failure{Code: dispatch.DNS, Host: "nobody.invalid"},
		},
		{
			net.DNSError{Name: "shop.test", Err: "server misbehaving"},
			dispatch.Failure{Code: dispatch.DNSFailed, Host: "shop.test", Detail: "server misbehaving"},
		},
	} {
		if f := failureOf(&net.OpError{Op: "dial", Err: &e.err}); f != e.want {
			t.Errorf("%+v, want %+v", f, e.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := s.Send(ctx, message(server.URL+"/ok")); f.Code != dispatch.Canceled {
		t.Errorf("given up: %+v", f)
	}
}
