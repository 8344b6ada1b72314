package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	gocmp "github.com/google/go-cmp/cmp"

	"seckill/internal/feature/guard"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// fakeGuards are those of one sale, the voucher 5, behind a real gate. It knows the caller's own order.
type fakeGuards struct {
	settings  *guards.Settings
	own       error // nil: it cannot be asked for
	addresses []netip.Addr
}

// withGuards is a sale whose guards that were asked are these; without any, the conditions.
func withGuards(s *guards.Settings, asked ...guard.Guard) (*fakeGuards, func(*Config)) {
	f := &fakeGuards{settings: s}
	if asked == nil {
		asked = []guard.Guard{guard.ConditionsCheck{}}
	}
	tally := guard.NewTally(time.Now)
	all := guard.NewGuards(guard.NewLimitsTable(func() time.Time { return noon }), tally, noObserver{}, asked...)
	return f, func(cfg *Config) {
		front := httpkit.Front{
			Now: func() time.Time { return cfg.Now() },
			Address: func(c *gin.Context) netip.Addr {
				f.addresses = append(f.addresses, httpkit.AddressBehind(cfg.TrustedProxies)(c))
				return f.addresses[len(f.addresses)-1]
			},
		}
		cfg.Gatekeeper = guard.NewGate(all, guard.NewEntry(all, f), tally, front, true)
		cfg.GuardsOf = f.of
		cfg.FindVoucher = f.Find
	}
}

// noObserver hears nothing.
type noObserver struct{}

func (noObserver) GuardStopped(guards.Name, bool) {}

func (f *fakeGuards) of(id int64) *guards.Settings {
	if id != 5 {
		return nil
	}
	return f.settings
}

// Find implements feature.Sales.
func (f *fakeGuards) Find(_ context.Context, id int64) (voucher.Voucher, error) {
	v := seckillVoucher().Voucher
	v.ID, v.Sale.Guards = id, f.of(id)
	return v, nil
}

// AnyGuards implements feature.Sales.
func (f *fakeGuards) AnyGuards(is func(*guards.Settings) bool) bool { return is(f.settings) }

// Now implements feature.Sales.
func (*fakeGuards) Now(int64) time.Time { return noon }

// OwnOrder implements feature.Sales.
func (f *fakeGuards) OwnOrder(context.Context, int64, int64) error {
	return cmp.Or(f.own, order.ErrUnavailable)
}

// openGate lets everybody in, and has every guard.
type openGate struct{ httpkit.Gatekeeper }

// Headers implements httpkit.Gatekeeper.
func (openGate) Headers() []string { return (*guard.Gate)(nil).Headers() }

// Lacks implements httpkit.Gatekeeper.
func (openGate) Lacks(guards.Name) string { return "" }

var press = request{method: http.MethodPost, target: "/voucher/seckill/5"}

// guardOf is what an answer says of the guard that stopped it.
func guardOf(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var a struct{ Data map[string]any }
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatal(err)
	}
	return a.Data
}

// The limits hold before the token is looked at, for callers without one too, and for nothing but purchases of the
// sale.
func TestLimitsComeFirst(t *testing.T) {
	t.Parallel()
	_, guarded := withGuards(&guards.Settings{
		Limits: &guards.Limits{PerAddress: &guards.Rate{Requests: 2, Seconds: 90}},
	})
	a := newAPI(t, guarded)
	stranger := press
	stranger.header = map[string]string{"Authorization": ""}
	wantProblem(t, do(t, a, stranger), http.StatusUnauthorized, "UNAUTHENTICATED")
	if w := do(t, a, press); w.Code != http.StatusAccepted {
		t.Errorf("the second: %d", w.Code)
	}
	for _, r := range []request{stranger, press} {
		w := do(t, a, r)
		wantProblem(t, w, http.StatusTooManyRequests, "RATE_LIMITED")
		if got := w.Header().Get("Retry-After"); got != "45" {
			t.Errorf("Retry-After is %s", got)
		}
		if diff := gocmp.Diff(map[string]any{"guard": "limits", "orderKnown": false, "of": "address"},
			guardOf(t, w.Body.Bytes())); diff != "" {
			t.Errorf("data (-want +got):\n%s", diff)
		}
	}
	w := do(t, a, request{
		method: http.MethodPost, target: "/voucher-order/seckill/5", header: map[string]string{"Accept-Language": "zh"},
	})
	if want := `{"success":false,"code":"RATE_LIMITED","errorMsg":"请求过于频繁，请稍后再试","data":{"guard":"limits",` +
		`"orderKnown":false,"of":"address"}}`; w.Code != http.StatusTooManyRequests || w.Body.String() != want {
		t.Errorf("the tutorial's route: %d %s", w.Code, w.Body)
	}
	for _, r := range []request{
		{method: http.MethodPost, target: "/voucher/seckill/6"},
		{method: http.MethodGet, target: "/order"},
		{method: http.MethodGet, target: "/voucher/5"},
	} {
		if w := do(t, a, r); w.Code == http.StatusTooManyRequests {
			t.Errorf("%s %s: %d", r.method, r.target, w.Code)
		}
	}
}

// The address is that of the connection, unless a trusted proxy says another.
func TestAddressBehindTrustedProxies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trusted []string
		header  string
		want    string
	}{
		"none":             {nil, "203.0.113.9", "192.0.2.1"},
		"another":          {[]string{"10.0.0.0/8"}, "203.0.113.9", "192.0.2.1"},
		"trusted":          {[]string{"192.0.2.0/24"}, "203.0.113.9", "203.0.113.9"},
		"made up before":   {[]string{"192.0.2.0/24"}, "198.51.100.1, 203.0.113.9", "203.0.113.9"},
		"IPv6":             {[]string{"192.0.2.0/24"}, "2001:db8::7", "2001:db8::7"},
		"trusted, silent":  {[]string{"192.0.2.0/24"}, "", "192.0.2.1"},
		"trusted, garbled": {[]string{"192.0.2.0/24"}, "x", "192.0.2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, guarded := withGuards(&guards.Settings{
				Limits: &guards.Limits{PerAddress: &guards.Rate{Requests: 9, Seconds: 9}},
			})
			r := press
			r.header = map[string]string{"X-Forwarded-For": c.header}
			do(t, newAPI(t, guarded, func(cfg *Config) { cfg.TrustedProxies = c.trusted }), r)
			if got := slices.Compact(f.addresses); len(got) != 1 || got[0] != netip.MustParseAddr(c.want) {
				t.Errorf("%+v, want %s", got, c.want)
			}
		})
	}
}

// A user's limit holds on whatever address, and not for admins.
func TestLimitOfUser(t *testing.T) {
	t.Parallel()
	_, guarded := withGuards(&guards.Settings{Limits: &guards.Limits{PerUser: &guards.Rate{Requests: 1, Seconds: 60}}})
	a := newAPI(t, guarded)
	do(t, a, press)
	w := do(t, a, press)
	wantProblem(t, w, http.StatusTooManyRequests, "RATE_LIMITED")
	if got := guardOf(t, w.Body.Bytes()); got["of"] != "user" {
		t.Errorf("%v", got)
	}
	for range 2 {
		if w := asAdmin(t, a, press); w.Code != http.StatusAccepted {
			t.Errorf("an admin: %d", w.Code)
		}
	}
}

// Who does not meet a condition hears which, or their order; with dryRun they buy.
func TestConditionsOfASale(t *testing.T) {
	t.Parallel()
	f, guarded := withGuards(&guards.Settings{Conditions: &guards.Conditions{MinLevel: 2}})
	a := newAPI(t, guarded)
	w := do(t, a, press)
	wantProblem(t, w, http.StatusForbidden, "NOT_ELIGIBLE")
	if diff := gocmp.Diff(map[string]any{
		"guard": "conditions", "orderKnown": false, "condition": "minLevel", "wanted": 2.0,
	}, guardOf(t, w.Body.Bytes())); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	w = do(t, a, request{
		method: http.MethodPost, target: "/voucher-order/seckill/5", header: map[string]string{"Accept-Language": "zh"},
	})
	if want := `{"success":false,"code":"NOT_ELIGIBLE",` +
		`"errorMsg":"您的账号等级或注册时间不符合本次活动的要求","data":{"guard":"conditions","orderKnown":false,"condition":"minLevel",` +
		`"wanted":2}}`; w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("the tutorial's route: %d %s", w.Code, w.Body)
	}
	f.own = &order.AlreadyBoughtError{OrderID: 5, Status: order.Unpaid}
	wantProblem(t, do(t, a, press), http.StatusConflict, "ALREADY_BOUGHT")
	f.settings = &guards.Settings{Conditions: &guards.Conditions{MinLevel: 2, DryRun: true}}
	if w := do(t, a, press); w.Code != http.StatusAccepted {
		t.Errorf("with dryRun: %d", w.Code)
	}
}

// A sale that is hidden by this instance's clock may be shown by Redis' already: its guards decide, and their refusal
// does not tell that there is one.
func TestGuardsOfAHiddenSale(t *testing.T) {
	t.Parallel()
	f, guarded := withGuards(&guards.Settings{Conditions: &guards.Conditions{MinLevel: 2}})
	// The fake's voucher is shown from the zero time on.
	a := newAPI(t, guarded, func(cfg *Config) { cfg.Now = func() time.Time { return time.Time{}.Add(-time.Second) } })
	wantProblem(t, do(t, a, press), http.StatusNotFound, "NOT_FOUND")
	f.own = &order.AlreadyBoughtError{OrderID: 5, Status: order.Unpaid}
	wantProblem(t, do(t, a, press), http.StatusConflict, "ALREADY_BOUGHT")
}

// A dry run of tickets must not have pages wait for a moment.
func TestTicketsFromInADryRun(t *testing.T) {
	t.Parallel()
	for _, dry := range []bool{true, false} {
		shown := seckillVoucher()
		shown.Sale.Guards = &guards.Settings{
			Tickets: &guards.Tickets{DelayMs: 1500, LeadMinutes: 10, ExpiryMinutes: 30, DryRun: dry},
		}
		got := read(t, do(t, newAPI(t, shows(shown)), request{target: "/voucher/5"}))
		if got.Data == nil || containsKey(t, got.Data, "ticketsFrom") == dry {
			t.Errorf("dryRun %t: %s", dry, got.Data)
		}
	}
}

// Who has let orders expire hears for how long they wait, or their order.
func TestCoolDownOfASale(t *testing.T) {
	t.Parallel()
	check := guard.NewCoolDownCheck(func() time.Time { return noon })
	f, guarded := withGuards(&guards.Settings{CoolDown: &guards.CoolDown{Expired: 2, Minutes: 30}}, check)
	a := newAPI(t, guarded)
	check.Tell([]guard.Unpaid{{UserID: buyerID, Expired: 1}})
	if w := do(t, a, press); w.Code != http.StatusAccepted {
		t.Errorf("after one: %d", w.Code)
	}
	check.Tell([]guard.Unpaid{{UserID: buyerID, Expired: 2, Age: 10*time.Minute + time.Millisecond}})
	for target, lang := range map[string]string{"/voucher/seckill/5": "en", "/voucher-order/seckill/5": "zh"} {
		w := do(t, a, request{
			method: http.MethodPost, target: target, header: map[string]string{"Accept-Language": lang},
		})
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1200" {
			t.Errorf("%s: %d, Retry-After %s", target, w.Code, w.Header().Get("Retry-After"))
		}
		if diff := gocmp.Diff(map[string]any{"guard": "coolDown", "orderKnown": false},
			guardOf(t, w.Body.Bytes())); diff != "" {
			t.Errorf("%s: data (-want +got):\n%s", target, diff)
		}
	}
	f.own = &order.AlreadyBoughtError{OrderID: 5, Status: order.Unpaid}
	wantProblem(t, do(t, a, press), http.StatusConflict, "ALREADY_BOUGHT")
}

// Guards are given when a sale is created, shown to admins alone, and changed one by one.
func TestGuardsOfAVoucher(t *testing.T) {
	t.Parallel()
	const draft = `{"shopId":1,"title":"100 for 10","payValue":1000,"actualValue":10000,"stock":5,` +
		`"beginTime":"2026-01-02T20:00:00Z","endTime":"2099-01-02T21:00:00Z","guards":`
	vs := &fakeVouchers{}
	a := newAPI(t, func(cfg *Config) { cfg.Vouchers = vs })
	w := asAdmin(t, a, request{method: http.MethodPost, target: "/voucher/seckill", body: draft +
		`{"limits":{"perUser":{"requests":5,"seconds":10}},"conditions":{"minAgeDays":7,"dryRun":true}}}`})
	if w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	want := &guards.Settings{Limits: &guards.Limits{
		PerUser: &guards.Rate{Requests: 5, Seconds: 10},
	}, Conditions: &guards.Conditions{MinAgeDays: 7, DryRun: true}}
	if diff := gocmp.Diff(want, vs.created[0].Sale.Guards); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	shown := seckillVoucher()
	shown.Sale.Guards = want
	public := newAPI(t, shows(shown))
	if got := read(t, do(t, public, request{target: "/voucher/5"})); got.Data == nil ||
		containsKey(t, got.Data, "guards") {
		t.Errorf("the public sees %s", got.Data)
	}
	for name, c := range map[string]struct{ guards, field string }{
		"unknown":      {`{"limit":{}}`, "guards.limit"},
		"no object":    {`[]`, "guards"},
		"inside":       {`{"limits":{"perUser":{"requests":5}}}`, "guards.limits.perUser.seconds"},
		"twice":        {`{"conditions":{"minLevel":1,"minLevel":2}}`, "guards.conditions.minLevel"},
		"a text":       {`{"conditions":{"minLevel":"2"}}`, "guards.conditions.minLevel"},
		"out of range": {`{"limits":{"perUser":{"requests":0,"seconds":10}}}`, "guards.limits.perUser.requests"},
		"of nothing":   {`{"limits":{}}`, "guards.limits"},
		"half":         {`{"coolDown":{"minutes":30}}`, "guards.coolDown.expired"},
		"a month":      {`{"coolDown":{"expired":2,"minutes":43200}}`, "guards.coolDown.minutes"},
	} {
		w := asAdmin(t, a, request{method: http.MethodPost, target: "/voucher/seckill", body: draft + c.guards + "}"})
		if diff := gocmp.Diff([]string{c.field},
			fieldsOf(wantProblem(t, w, http.StatusBadRequest, "INVALID"))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for name, c := range map[string]struct {
		body string
		want *guards.Change
	}{
		"not given": {`{"title":"a"}`, nil},
		"nothing":   {`{"guards":{}}`, nil},
		"all off":   {`{"guards":null}`, &guards.Change{AllOff: true}},
		"one off":   {`{"guards":{"limits":null}}`, &guards.Change{Limits: guards.Edit[guards.Limits]{Given: true}}},
		"one anew": {
			`{"guards":{"conditions":{"minLevel":3}}}`,
			&guards.Change{
				Conditions: guards.Edit[guards.Conditions]{Given: true, To: &guards.Conditions{MinLevel: 3}},
			},
		},
		"a dry run": {`{"guards":{"coolDown":{"expired":2,"minutes":30,"dryRun":true}}}`, &guards.Change{
			CoolDown: guards.Edit[guards.CoolDown]{
				Given: true, To: &guards.CoolDown{Expired: 2, Minutes: 30, DryRun: true},
			},
		}},
		"no rate, so": {
			`{"guards":{"limits":{"perUser":null,"dryRun":true}}}`,
			&guards.Change{Limits: guards.Edit[guards.Limits]{Given: true, To: &guards.Limits{DryRun: true}}},
		},
	} {
		var got voucher.Change
		a := newAPI(t, func(cfg *Config) { cfg.VoucherChanges = seesChange{into: &got} })
		if w := asAdmin(t, a,
			request{method: http.MethodPatch, target: "/voucher/5", body: c.body}); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if diff := gocmp.Diff(c.want, got.Guards); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A server that was built without guards refuses a sale that has some, in both languages, and a setting that is missing
// is named. All can still be turned off.
func TestGuardsThatAreNotThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gate                   httpkit.Gatekeeper
		guards, lang, code, in string
	}{
		"no guards": {
			nil, `{"conditions":{"minLevel":2}}`, "en", "NEEDS_GUARDS", "which this service was built without",
		},
		"in Chinese": {nil, `{"limits":null}`, "zh", "NEEDS_GUARDS", "本服务的构建不含防刷功能"},
		"no secret": {
			guard.NewGate(nil, nil, nil, httpkit.Front{}, false), `{"challenge":null}`, "en", "NEEDS_SETTING",
			"SECKILL_GUARD_SECRET",
		},
		"none at all":       {nil, `null`, "en", "", ""},
		"needing no secret": {guard.NewGate(nil, nil, nil, httpkit.Front{}, false), `{"limits":null}`, "en", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got voucher.Change
			a := newAPI(t, func(cfg *Config) { cfg.VoucherChanges, cfg.Gatekeeper = seesChange{into: &got}, c.gate })
			w := asAdmin(t, a, request{
				method: http.MethodPatch, target: "/voucher/5", body: `{"guards":` + c.guards + `}`,
				header: map[string]string{"Accept-Language": c.lang},
			})
			if (w.Code == http.StatusOK) != (c.code == "") || !strings.Contains(w.Body.String(), c.code) ||
				!strings.Contains(w.Body.String(), c.in) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

// seesChange keeps what is changed.
type seesChange struct {
	VoucherChanges
	into *voucher.Change
}

func (s seesChange) Change(
	_ context.Context, _ voucher.Author, _ int64, change voucher.Change,
) (voucher.Shown, bool, error) {
	*s.into = change
	return seckillVoucher(), true, nil
}

func containsKey(t *testing.T, data json.RawMessage, key string) bool {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	_, has := members[key]
	return has
}
