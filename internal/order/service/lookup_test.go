package service

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// slowRows answers once the test lets it.
type slowRows struct {
	ordertest.FakeOrders
	arrived, leave chan struct{}
	queries        int
}

func (r *slowRows) OrdersByID(ctx context.Context, ids []int64) (map[int64]order.Order, error) {
	r.Mu.Lock()
	r.queries++
	r.Mu.Unlock()
	r.arrived <- struct{}{}
	<-r.leave
	return r.FakeOrders.OrdersByID(ctx, ids)
}

// A few callers have a query each; thousands that come meanwhile share the next ones, and each gets its own order. A
// caller who gives up, and a ledger that is away, do not affect the others.
func TestLookupsShareQueries(t *testing.T) {
	t.Parallel()
	for _, away := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			rows := &slowRows{FakeOrders: ordertest.FakeOrders{
				Rows: map[int64]order.Order{}, Away: away,
			}, arrived: make(chan struct{}), leave: make(chan struct{})}
			r := newReader(rows)
			var wg sync.WaitGroup
			look := func(ctx context.Context, id int64) {
				wg.Go(func() {
					o, err := r.order(ctx, id)
					switch {
					case away || ctx != t.Context():
						if !errors.Is(err, order.ErrUnavailable) {
							t.Errorf("order %d: %v, want ErrUnavailable", id, err)
						}
					case id%2 == 1:
						if !errors.Is(err, order.ErrNotFound) {
							t.Errorf("order %d: %v, want ErrNotFound", id, err)
						}
					case err != nil || o.ID != id:
						t.Errorf("order %d: %+v, %v", id, o, err)
					}
				})
			}
			for id := int64(2); id < 6000; id += 2 {
				rows.Put(order.Order{ID: id})
			}
			for id := range int64(maxReads) {
				look(t.Context(), id+2)
				<-rows.arrived
			}
			for id := int64(2); id < 6000; id++ {
				look(t.Context(), id)
			}
			ctx, cancel := context.WithCancel(t.Context())
			look(ctx, 7000)
			synctest.Wait()
			cancel()
			close(rows.leave)
			go func() {
				for range rows.arrived { // lets all pass
				}
			}()
			wg.Wait()
			synctest.Wait()
			close(rows.arrived)
			if rows.queries != maxReads+6 || r.queries.Waiting() != 0 {
				t.Errorf("%d queries; %d callers wait at the end", rows.queries, r.queries.Waiting())
			}
		})
	}
}

// A sale may be committed after another one that has a higher id. Its orders are found before the catalog learns of the
// sale.
func TestSalesThatAreCommittedLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late, newer := ordertest.VoucherAt(1, 0), ordertest.VoucherAt(1, 0)
		newer.ID = late.ID + 1
		p := newPurchases(t, PurchaseOptions{}, late, newer)
		p.catalog.SetSales([]voucher.Voucher{newer})
		p.holders[order.BuyerKey{VoucherID: late.ID, UserID: 1}] = 66
		p.holders[order.BuyerKey{VoucherID: newer.ID, UserID: 1}] = 67
		if o, err := p.purchases.Order(t.Context(), 1, 66, 0); err != nil || o.Status != order.Queued {
			t.Errorf("order %+v, %v", o, err)
		}
		page, err := p.purchases.Orders(t.Context(), order.Filter{UserID: 1}, 0, 10)
		if err != nil || len(page.Orders) != 2 || page.Stale {
			t.Errorf("list %+v, %v; want each order once", page, err)
		}
	})
}

// classOfRows records the class under which the ledger was queried.
type classOfRows struct {
	ordertest.FakeOrders
	class bulkhead.Class
}

func (r *classOfRows) OrdersByID(ctx context.Context, ids []int64) (map[int64]order.Order, error) {
	r.class = bulkhead.Of(ctx)
	return r.FakeOrders.OrdersByID(ctx, ids)
}

// Payments wait for queries that others share with them. These are not shed like a reader's, even if a reader started
// them.
func TestSharedQuestionsArePurchases(t *testing.T) {
	t.Parallel()
	rows := &classOfRows{FakeOrders: ordertest.FakeOrders{Rows: map[int64]order.Order{}}}
	r := newReader(rows)
	_, err := r.order(bulkhead.With(t.Context(), bulkhead.OwnRead), 5)
	if !errors.Is(err, order.ErrNotFound) || rows.class != bulkhead.Purchase {
		t.Errorf("asked as %v: %v", rows.class, err)
	}
}

// hangingHoldings are holders of which one partition does not answer.
type hangingHoldings struct {
	ordertest.FakeHolders
	hung int
}

func (h hangingHoldings) UserOf(ctx context.Context, _ int, _ int64) (int64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func (h hangingHoldings) Unrecorded(ctx context.Context, partition int) (order.Unrecorded, error) {
	if partition == h.hung {
		<-ctx.Done()
		return order.Unrecorded{}, ctx.Err()
	}
	return h.FakeHolders.Unrecorded(ctx, partition)
}

func (h hangingHoldings) Holdings(ctx context.Context, userID int64, sales []order.SaleRef) ([]order.Holding, error) {
	if sales[0].Partition == h.hung {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.FakeHolders.Holdings(ctx, userID, sales)
}

// While a partition hangs, orders in the others are found in time, even if the hung one has a sale that the catalog
// does not know yet. An order that is not found is ErrUnavailable.
func TestLookupGoesPastAHungPartition(t *testing.T) {
	t.Parallel()
	for name, hung := range map[string]int{"of a known sale": 2, "of a new sale": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				vs := make([]voucher.Voucher, 3)
				for i := range vs {
					vs[i] = ordertest.VoucherAt(1, 0)
					sale := *vs[i].Sale
					sale.Partition = i + 1
					vs[i].ID, vs[i].Sale = vs[i].ID+int64(i), &sale
				}
				p := newPurchases(t, PurchaseOptions{}, vs...)
				p.catalog.SetSales(vs[:2])
				l := p.purchases.lookup
				l.stores.Holdings = hangingHoldings{p.holders, hung}
				p.holders[order.BuyerKey{VoucherID: vs[0].ID, UserID: 1}] = 66
				start := time.Now()
				if o, err := l.Order(t.Context(), 1, 66); err != nil || o.Status != order.Queued {
					t.Errorf("order %+v, %v", o, err)
				}
				if took := time.Since(start); took > partitionTimeout {
					t.Errorf("it took %v", took)
				}
				if o, err := l.Order(t.Context(), 1, 77); !errors.Is(err, order.ErrUnavailable) {
					t.Errorf("an order that may be in the partition: %+v, %v", o, err)
				}
				time.Sleep(2 * order.RedisTimeout) // for queries that others might share
			})
		})
	}
}

// Partitions are asked at the same time. Those that hang or fail do not spoil the others' answers; it is an error if
// all do.
func TestTogether(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		partitions []int // 1 hangs, 2 fails, 3 does not know all its orders, 4 and 5 answer
		found      int
		all, fails bool
	}{
		"all answer":       {partitions: []int{4, 5}, found: 2, all: true},
		"one hangs":        {partitions: []int{1, 4, 5}, found: 2},
		"one fails":        {partitions: []int{2, 4}, found: 1},
		"one lacks some":   {partitions: []int{3, 4}, found: 2},
		"none answers":     {partitions: []int{1, 2}, fails: true},
		"there is no sale": {all: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				queued, all, err := together(t.Context(), tc.partitions,
					func(ctx context.Context, p int) ([]order.Order, bool, error) {
						switch p {
						case 1:
							<-ctx.Done()
							return nil, false, ctx.Err()
						case 2:
							return nil, false, order.ErrUnavailable
						}
						return []order.Order{{ID: int64(p)}}, p != 3, nil
					})
				if len(queued) != tc.found || all != tc.all || (err != nil) != tc.fails {
					t.Errorf("%v, all %v, %v", queued, all, err)
				}
				if took := time.Since(start); took > partitionTimeout {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
