package guard

import (
	"context"
	"time"

	"github.com/maypok86/otter/v2"
)

const (
	othersFor = time.Minute // how long a count is used
	maxOthers = 1000        // draws whose counts are remembered
)

// others remembers how many orders of users without an entry a draw's sale has: counting reads all orders of the sale.
// One count is made at a time. It is safe for concurrent use.
type others struct {
	count func(ctx context.Context, voucherID, number int64) (n int64, first time.Time, err error)
	turn  chan struct{}
	known *otter.Cache[[2]int64, otherOrders]
}

type otherOrders struct {
	n     int64
	first time.Time
}

func newOthers(count func(ctx context.Context, voucherID, number int64) (int64, time.Time, error)) *others {
	return &others{count, make(chan struct{}, 1), otter.Must(&otter.Options[[2]int64, otherOrders]{
		MaximumSize: maxOthers, ExpiryCalculator: otter.ExpiryWriting[[2]int64, otherOrders](othersFor),
	})}
}

// of returns the count of a draw, at most othersFor old, and when the first of the orders was recorded.
func (o *others) of(ctx context.Context, voucherID, number int64) (int64, time.Time, error) {
	of := [2]int64{voucherID, number}
	if has, known := o.known.GetIfPresent(of); known {
		return has.n, has.first, nil
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return 0, time.Time{}, ctx.Err()
	}
	if has, known := o.known.GetIfPresent(of); known { // somebody else has counted
		return has.n, has.first, nil
	}
	n, first, err := o.count(ctx, voucherID, number)
	if err == nil {
		o.known.Set(of, otherOrders{n, first})
	}
	return n, first, err
}
