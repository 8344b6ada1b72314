package httpapi

import (
	"net/netip"
	"testing"

	"seckill/internal/testkit/apitest"
)

// BenchmarkFailedTokens is what a buyer pays for the budgets of bad tokens: while none is spent, and while some is.
func BenchmarkFailedTokens(b *testing.B) {
	of := func(i int64) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	for name, strangers := range map[string]int{"none is spent": 0, "some is": 2 * failedTokensAtOnce} {
		b.Run(name, func(b *testing.B) {
			f := newFailedTokens(apitest.Noon())
			for range strangers {
				f.add(of(0), apitest.Noon())
			}
			b.ReportAllocs()
			var i int64
			for b.Loop() {
				i++
				if f.any(apitest.Noon()) && f.spent(of(1+i%1_000_000), apitest.Noon()) {
					b.Fatal("a buyer's is spent")
				}
			}
		})
	}
}
