package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/guard"
	"seckill/internal/guard/challenge"
	"seckill/internal/guard/ticket"
	"seckill/internal/order/service"
	"seckill/internal/voucher/guards"
)

// fakeTickets gives everybody the same ticket, or refuses. It remembers what it was asked.
type fakeTickets struct {
	err      error
	caller   guard.Caller
	solution string
}

func (f *fakeTickets) Give(_ context.Context, _ int64, c guard.Caller, solution string) (service.Ticket, error) {
	f.caller, f.solution = c, solution
	return service.Ticket{
		Text: strings.Repeat("t", ticket.Length), UsableFrom: noon.Add(731 * time.Millisecond),
		Expires: noon.Add(time.Hour), Begin: noon,
	}, f.err
}

func TestTicket(t *testing.T) {
	t.Parallel()
	for _, solution := range []string{"", "e30="} {
		fake := &fakeTickets{}
		w := do(t, newAPI(t, func(cfg *Config) { cfg.Tickets = fake }),
			request{
				method: http.MethodPost, target: "/voucher/seckill/5/ticket",
				header: map[string]string{solutionHeader: solution},
			})
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"usableFrom":"2026-01-02T12:00:00.731Z"`) {
			t.Errorf("solution %q: %d %s", solution, w.Code, w.Body)
		}
		if fake.solution != solution || fake.caller.UserID != buyerID {
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
			&service.ChallengeError{Challenge: made}, 403, "CHALLENGE_REQUIRED",
			`"data":{"challenge":{"parameters":{"algorithm":"SCRYPT","cost":512,`,
		},
		{&service.TicketsLaterError{From: noon}, 403, "NOT_STARTED", `"data":{"ticketsFrom":"2026-01-02T12:00:00Z"}`},
		{service.ErrNoTickets, 409, "NO_TICKETS", ""},
		{challenge.ErrBusy, 503, "UNAVAILABLE", ""},
		{challenge.ErrTryAgain, 503, "UNAVAILABLE", ""},
	} {
		w := do(t, newAPI(t, func(cfg *Config) { cfg.Tickets = &fakeTickets{err: tt.err} }),
			request{method: http.MethodPost, target: "/voucher/seckill/5/ticket", body: ""})
		wantProblem(t, w, tt.status, tt.code)
		if !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%v: %s", tt.err, w.Body)
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

func TestNoTicketsWithoutSecret(t *testing.T) {
	t.Parallel()
	w := do(t, newAPI(t, func(cfg *Config) { cfg.Tickets = nil }),
		request{method: http.MethodPost, target: "/voucher/seckill/5/ticket", body: ""})
	wantProblem(t, w, http.StatusNotFound, "NOT_FOUND")
}

// signedTickets gives real tickets.
type signedTickets struct{ tickets *ticket.Tickets }

func (s signedTickets) Give(_ context.Context, voucherID int64, c guard.Caller, _ string) (service.Ticket, error) {
	usable := noon.Add(s.tickets.Delay(voucherID, c.UserID, time.Minute))
	text, err := s.tickets.Issue(voucherID, c.UserID, usable.Add(time.Hour))
	return service.Ticket{Text: text, UsableFrom: usable, Expires: usable.Add(time.Hour), Begin: noon}, err
}

// BenchmarkTicketRoute is the HTTP side of a ticket, with the user's token checked and the ticket signed.
func BenchmarkTicketRoute(b *testing.B) {
	a := newAPI(b, busy, func(cfg *Config) { cfg.Tickets = signedTickets{ticket.New(guardKeys(b))} })
	r := newRequest(b, b.Context(), request{method: http.MethodPost, target: "/voucher/seckill/5/ticket"})
	w := &discard{header: http.Header{}}
	handler := a.Handler()
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		handler.ServeHTTP(w, r)
	}
	if w.status != http.StatusOK {
		b.Fatalf("status %d", w.status)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tickets/s")
}
