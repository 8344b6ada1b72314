package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"seckill/internal/testkit/idp"
	"seckill/test/box"
)

// front is a proxy of a mall, below one path of which the shop is. All else belongs to others.
type front struct {
	*httptest.Server

	mu       sync.Mutex
	to       http.Handler
	strayed  []string // requests to what belongs to others
	keeps    bool     // the path
	base     string
	expected string // a path of others that the browser asks for by itself
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	to, keeps := f.to, f.keeps
	below := r.URL.Path == f.base || strings.HasPrefix(r.URL.Path, f.base+"/")
	if !below && r.URL.Path != f.expected {
		f.strayed = append(f.strayed, r.Method+" "+r.URL.Path)
	}
	f.mu.Unlock()
	switch {
	case !below:
		http.NotFound(w, r)
	case keeps || r.URL.Path == f.base: // there is nothing left to strip
		to.ServeHTTP(w, r)
	default:
		http.StripPrefix(f.base, to).ServeHTTP(w, r)
	}
}

// TestBelowAPath: behind a proxy that keeps the path, or strips it, a buyer signs in at a provider, buys, pays, comes
// back and shows the code; a till redeems it; the console and the description of the interface work. Nothing is asked
// for outside the path.
func TestBelowAPath(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"kept": true, "stripped": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &front{keeps: keeps, base: "/flash", expected: "/favicon.ico"}
			f.Server = httptest.NewServer(f)
			t.Cleanup(f.Close)
			p := idp.Start(t)
			p.Enrol("alice", nil)
			s := realShop(t, "SECKILL_PUBLIC_URL", f.URL+f.base+"/", "SECKILL_ISSUERS",
				p.File(t, map[string]any{"pages": p.Pages()}))
			at, err := url.Parse(s.url("/"))
			if err != nil {
				t.Fatal(err)
			}
			f.mu.Lock()
			f.to = httputil.NewSingleHostReverseProxy(at)
			f.mu.Unlock()
			voucher := s.redeemableSale("Tea for two", 1000)

			w := open(t, f.URL+f.base, desktop()) // without the slash at its end
			w.click(button("grab"))
			w.signIn("alice")
			w.sees(button("unpaid"), "Pay ¥10")
			w.click(button("unpaid"))
			w.sees(".what", "Tea for two")
			w.click("form[method=post] button")
			w.sees(".paid", "The shop has been told")
			w.click("a.back")
			w.sees(".order .tag", "Paid")
			w.click(".order [data-act=code]")
			w.until("document.querySelector('.qr').naturalWidth > 0")
			code := evaluate[string](w, "document.querySelector('.coupon-code').textContent")

			till := open(t, f.URL+f.base+"/till", s.asTill(phone()))
			till.enter("#code", code)
			till.click("[data-act=check]")
			till.click("[data-act=redeem]")
			till.sees(".result.good .says", "Redeemed")
			console := open(t, fmt.Sprintf("%s%s/admin#/voucher/%d", f.URL, f.base, voucher), s.asAdmin(desktop()))
			console.sees(tile("paid"), "1")
			console.click("a.brand")
			console.sees("h1", "Start")
			docs := open(t, f.URL+f.base+"/docs", desktop())
			docs.until(fmt.Sprintf("document.querySelector('#docs').textContent.includes(%s)", quoted(f.URL+f.base)))
			missing := open(t, f.URL+f.base+"/nothing", desktop())
			missing.click("main a")
			missing.sees("h1", "Flash sale")

			f.mu.Lock()
			defer f.mu.Unlock()
			if len(f.strayed) > 0 {
				t.Errorf("asked for outside the path: %q", f.strayed)
			}
		})
	}
}

// A path that begins as the service's own would be ambiguous.
func TestPublicURLIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"https://shop.example/admin", "https://shop.example/order/x", "shop.example", "ftp://x/",
	} {
		s := box.NewServer(t, "shop", map[string]string{
			"SECKILL_DATA_DIR": t.TempDir(), "SECKILL_JWT_SECRET": box.Secret, "SECKILL_PUBLIC_URL": bad,
		})
		if err := s.Start(); err == nil || !strings.Contains(s.Log.String(), "SECKILL_PUBLIC_URL") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
