package httpapi

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"seckill/internal/guard"
	"seckill/internal/guard/challenge"
	"seckill/internal/guard/keys"
	"seckill/internal/guard/ticket"
	"seckill/internal/order"
	"seckill/internal/order/service"
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
		f, guarded := withGuards(&guards.Settings{
			Tickets: &guards.Tickets{DelayMs: 1500, LeadMinutes: 60, ExpiryMinutes: 60},
		})
		f.guards = guard.NewGuards(guard.NewLimitsTable(time.Now), guard.NewTally(time.Now), noObserver{},
			ticket.Guard{Tickets: tickets})
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
			r.header = map[string]string{ticketHeader: kind.make(i)}
			if w := do(t, a, r); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(),
				`"code":"`+kind.code+`"`) {
				t.Fatalf("%s, the %dth: %d %s", name, i, w.Code, w.Body)
			}
		}
		if sold != 0 {
			t.Errorf("%s: %d were let in", name, sold)
		}
		if kind.begin < 0 {
			r.header = map[string]string{ticketHeader: own}
			if w := do(t, a, r); w.Code != http.StatusAccepted || sold != 1 {
				t.Errorf("%s: the buyer's own ticket: %d %s", name, w.Code, w.Body)
			}
		}
	}
}

// workedTickets gives tickets for real solutions.
type workedTickets struct{ challenges *challenge.Challenges }

func (w workedTickets) Give(
	_ context.Context, voucherID int64, c guard.Caller, solution string,
) (service.Ticket, error) {
	err := w.challenges.Check(solution, challenge.Caller{SaleID: voucherID, UserID: c.UserID, Address: c.Address}, noon)
	switch {
	case errors.Is(err, challenge.ErrTryAgain):
		return service.Ticket{}, err
	case err != nil:
		return service.Ticket{}, &service.ChallengeError{}
	}
	return service.Ticket{Text: strings.Repeat("t", ticket.Length)}, nil
}

// TestBadSolutions sends solutions that are none over HTTP: guessed, unsigned, shared, late, from another network,
// for another sale. None gets a ticket; the same caller's own one does.
func TestBadSolutions(t *testing.T) {
	t.Parallel()
	const each = 100
	challenges := challenge.New(guardKeys(t), guard.NewLimitsTable(time.Now), 8)
	ctx, stop := context.WithCancel(t.Context())
	made := make(chan struct{})
	go func() { defer close(made); _ = challenges.Run(ctx) }()
	t.Cleanup(func() { stop(); <-made })
	home := netip.MustParseAddr("192.0.2.1") // that of httptest's requests
	solve := func(who challenge.Caller, now time.Time) challenge.Payload {
		for {
			c, err := challenges.Make(t.Context(), who, 2, now)
			if errors.Is(err, challenge.ErrBusy) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			p, err := challenge.Solve(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	me := challenge.Caller{SaleID: 5, UserID: buyerID, Address: home}
	own := solve(me, noon)
	random := rand.New(rand.NewPCG(17, 9))
	hex := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte("0123456789abcdef"[random.IntN(16)])
		}
		return b.String()
	}
	foreign := map[string]challenge.Payload{
		"shared": solve(challenge.Caller{SaleID: 5, UserID: buyerID + 1, Address: home}, noon),
		"late":   solve(me, noon.Add(-challenge.Life)),
		"from another network": solve(
			challenge.Caller{SaleID: 5, UserID: buyerID, Address: netip.MustParseAddr("198.51.100.1")}, noon),
		"for another sale": solve(challenge.Caller{SaleID: 6, UserID: buyerID, Address: home}, noon),
	}
	kinds := map[string]func() challenge.Payload{
		"guessed":  func() challenge.Payload { p := own; p.Solution.DerivedKey = hex(64); return p },
		"unsigned": func() challenge.Payload { p := own; p.Challenge.Signature = hex(64); return p },
	}
	for name, p := range foreign {
		kinds[name] = func() challenge.Payload { p.Solution.Time = random.Float64(); return p }
	}
	a := newAPI(t, func(cfg *Config) { cfg.Tickets, cfg.UserRate = workedTickets{challenges}, 0 })
	send := func(p challenge.Payload) (int, string) {
		text, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		w := do(t, a, request{
			method: http.MethodPost, target: "/voucher/seckill/5/ticket",
			header: map[string]string{solutionHeader: text},
		})
		return w.Code, w.Body.String()
	}
	for name, next := range kinds {
		for i := range each {
			if status, body := send(next()); status != http.StatusForbidden ||
				!strings.Contains(body, `"code":"CHALLENGE_REQUIRED"`) {
				t.Fatalf("%s, the %dth: %d %s", name, i, status, body)
			}
		}
	}
	if status, body := send(own); status != http.StatusOK {
		t.Errorf("the caller's own: %d %s", status, body)
	}
}
