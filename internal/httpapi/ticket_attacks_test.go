package httpapi

import (
	"context"
	"encoding/base64"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/guard"
	"seckill/internal/feature/guard/keys"
	"seckill/internal/feature/guard/ticket"
	"seckill/internal/order"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

type fixedSalts []keys.Salt

func (s fixedSalts) GuardSalts(context.Context) ([]keys.Salt, error) { return s, nil }

func guardKeys(t testing.TB) *keys.Ring {
	t.Helper()
	r, err := keys.NewRing(strings.Repeat("secret of ours!!", 2), fixedSalts{{ID: 3}}, func() time.Time { return noon },
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// soldTo counts who is let through to the sale.
func soldTo(n *int) func(*Config) {
	return withPurchases(fakePurchases{buy: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
		*n++
		return orderIn(order.Queued), nil
	}})
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
	own := issue(5, buyerID, noon.Add(time.Hour))
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
			-time.Hour, func(i int) string { return issue(5, buyerID+1+int64(i), noon.Add(time.Hour)) },
			"TICKET_INVALID",
		},
		"early": {
			time.Nanosecond, func(i int) string { return issue(5, buyerID, noon.Add(time.Duration(1+i)*time.Second)) },
			"NOT_STARTED",
		},
		"late": {
			-time.Hour, func(i int) string { return issue(5, buyerID, noon.Add(-time.Duration(i)*time.Second)) },
			"TICKET_INVALID",
		},
		"of another sale, replayed": {-time.Hour, func(i int) string {
			return issue(6+int64(i), buyerID, noon.Add(time.Hour))
		}, "TICKET_INVALID"},
	}
	for name, kind := range kinds {
		var sold int
		_, guarded := withGuards(&guards.Settings{
			Tickets: &guards.Tickets{DelayMs: 1500, LeadMinutes: 60, ExpiryMinutes: 60},
		}, guard.TicketsCheck{Tickets: tickets})
		a := newAPI(t, guarded, soldTo(&sold), func(cfg *Config) {
			find := cfg.FindVoucher
			cfg.FindVoucher = func(ctx context.Context, id int64) (voucher.Voucher, error) {
				v, err := find(ctx, id)
				v.Sale.Begin = noon.Add(kind.begin)
				return v, err
			}
			cfg.UserRate = 0
		})
		r := press
		for i := range each {
			r.header = map[string]string{guard.TicketHeader: kind.make(i)}
			if w := do(t, a, r); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(),
				`"code":"`+kind.code+`"`) {
				t.Fatalf("%s, the %dth: %d %s", name, i, w.Code, w.Body)
			}
		}
		if sold != 0 {
			t.Errorf("%s: %d were let in", name, sold)
		}
		if kind.begin < 0 {
			r.header = map[string]string{guard.TicketHeader: own}
			if w := do(t, a, r); w.Code != http.StatusAccepted || sold != 1 {
				t.Errorf("%s: the buyer's own ticket: %d %s", name, w.Code, w.Body)
			}
		}
	}
}

// TestTicketIsChecked holds that a sale that needs a ticket refuses clearly, on both routes, and hears the header.
func TestTicketIsChecked(t *testing.T) {
	t.Parallel()
	early := &ticket.EarlyError{UsableFrom: noon.Add(731 * time.Millisecond)}
	for _, tt := range []struct {
		why        error
		code, want string
	}{
		{ticket.ErrRequired, "TICKET_REQUIRED", `"data":{"guard":"tickets","orderKnown":true}`},
		{ticket.ErrInvalid, "TICKET_INVALID", `"data":{"guard":"tickets","orderKnown":true}`},
		{early, "NOT_STARTED", `"data":{"guard":"tickets","orderKnown":true,"usableFrom":"2026-01-02T12:00:00.731Z"}`},
	} {
		err := &guard.StoppedError{Guard: guards.TicketsGuard, Why: tt.why, OrderKnown: true}
		w := do(t, newAPI(t, failing(err)), request{method: http.MethodPost, target: "/voucher/seckill/5", body: ""})
		wantProblem(t, w, http.StatusForbidden, tt.code)
		if !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%v: %s", tt.why, w.Body)
		}
		w = do(t, newAPI(t, failing(err)),
			request{method: http.MethodPost, target: "/voucher-order/seckill/5", body: ""})
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), `{"success":false,"code":"`+tt.code+`"`) {
			t.Errorf("%v on the tutorial's route: %d %s", tt.why, w.Code, w.Body)
		}
	}
}
