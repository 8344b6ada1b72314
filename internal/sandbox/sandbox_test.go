package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"seckill/internal/order/payment"
)

var secret = []byte("a secret of tests, 32 bytes long")

// readNotice reads a signed callback.
func readNotice(tb testing.TB, n *Notices, signature string, body []byte) (payment.Notice, error) {
	tb.Helper()
	read, err := n.Read(http.Header{SignatureHeader: {signature}})
	if err != nil {
		return payment.Notice{}, err
	}
	return read(tb.Context(), body, nil)
}

func noticesAt(t *testing.T, now time.Time) *Notices {
	t.Helper()
	n, err := NewNotices(secret, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func providerOf(t *testing.T) *Provider {
	t.Helper()
	p, err := NewProvider(secret, "CNY", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWeakSecrets(t *testing.T) {
	t.Parallel()
	if _, err := NewProvider(secret[1:], "CNY", slog.New(slog.DiscardHandler)); !errors.Is(err, ErrWeakSecret) {
		t.Errorf("provider: %v", err)
	}
	if _, err := NewNotices(nil, time.Now); !errors.Is(err, ErrWeakSecret) {
		t.Errorf("notices: %v", err)
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	paid := payment.Notice{PaymentID: "pay_1", Amount: 10_00, Provider: Name}
	body, signature, err := noticesAt(t, now).Write(paid)
	if err != nil {
		t.Fatal(err)
	}
	otherKey, err := NewNotices([]byte(strings.Repeat("x", 32)), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	_, foreign, err := otherKey.Write(paid)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(body string) string {
		n := noticesAt(t, now)
		return "t=1800000000,v1=" + hexOf(n.key.sign(signed(now, []byte(body))))
	}
	for name, tc := range map[string]struct {
		body      string
		signature string
		at        time.Duration
		ok        bool
	}{
		"as sent":            {string(body), signature, 0, true},
		"five minutes later": {string(body), signature, maxAge, true},
		"too late":           {string(body), signature, maxAge + time.Second, false},
		"from the future":    {string(body), signature, -maxAge - time.Second, false},
		"another body":       {strings.Replace(string(body), "1000", "1", 1), signature, 0, false},
		"made younger": {
			string(body), strings.Replace(signature, "t=1800000000", "t=1800000001", 1), 0, false,
		},
		"another key":      {string(body), foreign, 0, false},
		"no signature":     {string(body), "", 0, false},
		"no time":          {string(body), strings.TrimPrefix(signature, "t=1800000000,"), 0, false},
		"not hex":          {string(body), "t=1800000000,v1=zz", 0, false},
		"signed: not JSON": {"{", sign("{"), 0, false},
		"signed: a field more": { // which a later version of a provider may send
			`{"paymentId":"pay_1","amount":1000,"status":"succeeded","x":1}`,
			sign(`{"paymentId":"pay_1","amount":1000,"status":"succeeded","x":1}`), 0, true,
		},
		"signed: more data after the object": {string(body) + "{}", sign(string(body) + "{}"), 0, false},
		"signed: no status": {
			`{"paymentId":"p","amount":1}`, sign(`{"paymentId":"p","amount":1}`), 0, false,
		},
		"signed: no payment": {
			`{"paymentId":"","amount":1,"status":"succeeded"}`,
			sign(`{"paymentId":"","amount":1,"status":"succeeded"}`), 0, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readNotice(t, noticesAt(t, now.Add(tc.at)), tc.signature, []byte(tc.body))
			switch {
			case tc.ok && (err != nil || got != paid):
				t.Errorf("got %+v, %v", got, err)
			case !tc.ok && !errors.Is(err, payment.ErrBadNotice):
				t.Errorf("accepted: %+v, %v", got, err)
			}
		})
	}
}

// A signed notice of another type is ignored, whatever else it says; an unsigned one is none.
func TestNoticesOfOtherTypes(t *testing.T) {
	t.Parallel()
	const body = `{"status":"charge.updated","x":{}}`
	notices := noticesAt(t, time.Unix(1_800_000_000, 0))
	signature := "t=1800000000,v1=" + hexOf(notices.key.sign([]byte("1800000000."+body)))
	if n, err := readNotice(t, notices, signature, []byte(body)); !errors.Is(err, payment.ErrIgnored) {
		t.Errorf("%+v, %v", n, err)
	}
	if n, err := readNotice(t, notices, signature, []byte(body+" ")); !errors.Is(err, payment.ErrBadNotice) {
		t.Errorf("not signed: %+v, %v", n, err)
	}
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	for _, c := range b {
		s.WriteByte(digits[c>>4])
		s.WriteByte(digits[c&15])
	}
	return s.String()
}

func FuzzRead(f *testing.F) {
	now := time.Unix(1_800_000_000, 0)
	f.Add("t=1800000000,v1=00", []byte(`{"paymentId":"p","amount":1,"status":"succeeded"}`))
	f.Add("", []byte(nil))
	f.Fuzz(func(t *testing.T, signature string, body []byte) {
		// Nobody without the key can make a notice.
		if got, err := readNotice(t, noticesAt(t, now), signature, body); err == nil {
			t.Errorf("%q with %q was accepted: %+v", body, signature, got)
		}
	})
}

// shop is a service that receives callbacks.
type shop struct {
	server   *httptest.Server
	answers  chan int // the statuses of the answers, in turn; 200 if none is left
	received chan payment.Notice
}

func openShop(t *testing.T, answers ...int) *shop {
	t.Helper()
	s := &shop{answers: make(chan int, len(answers)), received: make(chan payment.Notice, 10)}
	for _, a := range answers {
		s.answers <- a
	}
	notices, err := NewNotices(secret, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		n, err := readNotice(t, notices, r.Header.Get(SignatureHeader), body)
		if err != nil {
			t.Error(err)
		}
		s.received <- n
		select {
		case status := <-s.answers:
			w.WriteHeader(status)
		default:
		}
	}))
	t.Cleanup(s.server.Close)
	return s
}

func (s *shop) pages(t *testing.T) *Pages {
	t.Helper()
	notices, err := NewNotices(secret, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return NewPages(providerOf(t), notices, s.server.URL, "/", nil, s.server.Client(), slog.New(slog.DiscardHandler))
}

func TestPaying(t *testing.T) {
	t.Parallel()
	pay := payment.Beginning{
		Payment: payment.Payment{ID: "pay_1", OrderID: 7, Amount: 1_234_05}, Title: "Noodles & tea",
	}
	for name, tc := range map[string]struct {
		method   string
		language string
		chosen   string // the language chosen on the shop's pages
		damage   string // appended to the address
		answers  []int
		status   int
		says     string
		calls    int
	}{
		"looking":             {method: http.MethodGet, status: 200, says: "¥1,234.05"},
		"what it is for":      {method: http.MethodGet, status: 200, says: "Noodles &amp; tea"},
		"not now":             {method: http.MethodGet, status: 200, says: `href="/"`},
		"looking, in Chinese": {method: http.MethodGet, language: "zh-CN,zh;q=0.9", status: 200, says: "确认支付"},
		"Chinese was chosen":  {method: http.MethodGet, language: "en", chosen: "zh", status: 200, says: "确认支付"},
		"English was chosen": {
			method: http.MethodGet, language: "zh", chosen: "en", status: 200, says: "Back to the shop",
		},
		"nonsense was chosen": {method: http.MethodGet, language: "zh", chosen: "de", status: 200, says: "确认支付"},
		"paying":              {method: http.MethodPost, status: 200, says: `href="/"`, calls: 1},
		"paying, in Chinese":  {method: http.MethodPost, language: "zh", status: 200, says: "支付已提交", calls: 1},
		"a shop that recovers": {
			method: http.MethodPost, answers: []int{503}, status: 200, says: "The shop has been told", calls: 2,
		},
		"a shop that is down": {
			method: http.MethodPost, answers: []int{500, 500, 500}, status: 502, says: "Please try again", calls: 3,
		},
		"a shop that refuses": {
			method: http.MethodPost, answers: []int{409}, status: 502, says: "Please try again", calls: 1,
		},
		"altered":             {method: http.MethodPost, damage: "x", status: 404, says: "no payment at this address"},
		"altered: a way back": {method: http.MethodGet, damage: "x", status: 404, says: `href="/"`},
		"another method":      {method: http.MethodDelete, status: 405, says: "GET shows"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, err := providerOf(t).Begin(t.Context(), pay)
			if err != nil {
				t.Fatal(err)
			}
			s := openShop(t, tc.answers...)
			address, title, _ := strings.Cut(at.URL, "?")
			r := httptest.NewRequestWithContext(t.Context(), tc.method, address+tc.damage+"?"+title, http.NoBody)
			r.Header.Set("Accept-Language", tc.language)
			if tc.chosen != "" {
				r.AddCookie(&http.Cookie{Name: languageCookie, Value: tc.chosen})
			}
			w := httptest.NewRecorder()
			s.pages(t).ServeHTTP(w, r)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("answered %d, want %d with %q: %s", w.Code, tc.status, tc.says, w.Body)
			}
			if len(s.received) != tc.calls {
				t.Errorf("%d callbacks, want %d", len(s.received), tc.calls)
			}
			for range tc.calls {
				if n := <-s.received; n != (payment.Notice{PaymentID: pay.ID, Amount: pay.Amount, Provider: Name}) {
					t.Errorf("the shop received %+v", n)
				}
			}
		})
	}
}

// paidLedger is a ledger with one payment.
type paidLedger struct{ payment payment.Payment }

func (l paidLedger) Payment(_ context.Context, id string) (payment.Payment, error) {
	if id != l.payment.ID {
		return payment.Payment{}, errors.New("another payment")
	}
	return l.payment, nil
}

func (paidLedger) RefundsOf(context.Context, []string) (map[string][]payment.Refund, error) {
	return nil, nil
}

// TestPaidAlready checks that the page of a payment that was paid does not ask for it again, and that a browser which
// pays is sent to that page.
func TestPaidAlready(t *testing.T) {
	t.Parallel()
	pay := payment.Payment{ID: "pay_1", OrderID: 7, Amount: 1_234_05, State: payment.Open}
	at, err := providerOf(t).Begin(t.Context(), payment.Beginning{Payment: pay})
	if err != nil {
		t.Fatal(err)
	}
	s := openShop(t)
	ask := func(method string, state payment.State) *httptest.ResponseRecorder {
		pages := s.pages(t)
		pay.State = state
		pages.ledger = paidLedger{pay}
		r := httptest.NewRequestWithContext(t.Context(), method, at.URL, http.NoBody)
		r.Header.Set("Accept", "text/html,application/xhtml+xml")
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		return w
	}
	const button = "<button>Pay</button>"
	if w := ask(http.MethodGet, payment.Open); !strings.Contains(w.Body.String(), button) {
		t.Errorf("an open payment is not asked for: %s", w.Body)
	}
	for _, state := range []payment.State{payment.Received, payment.Late, payment.Refunded} {
		if w := ask(http.MethodGet, state); strings.Contains(w.Body.String(), button) ||
			!strings.Contains(w.Body.String(), "Paid.") {
			t.Errorf("a payment that is %s is asked for again: %s", state, w.Body)
		}
	}
	w := ask(http.MethodPost, payment.Open)
	_, query, _ := strings.Cut(at.URL, "?")
	if to := w.Header().Get("Location"); w.Code != http.StatusSeeOther || to != "?"+query {
		t.Errorf("paying is answered %d, to %q, want to ?%s", w.Code, to, query)
	}
}

func TestTicketsCannotBeAltered(t *testing.T) {
	t.Parallel()
	k := providerOf(t).tickets
	sealed, err := k.seal(ticket{PaymentID: "pay_1", OrderID: 7, Amount: 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(sealed) {
		altered := []byte(sealed)
		altered[i] ^= 1
		// The last character of a part may have unused bits; such variants mean the same payment.
		if got, err := k.open(string(altered)); err == nil &&
			got != (ticket{PaymentID: "pay_1", OrderID: 7, Amount: 10}) {
			t.Errorf("altered at %d: %+v", i, got)
		}
	}
	notices := noticesAt(t, time.Now())
	if notices.key.verify([]byte("x"), k.sign([]byte("x"))) || bytes.Equal(k, notices.key) {
		t.Error("a signature for one purpose is valid for another")
	}
}

// TestTitles checks that a title is shown only on the page of its own ticket, as the provider wrote it, and that a long
// title is cut.
func TestTitles(t *testing.T) {
	t.Parallel()
	k := providerOf(t).tickets
	for name, tc := range map[string]struct{ title, want string }{
		"none":       {"", ""},
		"one":        {"Noodles for two", "Noodles for two"},
		"Chinese":    {"双人牛肉面", "双人牛肉面"},
		"a long one": {strings.Repeat("面", 255), strings.Repeat("面", maxTitle-1) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sealed := strings.TrimPrefix(k.sealTitle("ticket", tc.title), "?"+titleParam+"=")
			if got := k.openTitle("ticket", sealed); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
			for _, other := range []struct{ of, sealed string }{
				{"another", sealed}, {"ticket", "x" + sealed}, {"ticket", sealed + "A"},
			} {
				if got := k.openTitle(other.of, other.sealed); got != "" {
					t.Errorf("%q of %+v", got, other)
				}
			}
		})
	}
}

// The sandbox refuses the refunds of certain amounts for good, and of no others.
func TestRefusedRefund(t *testing.T) {
	t.Parallel()
	p, err := NewProvider(secret, "CNY", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for cents, refused := range map[int64]bool{1000: false, 1013: true, 13: true, 1300: false} {
		_, err := p.Refund(t.Context(), payment.Payment{ID: "pay_1", Amount: cents}, payment.Refund{Amount: cents})
		if _, is := errors.AsType[*payment.RefusedError](err); is != refused {
			t.Errorf("%d cents: %v", cents, err)
		}
	}
}
