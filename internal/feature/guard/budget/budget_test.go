package budget

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"seckill/internal/testkit"
	"seckill/internal/voucher/guards"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that a test moves.
type clock struct{ now time.Time }

func (c *clock) table() *Table { return NewTable(func() time.Time { return c.now }) }

func rateError(t *testing.T, err error) *RateError {
	t.Helper()
	e, is := errors.AsType[*RateError](err)
	if err != nil && !is {
		t.Fatalf("%v is no *RateError", err)
	}
	return e
}

func TestLimitsOfEach(t *testing.T) {
	t.Parallel()
	five := &guards.Rate{Requests: 5, Seconds: 10}
	for name, c := range map[string]struct {
		limits       *guards.Limits
		first, other string // two addresses
		shared       bool   // they have one budget
	}{
		"address":              {&guards.Limits{PerAddress: five}, "192.0.2.7", "192.0.2.8", false},
		"address of 64 bits":   {&guards.Limits{PerAddress: five}, "2001:db8:1:2::7", "2001:db8:1:2:ffff::", true},
		"addresses of 64 bits": {&guards.Limits{PerAddress: five}, "2001:db8:1:2::7", "2001:db8:1:3::7", false},
		"IPv4 in IPv6":         {&guards.Limits{PerAddress: five}, "192.0.2.7", "::ffff:192.0.2.7", true},
		"network":              {&guards.Limits{PerNetwork: five}, "192.0.2.7", "192.0.2.8", true},
		"networks":             {&guards.Limits{PerNetwork: five}, "192.0.2.7", "192.0.3.7", false},
		"network of 48 bits":   {&guards.Limits{PerNetwork: five}, "2001:db8:1:2::7", "2001:db8:1:3::7", true},
		"networks of 48 bits":  {&guards.Limits{PerNetwork: five}, "2001:db8:1:2::7", "2001:db8:2:2::7", false},
		"an address and no network": {
			&guards.Limits{PerAddress: five, PerNetwork: &guards.Rate{Requests: 6, Seconds: 10}},
			"192.0.2.7", "192.0.2.8", true,
		},
		"addresses that look alike": {&guards.Limits{PerAddress: five}, "0.0.192.2", "::c002:0:0:0:0", false},
		"who is not known":          {&guards.Limits{PerAddress: five}, "", "", true},
		"an address with its zone":  {&guards.Limits{PerAddress: five}, "fe80::1%eth0", "fe80::1%eth1", true},
		"a network beside an address": {
			&guards.Limits{PerAddress: five, PerNetwork: &guards.Rate{Requests: 100, Seconds: 10}},
			"0.0.1.0", "1.0.0.0", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, _ := netip.ParseAddr(c.first)
			other, _ := netip.ParseAddr(c.other)
			table := (&clock{noon}).table()
			for i := range 5 {
				if err := table.Check(c.limits, 1, 0, first); err != nil {
					t.Fatalf("request %d: %v", i, err)
				}
			}
			e := rateError(t, table.Check(c.limits, 1, 0, first))
			if e == nil || e.Retry != 2*time.Second {
				t.Errorf("the sixth: %+v, want one after 2 s", e)
			}
			_ = table.Check(c.limits, 1, 0, other)
			if shared := table.Check(c.limits, 1, 0, other) != nil; shared != c.shared {
				t.Errorf("%s and %s have one budget: %t", c.first, c.other, shared)
			}
			if err := table.Check(c.limits, 2, 0, first); err != nil {
				t.Errorf("another sale: %v", err)
			}
		})
	}
}

func TestLimitsOfUsers(t *testing.T) {
	t.Parallel()
	c := &clock{noon}
	table, l := c.table(), &guards.Limits{PerUser: &guards.Rate{Requests: 2, Seconds: 60}}
	for i, want := range []bool{true, true, false, false} {
		if err := table.Check(l, 1, 7, netip.Addr{}); (err == nil) != want {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if table.Check(l, 1, 8, netip.Addr{}) != nil || table.Check(&guards.Limits{}, 1, 7, netip.Addr{}) != nil ||
		table.Check(&guards.Limits{PerUser: &guards.Rate{Requests: 1, Seconds: 9}}, 2, 0, netip.Addr{}) != nil {
		t.Error("another user, or without such a limit: refused")
	}
	c.now = c.now.Add(30 * time.Second)
	if table.Check(l, 1, 7, netip.Addr{}) != nil || table.Check(l, 1, 7, netip.Addr{}) == nil {
		t.Error("half a minute later there is one request, and no more")
	}
}

// A budget is a bucket of so many requests that is filled steadily: the table agrees with one that counts with
// fractions, whatever comes when.
func TestBudgetIsATokenBucket(t *testing.T) {
	t.Parallel()
	random, c := rand.New(rand.NewPCG(1, 2)), &clock{noon}
	table := c.table()
	for user := range int64(200) {
		rate := &guards.Rate{Requests: 1 + random.Int64N(20), Seconds: 1 + random.Int64N(60)}
		l := &guards.Limits{PerUser: rate}
		tokens, last := float64(rate.Requests), c.now
		for range 200 {
			c.now = c.now.Add(time.Duration(random.Int64N(int64(2 * time.Second))))
			tokens = min(float64(rate.Requests),
				tokens+c.now.Sub(last).Seconds()*float64(rate.Requests)/float64(rate.Seconds))
			last = c.now
			err := table.Check(l, 1, user, netip.Addr{})
			if near := tokens > 1-1e-6 && tokens < 1+1e-6; !near && (err == nil) != (tokens >= 1) {
				t.Fatalf("%+v: %f tokens, and %v", *rate, tokens, err)
			}
			if err == nil {
				tokens--
			} else if wait := rateError(t, err).Retry; table.take(budgetKey{1, uint64(user), account}, rate,
				c.now.Add(wait-time.Millisecond)) == 0 {
				t.Fatalf("%+v: let in before %s", *rate, wait)
			}
		}
	}
}

func (t *Table) take(k budgetKey, r *guards.Rate, now time.Time) time.Duration {
	_, wait := t.owe(k, r, now)
	return wait
}

// randomAddress is one of 2^64 of IPv6, each with a budget of its own.
func randomAddress(r *rand.Rand) netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], r.Uint64()|1<<61)
	return netip.AddrFrom16(b)
}

// A million addresses take no more memory than one, and who asks all the time is not forgotten for their sake.
func TestMillionAddresses(t *testing.T) {
	t.Parallel()
	c := &clock{noon}
	table, l := c.table(), &guards.Limits{PerAddress: &guards.Rate{Requests: 10, Seconds: 10}}
	heavy, random := netip.MustParseAddr("2001:db8::1"), rand.New(rand.NewPCG(3, 4))
	if size := unsafe.Sizeof(budgetSet{}) * tableSets; size > 8_700_000 {
		t.Errorf("the table has %d bytes", size)
	}
	let := 0
	for i := range 1_000_000 {
		if i%100 == 0 { // 1,000 requests a second, of which the address may make one
			c.now = c.now.Add(100 * time.Millisecond / 10)
			if table.Check(l, 1, 0, heavy) == nil {
				let++
			}
		}
		if err := table.Check(l, 1, 0, randomAddress(random)); err != nil {
			t.Fatalf("an address that asked once: %v", err)
		}
	}
	if let > 10+100+1 { // 100 s
		t.Errorf("the heavy caller was let in %d times in 100 s, of 10,000 requests", let)
	}
	if n := len(table.requests().sets) * setCells; n != Budgets {
		t.Errorf("%d budgets", n)
	}
}

func BenchmarkLimits(b *testing.B) {
	l := &guards.Limits{
		PerAddress: &guards.Rate{Requests: 20, Seconds: 10}, PerNetwork: &guards.Rate{Requests: 200, Seconds: 10},
		PerUser: &guards.Rate{Requests: 5, Seconds: 10},
	}
	table := NewTable(time.Now)
	b.Run("one address", func(b *testing.B) {
		b.ReportAllocs()
		a := netip.MustParseAddr("192.0.2.7")
		for b.Loop() {
			_ = table.Check(l, 1, 7, a)
		}
	})
	b.Run("a million addresses", func(b *testing.B) {
		random := rand.New(rand.NewPCG(5, 6))
		addresses := make([]netip.Addr, 1_000_000)
		for i := range addresses {
			addresses[i] = randomAddress(random)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			_ = table.Check(l, 1, int64(i), addresses[i%len(addresses)])
		}
		before := testkit.Heap()
		other := NewTable(time.Now)
		for i, a := range addresses {
			_ = other.Check(l, 1, int64(i), a)
		}
		b.ReportMetric(float64(testkit.Heap()-before)/1e6, "MB")
		runtime.KeepAlive([]any{addresses, table, other})
	})
}

// A user who asks all the time spends nothing of what others have behind the same address.
func TestAUsersLimitComesFirst(t *testing.T) {
	t.Parallel()
	table, a := (&clock{noon}).table(), netip.MustParseAddr("192.0.2.7")
	l := &guards.Limits{
		PerAddress: &guards.Rate{Requests: 20, Seconds: 60}, PerUser: &guards.Rate{Requests: 2, Seconds: 60},
	}
	for range 100 {
		_ = table.Check(l, 1, 7, a)
	}
	for user := range int64(9) {
		if err := table.Check(l, 1, 100+user, a); err != nil {
			t.Errorf("a neighbour: %v", err)
		}
	}
	if e := rateError(t, table.Check(l, 1, 7, a)); e == nil || e.Of != OfUser {
		t.Errorf("%+v", e)
	}
}
