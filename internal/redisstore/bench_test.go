package redisstore

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
)

// BenchmarkAdmit measures one call of the admission script against the number of requests in it, all of which are
// accepted: the most expensive answer there is.
func BenchmarkAdmit(b *testing.B) {
	for _, n := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("requests=%d", n), func(b *testing.B) {
			r := newRig(b)
			o := r.hour(1 << 40)
			r.open(1, o)
			batch := order.Batch{Sale: r.sale, MaxBacklog: 1 << 40, Requests: requests(1, n)}
			b.ReportAllocs()
			for b.Loop() {
				for i := range batch.Requests {
					batch.Requests[i].UserID += int64(n)
					batch.Requests[i].OrderID += int64(n)
				}
				if _, err := r.Admit(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

// BenchmarkDecode measures reading one stream entry, which every accepted order is once.
func BenchmarkDecode(b *testing.B) {
	message := redis.XMessage{ID: "1770000000000-0", Values: map[string]any{
		entryVoucher: "7", entryUser: "1234567", entryOrder: "657389237843394561", entryEpoch: "3", entrySequence: "4999",
	}}
	b.ReportAllocs()
	for b.Loop() {
		if e := decode(0, message); e.Malformed != nil {
			b.Fatal(e.Malformed)
		}
	}
}

// BenchmarkAdmitSales measures a rush on many sales at once, each with one request at a time: their calls share sends.
func BenchmarkAdmitSales(b *testing.B) {
	for _, sales := range []int64{1, 64, 512} {
		b.Run(fmt.Sprintf("sales=%d", sales), func(b *testing.B) {
			r := newRig(b)
			for id := range sales {
				r.sale.VoucherID = id + 1
				r.open(1, r.hour(1<<40))
			}
			b.ReportAllocs()
			b.ResetTimer()
			var user atomic.Int64
			var all sync.WaitGroup
			for id := range sales {
				all.Go(func() {
					for n := user.Add(1); n <= int64(b.N); n = user.Add(1) {
						batch := order.Batch{Sale: order.SaleRef{SaleID: order.SaleID{VoucherID: id + 1}}, MaxBacklog: 1 << 40, Requests: requests(n, 1)}
						if _, err := r.Admit(b.Context(), batch); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
		})
	}
}
