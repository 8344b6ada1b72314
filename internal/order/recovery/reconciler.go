package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/voucher"
)

// Observer counts rebuilds, for metrics. Its methods must not block.
type Observer interface {
	// Recovered: a rebuild requeued so many accepted orders whose entries were gone, and found so many admissions whose
	// orders nobody can name.
	Recovered(requeued int, unaccounted int64)
	// Rebuilt: a sale was rebuilt, or its rebuild failed with err.
	Rebuilt(took time.Duration, err error)
}

const (
	sweepEvery     = time.Second
	inspectTimeout = time.Minute // for reading all sales
	maxRebuilds    = 64          // at a time; most of the time they wait for recovery reports
	maxReading     = 4           // rebuilds at a time that read: each has all orders of its sale in memory and a transaction open
	// quietSweeps is how many sweeps in a row may end with sales waiting for a rebuild before a warning is logged: usually
	// another instance, or the call that created the sale, is rebuilding them.
	quietSweeps = 5
)

var errWaiting = errors.New("sales wait to be rebuilt")

// Reconciler keeps Redis holding every sale as the ledger says (rules 9, 10 and 13): it opens new sales, rebuilds missing
// and outdated ones, requests a flush for those that lack operations, and retires those that are long over. Every instance
// runs one; a lock per sale avoids double work, and the epoch makes double work harmless.
type Reconciler struct {
	ledger   SaleLedger
	rows     order.Reader
	reader   SaleReader
	builder  SaleBuilder
	locker   order.Locker
	reports  ReportReader // nil without reporters
	outbox   order.FlushRequester
	catalog  *catalog.Catalog
	repairs  *RepairQueue
	observer Observer
	log      *slog.Logger
	reading  chan struct{} // a semaphore of maxReading

	state         atomic.Pointer[error] // the last sweep's result; a nil pointer before the first
	ready         atomic.Bool           // a sweep has found nothing wrong
	waitingSweeps int                   // sweeps in a row that ended with errWaiting; only sweep uses it
}

// Stores are the stores of a Reconciler.
type Stores struct {
	Ledger  SaleLedger
	Rows    order.Reader
	Reader  SaleReader
	Builder SaleBuilder
	Locker  order.Locker
	Outbox  order.FlushRequester
	// Reports is nil in the embedded mode, whose Redis ends with its only process.
	Reports ReportReader
}

// New returns a reconciler that works through the repair queue once Run is called.
func New(stores Stores, catalog *catalog.Catalog, repairs *RepairQueue, observer Observer, log *slog.Logger) *Reconciler {
	return &Reconciler{
		ledger: stores.Ledger, rows: stores.Rows, reader: stores.Reader, builder: stores.Builder, locker: stores.Locker,
		reports: stores.Reports, outbox: stores.Outbox, catalog: catalog, repairs: repairs, observer: observer, log: log,
		reading: make(chan struct{}, maxReading),
	}
}

// Run sweeps once a second and serves the repair queue, until ctx ends. It never returns an error before.
func (r *Reconciler) Run(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	var rebuilds errgroup.Group
	rebuilds.SetLimit(maxRebuilds)
	defer func() { _ = rebuilds.Wait() }() // none returns an error
	r.sweep(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-r.repairs.waiting:
			r.repairs.dequeued(id)
			rebuilds.TryGo(func() error { r.tryRebuild(ctx, id); return nil }) // a full group drops it; the next sweep finds it
		case <-ticker.C:
			r.sweep(ctx)
		}
	}
}

// Ready returns nil once Redis has held every sale that it must, and until then what is missing. A sale that is rebuilt
// later does not make the instance unready: the other sales go on.
func (r *Reconciler) Ready() error {
	if r.ready.Load() {
		return nil
	}
	return r.Healthy()
}

// Healthy returns nil when Redis held every sale that it must at the last sweep, and otherwise what was missing.
func (r *Reconciler) Healthy() error {
	state := r.state.Load()
	if state == nil {
		return errors.New("the sales have not been checked yet")
	}
	return *state
}

// Open puts the sale of a new voucher into Redis, or waits for another instance that is doing so.
func (r *Reconciler) Open(ctx context.Context, voucherID int64) error {
	return r.locker.Do(ctx, lockName(voucherID), func(ctx context.Context) error {
		return r.rebuildIfNeeded(ctx, voucherID)
	})
}

// forget drops what is remembered of a sale that has left Redis.
func (r *Reconciler) forget(voucherID int64) {
	r.catalog.Forget(voucherID)
	r.repairs.forget(voucherID)
}

// sweep compares Redis with the ledger for all sales at once. The ledger is read first: Redis is never behind it unless
// it lost something.
func (r *Reconciler) sweep(ctx context.Context) {
	err := r.sweepOnce(ctx)
	if ctx.Err() != nil {
		return
	}
	if errors.Is(err, errWaiting) {
		r.waitingSweeps++
	} else {
		r.waitingSweeps = 0
	}
	switch {
	case err == nil:
		r.ready.Store(true)
	case r.waitingSweeps > 0 && r.waitingSweeps < quietSweeps:
		r.log.DebugContext(ctx, "sales are being rebuilt", "error", err)
	default:
		r.log.WarnContext(ctx, "sweep of the sales failed; retrying", "error", err)
	}
	r.state.Store(&err)
}

func (r *Reconciler) sweepOnce(ctx context.Context) error {
	vs, views, err := r.inspect(ctx)
	if err != nil {
		return err
	}
	var waiting atomic.Int64
	var rebuilds errgroup.Group
	rebuilds.SetLimit(maxRebuilds)
	defer func() { _ = rebuilds.Wait() }() // none returns an error
	for i, v := range vs {
		broken, err := r.needsRebuild(ctx, v, views[i])
		switch {
		case err != nil: // the others go on
			r.log.WarnContext(ctx, "comparing a sale with the ledger failed; retrying", "voucher", v.ID, "error", err)
			waiting.Add(1)
		case broken:
			rebuilds.Go(func() error {
				if !r.tryRebuild(ctx, v.ID) {
					waiting.Add(1)
				}
				return nil
			})
		case views[i].Applied < v.Sale.LastOperation:
			r.outbox.RequestFlush(v.ID)
		case views[i].Now.After(v.Sale.End.Add(retireAfter)):
			r.tryRetire(ctx, v, views[i])
		}
	}
	_ = rebuilds.Wait()
	if n := waiting.Load(); n > 0 {
		return fmt.Errorf("%w: %d of %d", errWaiting, n, len(vs))
	}
	return nil
}

// inspect reads the sales from the ledger and then from Redis.
func (r *Reconciler) inspect(ctx context.Context) ([]voucher.Voucher, []order.SaleView, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	vs, err := r.ledger.SalesToKeep(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the sales from the ledger: %w", err)
	}
	r.catalog.SetSales(vs)
	if len(vs) == 0 {
		return nil, nil, nil
	}
	sales := make([]order.SaleRef, len(vs))
	for i, v := range vs {
		sales[i] = order.SaleOf(v)
	}
	views, err := r.reader.Views(ctx, sales)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the sales from Redis: %w", err)
	}
	return vs, views, nil
}

// needsRebuild reports whether Redis does not hold the sale as the ledger says. A Redis that is ahead by an epoch means
// that the ledger was restored from a backup (or, without the lock, that the sale was rebuilt in between).
func (r *Reconciler) needsRebuild(ctx context.Context, v voucher.Voucher, view order.SaleView) (bool, error) {
	if view.Mode == order.SaleMissing || view.Mode == order.SaleRebuilding ||
		view.Mark.Epoch <= r.repairs.badEpoch(v.ID) || view.Mark.Epoch > v.Sale.Epoch ||
		view.Mark.Before(order.Mark{Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}) {
		return true, nil
	}
	if view.Applied <= v.Sale.LastOperation {
		return false, nil
	}
	// A Redis that is ahead by operations means the same, unless they were committed and applied after the ledger was read
	// and before Redis was. So the ledger is read again: what Redis had applied by then was committed before.
	r.catalog.Forget(v.ID)
	now, err := r.catalog.Find(ctx, v.ID)
	if err != nil {
		return false, err
	}
	return now.Sale != nil && !now.Sale.Retired && view.Applied > now.Sale.LastOperation, nil
}

// tryRebuild rebuilds the sale if it is wrong and no other instance is doing so, and reports whether it is right now.
func (r *Reconciler) tryRebuild(ctx context.Context, voucherID int64) bool {
	err := r.locker.TryDo(ctx, lockName(voucherID), func(ctx context.Context) error {
		return r.rebuildIfNeeded(ctx, voucherID)
	})
	switch {
	case err == nil:
		return true
	case errors.Is(err, order.ErrBusy), errors.Is(err, order.ErrSuperseded):
		r.log.DebugContext(ctx, "another instance is rebuilding the sale", "voucher", voucherID)
	case ctx.Err() == nil:
		r.log.ErrorContext(ctx, "rebuilding a sale failed; retrying", "voucher", voucherID, "error", err)
	}
	return false
}

func lockName(voucherID int64) string { return fmt.Sprintf("sale:%d", voucherID) }
