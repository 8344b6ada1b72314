package identity

import (
	"errors"
	"net/netip"
	"testing"
	"time"
)

// An address has ten seconds' worth at once, and then its rate; a customer with IPv6 has one budget.
func TestBudget(t *testing.T) {
	t.Parallel()
	now := noon
	b := NewBudget(2, func() time.Time { return now })
	parsed := func(address string) netip.Addr {
		ip, _ := netip.ParseAddr(address)
		return ip
	}
	taken := func(address string) (n int) {
		for b.Take(parsed(address)) == nil {
			n++
		}
		return n
	}
	for _, step := range []struct {
		after   time.Duration
		address string
		want    int
	}{
		{0, "192.0.2.1", 20},
		{0, "::ffff:192.0.2.1", 0},
		{0, "192.0.2.2", 20},
		{time.Second, "192.0.2.1", 2},
		{0, "2001:db8::1", 20},
		{0, "2001:db8::2", 0},
		{0, "2001:db8:0:1::1", 20},
		{0, "", 20},
		{0, "unreadable", 0},
	} {
		now = now.Add(step.after)
		if got := taken(step.address); got != step.want {
			t.Errorf("%s: %d, want %d", step.address, got, step.want)
		}
	}
	if err := b.Take(parsed("192.0.2.1")); !errors.Is(err, ErrOften) {
		t.Error(err)
	}
	for range 1000 {
		if err := NewBudget(0, time.Now).Take(parsed("192.0.2.1")); err != nil {
			t.Fatalf("without a limit: %v", err)
		}
	}
}
