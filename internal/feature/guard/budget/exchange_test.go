package budget

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/voucher/guards"
)

// board is a SpendingStore in memory, which fails or hangs as it is told to.
type board struct {
	mu    sync.Mutex
	posts []post
	fails error
	hangs bool
	calls int
}

type post struct {
	name  string
	at    time.Time
	spent []Spent
}

func (b *board) ExchangeSpending(
	ctx context.Context, name, after string, here []Spent,
) (elsewhere []Spent, cursor string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.hangs {
		b.mu.Unlock()
		<-ctx.Done()
		b.mu.Lock()
		return nil, "", ctx.Err()
	}
	if b.fails != nil {
		return nil, "", b.fails
	}
	from := 0
	_, _ = fmt.Sscan(after, &from)
	for _, p := range b.posts[from:] {
		for _, s := range p.spent {
			if s.Ago = time.Since(p.at); p.name != name {
				elsewhere = append(elsewhere, s)
			}
		}
	}
	if len(here) > 0 {
		b.posts = append(b.posts, post{name, time.Now(), here})
	}
	return elsewhere, fmt.Sprint(len(b.posts)), nil
}

func (b *board) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

func told(b *board) (n int) {
	b.set(func() { n = len(b.posts) })
	return n
}

// exchanges are instances that tell each other of their budgets. For synctest.
func exchanges(t *testing.T, b *board, n int, s *guards.Settings) []*Table {
	t.Helper()
	tables := make([]*Table, n)
	for i := range tables {
		tables[i] = NewTable(time.Now)
		e := NewExchange(tables[i], b.ExchangeSpending, fmt.Sprint(i),
			func(f func(*guards.Settings) bool) bool { return f(s) },
			slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- e.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Millisecond) // one after the other
	}
	return tables
}

// A caller who asks all instances as often as they can gets in the long run what one instance would give, and one
// whom a balancer sends to one of them always all of it.
func TestInstancesShareBudgets(t *testing.T) {
	t.Parallel()
	address, pinned := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("198.51.100.7")
	const requests, seconds, instances, minutes = 40, 10, 3, 5
	rate := &guards.Rate{Requests: requests, Seconds: seconds}
	for name, limits := range map[string]*guards.Limits{
		"address": {PerAddress: rate}, "network": {PerNetwork: rate}, "user": {PerUser: rate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tables := exchanges(t, &board{}, instances, &guards.Settings{Limits: limits})
				spread, alone := 0, 0
				for range minutes * 60 * 4 { // each quarter of a second as often as is let in
					for _, table := range tables {
						for table.Check(limits, 1, 7, address) == nil {
							spread++
						}
					}
					if tables[1].Check(limits, 1, 8, pinned) == nil { // exactly the rate
						alone++
					}
					time.Sleep(seconds * time.Second / requests)
				}
				const one = minutes * 60 * requests / seconds
				if most := one + instances*requests + one/10; spread > most || spread < one/2 {
					t.Errorf("at %d instances %d were let in, want %d at most: one instance lets in %d",
						instances, spread, most, one+requests)
				}
				if alone != minutes*60*4 {
					t.Errorf("of a caller at one instance %d were let in, want %d", alone, minutes*60*4)
				}
			})
		})
	}
}

// A caller who asks each instance at just the limit's rate never owes more than one request there, and still gets
// what one instance would give, though more of them ask than an instance tells of in a second.
func TestInstancesSharePacedBudgets(t *testing.T) {
	t.Parallel()
	const instances = 3
	ofAddress := func(r guards.Rate) *guards.Limits { return &guards.Limits{PerAddress: &r, PerNetwork: &r} }
	ofUser := func(r guards.Rate) *guards.Limits { return &guards.Limits{PerUser: &r} }
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1}) }
	for name, c := range map[string]struct {
		rate    guards.Rate
		callers int
		seconds int64
		limits  func(guards.Rate) *guards.Limits
		ask     func(t *Table, l *guards.Limits, caller int) error
	}{
		"addresses": {
			guards.Rate{Requests: 100, Seconds: 60},
			1, 600, ofAddress, func(t *Table, l *guards.Limits, i int) error {
				return t.Check(l, 1, 0, address(i))
			},
		},
		"users": {
			guards.Rate{Requests: 100, Seconds: 60},
			1, 600, ofUser, func(t *Table, l *guards.Limits, i int) error {
				return t.Check(l, 1, int64(i), netip.Addr{})
			},
		},
		"many": {
			guards.Rate{Requests: 50, Seconds: 30},
			4 * spendingRoom, 200, ofUser, func(t *Table, l *guards.Limits, i int) error {
				return t.Check(l, 1, int64(i), netip.Addr{})
			},
		},
		"challenges": {askedOfUser(), 1, 1200, ofUser, func(t *Table, _ *guards.Limits, i int) error {
			_, _, err := t.Asked(1, int64(i), address(i))
			return err
		}},
		"challenges of a network": {
			askedOfNetwork(), 1, 300, ofUser, func(t *Table, _ *guards.Limits, i int) error {
				_, _, err := t.Asked(1, rand.Int64(), address(i))
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := c.limits(c.rate)
				tables := exchanges(t, &board{}, instances, &guards.Settings{Limits: l})
				let := 0
				one := int(c.seconds * c.rate.Requests / c.rate.Seconds)
				for range one {
					for _, i := range rand.Perm(c.callers) {
						for _, table := range tables {
							if c.ask(table, l, i) == nil {
								let++
							}
						}
					}
					time.Sleep(tokenTime(&c.rate))
				}
				if each := let / c.callers; each > one+3*int(c.rate.Requests) || each < one*9/10 {
					t.Errorf("at %d instances %d were let in of each, want %d and %d more at most",
						instances, each, one, 3*c.rate.Requests)
				}
			})
		})
	}
}

// Who asks once or twice, now and then, is not told of.
func TestFewRequestsAreNotTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, b := &guards.Limits{PerUser: &guards.Rate{Requests: 20, Seconds: 10}}, &board{}
		tables := exchanges(t, b, 2, &guards.Settings{Limits: l})
		for i, want := range []int{0, 0, 1, 2} { // the eighth of 20 is 3
			for user := range int64(100) {
				if err := tables[0].Check(l, 1, user, netip.Addr{}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
			if n := told(b); n != want {
				t.Errorf("after %d requests of each it was told %d times, want %d", i+1, n, want)
			}
		}
		b.set(func() {
			for i, p := range b.posts {
				for _, s := range p.spent { // three requests, then one
					if want := []time.Duration{
						1500 * time.Millisecond, 500 * time.Millisecond,
					}[min(i, 1)]; s.Time != want || len(p.spent) != 100 {
						t.Errorf("of %d told in post %d one is %s of %s, want %s", len(p.spent),
							i, s.Time, s.Budget, want)
					}
				}
			}
		})
	})
}

// An instance that begins later learns what was spent before; a store that hangs or fails keeps no limit from
// deciding, and what could not be told is never told later.
func TestExchangeFails(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(*board){
		"fails": func(b *board) { b.fails = errors.New("away") },
		"hangs": func(b *board) { b.hangs = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &guards.Limits{PerUser: &guards.Rate{Requests: 10, Seconds: 100}}
				b := &board{}
				fails(b)
				tables := exchanges(t, b, 2, &guards.Settings{Limits: l})
				let := func(table *Table) (n int) {
					for table.Check(l, 1, 7, netip.Addr{}) == nil {
						n++
					}
					return n
				}
				if n := let(tables[0]); n != 10 {
					t.Errorf("%d were let in, want 10", n)
				}
				time.Sleep(5 * time.Second)
				b.set(func() { b.fails, b.hangs = nil, false })
				time.Sleep(5 * time.Second)
				if n := let(tables[1]); n != 10 || told(b) != 0 {
					t.Errorf("the other instance let in %d, and %d were told; want 10 and none", n, told(b))
				}
				time.Sleep(2 * time.Second)
				if n := let(tables[0]); n != 0 {
					t.Errorf("afterwards %d were let in", n)
				}
				if n := let(exchanges(t, b, 1, &guards.Settings{Limits: l})[0]); n != 10 {
					t.Errorf("before its first exchange a new instance let in %d", n)
				}
			})
		})
	}
}

// Without limits no store is asked.
func TestNothingToExchange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &board{}
		exchanges(t, b, 2, &guards.Settings{Conditions: &guards.Conditions{MinLevel: 2}})
		time.Sleep(time.Minute)
		b.set(func() {
			if b.calls != 0 {
				t.Errorf("asked %d times", b.calls)
			}
		})
	})
}

// What was spent elsewhere ages, and what others tell keeps nobody out for longer than the limit's own time, or a
// minute.
func TestSpentElsewhere(t *testing.T) {
	t.Parallel()
	ten := &guards.Rate{Requests: 10, Seconds: 100} // one in ten seconds
	for name, c := range map[string]struct {
		told []Spent
		let  int
		wait time.Duration
	}{
		"nothing":     {nil, 10, 10 * time.Second},
		"half":        {[]Spent{{"1:user:7", 50 * time.Second, 0}}, 5, 10 * time.Second},
		"a while ago": {[]Spent{{"1:user:7", 50 * time.Second, 30 * time.Second}}, 8, 10 * time.Second},
		"long ago":    {[]Spent{{"1:user:7", 50 * time.Second, time.Hour}}, 10, 10 * time.Second},
		"twice all of it": {
			[]Spent{{"1:user:7", 100 * time.Second, 0}, {"1:user:7", 50 * time.Second, 0}}, 0, 60 * time.Second,
		},
		"nonsense": {
			[]Spent{{"1:user:7", 1 << 62, -time.Hour}, {"1:user:7", 1 << 62, 0}, {"1:user:7", -1 << 62, 0}},
			0, 100 * time.Second,
		},
		"another sale":       {[]Spent{{"2:user:7", 100 * time.Second, 0}}, 10, 10 * time.Second},
		"another user":       {[]Spent{{"1:user:8", 100 * time.Second, 0}}, 10, 10 * time.Second},
		"an address":         {[]Spent{{"1:address4:7", 100 * time.Second, 0}}, 10, 10 * time.Second},
		"of a later version": {[]Spent{{"1:device:7", 100 * time.Second, 0}}, 10, 10 * time.Second},
		"no budgets": {[]Spent{{"", 100 * time.Second, 0}, {"1:user", 1, 0}, {"x:user:7", 1e11, 0}, {
			"1:user:y", 1e11, 0,
		}, {"1:user:7:", 1e11, 0}}, 10, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := (&clock{noon}).table()
			table.requests() // made at noon
			table.spentElsewhere(c.told)
			let, err := 0, error(nil)
			for err == nil {
				if err = table.Check(&guards.Limits{PerUser: ten}, 1, 7, netip.Addr{}); err == nil {
					let++
				}
			}
			if wait := rateError(t, err).Retry; let != c.let || wait != c.wait {
				t.Errorf("%d are let in, and then one after %s; want %d and %s", let, wait, c.let, c.wait)
			}
		})
	}
}

// What waits to be told is bounded, for each kind by itself.
func TestSpendingIsBounded(t *testing.T) {
	t.Parallel()
	s := newSpending()
	for i := range uint64(10_000) {
		s.add(budgetKey{1, i, address6}, 1)
	}
	s.add(budgetKey{1, 1, account}, 1)
	s.add(budgetKey{1, 1, address6}, 1)
	taken, heavy := s.take(), false
	for _, spent := range taken {
		heavy = heavy || spent.Budget == "1:address6:1" && spent.Time == 2
	}
	if len(taken) != spendingRoom+1 || !heavy || s.take() != nil {
		t.Errorf("%d were taken, heavy among them: %t", len(taken), heavy)
	}
}

// Every kind has a word of its own, which is read as that kind.
func TestBudgetsInText(t *testing.T) {
	t.Parallel()
	names := kindNames()
	for _, k := range []kind{
		address4, address6, network4, network6, account, noAddress, network4 | asked, network6 | asked,
		noAddress | asked, accountAsked,
	} {
		key := budgetKey{9, 1<<64 - 1, k}
		if got, ok := parseBudget(key.text(names), names); !ok || got != key || strings.Contains(key.text(names), " ") {
			t.Errorf("%q is read as %+v, %t", key.text(names), got, ok)
		}
	}
}
