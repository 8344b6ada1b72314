package ordertest

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"

	"seckill/internal/order"
)

// FakeOrders is the ledger's read side.
type FakeOrders struct {
	Mu   sync.Mutex
	Rows map[int64]order.Order
	Away bool
}

func (f *FakeOrders) OrdersByID(_ context.Context, ids []int64) (map[int64]order.Order, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Away {
		return nil, ErrAway
	}
	got := map[int64]order.Order{}
	for _, id := range ids {
		if o, has := f.Rows[id]; has {
			got[id] = o
		}
	}
	return got, nil
}

func (f *FakeOrders) OrdersOf(
	_ context.Context, filter order.Filter, before int64, limit int,
) (orders []order.Order, total int64, err error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Away {
		return nil, 0, ErrAway
	}
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(f.Rows))) {
		if o := f.Rows[id]; id < before && filter.Passes(o) {
			if total++; len(orders) < limit {
				orders = append(orders, o)
			}
		}
	}
	return orders, total, nil
}

func (f *FakeOrders) LiveOrder(_ context.Context, key order.BuyerKey) (order.Order, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Away {
		return order.Order{}, ErrAway
	}
	for _, o := range f.Rows {
		if o.Status.Live() && o.UserID == key.UserID && o.VoucherID == key.VoucherID {
			return o, nil
		}
	}
	return order.Order{}, order.ErrNotFound
}

func (f *FakeOrders) Recorded(_ context.Context, ids []int64) (map[int64]order.Status, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Away {
		return nil, ErrAway
	}
	got := map[int64]order.Status{}
	for _, id := range ids {
		if o, has := f.Rows[id]; has {
			got[id] = o.Status
		}
	}
	return got, nil
}

func (f *FakeOrders) Put(o order.Order) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Rows[o.ID] = o
}

// FakeHolders are the holders in Redis.
type FakeHolders map[order.BuyerKey]int64

// OrdersOf is an order.HolderReader.
func (f FakeHolders) OrdersOf(_ context.Context, sale order.SaleRef, users []int64) ([]int64, error) {
	ids := make([]int64, len(users))
	for i, user := range users {
		ids[i] = f[order.BuyerKey{VoucherID: sale.VoucherID, UserID: user}]
	}
	return ids, nil
}

// Holdings returns the holders' orders; every sale is whole, at a mark that the ledger cannot exceed.
func (f FakeHolders) Holdings(_ context.Context, userID int64, sales []order.SaleRef) ([]order.Holding, error) {
	held := make([]order.Holding, len(sales))
	for i, s := range sales {
		held[i] = order.Holding{
			OrderID: f[order.BuyerKey{VoucherID: s.VoucherID, UserID: userID}], Whole: true,
			Mark: order.Mark{Epoch: math.MaxInt64},
		}
	}
	return held, nil
}

// UserOf returns the holder with the order.
func (f FakeHolders) UserOf(_ context.Context, _ int, orderID int64) (int64, error) {
	for key, id := range f {
		if id == orderID {
			return key.UserID, nil
		}
	}
	return 0, nil
}

// Unrecorded says that any sale may have orders without a row.
func (f FakeHolders) Unrecorded(context.Context, int) (order.Unrecorded, error) {
	return order.Unrecorded{DeadLetters: true}, nil
}
