package service

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/job"
)

const (
	unwindEvery = time.Second // how often it looks for sales that were called off
	unwindBatch = 200         // most orders in one transaction
	// unwindRest is how long a sale is left alone after a pass over its orders found nothing, in multiples of the time
	// that the pass took.
	unwindRest = 100
)

// UnwindLedger is the ledger of orders whose sale was called off.
type UnwindLedger interface {
	// SalesToUnwind returns the vouchers whose sales were called off and are not retired.
	SalesToUnwind(ctx context.Context) ([]int64, error)
	// Unwind cancels unpaid orders of a voucher's sale, and takes paid ones, and their payments, to refunding: up to n
	// with ids above the given one, in one transaction. It returns them as they are then, and the highest id that it
	// looked at, 0 for none. Free orders, and paid ones without a payment, are left to staff. If a higher token than
	// the given one has been used, it changes nothing and returns ErrSuperseded.
	Unwind(ctx context.Context, token, voucherID, above int64, n int) (unwound []order.Order, last int64, err error)
}

// Unwinder cancels and refunds the orders of sales that were called off. It goes on until the sales are retired, since
// accepted orders may be recorded later, and acts of staff may make orders paid again. It runs on one instance at a
// time (package job).
type Unwinder struct {
	Ledger   UnwindLedger
	Locker   order.FencedLocker
	Outbox   order.FlushRequester
	Notifier order.StatusNotifier
	Refunds  func() // makes Payments give money back soon; it must not block
	Rate     int    // the most orders per second, on average over a batch
	Log      *slog.Logger

	passes map[int64]pass // by voucher; only Run's goroutine uses it
}

// pass is how far a pass over the orders of a sale has got.
type pass struct {
	above int64     // the next batch begins above this order
	rests time.Time // the sale is left alone until then
}

// Run unwinds orders, or waits for its turn, until ctx ends, and then returns nil.
func (u *Unwinder) Run(ctx context.Context) error {
	u.passes = map[int64]pass{}
	return job.Job{
		Name: order.UnwinderJob, Does: "unwinding the orders of sales that were called off", Every: unwindEvery,
		Size: unwindBatch, Rate: u.Rate, Batch: u.batch,
	}.Run(ctx, u.Locker, u.Log)
}

// batch unwinds orders of the sales that are due, until it has a full batch, and returns how many they were.
func (u *Unwinder) batch(ctx context.Context, token int64) (int, error) {
	sales, err := u.Ledger.SalesToUnwind(ctx)
	if err != nil {
		return 0, err
	}
	passes := make(map[int64]pass, len(sales)) // retired sales are dropped
	for _, id := range sales {
		passes[id] = u.passes[id]
	}
	u.passes = passes
	items := 0
	for _, id := range sales {
		if items >= unwindBatch {
			break
		}
		if time.Now().Before(passes[id].rests) {
			continue
		}
		n, err := u.unwind(ctx, token, id)
		items += n
		if err != nil {
			return items, err
		}
	}
	return items, nil
}

// unwind unwinds up to a batch of orders of one sale, and returns how many.
func (u *Unwinder) unwind(ctx context.Context, token, id int64) (int, error) {
	start, above := time.Now(), u.passes[id].above
	orders, last, err := u.Ledger.Unwind(ctx, token, id, above, unwindBatch)
	if err != nil {
		return 0, err
	}
	next := pass{above: last}
	if last == 0 && above == 0 { // this call was a whole pass, and found nothing
		next.rests = time.Now().Add(unwindRest * time.Since(start))
	}
	u.passes[id] = next
	if len(orders) == 0 {
		return 0, nil
	}
	ended(orders, u.Outbox, u.Notifier)
	u.Refunds()
	u.Log.InfoContext(ctx, "orders of a sale that was called off are unwound", "voucher", id, "orders", len(orders))
	return len(orders), nil
}
