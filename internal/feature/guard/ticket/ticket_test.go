package ticket_test

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/guard/keys"
	"seckill/internal/feature/guard/ticket"
)

const (
	sale, user = int64(7), int64(42)
	longest    = 1500 * time.Millisecond
)

var start = time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)

type salts []keys.Salt

func (s salts) GuardSalts(context.Context) ([]keys.Salt, error) { return s, nil }

func newTickets(t testing.TB, secret string) *ticket.Tickets {
	t.Helper()
	r, err := keys.NewRing(secret, salts{{ID: 3, UsedFrom: start.Add(-time.Hour)}}.GuardSalts,
		func() time.Time { return start }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ticket.New(r)
}

// issue returns the ticket of user for sale.
func issue(t testing.TB, ts *ticket.Tickets, expires time.Time) string {
	t.Helper()
	text, err := ts.Issue(sale, user, expires)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCheck(t *testing.T) {
	t.Parallel()
	ts := newTickets(t, strings.Repeat("secret of ours!!", 2))
	good := issue(t, ts, start.Add(time.Hour))
	foreign := issue(t, newTickets(t, strings.Repeat("secret of others", 2)), start.Add(time.Hour))
	for name, tt := range map[string]struct {
		text       string
		sale, user int64
		now        time.Time
		want       error
	}{
		"good":                       {good, sale, user, start, nil},
		"again":                      {good, sale, user, start, nil},
		"the last second":            {good, sale, user, start.Add(time.Hour - time.Nanosecond), nil},
		"expired":                    {good, sale, user, start.Add(time.Hour), ticket.ErrInvalid},
		"none":                       {"", sale, user, start, ticket.ErrRequired},
		"another user's":             {good, sale, user + 1, start, ticket.ErrInvalid},
		"another sale's":             {good, sale + 1, user, start, ticket.ErrInvalid},
		"another secret's":           {foreign, sale, user, start, ticket.ErrInvalid},
		"cut":                        {good[:len(good)-1], sale, user, start, ticket.ErrInvalid},
		"longer":                     {good + "A", sale, user, start, ticket.ErrInvalid},
		"padded":                     {good + "=", sale, user, start, ticket.ErrInvalid},
		"with a newline":             {good[:31] + "\n", sale, user, start, ticket.ErrInvalid},
		"with a newline in it":       {good[:16] + "\n" + good[16:31], sale, user, start, ticket.ErrInvalid},
		"standard alphabet":          {strings.Repeat("+", ticket.Length), sale, user, start, ticket.ErrInvalid},
		"zeros":                      {strings.Repeat("A", ticket.Length), sale, user, start, ticket.ErrInvalid},
		"very long":                  {strings.Repeat(good, 1000), sale, user, start, ticket.ErrInvalid},
		"not even text":              {strings.Repeat("\xff", ticket.Length), sale, user, start, ticket.ErrInvalid},
		"of no user":                 {good, sale, 0, start, ticket.ErrInvalid},
		"with sale and user swapped": {good, user, sale, start, ticket.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := ts.Check(tt.text, tt.sale, tt.user, tt.now); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// TestUnknownKey holds that a ticket of a salt that is not there is "try again" while the table is read, and invalid
// after.
func TestUnknownKey(t *testing.T) {
	t.Parallel()
	now := start
	r, err := keys.NewRing(strings.Repeat("x9", 20), salts{{ID: 3}}.GuardSalts, func() time.Time { return now },
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	ts := ticket.New(r)
	raw, _ := base64.RawURLEncoding.DecodeString(issue(t, ts, start.Add(time.Hour)))
	raw[2] = 4
	text := base64.RawURLEncoding.EncodeToString(raw)
	now = now.Add(time.Minute)
	if err := ts.Check(text, sale, user, now); !errors.Is(err, ticket.ErrTryAgain) {
		t.Errorf("%v, want ErrTryAgain", err)
	}
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := ts.Check(text, sale, user, now); !errors.Is(err, ticket.ErrInvalid) {
		t.Errorf("%v, want ErrInvalid", err)
	}
}

// TestBadTickets tries tickets that are not good: with each bit altered, forged, shared, expired. None is accepted.
func TestBadTickets(t *testing.T) {
	t.Parallel()
	ts := newTickets(t, strings.Repeat("secret of ours!!", 2))
	random := rand.New(rand.NewPCG(17, 5))
	good := issue(t, ts, start.Add(time.Hour))
	refused := func(kind, text string, sale, user int64, now time.Time) {
		if err := ts.Check(text, sale, user, now); !errors.Is(err, ticket.ErrInvalid) &&
			!errors.Is(err, ticket.ErrTryAgain) {
			t.Fatalf("%s: %q was answered %v", kind, text, err)
		}
	}
	raw, err := base64.RawURLEncoding.DecodeString(good)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(raw) {
		altered := slices.Clone(raw)
		altered[bit/8] ^= 1 << (bit % 8)
		refused("one bit altered", base64.RawURLEncoding.EncodeToString(altered), sale, user, start)
	}
	for i := range 1000 {
		forged := make([]byte, len(raw))
		copy(forged, raw[:8])
		for j := 8; j < len(forged); j++ {
			forged[j] = byte(random.Uint32())
		}
		refused("forged", base64.RawURLEncoding.EncodeToString(forged), sale, user, start)

		refused("shared", good, sale, user+1+int64(i), start)
		refused("of another sale", good, sale+1+int64(i), user, start)
		refused("late", good, sale, user, start.Add(time.Hour+time.Duration(i)*time.Second))
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	ts := newTickets(t, strings.Repeat("secret of ours!!", 2))
	for _, tt := range []struct{ longest, below time.Duration }{
		{0, 1}, {-time.Second, 1}, {time.Millisecond - 1, 1}, {time.Millisecond, 1}, {longest, longest}, {
			time.Minute, time.Minute,
		},
	} {
		for u := range int64(1000) {
			if d := ts.Delay(sale, u, tt.longest); d < 0 || d >= tt.below || d != ts.Delay(sale, u, tt.longest) {
				t.Fatalf("user %d of a longest delay of %v waits %v", u, tt.longest, d)
			}
		}
	}
}

// TestDelayIsEven holds that delays are spread evenly, and that a user's in one sale says nothing about another.
func TestDelayIsEven(t *testing.T) {
	t.Parallel()
	ts := newTickets(t, strings.Repeat("secret of ours!!", 2))
	const users, parts = 30_000, 15
	var filled [parts]int
	var together, alone float64
	for u := range int64(users) {
		d, other := ts.Delay(sale, u, longest), ts.Delay(sale+1, u, longest)
		filled[d*parts/longest]++
		a, b := d.Seconds()-longest.Seconds()/2, other.Seconds()-longest.Seconds()/2
		together, alone = together+a*b, alone+a*a
	}
	for i, n := range filled {
		if n < users/parts*9/10 || n > users/parts*11/10 { // 4.5 standard deviations
			t.Errorf("part %d of %d has %d of %d users", i, parts, n, users)
		}
	}
	if r := together / alone; r < -0.03 || r > 0.03 {
		t.Errorf("the delays of two sales have a correlation of %.3f", r)
	}
}

func TestUsable(t *testing.T) {
	t.Parallel()
	ts := newTickets(t, strings.Repeat("secret of ours!!", 2))
	moment := start.Add(ts.Delay(sale, user, longest))
	err := ts.Usable(sale, user, start, longest, moment.Add(-time.Nanosecond))
	if early, is := errors.AsType[*ticket.EarlyError](err); !is || !early.UsableFrom.Equal(moment) {
		t.Errorf("%v, want to be early until %v", err, moment)
	}
	if err := ts.Usable(sale, user, start, longest, moment); err != nil {
		t.Errorf("at the moment: %v", err)
	}
	if err := ts.Usable(sale, user, start.Add(time.Hour), longest, moment); err == nil {
		t.Error("the moment did not move with the sale's start")
	}
}

func TestIssueRefusesTimesThatATicketCannotHold(t *testing.T) {
	t.Parallel()
	ts := newTickets(t, strings.Repeat("secret of ours!!", 2))
	for _, at := range []time.Time{time.Unix(-1, 0), time.Unix(1<<40, 0)} {
		if text, err := ts.Issue(sale, user, at); err == nil {
			t.Errorf("a ticket until %v: %s", at, text)
		}
	}
}

func FuzzCheck(f *testing.F) {
	ts := newTickets(f, strings.Repeat("secret of ours!!", 2))
	good := issue(f, ts, start.Add(time.Hour))
	f.Add(good)
	f.Add(good[:31])
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if err := ts.Check(text, sale, user, start); err == nil && text != good {
			t.Errorf("%q was accepted", text)
		}
	})
}

func BenchmarkIssue(b *testing.B) {
	ts := newTickets(b, strings.Repeat("secret of ours!!", 2))
	b.ReportAllocs()
	for b.Loop() {
		_ = issue(b, ts, start)
	}
}

func BenchmarkCheck(b *testing.B) {
	ts := newTickets(b, strings.Repeat("secret of ours!!", 2))
	text := issue(b, ts, start.Add(time.Hour))
	b.ReportAllocs()
	for b.Loop() {
		if err := errors.Join(ts.Check(text, sale, user, start),
			ts.Usable(sale, user, start, longest, start.Add(longest))); err != nil {
			b.Fatal(err)
		}
	}
}
