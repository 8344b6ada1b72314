package admission

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/order/gate"
)

// BenchmarkBatcher measures the batcher's own cost per request, with a Redis that answers at once, and how requests
// share calls of a slow one.
func BenchmarkBatcher(b *testing.B) {
	for _, takes := range []time.Duration{0, 200 * time.Microsecond} {
		for _, callers := range []int{1, 64, 512} {
			b.Run(fmt.Sprintf("redis=%s/callers=%d", takes, callers), func(b *testing.B) {
				calls := 0
				sale := newTestSale(b, func(_ context.Context, batch gate.Batch) (gate.BatchResult, error) {
					calls++
					if takes > 0 {
						time.Sleep(takes)
					}
					return acceptAll(batch), nil
				})
				b.ReportAllocs()
				b.ResetTimer()
				var next atomic.Int64
				var all sync.WaitGroup
				for range callers {
					all.Go(func() {
						for user := next.Add(1); user <= int64(b.N); user = next.Add(1) {
							if _, err := sale.ask(b.Context(), user); err != nil {
								b.Error(err)
							}
						}
					})
				}
				all.Wait()
				b.StopTimer()
				b.ReportMetric(float64(b.N)/float64(calls), "requests/call")
			})
		}
	}
}
