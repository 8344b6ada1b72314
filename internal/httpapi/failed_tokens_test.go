package httpapi

import (
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/kit/bulkhead"
)

// While an address has spent its budget of bad tokens, its requests show their token before they take a permit: with
// every permit taken a stranger is told so, a buyer is refused as ever. Afterwards, and of other addresses, tokens are
// not read in overload.
func TestStrangersTakeNoPermits(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	a := newAPI(t, func(cfg *setup) {
		cfg.Now = func() time.Time { return noon.Add(time.Duration(ahead.Load())) }
	})
	stranger, buyer := press, press
	stranger.header = map[string]string{"Authorization": "forged"}
	elsewhere := stranger
	elsewhere.from = "198.51.100.7:1"
	ask := func(want int, requests ...request) {
		t.Helper()
		for _, r := range requests {
			if w := do(t, a, r); w.Code != want {
				t.Errorf("%v from %q: %d %s, want %d", r.header, r.from, w.Code, w.Body, want)
			}
		}
	}
	ask(http.StatusUnauthorized, stranger)
	full := saturate(a)
	ask(http.StatusServiceUnavailable, stranger, buyer)
	full()
	for range failedTokensAtOnce {
		ask(http.StatusUnauthorized, stranger)
	}
	ask(http.StatusAccepted, buyer)
	full = saturate(a)
	ask(http.StatusUnauthorized, stranger)
	ask(http.StatusServiceUnavailable, buyer, elsewhere)
	ahead.Store(int64(time.Minute))
	ask(http.StatusServiceUnavailable, stranger)
	full()
	if loads := a.cfg.InFlight.Loads(); loads[bulkhead.Unnamed].InUse != 0 {
		t.Errorf("%+v", loads)
	}
}

// BenchmarkFailedTokens is what a buyer pays for the budgets of bad tokens: while none is spent, and while some is.
func BenchmarkFailedTokens(b *testing.B) {
	of := func(i int64) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	for name, strangers := range map[string]int{"none is spent": 0, "some is": 2 * failedTokensAtOnce} {
		b.Run(name, func(b *testing.B) {
			f := newFailedTokens(noon)
			for range strangers {
				f.add(of(0), noon)
			}
			b.ReportAllocs()
			var i int64
			for b.Loop() {
				i++
				if f.any(noon) && f.spent(of(1+i%1_000_000), noon) {
					b.Fatal("a buyer's is spent")
				}
			}
		})
	}
}
