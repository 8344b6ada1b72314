package remotepay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"seckill/internal/kit/signature"
	"seckill/internal/order/payment"
	"seckill/internal/remotepay"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func key(t *testing.T) [][]byte {
	t.Helper()
	k, err := signature.Key(secret)
	if err != nil {
		t.Fatal(err)
	}
	return [][]byte{k}
}

// open returns the provider that the handler is, and its metrics.
func open(t *testing.T, answers http.HandlerFunc) (*remotepay.Provider, *remotepay.Metrics) {
	t.Helper()
	server := httptest.NewServer(answers)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL + "/pay?v=1")
	if err != nil {
		t.Fatal(err)
	}
	m := remotepay.NewMetrics("cards")
	p, err := remotepay.New(remotepay.Options{
		Name: "cards", URL: at, Keys: key(t), Timeout: 5 * time.Second, UserAgent: "test", Metrics: m,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, m
}

var (
	paid = payment.Payment{ID: "pay_1", OrderID: 1 << 60, ShopID: 7, Amount: 1000, Reference: "ch_1"}
	part = payment.Refund{ID: "pay_1-1", PaymentID: "pay_1", Amount: 300, Reference: "re_1", Why: "a scratch"}
)

// calls makes each of the calls. The outcome is "" for an error.
func calls(ctx context.Context, p *remotepay.Provider) map[string]func() (string, error) {
	return map[string]func() (string, error){
		"payment.begin": func() (string, error) {
			got, err := p.Begin(ctx, payment.Beginning{
				Payment: paid, Currency: "EUR", Quantity: 2, Title: "tea", PayBefore: time.Unix(1700000000, 0),
				Visit: payment.Visit{Language: "zh", ReturnURL: "https://shop.example/"},
			})
			return strings.TrimSpace(got.URL + " " + got.Reference), err
		},
		"payment.cancel": func() (string, error) { return "", p.Cancel(ctx, paid) },
		"refund.create": func() (string, error) {
			got, err := p.Refund(ctx, paid, part)
			return shown(got, err), err
		},
		"refund.read": func() (string, error) {
			got, err := p.ReadRefund(ctx, paid, part)
			return shown(got, err), err
		},
	}
}

func shown(o payment.Outcome, err error) string {
	if err != nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprint(o.State, " ", o.Reference, " ", o.Reason))
}

// TestCalls shows what each call says, that it is signed, and that repetitions have the same id.
func TestCalls(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	p, m := open(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h, err := signature.Read(r.Header)
		recent := time.Since(h.At).Abs() < time.Minute
		if err != nil || !h.Signs(key(t), body) || !recent || r.URL.String() != "/pay?v=1" {
			t.Errorf("not signed: %v, %s %s", err, r.URL, body)
		}
		var m struct {
			Type, Timestamp string
			Data            json.RawMessage
		}
		if err := json.Unmarshal(body, &m); err != nil || m.Timestamp == "" {
			t.Errorf("%v: %s", err, body)
		}
		got[h.ID] = m.Type + " " + string(m.Data)
		_, _ = io.WriteString(w, `{"url":"https://p.example/1","reference":"ch_1","state":"done"}`)
	})
	for what, call := range calls(t.Context(), p) {
		for range 2 {
			if _, err := call(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	want := map[string]string{
		"payment.begin-pay_1": `payment.begin {"id":"pay_1","orderId":"1152921504606846976","shopId":7,"amount":1000,` +
			`"currency":"EUR","quantity":2,"title":"tea","language":"zh","payBefore":"2023-11-14T22:13:20Z",` +
			`"returnUrl":"https://shop.example/"}`,
		"payment.cancel-pay_1": `payment.cancel {"id":"pay_1","reference":"ch_1"}`,
		"refund.create-pay_1-1": `refund.create {"refundId":"pay_1-1","id":"pay_1","reference":"ch_1",` +
			`"refundReference":"re_1","amount":300}`,
		"refund.read-pay_1-1": `refund.read {"refundId":"pay_1-1","id":"pay_1","reference":"ch_1",` +
			`"refundReference":"re_1","amount":300}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if h := p.Health(); !h.Since.IsZero() {
		t.Errorf("it fails: %+v", h)
	}
	if n := testutil.CollectAndCount(m.Collectors()[0]); n != len(remotepay.Calls()) {
		t.Errorf("%d results are counted", n)
	}
}

// TestAnswers has each call answered in each way: what is not clear is a failure that says why, and nothing else.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const begin, cancel, create, read = "payment.begin", "payment.cancel", "refund.create", "refund.read"
	long := `{"state":"done","url":"https://p.example","more":"` + strings.Repeat("x", 1<<20) + `"}`
	for name, tc := range map[string]struct {
		status int
		body   string
		want   map[string]string // outcome by call, or the code of the failure
	}{
		"done": {200, `{"state":"done","reference":"r"}`, map[string]string{
			begin: "no_url", cancel: "", create: "done r", read: "done r",
		}},
		"begun": {200, `{"url":"https://p.example/1","reference":"r","more":[1]}`, map[string]string{
			begin: "https://p.example/1 r", cancel: "no_state", create: "no_state", read: "no_state",
		}},
		"pending": {200, `{"state":"pending"}`, map[string]string{
			begin: "no_url", cancel: "no_state", create: "pending", read: "pending",
		}},
		"refused": {200, `{"state":"refused","reason":"closed"}`, map[string]string{
			begin: "refused", cancel: "", create: "final", read: "failed  closed",
		}},
		"another id": {200, `{"id":"pay_2","url":"https://p.example","state":"done"}`, map[string]string{
			begin: "other_id", cancel: "other_id", create: "other_id", read: "other_id",
		}},
		"http": {200, `{"url":"http://p.example/1","state":"done"}`, map[string]string{
			begin: "http://p.example/1", cancel: "", create: "done", read: "done",
		}},
		"javascript": {200, `{"url":"javascript:alert(1)"}`, map[string]string{begin: "no_url"}},
		"a bad reference": {200, `{"url":"https://p.example","state":"done","reference":"a b"}`, map[string]string{
			begin: "bad_reference", cancel: "", create: "bad_reference", read: "bad_reference",
		}},
		"nonsense":   {200, "<html>", map[string]string{begin: "unreadable", create: "unreadable"}},
		"two":        {200, `{"state":"done"}{"state":"done"}`, map[string]string{create: "unreadable"}},
		"1 MB":       {200, long, map[string]string{begin: "too_large", create: "too_large"}},
		"redirect":   {302, `{"state":"done"}`, map[string]string{begin: "redirect", create: "redirect"}},
		"created":    {201, `{"state":"done"}`, map[string]string{create: "status"}},
		"not signed": {401, `{"state":"done"}`, map[string]string{begin: "status", create: "status"}},
		"away":       {503, ``, map[string]string{cancel: "status", read: "status"}},
	} {
		p, _ := open(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tc.status)
			_, _ = io.WriteString(w, tc.body)
		})
		for what, call := range calls(t.Context(), p) {
			want, asked := tc.want[what]
			if !asked {
				continue
			}
			got, err := call()
			f, failed := errors.AsType[*remotepay.CallError](err)
			if _, final := errors.AsType[*payment.RefusedError](err); final {
				got = "final"
			}
			if failed {
				got = string(f.Code)
			}
			if got != want {
				t.Errorf("%s is answered %s: %q, %v, want %q", what, name, got, err, want)
			}
			if h := p.Health(); failed && f.Code != remotepay.Refused != !h.Since.IsZero() {
				t.Errorf("%s is answered %s: %+v", what, name, h)
			}
		}
	}
}

// TestAddresses has no provider that can never be dialled, nor one dialled where its name leads inside.
func TestAddresses(t *testing.T) {
	t.Parallel()
	private := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for text, tc := range map[string]struct {
		allowed []netip.Prefix
		never   bool
	}{
		"https://p.example/":   {},
		"http://p.example/":    {nil, true},
		"http://provider:90/":  {private, false},
		"http://127.0.0.1:90/": {}, // the setting itself says so
		"http://[::1]:90/":     {},
		"http://localhost:90/": {},
		"http://10.1.2.3/":     {},
	} {
		at, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := remotepay.New(remotepay.Options{Name: "cards", URL: at, Allowed: tc.allowed})
		if errors.Is(err, remotepay.ErrUnreachable) != tc.never {
			t.Errorf("%s: %v", text, err)
		}
		if err == nil {
			p.Close()
		}
	}
}

// TestTheCallerLeaves says nothing about the provider.
func TestTheCallerLeaves(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	p, _ := open(t, func(_ http.ResponseWriter, r *http.Request) {
		leave()
		_, _ = io.ReadAll(r.Body)
		<-r.Context().Done()
	})
	if err := p.Cancel(ctx, paid); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if h := p.Health(); !h.Since.IsZero() {
		t.Errorf("it fails: %+v", h)
	}
}
