package guard

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/challenge"
	"seckill/internal/feature/guard/keys"
	"seckill/internal/feature/guard/tally"
	"seckill/internal/feature/guard/ticket"
	"seckill/internal/order/gate"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher/guards"
)

// saltTable is the ledger's table of salts.
type saltTable struct {
	mu    sync.Mutex
	salts []keys.Salt
}

func (t *saltTable) GuardSalts(context.Context) ([]keys.Salt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.salts), nil
}

// rotate stores another salt, as server guardkey does.
func (t *saltTable) rotate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := len(t.salts)
	t.salts = append(t.salts,
		keys.Salt{ID: uint16(id), Value: [keys.Bytes]byte{byte(id), 9}, UsedFrom: time.Now().Add(keys.RotationLead)})
}

// instance gives out tickets and checks them.
type instance struct {
	*fakeSales

	tickets *Tickets
	check   *TicketsCheck
	entry   *Entry
	at      Sale
}

// newInstance is for synctest, whose clock it uses. The sale begins in an hour and goes on for five.
func newInstance(t *testing.T, table *saltTable, s *guards.Settings) *instance {
	t.Helper()
	v := ordertest.VoucherAt(1, 0)
	v.Sale.Guards, v.Sale.Begin, v.Sale.End = s, time.Now().Add(time.Hour), time.Now().Add(6*time.Hour)
	sales := &fakeSales{sale: v, own: gate.ErrBarred}
	ring, err := keys.NewRing(strings.Repeat("secret of ours!!", 2), table.GuardSalts, time.Now, ordertest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	limits, tickets := budget.NewTable(time.Now), ticket.New(ring)
	check := &TicketsCheck{Tickets: tickets}
	challenges := challenge.New(ring, limits, 8)
	asked := NewGuards(limits, tally.New(time.Now), nobody, check)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = ring.Run(ctx) })
	running.Go(func() { _ = challenges.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	synctest.Wait()
	return &instance{
		sales, NewTickets(tickets, nil, challenges, asked, sales.Find, sales.Now), check,
		NewEntry(asked, sales.Now, sales.OwnOrder, newBuyers().has),
		Sale{ID: v.ID, Begin: v.Sale.Begin, Settings: s},
	}
}

func ticketed() *guards.Settings {
	return &guards.Settings{Tickets: &guards.Tickets{DelayMs: 1500, LeadMinutes: 30, ExpiryMinutes: 120}}
}

// enter sends a user's ticket; true if it lets them in.
func (i *instance) enter(t *testing.T, user int64, text string) error {
	t.Helper()
	return i.entry.Enter(t.Context(), i.at, Caller{UserID: user, Ticket: text})
}

// TestRotationRefusesNobody: the salt is rotated again and again while a sale is prepared and runs. Every ticket of
// every buyer is good on both instances until it expires, and their moments stay.
func TestRotationRefusesNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := &saltTable{salts: []keys.Salt{{UsedFrom: time.Now()}}}
		a, b := newInstance(t, table, ticketed()), newInstance(t, table, ticketed())
		time.Sleep(35 * time.Minute)
		var given []Ticket
		for user := range int64(60) {
			from := []*instance{a, b}[user%2]
			g, err := from.tickets.Give(t.Context(), a.at.ID, Caller{UserID: user}, "")
			if err != nil {
				t.Fatalf("user %d: %v", user, err)
			}
			given = append(given, g)
			if user%7 == 0 {
				table.rotate()
			}
			time.Sleep(24 * time.Second)
		}
		time.Sleep(time.Until(a.at.Begin.Add(2 * time.Second)))
		for range 3 {
			for user, g := range given {
				for name, at := range map[string]*instance{"one": a, "the other": b} {
					if err := at.enter(t, int64(user), g.Text); err != nil {
						t.Errorf("user %d is refused by %s instance: %v", user, name, err)
					}
					again, err := at.tickets.Give(t.Context(), a.at.ID, Caller{UserID: int64(user)}, "")
					if err != nil || !again.UsableFrom.Equal(g.UsableFrom) {
						t.Errorf("user %d: the moment moved from %v to %v, %v",
							user, g.UsableFrom, again.UsableFrom, err)
					}
				}
			}
			table.rotate()
			time.Sleep(2 * time.Minute)
		}
	})
}

// TestWinnerWithExpiredTicket: a buyer who has an order hears it, with an expired ticket, none, or one that is none.
func TestWinnerWithExpiredTicket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newInstance(t, &saltTable{salts: []keys.Salt{{}}}, ticketed())
		time.Sleep(40 * time.Minute)
		g, err := i.tickets.Give(t.Context(), i.at.ID, Caller{UserID: 1}, "")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(g.Expires) + time.Second)
		i.own = gate.ErrBarred
		if stopped, is := errors.AsType[*StoppedError](i.enter(t, 1, g.Text)); !is ||
			!errors.Is(stopped, ticket.ErrInvalid) || !stopped.OrderKnown {
			t.Errorf("a buyer without an order: %v", stopped)
		}
		i.own = &gate.AlreadyBoughtError{OrderID: 5}
		for _, text := range []string{g.Text, "", "x"} {
			if bought, is := errors.AsType[*gate.AlreadyBoughtError](i.enter(t, 1, text)); !is || bought.OrderID != 5 {
				t.Errorf("a winner with the ticket %q: %v", text, bought)
			}
		}
	})
}

// TestGive holds when tickets are given out, and what for.
func TestGive(t *testing.T) {
	t.Parallel()
	worked := ticketed()
	worked.Challenge = &guards.Challenge{Difficulty: 2, MaxDifficulty: 2}
	tried := ticketed()
	tried.Challenge = &guards.Challenge{Difficulty: 2, MaxDifficulty: 2, DryRun: true}
	for name, tt := range map[string]struct {
		settings *guards.Settings
		after    time.Duration
		solution string
		asks     int
		want     error // its type
	}{
		"too early":                {ticketed(), 0, "", 1, &TicketsLaterError{}},
		"in time":                  {ticketed(), 40 * time.Minute, "", 1, nil},
		"while it runs":            {ticketed(), 2 * time.Hour, "", 1, nil},
		"ended":                    {ticketed(), 7 * time.Hour, "", 1, gate.ErrEnded},
		"without tickets":          {nil, 40 * time.Minute, "", 1, ErrNoTickets},
		"unsolved":                 {worked, 40 * time.Minute, "", 1, &ChallengeError{}},
		"solved wrongly":           {worked, 40 * time.Minute, "e30=", 1, &ChallengeError{}},
		"asked all the time":       {worked, 40 * time.Minute, "", 11, &StoppedError{}},
		"a dry run":                {tried, 40 * time.Minute, "", 1, nil},
		"a dry run, too many":      {tried, 40 * time.Minute, "", 20, nil},
		"a dry run, a wrong one":   {tried, 40 * time.Minute, "e30=", 1, nil},
		"no challenge, a solution": {ticketed(), 40 * time.Minute, "e30=", 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i := newInstance(t, &saltTable{salts: []keys.Salt{{}}}, tt.settings)
				time.Sleep(tt.after)
				var err error
				for n := range tt.asks { // from other networks: from the same they get the same challenge
					from := netip.AddrFrom4([4]byte{10, 0, byte(n), 1})
					_, err = i.tickets.Give(t.Context(), i.at.ID, Caller{UserID: 1, Address: from}, tt.solution)
				}
				var later *TicketsLaterError
				var work *ChallengeError
				var stopped *StoppedError
				var ok bool
				switch tt.want.(type) { //nolint:errorlint // it is the table's own, which nothing wraps
				case *TicketsLaterError:
					ok = errors.As(err, &later) && later.From.Equal(i.at.Begin.Add(-30*time.Minute))
				case *ChallengeError:
					ok = errors.As(err, &work) && work.Challenge.Signature != ""
				case *StoppedError:
					ok = errors.As(err, &stopped) && stopped.Guard == guards.ChallengeGuard
				default:
					ok = errors.Is(err, tt.want)
				}
				if !ok {
					t.Errorf("%v, want %T", err, tt.want)
				}
			})
		})
	}
}

// TestDryRunDelaysNobody: while tickets are only tried, one is usable from the start.
func TestDryRunDelaysNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		settings := ticketed()
		settings.Tickets.DryRun = true
		i := newInstance(t, &saltTable{salts: []keys.Salt{{}}}, settings)
		time.Sleep(40 * time.Minute)
		for user := range int64(5) {
			g, err := i.tickets.Give(t.Context(), i.at.ID, Caller{UserID: user}, "")
			if err != nil || !g.UsableFrom.Equal(i.at.Begin) || !g.Begin.Equal(i.at.Begin) {
				t.Errorf("user %d: %+v, %v; want one that is usable from %v", user, g, err, i.at.Begin)
			}
		}
	})
}

// TestGiveSolved: a solved challenge gives a ticket, again when it is sent again, and none to another user or network.
func TestGiveSolved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		settings := ticketed()
		settings.Challenge = &guards.Challenge{Difficulty: 2, MaxDifficulty: 2}
		i := newInstance(t, &saltTable{salts: []keys.Salt{{}}}, settings)
		time.Sleep(40 * time.Minute)
		_, err := i.tickets.Give(t.Context(), i.at.ID, Caller{UserID: 1}, "")
		asked, is := errors.AsType[*ChallengeError](err)
		if !is {
			t.Fatal(err)
		}
		solved, err := challenge.Solve(t.Context(), asked.Challenge)
		if err != nil {
			t.Fatal(err)
		}
		text, err := solved.Encode()
		if err != nil {
			t.Fatal(err)
		}
		for range 20 { // a solution is never one ask too many
			if g, err := i.tickets.Give(t.Context(), i.at.ID, Caller{UserID: 1}, text); err != nil ||
				len(g.Text) != ticket.Length {
				t.Fatalf("%+v, %v", g, err)
			}
		}
		if _, err := i.tickets.Give(t.Context(), i.at.ID, Caller{UserID: 2}, text); err == nil {
			t.Error("another user got a ticket for it")
		}
		time.Sleep(challenge.Life)
		if _, err := i.tickets.Give(t.Context(), i.at.ID, Caller{UserID: 1}, text); err == nil {
			t.Error("an expired one got a ticket")
		}
	})
}
