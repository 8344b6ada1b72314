package redisstore

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
)

// BenchmarkAdmit measures one call of the admission script against the number of applicants in it, each of whom gets
// in: the dearest answer there is.
func BenchmarkAdmit(b *testing.B) {
	for _, n := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("applicants=%d", n), func(b *testing.B) {
			r := newRig(b)
			o := r.hour(1 << 40)
			r.open(1, o)
			batch := order.Batch{Sale: r.sale, MaxBacklog: 1 << 40, Applicants: applicants(1, n)}
			b.ReportAllocs()
			for b.Loop() {
				for i := range batch.Applicants {
					batch.Applicants[i].UserID += int64(n)
					batch.Applicants[i].OrderID += int64(n)
				}
				if _, err := r.Admit(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "applicants/s")
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
