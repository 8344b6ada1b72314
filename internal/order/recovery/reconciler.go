package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

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
	// Swept: all sales were looked at, or they could not be, with err.
	Swept(err error)
}

const (
	sweepEvery     = time.Second
	sweepShare     = 10 // at most a tenth of the time is spent on sweeps
	maxSweepPause  = 15 * time.Second
	inspectTimeout = time.Minute // for reading all sales
	maxWork        = 64          // sales worked on at a time; most of the time rebuilds wait for recovery reports
	maxBackground  = 32          // of them that have ended: those that sell find room at once
	// Rebuilds at a time that read: each has all orders of its sale in memory and a transaction open.
	maxReading     = 4
	maxReadingLate = 2 // of them of sales that have ended
	// quietSweeps is how many sweeps a sale may wait for its rebuild before a warning is logged: usually another
	// instance, or the call that created the sale, is rebuilding it.
	quietSweeps = 5
)

var (
	errWaiting = errors.New("sales wait to be rebuilt")
	// errUnread says that the sales of some partitions could not be read; the others were compared.
	errUnread = errors.New("the sales of a partition cannot be read")
)

// Suspects takes sales whose units do not add up at a glance: audit.Suspects. Whether anything is wrong is for it to
// decide.
type Suspects interface {
	// Suspect asks for the sale to be audited soon. It must not block.
	Suspect(sale int64)
}

// Reconciler keeps Redis holding every sale as the ledger says (rules 9, 10 and 13): it opens new sales, rebuilds
// missing and outdated ones, requests a flush for those that lack operations, and retires those that are long over.
// Every instance runs one; a lock per sale avoids double work, and the epoch makes double work harmless.
//
// Once a second it sweeps: it reads all sales from the ledger and from Redis, and puts those with which something is
// to be done into the repair queue, where other parts of the service put theirs. It works through the queue at the
// same time, most urgent first, so neither waits for the other, and no sale for a less urgent one.
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
	suspects Suspects
	observer Observer
	log      *slog.Logger
	reading  chan struct{} // a semaphore of maxReading
	late     chan struct{} // one of maxReadingLate, taken before reading by rebuilds of sales that have ended

	state atomic.Pointer[error] // the last sweep's result; a nil pointer before the first
	ready atomic.Bool           // see Ready
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
	// Suspects hears of sales whose units do not add up.
	Suspects Suspects
}

// New returns a reconciler that works through the repair queue once Run is called.
func New(
	stores Stores, catalog *catalog.Catalog, repairs *RepairQueue, observer Observer, log *slog.Logger,
) *Reconciler {
	return &Reconciler{
		ledger: stores.Ledger, rows: stores.Rows, reader: stores.Reader, builder: stores.Builder, locker: stores.Locker,
		reports: stores.Reports, outbox: stores.Outbox, catalog: catalog, repairs: repairs, suspects: stores.Suspects,
		observer: observer, log: log,
		reading: make(chan struct{}, maxReading), late: make(chan struct{}, maxReadingLate),
	}
}

// Run sweeps and works through the repair queue, until ctx ends. It never returns an error before.
func (r *Reconciler) Run(ctx context.Context) error {
	var jobs sync.WaitGroup
	jobs.Go(func() { r.sweepAlways(ctx) })
	r.serve(ctx)
	jobs.Wait()
	return nil
}

func (r *Reconciler) sweepAlways(ctx context.Context) {
	for ctx.Err() == nil {
		order.Sleep(ctx, sweepPause(r.sweep(ctx)))
	}
}

// sweepPause returns how long to pause after a sweep that took so long. A sweep that took long has usually waited for
// a store that was away, which is no work: without a bound, the instance would look at no sale for minutes after the
// store is back.
func sweepPause(took time.Duration) time.Duration {
	return min(max(sweepEvery-took, (sweepShare-1)*took), maxSweepPause)
}

// serve works through the repair queue until ctx ends, and waits for what is under way.
func (r *Reconciler) serve(ctx context.Context) {
	finished := make(chan Urgency, maxWork)
	working, background := 0, 0
	for ctx.Err() == nil {
		for working < maxWork {
			least := Retiring
			if background >= maxBackground {
				least = Upcoming
			}
			id, u, ok := r.repairs.next(least)
			if !ok {
				break
			}
			working++
			if u >= Ended {
				background++
			}
			go func() { r.work(ctx, id, u); finished <- u }()
		}
		select {
		case <-ctx.Done():
		case <-r.repairs.wake:
		case u := <-finished:
			working--
			if u >= Ended {
				background--
			}
		}
	}
	for range working {
		<-finished
	}
}

// work does what is to be done about one sale.
func (r *Reconciler) work(ctx context.Context, sale int64, u Urgency) {
	if u == Retiring {
		r.repairs.done(sale, r.tryRetire(ctx, sale))
		return
	}
	r.repairs.done(sale, r.tryRebuild(ctx, sale))
	r.becomeReady()
}

// becomeReady makes the instance ready for good once it is.
func (r *Reconciler) becomeReady() {
	state := r.state.Load()
	if r.ready.Load() || state == nil || *state != nil && !errors.Is(*state, errUnread) {
		return
	}
	if _, untried, _ := r.repairs.repairs(); untried == 0 {
		r.ready.Store(true)
	}
}

// Ready returns nil once this instance has looked at all sales and has tried to repair those that were wrong and had
// not ended, and until then what is missing. A sale that cannot be repaired, or goes wrong later, does not make the
// instance unready: the others sell. Nor does a partition that cannot be read, while another one can.
func (r *Reconciler) Ready() error {
	if r.ready.Load() {
		return nil
	}
	return cmp.Or(r.Healthy(), errWaiting)
}

// Healthy returns nil when the last sweep could look at all sales and none waits for a rebuild.
func (r *Reconciler) Healthy() error {
	state := r.state.Load()
	if state == nil {
		return errors.New("the sales have not been checked yet")
	}
	if waiting, _, _ := r.repairs.repairs(); *state == nil && waiting > 0 {
		return fmt.Errorf("%w: %d", errWaiting, waiting)
	}
	return *state
}

// Open puts a sale into Redis, or waits for another instance that is doing so.
func (r *Reconciler) Open(ctx context.Context, voucherID int64) error {
	return r.locker.Do(ctx, lockName(voucherID), func(ctx context.Context) error {
		return r.rebuildIfNeeded(ctx, voucherID)
	})
}

// forget drops what is remembered of a sale that has left Redis.
func (r *Reconciler) forget(sale int64) {
	r.catalog.Forget(sale)
	r.repairs.forget(sale)
}

// sweep compares Redis with the ledger for all sales at once, and puts what is to be done into the repair queue. The
// ledger is read first: Redis is never behind it unless it lost something. It returns how long it took, without
// waiting for a partition that could not be read while others could.
func (r *Reconciler) sweep(ctx context.Context) time.Duration {
	start := time.Now()
	waited, err := r.sweepOnce(ctx)
	took := time.Since(start) - waited
	if ctx.Err() != nil {
		return took
	}
	if err != nil {
		r.log.WarnContext(ctx, "sweep of the sales failed; retrying", "error", err)
	} else if waiting, _, sweeps := r.repairs.repairs(); sweeps >= quietSweeps {
		r.log.WarnContext(ctx, "sales wait to be rebuilt", "sales", waiting, "sweeps", sweeps)
	}
	r.state.Store(&err)
	r.becomeReady()
	r.observer.Swept(err)
	return took
}

func (r *Reconciler) sweepOnce(ctx context.Context) (waited time.Duration, err error) {
	all, err := r.inspect(ctx)
	known := r.repairs.urgencies()
	if err != nil {
		r.repairs.sweep(known) // what failed is tried again all the same
		return 0, err
	}
	found := make(map[int64]Urgency, len(known))
	for _, v := range all.unread {
		sale := v.ID
		if u, has := known[sale]; has {
			found[sale] = u
		}
	}
	for i, v := range all.vouchers {
		found[v.ID] = urgencyOf(v, all.views[i])
	}
	r.repairs.sweep(found)
	for i, v := range all.vouchers {
		r.compare(ctx, v, all.views[i], found[v.ID])
	}
	return all.waited, all.err
}

// compare has done what is to be done about one sale.
func (r *Reconciler) compare(ctx context.Context, v voucher.Voucher, view order.SaleView, u Urgency) {
	sale := v.ID
	broken, err := r.needsRebuild(ctx, v, view)
	switch {
	case err != nil: // the others go on
		r.log.WarnContext(ctx, "comparing a sale with the ledger failed; retrying", "voucher", sale, "error", err)
	case broken:
		r.repairs.found(sale, u)
	case view.Applied < v.Sale.LastOperation:
		r.outbox.RequestFlush(v.ID)
		return
	case over(v, view):
		r.repairs.found(sale, Retiring)
	}
	if !broken && view.Stock+view.Buyers+view.Extra+v.Sale.Offered != v.Sale.Issued {
		r.suspects.Suspect(sale) // the auditor compares exactly, and knows of stock that is being changed
	}
}

// urgencyOf goes by Redis's clock (rule 12).
func urgencyOf(v voucher.Voucher, view order.SaleView) Urgency {
	switch {
	case view.Now.Before(v.Sale.Begin):
		return Upcoming
	case view.Now.Before(v.Sale.End):
		return Running
	default:
		return Ended
	}
}

// needsRebuild reports whether Redis does not hold the sale as the ledger says. A Redis that is ahead by an epoch means
// that the ledger was restored from a backup (or, without the lock, that the sale was rebuilt in between).
func (r *Reconciler) needsRebuild(ctx context.Context, v voucher.Voucher, view order.SaleView) (bool, error) {
	if view.Mode == order.SaleMissing || view.Mode == order.SaleRebuilding ||
		view.Mark.Epoch <= r.repairs.badEpoch(v.ID, v.Sale.Epoch) || view.Mark.Epoch > v.Sale.Epoch ||
		view.Mark.Before(order.Mark{Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}) {
		return true, nil
	}
	if view.Applied <= v.Sale.LastOperation {
		return false, nil
	}
	// A Redis that is ahead by operations means the same, unless they were committed and applied after the ledger was
	// read and before Redis was. So the ledger is read again: what Redis had applied by then was committed before.
	r.catalog.Forget(v.ID)
	now, err := r.catalog.Find(ctx, v.ID)
	if err != nil {
		return false, err
	}
	return now.Sale != nil && !now.Sale.Retired && view.Applied > now.Sale.LastOperation, nil
}

// tryRebuild rebuilds the sale if it is wrong and no other instance is doing so.
func (r *Reconciler) tryRebuild(ctx context.Context, sale int64) result {
	err := r.locker.TryDo(ctx, lockName(sale), func(ctx context.Context) error {
		return r.rebuildIfNeeded(ctx, sale)
	})
	switch {
	case err == nil:
		return jobDone
	case errors.Is(err, order.ErrBusy), errors.Is(err, order.ErrSuperseded):
		r.log.DebugContext(ctx, "another instance is rebuilding the sale", "voucher", sale)
		return jobBusy
	case ctx.Err() == nil:
		r.log.ErrorContext(ctx, "rebuilding a sale failed; retrying", "voucher", sale, "error", err)
	}
	return jobFailed
}

func lockName(sale int64) string { return "sale:" + strconv.FormatInt(sale, 10) }
