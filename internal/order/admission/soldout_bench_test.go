package admission

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"seckill/internal/order/gate"
)

// BenchmarkSoldOut measures a refusal from the cache for growing numbers of winners.
func BenchmarkSoldOut(b *testing.B) {
	for _, winners := range []int64{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("winners=%d", winners), func(b *testing.B) {
			a := soldOutOf(b, winners)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				dice := rand.New(rand.NewPCG(1, 2))
				for pb.Next() {
					request := gate.Request{UserID: 2*dice.Int64N(winners) + 1, OrderID: 1 << 40}
					if err := admitTo(b.Context(), a, soldOutSale, request); !errors.Is(err, gate.ErrSoldOut) {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
