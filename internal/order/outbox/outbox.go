package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/internal/kit/batch"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/retry"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/operation"
	"seckill/internal/voucher"
)

// OperationLedger is the ledger as the outbox sees it.
type OperationLedger interface {
	// Pending returns up to n pending operations of the sale, in order, and the number of the sale's last operation,
	// pending or not, both read at one moment. A sale that does not exist has none.
	Pending(ctx context.Context, sale int64, n int) (ops []operation.Operation, last int64, err error)
	// CompleteOperations writes the results of operations. An operation that gives units is marked as applied. A
	// Restock that took units lowers stock and issued. A Revival that took its units makes the order paid and its
	// payment received, and lowers stock; a refused one makes its payment refunding. Operations that are no longer
	// pending are left alone. If the ledger cannot give the units that Redis gave (too little stock, another live order
	// of the user), it completes the operation as refused and returns ErrConflict: Redis then holds too little, and the
	// sale must be rebuilt.
	CompleteOperations(ctx context.Context, sale int64, results []operation.Result) error
	// SalesWithPending returns up to n sales that have pending operations, the oldest first.
	SalesWithPending(ctx context.Context, n int) ([]int64, error)
}

// Observer counts what an Outbox does, for metrics. Its methods must not block.
type Observer interface {
	// OperationsApplied: a batch of operations was completed, after Redis applied and refused this many; or it failed
	// with err.
	OperationsApplied(applied, refused int, took time.Duration, err error)
	// OutboxBehind: this many sales had pending operations at the last check.
	OutboxBehind(sales int)
}

const (
	sweepEvery    = time.Second      // from one sweep to the next
	sweepSales    = 1000             // the most sales flushed in one sweep
	sweepWorkers  = 8                // the most sales flushed at a time
	ledgerTimeout = 10 * time.Second // the time limit of one transaction
	requestQueue  = 1024             // requests to flush that can wait; more are found by the next sweep
)

// Outbox brings sales in Redis up to the ledger (rule 1). It may die between any two steps, and several instances may
// do the same work: Redis skips operations that it has applied, the ledger those that are no longer pending.
//
// Callers for one sale share flushes. Callers that come while a flush is under way share the next one, because their
// operations may have been committed after the flush under way had read.
type Outbox struct {
	stores   Stores
	catalog  *catalog.Catalog
	repairs  order.RepairRequester
	notifier order.StatusNotifier
	observer Observer
	log      *slog.Logger

	flushRequests chan int64    // vouchers
	closing       chan struct{} // closed by Close
	running       batch.Running // goroutines that flush
	flushes       sync.Map      // int64 → *flushes
}

// flushes are the flushes of one sale, one after the other.
type flushes = batch.Batcher[struct{}, struct{}]

// Stores are the stores of an Outbox, and the lists that show their contents.
type Stores struct {
	Ledger OperationLedger
	// Apply applies operations, which must be in order and without gaps, to a sale in Redis. Each takes effect once,
	// however often it is sent; a repeated one gets the result of the first time. Without operations, Apply only
	// returns the number of the last one that Redis has applied. last is the number of the ledger's last operation,
	// read with them.
	Apply func(
		ctx context.Context, sale order.SaleRef, ops []operation.Operation, last int64,
	) (operation.ApplyResult, error)
	// Changed is called with each voucher whose window or shelf status has changed; it is voucher.Parts.Changed, or
	// nil.
	Changed func(ctx context.Context, v voucher.Voucher)
}

// New returns an outbox. It notifies the notifier of orders that a completed operation has revived.
func New(
	stores Stores, catalog *catalog.Catalog, repairs order.RepairRequester, notifier order.StatusNotifier,
	observer Observer, log *slog.Logger,
) *Outbox {
	return &Outbox{
		stores: stores, catalog: catalog, repairs: repairs, notifier: notifier, observer: observer, log: log,
		flushRequests: make(chan int64, requestQueue), closing: make(chan struct{}),
	}
}

// Flush returns nil once every operation of the voucher that was committed before the call is applied and completed. It
// returns ErrUnavailable, wrapped, when ctx ends first or when Redis cannot apply them now; in both cases they are
// applied later.
func (o *Outbox) Flush(ctx context.Context, voucherID int64) error {
	_, err := o.flushesOf(voucherID).Do(ctx, struct{}{})
	if err != nil && !errors.Is(err, order.ErrUnavailable) {
		return fmt.Errorf("%w: operations of voucher %d are applied later: %w", order.ErrUnavailable, voucherID, err)
	}
	return err
}

// RequestFlush asks for the voucher's pending operations to be applied soon. It does not wait.
func (o *Outbox) RequestFlush(voucherID int64) {
	select {
	case o.flushRequests <- voucherID:
	default: // the next sweep finds it
	}
}

// Run flushes on request and, once a second, every sale with pending operations, which a crash may have left, until ctx
// ends. It retries every failure, so it returns no other error.
func (o *Outbox) Run(ctx context.Context) error {
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(func() {
		for ctx.Err() == nil {
			o.sweep(ctx)
			retry.Sleep(ctx, sweepEvery)
		}
	})
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-o.flushRequests:
			o.flushesOf(id).Go(ctx, struct{}{})
		}
	}
}

// Close makes the flushes under way stop before their next batch, and waits for them. Call no Flush after it.
func (o *Outbox) Close() {
	close(o.closing)
	o.running.Wait()
}

// sweep flushes the sales that have pending operations, at most sweepSales, those that have waited longest first. It
// returns when it has tried each of them.
func (o *Outbox) sweep(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, ledgerTimeout)
	sales, err := o.stores.Ledger.SalesWithPending(call, sweepSales)
	cancel()
	if err != nil {
		if ctx.Err() == nil {
			o.log.WarnContext(ctx, "looking for pending operations failed; retrying", "error", err)
		}
		return
	}
	o.observer.OutboxBehind(len(sales))
	var workers errgroup.Group
	workers.SetLimit(sweepWorkers)
	for _, sale := range sales {
		workers.Go(func() error {
			if err := o.Flush(ctx, sale); err != nil && ctx.Err() == nil {
				o.log.WarnContext(ctx, "flushing a sale's operations failed; retrying", "voucher", sale, "error", err)
			}
			return nil
		})
	}
	_ = workers.Wait() // none returns an error
}

// flushesOf returns the batcher that callers for a sale share. It is kept until the sale turns out not to be in Redis.
func (o *Outbox) flushesOf(sale int64) *flushes {
	if found, ok := o.flushes.Load(sale); ok {
		return found.(*flushes)
	}
	options := batch.Options{Calls: 1, Running: &o.running}
	found, _ := o.flushes.LoadOrStore(sale,
		batch.New(options, func(ctx context.Context, _ []*batch.Item[struct{}, struct{}]) error {
			// A buyer who cancels or pays may wait for this flush, even if a job requested it first.
			return o.flush(bulkhead.With(ctx, bulkhead.Purchase), sale)
		}))
	return found.(*flushes)
}
