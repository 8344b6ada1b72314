package shop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/contract"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// gateError is a refusal of a gatekeeper: its code.
type gateError = apitest.StoppedError

// The gate is asked once the token is looked at, and before the purchase; of an admin only then, and of a sale without
// guards never. Strangers spend nothing. Units count once they are bought.
func TestGatekeeper(t *testing.T) {
	t.Parallel()
	const rate, ticket, share = gateError("RATE_LIMITED"), gateError("TICKET_REQUIRED"), gateError("SHARE_TAKEN")
	stranger, two := press, press
	stranger.Header = map[string]string{"Authorization": ""}
	two.Target += "?quantity=2"
	limits, enter := fmt.Sprint("limits ", buyerID, " 5"), fmt.Sprint("enter ", buyerID, " 5")
	reserve := fmt.Sprint("reserve ", buyerID, " 5")
	for name, c := range map[string]struct {
		gate    gatekeeper
		request request
		admin   bool
		code    string // "" for 202
		asked   []string
		won     int64
	}{
		"all is well": {gatekeeper{}, two, false, "", []string{limits, enter, reserve}, 2},
		"the limits":  {gatekeeper{OnLimits: rate}, press, false, "RATE_LIMITED", []string{limits}, 0},
		"a stranger":  {gatekeeper{OnLimits: rate}, stranger, false, "UNAUTHENTICATED", nil, 0},
		"an admin": {
			gatekeeper{OnLimits: rate},
			press, true, "",
			[]string{fmt.Sprint("enter ", adminID, " 5"), fmt.Sprint("reserve ", adminID, " 5")},
			1,
		},
		"the share": {gatekeeper{OnReserve: share}, press, false, "SHARE_TAKEN", []string{limits, enter, reserve}, 0},
		"the entry": {gatekeeper{OnEnter: ticket}, press, false, "TICKET_REQUIRED", []string{limits, enter}, 0},
		"a sale without guards": {
			gatekeeper{OnLimits: rate, OnEnter: ticket},
			request{Method: http.MethodPost, Target: "/voucher/seckill/6"},
			false, "", nil, 0,
		},
		"no sale": {
			gatekeeper{OnLimits: rate}, request{
				Method: http.MethodPost, Target: "/voucher/seckill/x",
			}, false, "INVALID", nil, 0,
		},
		"another route": {gatekeeper{OnLimits: rate}, request{Target: "/order"}, false, "", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, ask := newAPI(t, c.gate.Before), do
			if c.admin {
				ask = asAdmin
			}
			w := ask(t, a, c.request)
			if code := contract.CodeOf(w.Body.Bytes()); code != c.code || code == "" && w.Code >= 300 {
				t.Errorf("%d %s, want %q", w.Code, w.Body, c.code)
			}
			if diff := cmp.Diff(c.asked, c.gate.Asked); diff != "" || c.gate.Won != c.won {
				t.Errorf("%d units were won, want %d; asked (-want +got):\n%s", c.gate.Won, c.won, diff)
			}
		})
	}
}

// What came of the units that were reserved is told: won, also by an order that fails later; refused, where certainly
// nothing was bought; and unknown in all other cases.
func TestOutcomeOfReservedUnits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		order order.Order
		err   error
		want  guards.Outcome
	}{
		"won":           {order.Order{ID: orderID, Status: order.Queued}, nil, guards.Won},
		"failed later":  {order.Order{ID: orderID, Status: order.Failed}, nil, guards.Won},
		"sold out":      {order.Order{}, gate.ErrSoldOut, guards.Refused},
		"paused":        {order.Order{}, fmt.Errorf("wrapped: %w", gate.ErrPaused), guards.Refused},
		"off the shelf": {order.Order{}, voucher.ErrOffShelf, guards.Refused},
		"away":          {order.Order{}, order.ErrUnavailable, guards.Refused},
		"bought before": {order.Order{}, &gate.AlreadyBoughtError{OrderID: 1}, guards.Refused},
		"not enough":    {order.Order{}, &gate.NotEnoughError{}, guards.Refused},
		"no sale":       {order.Order{}, voucher.ErrNotSeckill, guards.Refused},
		"too many":      {order.Order{}, invalid.Join(invalid.Outside("quantity", 3, 1, 2)), guards.Refused},
		"not known": {
			order.Order{ID: orderID}, fmt.Errorf("timeout: %w", order.ErrUnknownOutcome), guards.Unknown,
		},
		"something else": {order.Order{}, errors.New("a bug"), guards.Unknown},
		"hung up":        {order.Order{}, context.Canceled, guards.Unknown},
		"panic":          {order.Order{}, nil, guards.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &gatekeeper{Outcome: -1}
			a := newAPI(t, g.Before, withPurchases(fakePurchases{OnBuy: func(
				context.Context, int64, int64, time.Duration,
			) (order.Order, error) {
				if name == "panic" {
					panic(name)
				}
				return c.order, c.err
			}}))
			if do(t, a, press); g.Outcome != c.want || g.ID != c.order.ID {
				t.Errorf("%d of order %d was told, want %d of %d", g.Outcome, g.ID, c.want, c.order.ID)
			}
		})
	}
}

// A dry run of tickets must not have pages wait for a moment.
func TestTicketsFromInADryRun(t *testing.T) {
	t.Parallel()
	for _, dry := range []bool{true, false} {
		shown := seckillVoucher()
		shown.Sale.Guards = &guards.Settings{
			Tickets: &guards.Tickets{DelayMs: 1500, LeadMinutes: 10, ExpiryMinutes: 30, DryRun: dry},
		}
		got := read(t, do(t, newAPI(t, shows(shown)), request{Target: "/voucher/5"}))
		if got.Data == nil || containsKey(t, got.Data, "ticketsFrom") == dry {
			t.Errorf("dryRun %t: %s", dry, got.Data)
		}
	}
}

// Guards are given when a sale is created, shown to admins alone, and changed one by one.
func TestGuardsOfAVoucher(t *testing.T) {
	t.Parallel()
	const draft = `{"shopId":1,"title":"100 for 10","payValue":1000,"actualValue":10000,"stock":5,` +
		`"beginTime":"2026-01-02T20:00:00.000Z","endTime":"2099-01-02T21:00:00.000Z","guards":`
	vs := &fakeVouchers{}
	a := newAPI(t, func(cfg *setup) { cfg.Vouchers = vs })
	w := asAdmin(t, a, request{Method: http.MethodPost, Target: "/voucher/seckill", Body: draft +
		`{"limits":{"perUser":{"requests":5,"seconds":10}},"conditions":{"minAgeDays":7,"dryRun":true}}}`})
	if w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	want := &guards.Settings{Limits: &guards.Limits{
		PerUser: &guards.Rate{Requests: 5, Seconds: 10},
	}, Conditions: &guards.Conditions{MinAgeDays: 7, DryRun: true}}
	if diff := cmp.Diff(want, vs.Created[0].Sale.Guards); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	shown := seckillVoucher()
	shown.Sale.Guards = want
	public := newAPI(t, shows(shown))
	if got := read(t, do(t, public, request{Target: "/voucher/5"})); got.Data == nil ||
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
		w := asAdmin(t, a, request{Method: http.MethodPost, Target: "/voucher/seckill", Body: draft + c.guards + "}"})
		if diff := cmp.Diff([]string{c.field},
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
		a := newAPI(t, func(cfg *setup) { cfg.VoucherChanges = seesChange{into: &got} })
		if w := asAdmin(t, a,
			request{Method: http.MethodPatch, Target: "/voucher/5", Body: c.body}); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if diff := cmp.Diff(c.want, got.Guards); diff != "" {
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
			&gatekeeper{OnLacks: "SECKILL_GUARD_SECRET"}, `{"challenge":null}`, "en", "NEEDS_SETTING",
			"SECKILL_GUARD_SECRET",
		},
		"none at all":  {nil, `null`, "en", "", ""},
		"all is there": {&gatekeeper{}, `{"limits":null}`, "en", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got voucher.Change
			a := newAPI(t, func(cfg *setup) { cfg.VoucherChanges, cfg.Gatekeeper = seesChange{into: &got}, c.gate })
			w := asAdmin(t, a, request{
				Method: http.MethodPatch, Target: "/voucher/5", Body: `{"guards":` + c.guards + `}`,
				Header: map[string]string{"Accept-Language": c.lang},
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
	shop.VoucherChanges
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
