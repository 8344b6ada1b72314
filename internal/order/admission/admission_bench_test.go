package admission

import (
	"context"
	"sync/atomic"
	"testing"

	"seckill/internal/order/catalog"
	"seckill/internal/order/gate"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// BenchmarkAdmit measures a whole request for a unit that is accepted, with a Redis that answers at once, from one
// buyer after the other and from a crowd.
func BenchmarkAdmit(b *testing.B) {
	for name, buyers := range map[string]int{"alone": 1, "crowd": 64} {
		b.Run(name, func(b *testing.B) {
			v := ordertest.VoucherAt(1, 0)
			v.ID = soldOutSale
			known := catalog.New(&ordertest.FakeSales{Kept: []voucher.Voucher{v}})
			b.Cleanup(known.Close)
			view := soldOutView(1)
			view.Stock = 1 << 40
			acceptsAll := func(_ context.Context, b gate.Batch) (gate.BatchResult, error) {
				decided := acceptAll(b)
				decided.View = view
				return decided, nil
			}
			stores := Stores{
				Gate: ordertest.EachSale(acceptsAll), Holders: new(fakeHolders).Holders, Rows: &ordertest.FakeOrders{},
			}
			a := New(stores, known,
				noRepairs{}, ordertest.NopObserver{}, 1<<40, ordertest.Quiet())
			b.Cleanup(a.Close)
			var users atomic.Int64
			b.SetParallelism(buyers)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					user := users.Add(1)
					if err := a.Admit(b.Context(), v, gate.Request{UserID: user, OrderID: user}); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
