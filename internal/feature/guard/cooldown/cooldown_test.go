package cooldown

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/internal/voucher/guards"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// coolDowns are the settings of a sale in which so many expired orders cost so many minutes.
func coolDowns(expired, minutes int64) *guards.CoolDown {
	return &guards.CoolDown{Expired: expired, Minutes: minutes}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		told             []Unpaid
		expired, minutes int64
		later            time.Duration
		want             time.Duration // 0: let in
	}{
		"nobody is known":     {nil, 1, 30, 0, 0},
		"another user":        {[]Unpaid{{8, 9, 0}}, 1, 30, 0, 0},
		"too few":             {[]Unpaid{{7, 1, 0}}, 2, 30, 0, 0},
		"just now":            {[]Unpaid{{7, 2, 0}}, 2, 30, 0, 30 * time.Minute},
		"more than that":      {[]Unpaid{{7, 5, time.Minute}}, 2, 30, 0, 29 * time.Minute},
		"later":               {[]Unpaid{{7, 2, time.Minute}}, 2, 30, 28 * time.Minute, time.Minute},
		"over":                {[]Unpaid{{7, 2, time.Minute}}, 2, 30, 29 * time.Minute, 0},
		"by a clock set back": {[]Unpaid{{7, 2, -time.Hour}}, 2, 30, 0, 30 * time.Minute},
		"once more":           {[]Unpaid{{7, 2, 40 * time.Minute}, {7, 3, 0}}, 2, 30, 0, 30 * time.Minute},
		"a week ago":          {[]Unpaid{{7, 9, guards.CoolDownMemory}}, 1, guards.MaxCoolDown, 0, 0},
		"the longest cool-down": {
			[]Unpaid{{7, 9, time.Minute}}, 1, guards.MaxCoolDown, 0, guards.CoolDownMemory - time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := noon
			check := NewUsers(func() time.Time { return now })
			check.Tell(c.told)
			now = now.Add(c.later)
			got, is := errors.AsType[*Error](check.Check(coolDowns(c.expired, c.minutes), 7))
			if is != (c.want > 0) || is && got.Retry != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
		})
	}
}

// known returns how many users with expired orders are known.
func (c *Users) known() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.users)
}

// A million users and more take bounded memory, and who comes last is known.
func TestUsersAreBounded(t *testing.T) {
	t.Parallel()
	now := noon
	check := NewUsers(func() time.Time { return now })
	users := make([]Unpaid, MaxUnpaid+5000)
	for i := range users {
		users[i] = Unpaid{UserID: int64(i) + 1, Expired: 2}
	}
	for page := range slices.Chunk(users, unpaidPage) {
		check.Tell(page)
	}
	if check.known() != MaxUnpaid {
		t.Errorf("%d are known, want %d", check.known(), MaxUnpaid)
	}
	if check.Check(coolDowns(2, 30), users[len(users)-1].UserID) == nil {
		t.Error("who came last is not known")
	}
	now = now.Add(guards.CoolDownMemory - time.Second)
	check.Tell([]Unpaid{{7, 2, 0}})
	now = now.Add(time.Second)
	check.ForgetOld()
	if check.known() != 1 {
		t.Errorf("a week later %d are known, want 1", check.known())
	}
	check.ForgetAll()
	if check.known() != 0 {
		t.Error("somebody is known still")
	}
}

// unpaidRows is a ledger of users with rising numbers, which may fail.
type unpaidRows struct {
	users []Unpaid
	err   error
	asked []Cursor
}

func (r *unpaidRows) UnpaidAfter(_ context.Context, after Cursor, limit int) ([]Unpaid, Cursor, error) {
	r.asked = append(r.asked, after)
	if r.err != nil {
		return nil, after, r.err
	}
	found := r.users[after.Number:]
	found = found[:min(len(found), limit)]
	return found, Cursor{Number: after.Number + int64(len(found))}, nil
}

// Each round reads what is new; a failing ledger is asked again, and what is known stays; without a sale that has a
// cool-down nothing is asked and kept.
func TestLoader(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	ledger := &unpaidRows{users: make([]Unpaid, 12*unpaidPage+3)}
	for i := range ledger.users {
		ledger.users[i] = Unpaid{UserID: int64(i) + 1, Expired: 1}
	}
	settings := &guards.Settings{Conditions: &guards.Conditions{MinLevel: 1}}
	check := NewUsers(time.Now)
	l := NewLoader(check, ledger.UnpaidAfter, func(f func(*guards.Settings) bool) bool { return f(settings) },
		slog.New(slog.NewTextHandler(&log, nil)))
	rounds := func(what string, n, asked, known int) {
		t.Helper()
		ledger.asked = nil
		for range n {
			l.round(t.Context())
		}
		if len(ledger.asked) != asked || check.known() != known {
			t.Errorf("%s: asked %d times, %d known; want %d and %d", what, len(ledger.asked),
				check.known(), asked, known)
		}
	}
	rounds("without a cool-down", 2, 0, 0)
	settings = &guards.Settings{CoolDown: coolDowns(1, 30)}
	rounds("the first", 1, pages, pages*unpaidPage)
	ledger.err = errors.New("away")
	rounds("the ledger is away", 3, 3, pages*unpaidPage)
	ledger.err = nil
	rounds("it is back", 1, 3, len(ledger.users))
	rounds("nothing new", 3, 3, len(ledger.users))
	ledger.users = append(ledger.users, Unpaid{UserID: 1 << 40, Expired: 1})
	rounds("one more", 1, 1, len(ledger.users))
	settings = nil
	rounds("turned off", 2, 0, 0)
	if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "cannot be read") ||
		!strings.Contains(log.String(), "can be read again") {
		t.Errorf("logged %d lines:\n%s", n, log.String())
	}
}

func BenchmarkUsers(b *testing.B) {
	check := NewUsers(time.Now)
	before := testkit.Heap()
	for i := range int64(MaxUnpaid) {
		check.Tell([]Unpaid{{UserID: i, Expired: 2}})
	}
	size := testkit.Heap() - before
	s := coolDowns(2, 30)
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		_ = check.Check(s, MaxUnpaid+i)
	}
	b.ReportMetric(float64(size)/1e6, "MB")
}
