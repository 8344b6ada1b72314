package shop_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/recorder"
	"seckill/internal/voucher"
)

const deadLetterDocument = `{"id":"9-0","entryId":"1-0","at":"2026-01-02T12:00:00.000Z",` +
	`"why":"order: no number","fields":{"v":"5"},` +
	`"orderId":"660000000123456789","userId":42,"voucherId":5,"state":"recorded","status":"failed"}`

func TestListDeadLetters(t *testing.T) {
	t.Parallel()
	bare := recorder.DeadLetter{ID: "10-0", Entry: "2-0", At: noon, Why: "x", Fields: map[string]string{}, LeftOut: 2}
	const bareDocument = `{"id":"10-0","entryId":"2-0","at":"2026-01-02T12:00:00.000Z","why":"x","fields":{},` +
		`"leftOut":2,` +
		`"state":"unreadable"}`
	a := newAPI(t, func(cfg *setup) {
		cfg.DeadLetters = fakeDeadLetters{OnList: func(after string, n int) ([]recorder.DeadLetter, int64, error) {
			if after == "none" {
				return nil, 0, order.ErrNoDeadLetter
			}
			return []recorder.DeadLetter{deadLetter(), bare}[:min(n, 2)], 7, nil
		}}
	})
	for query, want := range map[string]string{
		"":                 `{"success":true,"data":[` + deadLetterDocument + `,` + bareDocument + `],"total":7}`,
		"?limit=1&after=x": `{"success":true,"data":[` + deadLetterDocument + `],"total":7,"next":"9-0"}`,
	} {
		w := asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/deadletter" + query})
		if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%q: %d %s", query, w.Code, diff)
		}
	}
	wantProblem(t, asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/deadletter?after=none"}),
		http.StatusNotFound, "NOT_FOUND")
	wantProblem(t, asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/deadletter?limit=0"}),
		http.StatusBadRequest, "INVALID")
}

func TestDeadLetterActions(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]struct {
		status int
		body   string
	}{
		"replay": {
			http.StatusAccepted,
			`{"success":true,"data":{"orderId":"660000000123456789","userId":42,"voucherId":5,"status":"queued"}}`,
		},
		"discard": {http.StatusOK, `{"success":true,"data":` + deadLetterDocument + `}`},
	} {
		var steps []string
		var noted []voucher.Entry
		act := func(id, by, why string) {
			steps = append(steps, fmt.Sprint(len(noted), id, by, why))
		}
		a := newAPI(t, func(cfg *setup) {
			cfg.Ledger = fakeLedger{Noted: &noted}
			cfg.DeadLetters = fakeDeadLetters{
				OnReplay: func(id, by, why string) (order.Claim, error) {
					act(id, by, why)
					return deadLetter().Claim, nil
				},
				OnDiscard: func(id, by, why string) (recorder.DeadLetter, error) {
					act(id, by, why)
					return deadLetter(), nil
				},
			}
		})
		w := asAdmin(t, a, request{
			Method: http.MethodPost, Target: "/admin/deadletter/9-0/" + action, Body: `{"why":" mended "}`,
			Header: map[string]string{"X-Request-Id": "r-1"},
		})
		if diff := cmp.Diff(want.body, w.Body.String()); diff != "" || w.Code != want.status {
			t.Errorf("%s: %d %s", action, w.Code, diff)
		}
		wantNoted := []voucher.Entry{{
			By: voucher.Author{AdminID: adminID, Request: "r-1"}, Action: voucher.Action(action),
			Changes: []voucher.FieldChange{{Field: "deadLetter", To: "9-0"}, {Field: "why", To: "mended"}},
		}}
		if diff := cmp.Diff(wantNoted, noted); diff != "" ||
			!slices.Equal(steps, []string{fmt.Sprint(1, "9-0", "admin 7", "mended")}) {
			t.Errorf("%s: done %q; noted (-want +got):\n%s", action, steps, diff)
		}
	}
}

// Nothing is done without an entry in the trail, and nothing without a reason.
func TestDeadLetterActionsRefuse(t *testing.T) {
	t.Parallel()
	// Else it would be NOT_FOUND.
	away := newAPI(t, func(cfg *setup) { cfg.Ledger = fakeLedger{Err: order.ErrUnavailable} })
	good := request{Method: http.MethodPost, Target: "/admin/deadletter/9-0/replay", Body: `{"why":"x"}`}
	wantProblem(t, asAdmin(t, away, good), http.StatusServiceUnavailable, "UNAVAILABLE")
	a := newAPI(t)
	for _, body := range []string{`{}`, `{"why":" "}`, `{"why":"` + strings.Repeat("限", 201) + `"}`, `{"why":5}`} {
		wantProblem(t, asAdmin(t, a, request{Method: http.MethodPost, Target: good.Target, Body: body}),
			http.StatusBadRequest, "INVALID")
	}
	wantProblem(t, asAdmin(t, a, good), http.StatusNotFound, "NOT_FOUND")
	long := request{
		Method: http.MethodPost, Target: "/admin/deadletter/" + strings.Repeat("9", 99) + "/discard", Body: good.Body,
	}
	wantProblem(t, asAdmin(t, a, long), http.StatusNotFound, "NOT_FOUND")
}
