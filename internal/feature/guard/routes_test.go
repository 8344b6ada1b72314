package guard

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/challenge"
	"seckill/internal/feature/guard/keys"
	"seckill/internal/feature/guard/ticket"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/clientip"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/contract"
	"seckill/internal/testkit/featuretest"
)

// fakeTickets gives everybody the same ticket, or refuses. It remembers what it was asked.
type fakeTickets struct {
	err      error
	caller   Caller
	solution string
}

func (f *fakeTickets) Give(_ context.Context, _ int64, c Caller, solution string) (Ticket, error) {
	f.caller, f.solution = c, solution
	return Ticket{
		Text: strings.Repeat("t", ticket.Length), UsableFrom: apitest.Noon().Add(731 * time.Millisecond),
		Expires: apitest.Noon().Add(time.Hour), Begin: apitest.Noon(),
	}, f.err
}

// serve serves tickets over HTTP.
func serve(tb testing.TB, give Give) http.Handler {
	tb.Helper()
	front := httpkit.Front{Now: apitest.Noon, Address: new(clientip.Addresses).Of}
	return featuretest.Serve(tb, Routes(give, front), Rules(), apitest.State{})
}

// ask asks for a ticket of voucher 5, with a solution if it is not "".
func ask(tb testing.TB, api http.Handler, solution string) *httptest.ResponseRecorder {
	tb.Helper()
	w := httptest.NewRecorder()
	api.ServeHTTP(w, apitest.Request{
		Method: http.MethodPost, Target: "/voucher/seckill/5/ticket",
		Header: map[string]string{SolutionHeader: solution},
	}.HTTP(tb, tb.Context()))
	return w
}

func TestTicket(t *testing.T) {
	t.Parallel()
	for _, solution := range []string{"", "e30="} {
		fake := &fakeTickets{}
		w := ask(t, serve(t, fake.Give), solution)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"usableFrom":"2026-01-02T12:00:00.731Z"`) {
			t.Errorf("solution %q: %d %s", solution, w.Code, w.Body)
		}
		if fake.solution != solution || fake.caller.UserID != apitest.BuyerID {
			t.Errorf("solution %q: user %d with the solution %q", solution, fake.caller.UserID, fake.solution)
		}
	}
}

// TestTicketRefusals holds the codes, and what a page needs to go on.
func TestTicketRefusals(t *testing.T) {
	t.Parallel()
	made := challenge.Challenge{Signature: "signed", Parameters: challenge.Parameters{Algorithm: "SCRYPT", Cost: 512}}
	for _, tt := range []struct {
		err        error
		status     int
		code, want string
	}{
		{
			&ChallengeError{Challenge: made}, 403, "CHALLENGE_REQUIRED",
			`"data":{"challenge":{"parameters":{"algorithm":"SCRYPT","cost":512,`,
		},
		{
			&TicketsLaterError{From: apitest.Noon()}, 403, "NOT_STARTED",
			`"data":{"ticketsFrom":"2026-01-02T12:00:00.000Z"}`,
		},
		{ErrNoTickets, 409, "NO_TICKETS", ""},
		{challenge.ErrBusy, 503, "UNAVAILABLE", ""},
		{challenge.ErrTryAgain, 503, "UNAVAILABLE", ""},
	} {
		w := ask(t, serve(t, (&fakeTickets{err: tt.err}).Give), "")
		if code := contract.CodeOf(w.Body.Bytes()); w.Code != tt.status || code != tt.code ||
			!strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%v: %s", tt.err, w.Body)
		}
	}
}

// signedTickets gives real tickets.
type signedTickets struct{ tickets *ticket.Tickets }

func (s signedTickets) Give(_ context.Context, voucherID int64, c Caller, _ string) (Ticket, error) {
	usable := apitest.Noon().Add(s.tickets.Delay(voucherID, c.UserID, time.Minute))
	text, err := s.tickets.Issue(voucherID, c.UserID, usable.Add(time.Hour))
	return Ticket{Text: text, UsableFrom: usable, Expires: usable.Add(time.Hour), Begin: apitest.Noon()}, err
}

// BenchmarkTicketRoute is the HTTP side of a ticket, with the user's token checked and the ticket signed.
func BenchmarkTicketRoute(b *testing.B) {
	handler := serve(b, signedTickets{ticket.New(guardKeys(b))}.Give)
	r := apitest.Request{Method: http.MethodPost, Target: "/voucher/seckill/5/ticket"}.HTTP(b, b.Context())
	w := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		clear(w.Header())
		w.Body.Reset()
		handler.ServeHTTP(w, r)
	}
	if w.Code != http.StatusOK {
		b.Fatalf("status %d", w.Code)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tickets/s")
}

type fixedSalts []keys.Salt

func (s fixedSalts) GuardSalts(context.Context) ([]keys.Salt, error) { return s, nil }

func guardKeys(t testing.TB) *keys.Ring {
	t.Helper()
	r, err := keys.NewRing(strings.Repeat("secret of ours!!", 2), fixedSalts{{ID: 3}}.GuardSalts,
		apitest.Noon, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// workedTickets gives tickets for real solutions.
type workedTickets struct{ challenges *challenge.Challenges }

func (w workedTickets) Give(
	_ context.Context, voucherID int64, c Caller, solution string,
) (Ticket, error) {
	err := w.challenges.Check(solution, challenge.Caller{SaleID: voucherID, UserID: c.UserID, Address: c.Address},
		apitest.Noon())
	switch {
	case errors.Is(err, challenge.ErrTryAgain):
		return Ticket{}, err
	case err != nil:
		return Ticket{}, &ChallengeError{}
	}
	return Ticket{Text: strings.Repeat("t", ticket.Length)}, nil
}

// TestBadSolutions sends solutions that are none over HTTP: guessed, unsigned, shared, late, from another network,
// for another sale. None gets a ticket; the same caller's own one does.
func TestBadSolutions(t *testing.T) {
	t.Parallel()
	const each = 100
	challenges := challenge.New(guardKeys(t), budget.NewTable(time.Now), 8)
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
	me := challenge.Caller{SaleID: 5, UserID: apitest.BuyerID, Address: home}
	own := solve(me, apitest.Noon())
	random := rand.New(rand.NewPCG(17, 9))
	hex := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte("0123456789abcdef"[random.IntN(16)])
		}
		return b.String()
	}
	foreign := map[string]challenge.Payload{
		"shared": solve(challenge.Caller{SaleID: 5, UserID: apitest.BuyerID + 1, Address: home}, apitest.Noon()),
		"late":   solve(me, apitest.Noon().Add(-challenge.Life)),
		"from another network": solve(
			challenge.Caller{SaleID: 5, UserID: apitest.BuyerID, Address: netip.MustParseAddr("198.51.100.1")},
			apitest.Noon()),
		"for another sale": solve(challenge.Caller{SaleID: 6, UserID: apitest.BuyerID, Address: home}, apitest.Noon()),
	}
	kinds := map[string]func() challenge.Payload{
		"guessed":  func() challenge.Payload { p := own; p.Solution.DerivedKey = hex(64); return p },
		"unsigned": func() challenge.Payload { p := own; p.Challenge.Signature = hex(64); return p },
	}
	for name, p := range foreign {
		kinds[name] = func() challenge.Payload { p.Solution.Time = random.Float64(); return p }
	}
	api := serve(t, workedTickets{challenges}.Give)
	send := func(p challenge.Payload) (int, string) {
		text, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		w := ask(t, api, text)
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
