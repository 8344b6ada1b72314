package redemption_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/internal/feature/redemption"
	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// nobody is told of nothing.
type nobody struct{}

func (nobody) Notify(map[int64]order.Status) {}

// BenchmarkRedeem has tills redeem a coupon each, one after the other, through the service: transactions are shared.
// Give it a number of coupons: -benchtime 20000x.
func BenchmarkRedeem(b *testing.B) {
	for _, tills := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("%d tills", tills), func(b *testing.B) {
			l := openMySQL(b, ledgertest.MigratedMySQL(b)+"&interpolateParams=true")
			codes := l.manyCoupons(b, b.N)
			service := redemption.NewTills(l, nobody{}, redemption.NewMetrics(), uuid.NewString, time.Now)
			took := make([]time.Duration, b.N)
			next := make(chan int, b.N)
			for i := range b.N {
				next <- i
			}
			close(next)
			b.ResetTimer()
			var running sync.WaitGroup
			for t := range tills {
				running.Go(func() {
					till := redemption.Till{ID: int64(t + 1), ShopID: 1}
					for i := range next {
						start := time.Now()
						if o, err := service.Redeem(b.Context(), till, string(codes[i]), "", "k"); err != nil ||
							o.Repeated {
							b.Errorf("%+v, %v", o, err)
						}
						took[i] = time.Since(start)
					}
				})
			}
			running.Wait()
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "coupons/s")
			b.ReportMetric(float64(took[b.N*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// manyCoupons creates paid orders, as quickly as it can, and returns their codes.
func (l ledger) manyCoupons(b *testing.B, n int) []redemption.Code {
	b.Helper()
	v := l.redeemable(b, int64(n), voucher.Redemption{})
	cs := ledgertest.Claims(v, 1, n)
	for part := range slices.Chunk(cs, 500) {
		l.Record(b, part)
	}
	l.Exec(b, "UPDATE tb_voucher_order SET status = 2, pay_time = create_time")
	codes := make([]redemption.Code, n)
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() {
			for i := range next {
				c, err := l.CouponOf(b.Context(), order.Order{ID: cs[i].OrderID, VoucherID: v, Status: order.Paid})
				if err != nil {
					b.Error(err)
				}
				codes[i] = c.Code
			}
		})
	}
	running.Wait()
	return codes
}
