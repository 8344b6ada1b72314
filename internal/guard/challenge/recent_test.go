package challenge

import (
	"net/netip"
	"testing"
	"time"
)

func TestDifficulty(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)
	r := newRecent(func() time.Time { return now })
	crowded, elsewhere := netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("2001:db8::1")
	someone := Caller{SaleID: 7, UserID: 42, Address: netip.MustParseAddr("192.0.2.17")}
	const easiest, hardest = 16, 1000 // hardest is beyond what is allowed
	if d := r.difficulty(someone, easiest, hardest); d != easiest {
		t.Errorf("the first takes %d tries, want %d", d, easiest)
	}
	var last int
	for range 10 {
		last = r.difficulty(someone, easiest, hardest)
	}
	if last != MaxDifficulty {
		t.Errorf("the eleventh of an account takes %d tries, want %d", last, MaxDifficulty)
	}
	if d := r.difficulty(someone, easiest, 4); d != 4 {
		t.Errorf("%d tries where the sale allows 4", d)
	}
	for user := range int64(500) {
		last = r.difficulty(Caller{SaleID: 7, UserID: 1000 + user, Address: crowded}, easiest, hardest)
	}
	if last <= easiest || last > MaxDifficulty {
		t.Errorf("the 500th account of a network takes %d tries", last)
	}
	if d := r.difficulty(Caller{SaleID: 7, UserID: 2, Address: elsewhere}, easiest, hardest); d > 2*easiest {
		t.Errorf("somebody elsewhere takes %d tries", d)
	}
	now = now.Add(window) // what was asked counts for another window
	if d := r.difficulty(someone, easiest, hardest); d != MaxDifficulty {
		t.Errorf("a minute later the account takes %d tries, want %d", d, MaxDifficulty)
	}
	now = now.Add(2 * window)
	if d := r.difficulty(someone, easiest, hardest); d != easiest {
		t.Errorf("three minutes later the account takes %d tries, want %d", d, easiest)
	}
}

// BenchmarkDifficulty must not allocate: what is remembered does not grow with those who ask.
func BenchmarkDifficulty(b *testing.B) {
	r := newRecent(time.Now)
	b.ReportAllocs()
	for user := int64(0); b.Loop(); user++ {
		r.difficulty(Caller{SaleID: 7, UserID: user, Address: netip.AddrFrom16([16]byte{0x20, 1, byte(user), byte(user >> 8)})}, 16, MaxDifficulty)
	}
}
