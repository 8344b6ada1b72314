package budget

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/testkit"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// shareOf says whose share a reservation would have exceeded; "" if it was made.
func shareOf(t *testing.T, err error) LimitOf {
	t.Helper()
	e, is := errors.AsType[*ShareError](err)
	if err != nil && !is {
		t.Fatalf("%v is no *ShareError", err)
	}
	if e == nil {
		return ""
	}
	return e.Of
}

// What is won and what is asked for stays within the share of an address, whoever asks at once. What nobody got can be
// asked for again.
func TestSharesAreNeverExceeded(t *testing.T) {
	t.Parallel()
	const share, callers = 10, 200
	table, a := (&clock{noon}).table(), netip.MustParseAddr("192.0.2.7")
	u := &guards.Units{PerAddress: share}
	var kept sync.Map
	var n atomic.Int64
	ask := func() {
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				if r, err := table.Reserve(u, 1, rand.Int64(), a, 1); err == nil {
					kept.Store(n.Add(1), r)
				}
			})
		}
		all.Wait()
	}
	ask()
	if n.Load() != share {
		t.Fatalf("%d were kept, want %d", n.Load(), share)
	}
	kept.Range(func(i, r any) bool {
		if i.(int64) <= 4 {
			table.End(r.(Reservation), false)
		} else {
			table.End(r.(Reservation), true)
		}
		return true
	})
	ask()
	if n.Load() != share+4 {
		t.Errorf("after four came back, %d more were kept", n.Load()-share)
	}
}

func TestShareOfEach(t *testing.T) {
	t.Parallel()
	both := &guards.Units{PerAddress: 3, PerNetwork: 5}
	for name, c := range map[string]struct {
		units *guards.Units
		asks  []string // an address, and how many units
		want  []LimitOf
	}{
		"an address":    {both, []string{"192.0.2.7 3", "192.0.2.7 1", "192.0.2.8 1"}, []LimitOf{"", OfAddress, ""}},
		"several units": {both, []string{"192.0.2.7 2", "192.0.2.7 2", "192.0.2.7 1"}, []LimitOf{"", OfAddress, ""}},
		"its network": {
			both,
			[]string{"192.0.2.7 3", "192.0.2.8 2", "192.0.2.9 1", "198.51.100.9 1"},
			[]LimitOf{"", "", OfNetwork, ""},
		},
		"a line of IPv6": {both, []string{"2001:db8:1:2::7 3", "2001:db8:1:2:f::8 1"}, []LimitOf{"", OfAddress}},
		"a /48 of IPv6": {
			both,
			[]string{"2001:db8:1:2::7 3", "2001:db8:1:3::7 2", "2001:db8:1:4::7 1", "2001:db8:2:4::7 1"},
			[]LimitOf{"", "", OfNetwork, ""},
		},
		"no bound for addresses": {
			&guards.Units{PerNetwork: 2}, []string{"192.0.2.7 2", "192.0.2.7 1"}, []LimitOf{"", OfNetwork},
		},
		"no bound for networks": {
			&guards.Units{PerAddress: 2},
			[]string{"192.0.2.7 2", "192.0.2.8 2", "192.0.2.8 1"},
			[]LimitOf{"", "", OfAddress},
		},
		"shared": {
			&guards.Units{PerAddress: 1, PerNetwork: 1, Shared: "2001:db8::/32, 192.0.2.7"},
			[]string{"192.0.2.7 1", "192.0.2.7 9", "::ffff:192.0.2.7 9", "2001:db8:9::1 9", "192.0.2.8 1"},
			[]LimitOf{"", "", "", "", OfNetwork},
		},
		"who cannot be read": {both, []string{" 3", " 1", "192.0.2.7 1"}, []LimitOf{"", OfAddress, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := (&clock{noon}).table()
			var got []LimitOf
			for _, ask := range c.asks {
				var text string
				var units int64
				if _, err := fmt.Sscanf(ask, "%s %d", &text, &units); err != nil {
					_, _ = fmt.Sscan(ask, &units)
					text = ""
				}
				a, _ := netip.ParseAddr(text)
				_, err := table.Reserve(c.units, 1, rand.Int64(), a, units)
				got = append(got, shareOf(t, err))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

// A user's purchases under way count as the largest of them, in the address's share and in the network's, and what was
// accepted counts once each.
func TestPurchasesOfOneUser(t *testing.T) {
	t.Parallel()
	const here, there = "192.0.2.7", "192.0.2.8"
	for name, c := range map[string]struct {
		steps string // "user units address" reserves; "+n" and "-n" end the nth reservation, accepted or not
		free  int64  // units that others can have of the address's share of 10
		net   int64  // and of the network's, of 20
	}{
		"one":               {"7 2 here", 8, 18},
		"the largest":       {"7 2 here, 7 5 here, 7 3 here", 5, 15},
		"the same again":    {"7 2 here, 7 2 here", 8, 18},
		"not the largest":   {"7 2 here, 7 5 here, -2", 8, 18},
		"two users":         {"7 2 here, 8 5 here", 3, 13},
		"two addresses":     {"7 2 here, 7 5 there", 8, 15},
		"none":              {"7 2 here, -1", 10, 20},
		"accepted":          {"7 2 here, +1", 8, 18},
		"one of two":        {"7 2 here, 7 2 here, +1, -2", 8, 18},
		"the other of two":  {"7 2 here, 7 3 here, +1, -2", 8, 18},
		"while one is left": {"7 2 here, 7 3 here, +1", 7, 17},
		"again and again":   {"7 2 here, 7 2 here, +1, 7 2 here, +2, -3", 6, 16},
		"beyond the share":  {"7 9 here, 7 9 here, +1, +2", 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, u := (&clock{noon}).table(), &guards.Units{PerAddress: 10, PerNetwork: 20}
			addresses := map[string]netip.Addr{"here": netip.MustParseAddr(here), "there": netip.MustParseAddr(there)}
			var made []Reservation
			ended := 0
			for step := range strings.SplitSeq(c.steps, ", ") {
				var n int
				if _, err := fmt.Sscan(step, &n); err != nil {
					t.Fatal(err)
				}
				if step[0] == '+' || step[0] == '-' {
					table.End(made[max(n, -n)-1], n > 0)
					ended++
					continue
				}
				var user, units int64
				var at string
				if _, err := fmt.Sscan(step, &user, &units, &at); err != nil {
					t.Fatal(err)
				}
				r, err := table.Reserve(u, 1, user, addresses[at], units)
				if err != nil {
					t.Fatalf("%s: %v", step, err)
				}
				made = append(made, r)
			}
			fits := func(u *guards.Units) (n int64) {
				for ; n < voucher.MaxPerUser; n++ {
					r, err := table.Reserve(u, 1, rand.Int64(), addresses["here"], n+1)
					if err != nil {
						break
					}
					table.End(r, false)
				}
				return n
			}
			if n := fits(&guards.Units{PerAddress: 10}); n != c.free {
				t.Errorf("%d are free to the address, want %d", n, c.free)
			}
			if n := fits(&guards.Units{PerNetwork: 20}); n != c.net {
				t.Errorf("%d are free to the network, want %d", n, c.net)
			}
			if ended == len(made) && len(table.reserved.users)+len(table.reserved.open) > 0 {
				t.Errorf("still under way: %+v", &table.reserved)
			}
		})
	}
}

// A share is busy while it is full of units that are only reserved, and taken once they are won.
func TestBusyShare(t *testing.T) {
	t.Parallel()
	u, a := &guards.Units{PerAddress: 4, PerNetwork: 100}, netip.MustParseAddr("192.0.2.7")
	table := (&clock{noon}).table()
	reserve := func(user, units int64) Reservation {
		r, err := table.Reserve(u, 1, user, a, units)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	busy := func(what string, units int64, want bool) {
		t.Helper()
		_, err := table.Reserve(u, 1, 99, a, units)
		if e, is := errors.AsType[*ShareError](err); !is || e.Busy != want {
			t.Errorf("%s: %v, want busy %t", what, err, want)
		}
	}
	first, second := reserve(1, 2), reserve(2, 2)
	busy("reserved", 1, true)
	busy("more than the share", 5, false)
	table.End(first, true)
	busy("half of it won", 1, true)
	busy("more than could be left", 3, false)
	table.End(second, true)
	busy("won", 1, false)
}

// Where the network's share is taken, the address's is not: it is given back.
func TestNetworkRefusesWhole(t *testing.T) {
	t.Parallel()
	table, a := (&clock{noon}).table(), netip.MustParseAddr("192.0.2.7")
	if _, err := table.Reserve(&guards.Units{PerNetwork: 2}, 1, rand.Int64(), a, 2); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err := table.Reserve(&guards.Units{PerAddress: 2, PerNetwork: 2}, 1, rand.Int64(), a, 1)
		if shareOf(t, err) != OfNetwork {
			t.Fatalf("%v", err)
		}
	}
	if _, err := table.Reserve(&guards.Units{PerAddress: 2}, 1, rand.Int64(), a, 2); err != nil {
		t.Errorf("the address has its share still: %v", err)
	}
}

// A share that is raised while the sale runs is larger at once; one unit comes back in a day.
func TestShareIsRaised(t *testing.T) {
	t.Parallel()
	c := &clock{noon}
	table, a := c.table(), netip.MustParseAddr("192.0.2.7")
	take := func(share int64) (n int) {
		for {
			if _, err := table.Reserve(&guards.Units{PerAddress: share}, 1, rand.Int64(), a, 1); err != nil {
				return n
			}
			n++
		}
	}
	if got := []int{take(5), take(5), take(8), take(3), take(guards.MaxShare)}; !cmp.Equal(got,
		[]int{5, 0, 3, 0, guards.MaxShare - 8}) {
		t.Errorf("%v", got)
	}
	c.now = c.now.Add(24*time.Hour - time.Minute)
	if n := take(guards.MaxShare); n != 0 {
		t.Errorf("%d came back within a day", n)
	}
}

// Units that were won on one instance count on the others a second later; those that are asked for, or that nobody
// got, do not.
func TestInstancesShareShares(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, a := &guards.Units{PerAddress: 8, PerNetwork: 100}, netip.MustParseAddr("192.0.2.7")
		tables := exchanges(t, &board{}, 2, &guards.Settings{Units: u})
		var kept []Reservation
		for range 8 {
			r, err := tables[0].Reserve(u, 1, rand.Int64(), a, 1)
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, r)
		}
		time.Sleep(3 * time.Second)
		free := func() (n int) {
			var taken []Reservation
			for {
				r, err := tables[1].Reserve(u, 1, rand.Int64(), a, 1)
				if err != nil {
					break
				}
				taken = append(taken, r)
			}
			for _, r := range taken {
				tables[1].End(r, false)
			}
			return len(taken)
		}
		if n := free(); n != 8 {
			t.Errorf("while eight are asked for elsewhere, %d are free here", n)
		}
		for i, r := range kept {
			if i < 6 {
				tables[0].End(r, true)
			} else {
				tables[0].End(r, false)
			}
		}
		time.Sleep(3 * time.Second)
		if n := free(); n != 2 {
			t.Errorf("after six were won elsewhere, %d are free here", n)
		}
	})
}

// Nonsense that somebody wrote for the instances bars nobody for longer than a share, and breaks nothing.
func TestNonsenseSharesAreBounded(t *testing.T) {
	t.Parallel()
	table, a := (&clock{noon}).table(), netip.MustParseAddr("192.0.2.7")
	for range 1000 {
		table.spentElsewhere([]Spent{{Budget: "1:won-address4:3221225991", Time: 1 << 62}})
	}
	if _, err := table.Reserve(&guards.Units{PerAddress: 5}, 1, rand.Int64(), a, 1); shareOf(t, err) != OfAddress {
		t.Errorf("%v: the key of the address is another", err)
	}
	if _, err := table.Reserve(&guards.Units{PerAddress: 5}, 2, rand.Int64(), a, 5); err != nil {
		t.Errorf("another sale: %v", err)
	}
}

// A million addresses take no more memory than one, and who has most is not forgotten for their sake.
func TestSharesHaveAFixedSize(t *testing.T) {
	t.Parallel()
	table, random := (&clock{noon}).table(), rand.New(rand.NewPCG(8, 9))
	u, heavy := &guards.Units{PerAddress: 4}, netip.MustParseAddr("2001:db8::1")
	win := func(a netip.Addr, units int64) {
		r, err := table.Reserve(u, 1, rand.Int64(), a, units)
		if err != nil {
			t.Fatal(err)
		}
		table.End(r, true)
	}
	win(heavy, 4)
	for range 1_000_000 {
		win(randomAddress(random), 1)
	}
	if n := len(table.reserved.users) + len(table.reserved.open); n > 0 {
		t.Errorf("%d reservations are left", n)
	}
	if _, err := table.Reserve(u, 1, rand.Int64(), heavy, 1); shareOf(t, err) != OfAddress {
		t.Errorf("%v: it was forgotten", err)
	}
}

func BenchmarkReserve(b *testing.B) {
	table, u := NewTable(time.Now), &guards.Units{PerAddress: guards.MaxShare, PerNetwork: guards.MaxShare}
	b.Run("one address", func(b *testing.B) {
		a := netip.MustParseAddr("192.0.2.7")
		b.ReportAllocs()
		for b.Loop() {
			r, err := table.Reserve(u, 1, rand.Int64(), a, 1)
			if err != nil {
				b.Fatal(err)
			}
			table.End(r, false)
		}
	})
	b.Run("a million addresses", func(b *testing.B) {
		random, addresses := rand.New(rand.NewPCG(5, 6)), make([]netip.Addr, 1_000_000)
		for i := range addresses {
			addresses[i] = randomAddress(random)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			r, err := table.Reserve(u, 1, int64(i), addresses[i%len(addresses)], 1)
			if err != nil {
				b.Fatal(err)
			}
			table.End(r, true)
		}
		before, other := testkit.Heap(), NewTable(time.Now)
		for _, a := range addresses {
			if r, err := other.Reserve(u, 1, 1, a, 1); err == nil {
				other.End(r, true)
			}
		}
		b.ReportMetric(float64(testkit.Heap()-before)/1e6, "MB")
		runtime.KeepAlive([]any{addresses, table, other})
	})
}
