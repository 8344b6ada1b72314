package browser

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
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

	"seckill/internal/webhook"
	"seckill/internal/webhook/sender"
)

// failures are what the sender reports of endpoints that do not take an event, by what is the matter with each.
func failures(t *testing.T) map[string]string {
	t.Helper()
	handler := http.NewServeMux()
	answer := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	handler.HandleFunc("/moved", answer(http.StatusFound))
	handler.HandleFunc("/gone", answer(http.StatusGone))
	handler.HandleFunc("/broken", answer(http.StatusInternalServerError))
	handler.HandleFunc("/ok", answer(http.StatusNoContent))
	handler.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
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
	handler.HandleFunc("/garbled", hangUp("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"))
	handler.HandleFunc("/half", hangUp("HTTP/1.1 200 OK\r\n"))
	handler.HandleFunc("/reset", hangUp(""))
	plain := httptest.NewServer(handler)
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(handler)
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	known := x509.NewCertPool()
	known.AddCert(secure.Certificate())
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	later := func() time.Time { return time.Now().AddDate(200, 0, 0) }

	report := map[string]string{"by an admin": "by an admin", "for five days": "it has failed for five days: answered 503"}
	for name, at := range map[string]struct {
		url     string
		allowed []netip.Prefix
		tls     *tls.Config
		within  time.Duration
	}{
		"redirects": {url: plain.URL + "/moved", allowed: loopback}, "gone": {url: plain.URL + "/gone", allowed: loopback},
		"broken": {url: plain.URL + "/broken", allowed: loopback}, "slow": {url: plain.URL + "/slow", allowed: loopback, within: 100 * time.Millisecond},
		"garbled": {url: plain.URL + "/garbled", allowed: loopback}, "half an answer": {url: plain.URL + "/half", allowed: loopback},
		"reset": {url: plain.URL + "/reset", allowed: loopback}, "refused": {url: "http://127.0.0.1:1/", allowed: loopback},
		"no such name": {url: "https://nobody.invalid/", within: 30 * time.Second}, "not allowed": {url: secure.URL + "/ok"}, "not without TLS": {url: plain.URL + "/ok"},
		"no TLS there": {url: strings.Replace(plain.URL, "http:", "https:", 1) + "/ok", allowed: loopback}, "not known": {url: secure.URL + "/ok", allowed: loopback},
		"of another":     {url: secure.URL + "/ok", allowed: loopback, tls: &tls.Config{RootCAs: known, ServerName: "shop.test"}},
		"expired":        {url: secure.URL + "/ok", allowed: loopback, tls: &tls.Config{RootCAs: known, Time: later}},
		"an old version": {url: secure.URL + "/ok", allowed: loopback, tls: &tls.Config{RootCAs: known, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}},
	} {
		s := sender.New(sender.Options{Allowed: at.allowed, TLS: at.tls})
		t.Cleanup(s.Close)
		within := at.within
		if within == 0 {
			within = patience
		}
		ctx, cancel := context.WithTimeout(t.Context(), within)
		err := s.Send(ctx, webhook.Message{URL: at.url, ID: "order-1-1", At: time.Now(), Body: []byte("{}"), Secrets: []webhook.Secret{webhook.NewSecret()}})
		cancel()
		if err == nil {
			err = errors.New("it was taken")
		}
		report[name] = err.Error()
	}
	return report
}

// TestFailuresInChinese: whatever keeps an endpoint from taking an event, the console says it in Chinese.
func TestFailuresInChinese(t *testing.T) {
	t.Parallel()
	reported := failures(t)
	list, err := json.Marshal(reported)
	if err != nil {
		t.Fatal(err)
	}
	s := embeddedShop(t)
	w := open(t, s.url("/admin"), s.asAdmin(desktop().in("zh-CN")))
	w.sees("h1", "优惠券")
	chinese := evaluate[map[string]string](w, fmt.Sprintf(`(async () => {
  const base = document.querySelector('script[type=module]').src.replace(/[^/]+$/, '');
  const { inChinese } = await import(base + 'failures.js');
  return Object.fromEntries(Object.entries(%s).map(([name, english]) => [name, inChinese(english)]));
})()`, list))
	said := map[string]string{}
	for name, text := range chinese {
		t.Logf("%s: %s: %s", name, reported[name], text)
		if !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) || strings.Contains(text, "$") {
			t.Errorf("%s: %q has no Chinese: %q", name, reported[name], text)
		}
		if other := said[text]; other != "" {
			t.Errorf("%s and %s are both %q", name, other, text)
		}
		said[text] = name
	}
}
