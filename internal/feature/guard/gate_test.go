package guard

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/authtoken"
	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/cooldown"
	"seckill/internal/feature/guard/tally"
	"seckill/internal/feature/guard/ticket"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/clientip"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/contract"
	"seckill/internal/testkit/featuretest"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// gated is the sale of the voucher 5 behind a real gate, over HTTP. It knows the caller's own order.
type gated struct {
	settings *guards.Settings
	begin    time.Time
	own      error // nil: it cannot be asked for
	now      time.Time
	proxies  []string
	sold     int
	fails    error // what buying ends with
	units    *Units
	tally    *tally.Tally
	id       int64 // of what is bought; 0: one for all
	panics   bool
}

// newGated is a sale whose guards that were asked are these; without any, the conditions.
func newGated(tb testing.TB, s *guards.Settings, asked ...Guard) (*gated, http.Handler) {
	tb.Helper()
	g := &gated{settings: s, begin: apitest.Noon(), now: apitest.Noon()}
	api := g.open(tb, asked...)
	return g, api
}

func (g *gated) open(tb testing.TB, asked ...Guard) http.Handler {
	tb.Helper()
	if asked == nil {
		asked = []Guard{ConditionsCheck{}}
	}
	addresses, err := clientip.New(g.proxies, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	front := httpkit.Front{Now: func() time.Time { return g.now }, Address: addresses.Of}
	tally := tally.New(time.Now)
	limits := budget.NewTable(apitest.Noon)
	all := NewGuards(limits, tally, nobody, asked...)
	g.tally, g.units = tally, NewUnits(limits, tally, g.OwnOrder, func() time.Time { return g.now })
	cfg := featuretest.Config(nil, Rules(), apitest.State{})
	entry := NewEntry(all, g.Now, g.OwnOrder, g.units.counted.has)
	cfg.Gatekeeper, cfg.GuardsOf = NewGate(all, entry, g.units, front, true), g.of
	cfg.Addresses = addresses
	return featuretest.WithShop(tb, cfg, shop.Config{FindVoucher: g.Find, Purchases: sells{of: g}})
}

// sells is a shop that sells to everybody who is let in.
type sells struct {
	shop.Purchases
	of *gated
}

func (s sells) Buy(
	_ context.Context, userID int64, v voucher.Voucher, q order.Quantity, _ time.Duration,
) (order.Order, error) {
	id := s.of.id
	if id == 0 {
		id = 660_000_000_123_456_789
	}
	switch {
	case s.of.panics:
		panic("bug")
	case s.of.fails != nil:
		return order.Order{ID: id}, s.of.fails
	}
	s.of.sold++
	return order.Order{ID: id, UserID: userID, VoucherID: v.ID, Quantity: q, Status: order.Queued},
		nil
}

func (sells) Orders(context.Context, order.Filter, int64, int) (order.Page, error) {
	return order.Page{}, nil
}

func (g *gated) of(id int64) *guards.Settings {
	if id != 5 {
		return nil
	}
	return g.settings
}

// Find is feature.Sales.Find.
func (g *gated) Find(_ context.Context, id int64) (voucher.Voucher, error) {
	return voucher.Voucher{
		ID: id, Kind: voucher.Seckill, Status: voucher.OnShelf,
		Sale: &voucher.Sale{Stock: 5, Issued: 10, Begin: g.begin, End: g.begin.Add(2 * time.Hour), Guards: g.of(id)},
	}, nil
}

// Now is feature.Sales.Now.
func (*gated) Now(int64) time.Time { return apitest.Noon() }

// OwnOrder is feature.Sales.OwnOrder.
func (g *gated) OwnOrder(context.Context, int64, int64) error {
	if g.own != nil {
		return g.own
	}
	return order.ErrUnavailable
}

// do makes a request.
func do(tb testing.TB, api http.Handler, r apitest.Request) *httptest.ResponseRecorder {
	tb.Helper()
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r.HTTP(tb, tb.Context()))
	return w
}

// refused holds a refusal to its status and code.
func refused(t *testing.T, w *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	if got := contract.CodeOf(w.Body.Bytes()); w.Code != status || got != code {
		t.Fatalf("answer is %d %s, want %d %s", w.Code, w.Body, status, code)
	}
}

func press() apitest.Request {
	return apitest.Request{Method: http.MethodPost, Target: "/voucher/seckill/5"}
}

// pressOf is a press of another buyer.
func pressOf(tb testing.TB, user int64) apitest.Request {
	tb.Helper()
	r := press()
	r.Header = map[string]string{"Authorization": apitest.Token(tb, user, "")}
	return r
}

// guardOf is what an answer says of the guard that stopped it.
func guardOf(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var a struct{ Data map[string]any }
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatal(err)
	}
	return a.Data
}

// The limits hold for who has a valid token, and for nothing but purchases of the sale. Strangers spend nothing of
// them, and so keep no buyer out who has the same address.
func TestLimitsAreSpentByBuyers(t *testing.T) {
	t.Parallel()
	_, a := newGated(t, &guards.Settings{
		Limits: &guards.Limits{PerAddress: &guards.Rate{Requests: 2, Seconds: 90}},
	})
	stranger, forged := press(), press()
	stranger.Header = map[string]string{"Authorization": ""}
	forged.Header = map[string]string{"Authorization": "forged"}
	for range 200 {
		refused(t, do(t, a, stranger), http.StatusUnauthorized, "UNAUTHENTICATED")
		refused(t, do(t, a, forged), http.StatusUnauthorized, "UNAUTHENTICATED")
	}
	for range 2 {
		if w := do(t, a, press()); w.Code != http.StatusAccepted {
			t.Errorf("a buyer behind the strangers' address: %d", w.Code)
		}
	}
	w := do(t, a, press())
	refused(t, w, http.StatusTooManyRequests, "RATE_LIMITED")
	if got := w.Header().Get("Retry-After"); got != "45" {
		t.Errorf("Retry-After is %s", got)
	}
	if diff := cmp.Diff(map[string]any{"guard": "limits", "orderKnown": false, "of": "address"},
		guardOf(t, w.Body.Bytes())); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	w = do(t, a, apitest.Request{
		Method: http.MethodPost, Target: "/voucher-order/seckill/5", Header: map[string]string{"Accept-Language": "zh"},
	})
	if want := `{"success":false,"code":"RATE_LIMITED","errorMsg":"请求过于频繁，请稍后再试","data":{"guard":"limits",` +
		`"orderKnown":false,"of":"address"}}`; w.Code != http.StatusTooManyRequests || w.Body.String() != want {
		t.Errorf("the tutorial's route: %d %s", w.Code, w.Body)
	}
	for _, r := range []apitest.Request{
		{Method: http.MethodPost, Target: "/voucher/seckill/6"},
		{Method: http.MethodGet, Target: "/order"},
		{Method: http.MethodGet, Target: "/voucher/5"},
	} {
		if w := do(t, a, r); w.Code == http.StatusTooManyRequests {
			t.Errorf("%s %s: %d", r.Method, r.Target, w.Code)
		}
	}
}

// The address is what a trusted proxy says. All whose address cannot be read share one small budget, which is no
// other address's.
func TestLimitsBehindProxies(t *testing.T) {
	t.Parallel()
	f := &gated{now: apitest.Noon(), proxies: []string{"192.0.2.0/24"}, settings: &guards.Settings{
		Limits: &guards.Limits{PerAddress: &guards.Rate{Requests: 1000, Seconds: 10}},
	}}
	a := f.open(t)
	from := func(address string) apitest.Request {
		r := press()
		r.Header = map[string]string{"X-Forwarded-For": address}
		return r
	}
	for i := range 20 {
		if w := do(t, a, from("unknown")); w.Code != http.StatusAccepted {
			t.Fatalf("unreadable, the %dth: %d", i, w.Code)
		}
	}
	refused(t, do(t, a, from("somewhere")), http.StatusTooManyRequests, "RATE_LIMITED")
	for _, address := range []string{"203.0.113.9:51234", "203.0.113.9", "2001:db8::7", ""} {
		if w := do(t, a, from(address)); w.Code != http.StatusAccepted {
			t.Errorf("%q: %d", address, w.Code)
		}
	}
}

// A user's limit holds on whatever address, and not for admins.
func TestLimitOfUser(t *testing.T) {
	t.Parallel()
	_, a := newGated(t, &guards.Settings{Limits: &guards.Limits{PerUser: &guards.Rate{Requests: 1, Seconds: 60}}})
	do(t, a, press())
	w := do(t, a, press())
	refused(t, w, http.StatusTooManyRequests, "RATE_LIMITED")
	if got := guardOf(t, w.Body.Bytes()); got["of"] != "user" {
		t.Errorf("%v", got)
	}
	for range 2 {
		admin := press()
		admin.Header = map[string]string{"Authorization": apitest.Token(t, apitest.AdminID, authtoken.RoleAdmin)}
		if w := do(t, a, admin); w.Code != http.StatusAccepted {
			t.Errorf("an admin: %d", w.Code)
		}
	}
}

// Who does not meet a condition hears which, or their order; with dryRun they buy.
func TestConditionsOfASale(t *testing.T) {
	t.Parallel()
	f, a := newGated(t, &guards.Settings{Conditions: &guards.Conditions{MinLevel: 2}})
	w := do(t, a, press())
	refused(t, w, http.StatusForbidden, "NOT_ELIGIBLE")
	if diff := cmp.Diff(map[string]any{
		"guard": "conditions", "orderKnown": false, "condition": "minLevel", "wanted": 2.0,
	}, guardOf(t, w.Body.Bytes())); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	w = do(t, a, apitest.Request{
		Method: http.MethodPost, Target: "/voucher-order/seckill/5", Header: map[string]string{"Accept-Language": "zh"},
	})
	if want := `{"success":false,"code":"NOT_ELIGIBLE",` +
		`"errorMsg":"您的账号等级或注册时间不符合本次活动的要求","data":{"guard":"conditions","orderKnown":false,"condition":"minLevel",` +
		`"wanted":2}}`; w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("the tutorial's route: %d %s", w.Code, w.Body)
	}
	f.own = &gate.AlreadyBoughtError{OrderID: 5, Status: order.Unpaid}
	refused(t, do(t, a, press()), http.StatusConflict, "ALREADY_BOUGHT")
	f.settings = &guards.Settings{Conditions: &guards.Conditions{MinLevel: 2, DryRun: true}}
	if w := do(t, a, press()); w.Code != http.StatusAccepted {
		t.Errorf("with dryRun: %d", w.Code)
	}
}

// A sale that is hidden by this instance's clock may be shown by Redis' already: its guards decide, and their refusal
// does not tell that there is one.
func TestGuardsOfAHiddenSale(t *testing.T) {
	t.Parallel()
	f, a := newGated(t, &guards.Settings{Conditions: &guards.Conditions{MinLevel: 2}})
	f.now = time.Time{}.Add(-time.Second) // the fake's voucher is shown from the zero time on
	refused(t, do(t, a, press()), http.StatusNotFound, "NOT_FOUND")
	f.own = &gate.AlreadyBoughtError{OrderID: 5, Status: order.Unpaid}
	refused(t, do(t, a, press()), http.StatusConflict, "ALREADY_BOUGHT")
}

// Who has let orders expire hears for how long they wait, or their order.
func TestCoolDownOfASale(t *testing.T) {
	t.Parallel()
	users := cooldown.NewUsers(apitest.Noon)
	f, a := newGated(t, &guards.Settings{CoolDown: &guards.CoolDown{Expired: 2, Minutes: 30}}, CoolDownCheck{users})
	users.Tell([]cooldown.Unpaid{{UserID: apitest.BuyerID, Expired: 1}})
	if w := do(t, a, press()); w.Code != http.StatusAccepted {
		t.Errorf("after one: %d", w.Code)
	}
	users.Tell([]cooldown.Unpaid{{UserID: apitest.BuyerID, Expired: 2, Age: 10*time.Minute + time.Millisecond}})
	for target, lang := range map[string]string{"/voucher/seckill/5": "en", "/voucher-order/seckill/5": "zh"} {
		w := do(t, a, apitest.Request{
			Method: http.MethodPost, Target: target, Header: map[string]string{"Accept-Language": lang},
		})
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1200" {
			t.Errorf("%s: %d, Retry-After %s", target, w.Code, w.Header().Get("Retry-After"))
		}
		if diff := cmp.Diff(map[string]any{"guard": "coolDown", "orderKnown": false},
			guardOf(t, w.Body.Bytes())); diff != "" {
			t.Errorf("%s: data (-want +got):\n%s", target, diff)
		}
	}
	f.own = &gate.AlreadyBoughtError{OrderID: 5, Status: order.Unpaid}
	refused(t, do(t, a, press()), http.StatusConflict, "ALREADY_BOUGHT")
}

// TestBadTickets sends tickets that are not good over HTTP: forged, altered, shared, early, late, of another sale.
// None lets anybody in; the same buyer's own one does.
func TestBadTickets(t *testing.T) {
	t.Parallel()
	const each = 100
	tickets := ticket.New(guardKeys(t))
	random := rand.New(rand.NewPCG(17, 8))
	issue := func(sale, user int64, expires time.Time) string {
		text, err := tickets.Issue(sale, user, expires)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	own := issue(5, apitest.BuyerID, apitest.Noon().Add(time.Hour))
	var bytes [24]byte
	kinds := map[string]struct {
		begin time.Duration // of the sale, from now
		make  func(i int) string
		code  string
	}{
		"forged": {-time.Hour, func(int) string {
			for b := range bytes {
				bytes[b] = byte(random.Uint32())
			}
			copy(bytes[:], "T\x00\x03") // the type and a salt that there is
			return base64.RawURLEncoding.EncodeToString(bytes[:])
		}, "TICKET_INVALID"},
		"altered": {-time.Hour, func(i int) string {
			at := 4 + i%(len(own)-4) // behind the salt, which is asked for when it is not known
			other := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[random.IntN(64)]
			if own[at] == other {
				other = '!'
			}
			return own[:at] + string(other) + own[at+1:]
		}, "TICKET_INVALID"},
		"shared": {
			-time.Hour, func(i int) string {
				return issue(5, apitest.BuyerID+1+int64(i), apitest.Noon().Add(time.Hour))
			},
			"TICKET_INVALID",
		},
		"early": {
			time.Nanosecond, func(i int) string {
				return issue(5, apitest.BuyerID, apitest.Noon().Add(time.Duration(1+i)*time.Second))
			},
			"NOT_STARTED",
		},
		"late": {
			-time.Hour, func(i int) string {
				return issue(5, apitest.BuyerID, apitest.Noon().Add(-time.Duration(i)*time.Second))
			},
			"TICKET_INVALID",
		},
		"of another sale, replayed": {-time.Hour, func(i int) string {
			return issue(6+int64(i), apitest.BuyerID, apitest.Noon().Add(time.Hour))
		}, "TICKET_INVALID"},
	}
	for name, kind := range kinds {
		g, a := newGated(t, &guards.Settings{
			Tickets: &guards.Tickets{DelayMs: 1500, LeadMinutes: 60, ExpiryMinutes: 60},
		}, TicketsCheck{Tickets: tickets})
		g.begin = apitest.Noon().Add(kind.begin)
		r := press()
		for i := range each {
			r.Header = map[string]string{TicketHeader: kind.make(i)}
			if w := do(t, a, r); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(),
				`"code":"`+kind.code+`"`) {
				t.Fatalf("%s, the %dth: %d %s", name, i, w.Code, w.Body)
			}
		}
		if g.sold != 0 {
			t.Errorf("%s: %d were let in", name, g.sold)
		}
		if kind.begin < 0 {
			r.Header = map[string]string{TicketHeader: own}
			if w := do(t, a, r); w.Code != http.StatusAccepted || g.sold != 1 {
				t.Errorf("%s: the buyer's own ticket: %d %s", name, w.Code, w.Body)
			}
		}
	}
}

// stops is a guard that lets nobody in.
type stops struct{ why error }

func (stops) Name() guards.Name { return guards.TicketsGuard }

func (s stops) Check(*Request) error { return s.why }

// TestRefusals: a sale refuses clearly, on both routes, as they are described, whatever guard it is.
func TestRefusals(t *testing.T) {
	t.Parallel()
	described, err := contract.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		why        error
		code, more string
	}{
		{ticket.ErrRequired, "TICKET_REQUIRED", ""},
		{ticket.ErrInvalid, "TICKET_INVALID", ""},
		{
			&ticket.EarlyError{UsableFrom: apitest.Noon().Add(731 * time.Millisecond)}, "NOT_STARTED",
			`,"usableFrom":"2026-01-02T12:00:00.731Z"`,
		},
		{ticket.ErrTryAgain, "UNAVAILABLE", ""},
		{&budget.RateError{Of: budget.OfNetwork, Retry: time.Minute}, "RATE_LIMITED", `,"of":"network"`},
		{&NotEligibleError{Condition: "minLevel", Wanted: 2}, "NOT_ELIGIBLE", `,"condition":"minLevel","wanted":2`},
		{&cooldown.Error{Retry: time.Hour}, "COOL_DOWN", ""},
		{&budget.ShareError{Of: budget.OfNetwork}, "SHARE_TAKEN", `,"of":"network"`},
		{&budget.ShareError{Of: budget.OfNetwork, Busy: true}, "SHARE_BUSY", `,"of":"network"`},
	} {
		g, a := newGated(t, &guards.Settings{Tickets: &guards.Tickets{DelayMs: 1500}}, stops{tt.why})
		g.own = gate.ErrBarred
		want := `"data":{"guard":"tickets","orderKnown":true` + tt.more + "}"
		if errors.Is(tt.why, ticket.ErrTryAgain) {
			want = "" // it says nothing of the guard
		}
		for _, target := range []string{"/voucher/seckill/5", "/voucher-order/seckill/5"} {
			r := apitest.Request{Method: http.MethodPost, Target: target}.HTTP(t, t.Context())
			w := httptest.NewRecorder()
			a.ServeHTTP(w, r)
			if code := contract.CodeOf(w.Body.Bytes()); code != tt.code || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%v on %s: %d %s", tt.why, target, w.Code, w.Body)
			}
			if err := described.Check(contract.Exchange{
				Request: r, Status: w.Code, Header: w.Header(), Body: w.Body.Bytes(),
			}); err != nil {
				t.Errorf("%v on %s: %v", tt.why, target, err)
			}
		}
	}
}
