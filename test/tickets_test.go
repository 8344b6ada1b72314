package test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/internal/feature/guard/challenge"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// guardedSite returns instances that share a guards' secret.
func guardedSite(t *testing.T, instances int) *box.Site {
	t.Helper()
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	site := box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)
	for range instances {
		site.Add(t, testkit.RedisAddr(t), dsn,
			map[string]string{"SECKILL_GUARD_SECRET": strings.Repeat("of the guards 7!", 2)})
	}
	site.Start(t)
	return site
}

// ticketSale is a sale with tickets on a site.
type ticketSale struct {
	*box.Site
	voucher int64
}

func newTicketSale(t *testing.T, stock int64, begin time.Time, guards map[string]any) ticketSale {
	t.Helper()
	site := guardedSite(t, 2)
	draft := box.SeckillDraft(1, stock, begin, time.Now().Add(time.Hour))
	draft["guards"] = guards
	r := site.Client.Must(t, http.StatusCreated,
		box.Request{Method: http.MethodPost, URL: site.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft})
	voucher := box.Decode[struct{ ID int64 }](t, r).ID
	s := ticketSale{site, voucher}
	for i := range site.Servers {
		box.Eventually(t, fmt.Sprintf("the sale on instance %d", i), func() error {
			r, err := s.ask(t.Context(), i, http.MethodGet, fmt.Sprintf("/voucher/%d", voucher), 0, nil)
			if err == nil && (r.StatusCode != http.StatusOK || strings.Contains(string(r.Body), `"preparing"`)) {
				err = fmt.Errorf("%d %s", r.StatusCode, r.Body)
			}
			return err
		})
	}
	return s
}

// ask sends a user's request to an instance.
func (s ticketSale) ask(
	ctx context.Context, at int, method, path string, user int64, header map[string]string,
) (box.Reply, error) {
	r := box.Request{Method: method, URL: s.Servers[at].URL(path), Header: header}
	if user != 0 {
		r.Token = box.BuyerToken(user)
	}
	return s.Client.Do(ctx, r)
}

// given is the service's answer with a ticket.
type given struct {
	Ticket     string
	UsableFrom time.Time
}

// fetch fetches a user's ticket, solving a challenge if necessary.
func (s ticketSale) fetch(ctx context.Context, at int, user int64) (given, error) {
	header := map[string]string{}
	for {
		r, err := s.ask(ctx, at, http.MethodPost, fmt.Sprintf("/voucher/seckill/%d/ticket", s.voucher), user, header)
		switch {
		case err != nil:
			return given{}, err
		case r.StatusCode == http.StatusOK:
			var g given
			err := json.Unmarshal(r.Data, &g)
			return g, err
		case r.Code == "CHALLENGE_REQUIRED":
			var data struct{ Challenge challenge.Challenge }
			if err := json.Unmarshal(r.Data, &data); err != nil {
				return given{}, err
			}
			solved, err := challenge.Solve(ctx, data.Challenge)
			if err != nil {
				return given{}, err
			}
			if header["X-Seckill-Altcha"], err = solved.Encode(); err != nil {
				return given{}, err
			}
		case r.StatusCode == http.StatusServiceUnavailable:
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return given{}, err
			}
		default:
			return given{}, fmt.Errorf("user %d: %d %s", user, r.StatusCode, r.Body)
		}
	}
}

func (s ticketSale) buy(ctx context.Context, at int, user int64, ticket string) (box.Reply, error) {
	header := map[string]string{}
	if ticket != "" {
		header["X-Seckill-Ticket"] = ticket
	}
	return s.ask(ctx, at, http.MethodPost, fmt.Sprintf("/voucher/seckill/%d?wait=30s", s.voucher), user, header)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// TestTickets checks that a solved challenge earns a ticket, that the ticket is valid on every instance but only for
// its user, and that a winner gets their order whatever ticket they send.
func TestTickets(t *testing.T) {
	t.Parallel()
	s := newTicketSale(t, 10, time.Now().Add(-time.Minute), map[string]any{
		"tickets":   map[string]any{"delayMs": 0, "leadMinutes": 5, "expiryMinutes": 30},
		"challenge": map[string]any{"difficulty": 2, "maxDifficulty": 4},
	})
	ctx := t.Context()
	mine, err := s.fetch(ctx, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := func(what string, r box.Reply, err error, status int, code string) {
		t.Helper()
		if err != nil || r.StatusCode != status || r.Code != code {
			t.Errorf("%s: %d %s, %v; want %d %s", what, r.StatusCode, r.Body, err, status, code)
		}
	}
	r, err := s.buy(ctx, 0, 1, "")
	want("no ticket", r, err, http.StatusForbidden, "TICKET_REQUIRED")
	r, err = s.buy(ctx, 0, 2, mine.Ticket)
	want("another's ticket", r, err, http.StatusForbidden, "TICKET_INVALID")
	r, err = s.buy(ctx, 0, 1, strings.Repeat("A", len(mine.Ticket)))
	want("a forged ticket", r, err, http.StatusForbidden, "TICKET_INVALID")
	r, err = s.ask(ctx, 0, http.MethodPost, fmt.Sprintf("/voucher-order/seckill/%d", s.voucher), 1, nil)
	want("the tutorial's route", r, err, http.StatusOK, "TICKET_REQUIRED")
	r, err = s.buy(ctx, 1, 1, mine.Ticket)
	want("on the other instance", r, err, http.StatusCreated, "")
	for what, ticket := range map[string]string{"again": mine.Ticket, "without one": "", "with one that is none": "x"} {
		r, err = s.buy(ctx, 0, 1, ticket)
		want("a winner "+what, r, err, http.StatusConflict, "ALREADY_BOUGHT")
	}
	unknown := "VP__" + mine.Ticket[4:] // an unknown salt, which is looked up once
	box.Eventually(t, "the unknown salt becoming invalid", func() error {
		r, err := s.buy(ctx, 0, 3, unknown)
		if err == nil && r.Code != "TICKET_INVALID" {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Code)
		}
		return err
	})
	s.Client.Must(t, http.StatusOK, box.Request{
		Method: http.MethodPatch, URL: s.URL(fmt.Sprintf("/voucher/%d", s.voucher)), Token: box.AdminToken(),
		Body: map[string]any{"guards": nil},
	})
	box.Eventually(t, "buying without a ticket", func() error {
		r, err := s.buy(ctx, 1, 4, "")
		if err == nil && r.StatusCode != http.StatusCreated && r.Code != "ALREADY_BOUGHT" {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Body)
		}
		return err
	})
}

// TestSmallSiege has 300 people with their own tickets, and 200 bots with stolen, forged or no tickets, request 60
// units at two instances, from before the start on. No unit may go to a bot, or to anybody before their moment, even
// though the start is moved.
func TestSmallSiege(t *testing.T) {
	t.Parallel()
	const (
		people, bots = 300, 200
		units        = 60
		delay        = 6 * time.Second
	)
	begin := time.Now().Add(30 * time.Minute).Truncate(time.Second)
	s := newTicketSale(t, units, begin, map[string]any{
		"tickets":   map[string]any{"delayMs": delay.Milliseconds(), "leadMinutes": 60, "expiryMinutes": 60},
		"challenge": map[string]any{"difficulty": 4, "maxDifficulty": 64},
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	tickets := make([]given, people)
	var fetching sync.WaitGroup
	for worker := range 8 {
		fetching.Go(func() {
			for i := worker; i < people; i += 8 {
				var err error
				if tickets[i], err = s.fetch(ctx, i%2, int64(1+i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	fetching.Wait()
	first, last := tickets[0].UsableFrom, tickets[0].UsableFrom
	for _, g := range tickets {
		if g.UsableFrom.Before(first) {
			first = g.UsableFrom
		}
		if g.UsableFrom.After(last) {
			last = g.UsableFrom
		}
	}
	if spread := last.Sub(first); spread < delay*9/10 || spread > delay {
		t.Errorf("the moments lie within %v, want %v", spread, delay)
	}

	// The start is moved forward, and the moments with it: the tickets stay valid.
	sooner := time.Now().Add(8 * time.Second).Truncate(time.Second)
	s.Client.Must(t, http.StatusOK, box.Request{
		Method: http.MethodPatch, URL: s.URL(fmt.Sprintf("/voucher/%d", s.voucher)), Token: box.AdminToken(),
		Body: map[string]any{"beginTime": sooner},
	})
	for i := range tickets {
		tickets[i].UsableFrom = tickets[i].UsableFrom.Add(sooner.Sub(begin))
	}
	begin = sooner

	var besieging, pressing sync.WaitGroup
	for i := range bots {
		besieging.Go(func() {
			ticket := []string{"", tickets[i%people].Ticket, strings.Repeat("A", 32), tickets[0].Ticket[:31] + "A"}[i%4]
			for ctx.Err() == nil {
				if r, err := s.buy(ctx, i%2, int64(10_000+i), ticket); err == nil && r.Code != "TICKET_REQUIRED" &&
					r.Code != "TICKET_INVALID" && r.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("a bot was answered %d %s", r.StatusCode, r.Body)
					return
				}
				_ = pause(ctx, 500*time.Millisecond)
			}
		})
	}
	won := make([]bool, people)
	for i, g := range tickets {
		pressing.Go(func() {
			for ctx.Err() == nil {
				r, err := s.buy(ctx, (i+1)%2, int64(1+i), g.Ticket)
				now := time.Now()
				switch {
				case err != nil || r.Code == "NOT_STARTED" || r.StatusCode >= http.StatusInternalServerError:
					_ = pause(ctx, 300*time.Millisecond)
					continue
				case r.StatusCode == http.StatusCreated || r.StatusCode == http.StatusAccepted ||
					r.Code == "ALREADY_BOUGHT":
					won[i] = true
					if now.Before(g.UsableFrom) {
						t.Errorf("user %d was let in %v before their moment", 1+i, g.UsableFrom.Sub(now))
					}
				case r.Code != "SOLD_OUT":
					t.Errorf("user %d: %d %s", 1+i, r.StatusCode, r.Body)
				}
				return
			}
		})
	}
	pressing.Wait()
	stop()
	besieging.Wait()

	var winners int
	var all, theirs time.Duration
	for i, g := range tickets {
		all += g.UsableFrom.Sub(begin) / people
		if won[i] {
			winners++
			theirs += g.UsableFrom.Sub(begin) / units
		}
	}
	// On a busy machine chance plays a part.
	t.Logf("the winners' moments were %v after the start on average, those of all %v", theirs, all)
	if winners != units {
		t.Errorf("%d people won, want %d", winners, units)
	}
	rows, err := s.Ledger.Orders(t.Context(), s.voucher)
	if err != nil || len(rows) != units {
		t.Errorf("%d orders, %v", len(rows), err)
	}
	for _, o := range rows {
		if o.User > people {
			t.Errorf("the bot %d has an order", o.User)
		}
	}
}
