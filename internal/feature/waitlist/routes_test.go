package waitlist

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/contract"
	"seckill/internal/testkit/featuretest"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// ask sends a buyer's request and returns status and body.
func ask(tb testing.TB, h http.Handler, method, target string) (int, string) {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), method, target, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+apitest.Token(tb, 42, ""))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// Guards stand before joining and before accepting; looking and leaving pass them by. Accepting and saying yes
// beforehand claim a unit, once for a place.
func TestGuards(t *testing.T) {
	t.Parallel()
	const none = guards.Outcome(-1)
	barred, full := apitest.StoppedError("COOL_DOWN"), apitest.StoppedError("SHARE_TAKEN")
	waiting, accepted, bought := placeIn(Waiting), placeIn(Accepted), placeIn(Bought)
	claimed := accepted
	claimed.Claimed = true
	earlier := bought // a place that has become an order, of a user who may join again
	earlier.Claimed, earlier.Standing = true, true
	sleeper := waiting
	sleeper.Standing = false
	claims := func(p Place) Place { p.Claims = true; return p }
	for name, tc := range map[string]struct {
		ask          string
		entry, share error
		lists        fakeLists
		code         string // "" for a success
		outcome      guards.Outcome
	}{
		"joining":          {"POST ", nil, full, fakeLists{place: waiting}, "", none},
		"joining, barred":  {"POST ", barred, nil, fakeLists{place: waiting}, "COOL_DOWN", none},
		"looking":          {"GET ", barred, full, fakeLists{place: waiting}, "", none},
		"leaving":          {"POST /leave", barred, full, fakeLists{place: waiting}, "", none},
		"saying yes":       {"POST ?standing=true", nil, nil, fakeLists{place: claims(waiting)}, "", guards.Claimed},
		"saying yes twice": {"POST ?standing=true", nil, nil, fakeLists{place: waiting}, "", guards.Refused},
		"after a purchase": {"POST ?standing=true", nil, nil, fakeLists{place: claims(earlier)}, "", guards.Claimed},
		"saying yes, paused": {
			"POST ?standing=true", nil, nil,
			fakeLists{place: waiting, join: gate.ErrPaused},
			"PAUSED",
			guards.Refused,
		},
		"saying yes, not known, and not claimed": {
			"POST ?standing=true", nil, nil,
			fakeLists{place: waiting, join: order.ErrUnavailable},
			"UNAVAILABLE",
			guards.Refused,
		},
		"saying yes, not known, but claimed": {
			"POST ?standing=true", nil, nil,
			fakeLists{place: earlier, join: order.ErrUnavailable},
			"UNAVAILABLE",
			guards.Claimed,
		},
		"saying yes, COMMIT's answer lost, but claimed": {
			"POST ?standing=true", nil, nil,
			fakeLists{place: earlier, join: order.ErrUnknownChange},
			"UNKNOWN_OUTCOME",
			guards.Claimed,
		},
		"in vain":              {"POST ?standing=true", nil, nil, fakeLists{place: sleeper}, "", guards.Refused},
		"to a full share":      {"POST ?standing=true", nil, full, fakeLists{place: sleeper}, "SHARE_TAKEN", none},
		"again":                {"POST ?standing=true", nil, full, fakeLists{place: claimed}, "", none},
		"taking back":          {"POST ?standing=false", nil, full, fakeLists{place: waiting}, "", none},
		"accepting":            {"POST /accept", nil, nil, fakeLists{place: claims(bought)}, "", guards.Won},
		"accepting, barred":    {"POST /accept", barred, nil, fakeLists{place: bought}, "COOL_DOWN", none},
		"accepting, undecided": {"POST /accept", nil, nil, fakeLists{place: claims(accepted)}, "", guards.Unknown},
		"accepting, in vain": {
			"POST /accept", nil, nil, fakeLists{place: claims(placeIn(Refused))}, "NOT_INVITED", guards.Refused,
		},
		"accepting, not known, but accepted": {
			"POST /accept", nil, nil,
			fakeLists{place: bought, accept: order.ErrUnavailable},
			"UNAVAILABLE",
			guards.Won,
		},
		"accepting, not known, and undecided": {
			"POST /accept", nil, nil,
			fakeLists{place: accepted, accept: order.ErrUnavailable},
			"UNAVAILABLE",
			guards.Unknown,
		},
		"accepting, COMMIT's answer lost, but accepted": {
			"POST /accept", nil, nil,
			fakeLists{place: bought, accept: order.ErrUnknownChange},
			"UNKNOWN_OUTCOME",
			guards.Won,
		},
		"accepting, no share": {"POST /accept", nil, full, fakeLists{place: bought}, "SHARE_TAKEN", none},
		"accepting, claimed":  {"POST /accept", nil, full, fakeLists{place: claimed}, "", none},
		"accepting, meanwhile": {
			"POST /accept", nil, nil, fakeLists{place: bought}, "", guards.Refused,
		},
		"accepting, too late": {
			"POST /accept", nil, nil, fakeLists{place: waiting, accept: ErrNotInvited}, "NOT_INVITED", guards.Refused,
		},
		"accepting, paused": {
			"POST /accept", nil, nil, fakeLists{accept: gate.ErrPaused}, "PAUSED", guards.Refused,
		},
		"accepting, not known": {
			"POST /accept", nil, nil, fakeLists{accept: order.ErrUnavailable}, "UNAVAILABLE", guards.Refused,
		},
		"accepting, no place": {
			"POST /accept", nil, nil, fakeLists{err: ErrNoPlace}, "NOT_FOUND", guards.Refused,
		},
		"accepting, no ledger": {
			"POST /accept", nil, nil, fakeLists{err: order.ErrUnavailable}, "UNAVAILABLE", none,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome := none
			routes := routesBehind(tc.lists, gatekeeper{entry: tc.entry, share: tc.share, outcome: &outcome},
				&guards.Settings{})
			h := featuretest.Serve(t, routes, append(Rules(), apitest.StoppedRules()...), apitest.State{})
			method, target, _ := strings.Cut(tc.ask, " ")
			status, body := ask(t, h, method, "/voucher/5/waitlist"+target)
			if code := contract.CodeOf([]byte(body)); code != tc.code || code == "" && status >= http.StatusBadRequest {
				t.Errorf("%d %s, want %q", status, body, tc.code)
			}
			if outcome != tc.outcome {
				t.Errorf("the gatekeeper is told %d, want %d", outcome, tc.outcome)
			}
		})
	}
}

// A place says what its user needs to know of it in its state, and nothing else.
func TestViews(t *testing.T) {
	t.Parallel()
	for state, want := range map[State]string{
		Waiting:  `"standing":true,"missed":1,"ahead":1000,"aheadMore":true,"joinTime"`,
		Invited:  `"acceptBefore":"2026-01-02T12:01:00.000Z","paused":true,"askAgainSeconds":2`,
		Accepted: `"orderId":"660000000123456789","askAgainSeconds":2`,
		Bought: `"standing":false,"missed":1,"joinTime":"2026-01-02T12:00:00.000Z",` +
			`"inviteTime":"2026-01-02T12:00:00.000Z",` +
			`"orderId"`,
		Declined: `"state":"declined","standing":false`,
	} {
		h := featuretest.Serve(t, routesOn(fakeLists{place: placeIn(state)}), Rules(), apitest.State{})
		if _, body := ask(t, h, http.MethodGet, "/voucher/5/waitlist"); !strings.Contains(body, want) {
			t.Errorf("%s: %s lacks %s", state, body, want)
		}
	}
}

// Joining says yes, no, or leaves it as it is.
func TestStanding(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]*bool{"": nil, "?standing=true": new(true), "?standing=false": new(false)} {
		var said *bool
		h := featuretest.Serve(t, routesOn(fakeLists{place: placeIn(Waiting), said: &said}), Rules(), apitest.State{})
		if status, body := ask(t, h, http.MethodPost, "/voucher/5/waitlist"+query); status != http.StatusCreated {
			t.Errorf("%s: %d %s", query, status, body)
		}
		if (said == nil) != (want == nil) || said != nil && *said != *want {
			t.Errorf("%q says %v", query, said)
		}
	}
}

// Who may not buy in a rehearsal does not learn of it.
func TestJoiningNoRehearsal(t *testing.T) {
	t.Parallel()
	find := func(context.Context, int64) (voucher.Voucher, error) {
		return voucher.Voucher{
			ID: 5, ShopID: voucher.RehearsalShop, Status: voucher.OnShelf, Sale: &voucher.Sale{},
		}, nil
	}
	h := featuretest.Serve(t, Routes(fakeLists{join: ErrNoList}, find, httpkit.Front{Now: apitest.Noon}), Rules(),
		apitest.State{})
	if status, body := ask(t, h, http.MethodPost, "/voucher/5/waitlist"); status != http.StatusNotFound {
		t.Errorf("%d %s", status, body)
	}
}

// Leaving without a place is answered alike for every voucher: a hidden one, which is not on any list, is not told from
// none.
func TestLeavingTellsNoHiddenVoucher(t *testing.T) {
	t.Parallel()
	answers := map[string]bool{}
	for _, err := range []error{ErrNoPlace, voucher.ErrNotFound, voucher.ErrNotSeckill} {
		h := featuretest.Serve(t, routesOn(fakeLists{err: err}), Rules(), apitest.State{})
		status, body := ask(t, h, http.MethodPost, "/voucher/5/waitlist/leave")
		if status != http.StatusNotFound {
			t.Errorf("%v: %d", err, status)
		}
		answers[body] = true
	}
	if len(answers) != 1 {
		t.Errorf("answers differ: %v", answers)
	}
}
