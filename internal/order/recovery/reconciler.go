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

	"seckill/internal/kit/retry"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/voucher"
)

// Observer counts rebuilds, for metrics. Its methods must not block.
type Observer interface {
	// Recovered: a rebuild requeued this many accepted orders whose entries were lost, and found this many admissions
	// whose orders are unknown.
	Recovered(requeued int, unaccounted int64)
	// Rebuilt: a sale was rebuilt, or its rebuild failed with err.
	Rebuilt(took time.Duration, err error)
	// Swept: a sweep has checked all sales, or failed with err.
	Swept(err error)
	// DecisionsLost reports how many sales wait for a person, because the ledger has lost a decision about them.
	// With err they could not be counted.
	DecisionsLost(sales int, err error)
}

const (
	sweepEvery     = time.Second
	sweepShare     = 10 // at most a tenth of the time is spent on sweeps
	maxSweepPause  = 15 * time.Second
	inspectTimeout = time.Minute // the time limit for reading all sales
	maxWork        = 64          // sales worked on at a time; their rebuilds mostly wait for recovery reports
	maxBackground  = 32          // the most ended sales among them, so that running sales start at once
	// The most rebuilds that read at a time: each holds all orders of its sale in memory and a transaction open.
	maxReading     = 4
	maxReadingLate = 2 // the most rebuilds of ended sales among them
	// quietSweeps is how many sweeps a sale may wait for its rebuild before a warning is logged: usually another
	// instance, or the call that created the sale, is rebuilding it.
	quietSweeps = 5
)

var (
	// ErrWaiting is Healthy's error while sales wait to be rebuilt.
	ErrWaiting = errors.New("sales wait to be rebuilt")
	// errUnread says that the sales of some partitions could not be read; the others were compared.
	errUnread = errors.New("the sales of a partition cannot be read")
)

// Reconciler keeps every sale in Redis as the ledger says (rules 9, 10 and 13): it opens new sales, rebuilds missing
// and outdated ones, requests a flush for those that lack operations, and retires those that are long over.
//
// Once a second it sweeps: it reads all sales from the ledger and from Redis, and puts those that need work into the
// repair queue. At the same time it works through the queue, most urgent first. So sweeping and repairing do not wait
// for each other, and no sale waits for a less urgent one.
type Reconciler struct {
	stores   Stores
	catalog  *catalog.Catalog
	repairs  *RepairQueue
	observer Observer
	log      *slog.Logger
	reading  chan struct{} // a semaphore of maxReading
	late     chan struct{} // a semaphore of maxReadingLate: rebuilds of ended sales take it before reading

	state atomic.Pointer[error] // the last sweep's result; a nil pointer before the first
	ready atomic.Bool           // see Ready
}

// Locker runs a job on one instance at a time. It only saves work: the job fences what it writes by itself.
type Locker interface {
	// Do waits for the lock with the name and runs f under it; f's context ends when the lock is lost.
	Do(ctx context.Context, name string, f func(context.Context) error) error
	// TryDo is Do without waiting: an order.TryLocker.
	TryDo(ctx context.Context, name string, f func(context.Context) error) error
}

// Stores are the stores of a Reconciler.
type Stores struct {
	Ledger  SaleLedger
	Rows    order.Reader
	Reader  SaleReader
	Builder SaleBuilder
	Locker  Locker
	Outbox  order.FlushRequester
	// Reports is nil in the embedded mode, whose Redis ends with its only process.
	Reports ReportReader
	// Suspect asks the auditor, who decides whether anything is wrong, to look soon at a sale whose units do not add up
	// at a glance. It must not block.
	Suspect func(sale int64)
}

// New returns a reconciler that works through the repair queue once Run is called.
func New(
	stores Stores, catalog *catalog.Catalog, repairs *RepairQueue, observer Observer, log *slog.Logger,
) *Reconciler {
	return &Reconciler{
		stores: stores, catalog: catalog, repairs: repairs, observer: observer, log: log,
		reading: make(chan struct{}, maxReading), late: make(chan struct{}, maxReadingLate),
	}
}

// Run sweeps and works through the repair queue until ctx ends. It retries every failure, so it returns no other error.
func (r *Reconciler) Run(ctx context.Context) error {
	var jobs sync.WaitGroup
	jobs.Go(func() {
		for ctx.Err() == nil {
			retry.Sleep(ctx, sweepPause(r.sweep(ctx)))
		}
	})
	r.serve(ctx)
	jobs.Wait()
	return nil
}

// sweepPause returns how long to pause after a sweep of that duration. A long sweep has usually only waited for a store
// that was away. The pause is bounded, so that the instance does not neglect all sales for minutes after the store is
// back.
func sweepPause(took time.Duration) time.Duration {
	return min(max(sweepEvery-took, (sweepShare-1)*took), maxSweepPause)
}

// serve works through the repair queue until ctx ends. Then it waits for the work under way.
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

func (r *Reconciler) work(ctx context.Context, sale int64, u Urgency) {
	if u == Retiring {
		r.repairs.done(sale, r.tryRetire(ctx, sale))
		return
	}
	r.repairs.done(sale, r.tryRebuild(ctx, sale))
	r.becomeReady()
}

// becomeReady makes the instance ready, for good, once it has tried every repair.
func (r *Reconciler) becomeReady() {
	state := r.state.Load()
	if r.ready.Load() || state == nil || *state != nil && !errors.Is(*state, errUnread) {
		return
	}
	if _, untried, _ := r.repairs.repairs(); untried == 0 {
		r.ready.Store(true)
	}
}

// Ready returns nil once this instance has checked all sales and has tried to repair those that were wrong and had not
// ended. Until then its error says what is missing. The instance stays ready if a sale cannot be repaired or goes wrong
// later, or if one partition of several cannot be read, since the other sales sell.
func (r *Reconciler) Ready() error {
	if r.ready.Load() {
		return nil
	}
	return cmp.Or(r.Healthy(), ErrWaiting)
}

// Healthy returns nil when the last sweep could check all sales and none waits for a rebuild.
func (r *Reconciler) Healthy() error {
	state := r.state.Load()
	if state == nil {
		return errors.New("the sales have not been checked yet")
	}
	if waiting, _, _ := r.repairs.repairs(); *state == nil && waiting > 0 {
		return fmt.Errorf("%w: %d", ErrWaiting, waiting)
	}
	return *state
}

// Open puts a sale into Redis, or waits for another instance that is doing so.
func (r *Reconciler) Open(ctx context.Context, voucherID int64) error {
	return r.stores.Locker.Do(ctx, lockName(voucherID), func(ctx context.Context) error {
		return r.rebuildIfNeeded(ctx, voucherID)
	})
}

// forget drops everything remembered about a sale that has left Redis.
func (r *Reconciler) forget(sale int64) {
	r.catalog.Forget(sale)
	r.repairs.forget(sale)
}

// sweep compares Redis with the ledger for all sales at once, and puts the work that it finds into the repair queue. It
// reads the ledger first: Redis is never behind that reading unless it has lost something. It returns how long the
// sweep took, without the time in which it only waited for partitions that could not be read.
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
	r.countLost(ctx)
	r.becomeReady()
	r.observer.Swept(err)
	return took
}

// countLost tells the observer how many sales wait for a person to decide anew.
func (r *Reconciler) countLost(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, order.RedisTimeout)
	defer cancel()
	lost, err := r.stores.Ledger.LostDecisions(ctx, 0)
	sales := make(map[int64]bool, len(lost))
	for _, l := range lost {
		sales[l.VoucherID] = true
	}
	r.observer.DecisionsLost(len(sales), err)
}

func (r *Reconciler) sweepOnce(ctx context.Context) (waited time.Duration, err error) {
	all, err := r.inspect(ctx)
	known := r.repairs.urgencies()
	if err != nil {
		r.repairs.sweep(known) // sales whose repair failed are retried all the same
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

// compare compares one sale with the ledger, and requests a rebuild, a flush, an audit or its retirement if it needs
// one.
func (r *Reconciler) compare(ctx context.Context, v voucher.Voucher, view order.SaleView, u Urgency) {
	sale := v.ID
	broken, err := r.needsRebuild(ctx, v, view)
	switch {
	case err != nil: // the others go on
		r.log.WarnContext(ctx, "comparing a sale with the ledger failed; retrying", "voucher", sale, "error", err)
	case broken:
		r.repairs.found(sale, u)
	case view.Applied < v.Sale.LastOperation:
		r.stores.Outbox.RequestFlush(v.ID)
		return
	case over(v, view):
		r.repairs.found(sale, Retiring)
	}
	if !broken && view.Stock+view.Buyers+view.Extra+v.Sale.Kept != v.Sale.Issued {
		r.stores.Suspect(sale) // the auditor compares exactly, and takes pending changes of stock into account
	}
}

// urgencyOf returns the sale's urgency, by Redis's clock (rule 12).
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

// needsRebuild reports whether the sale in Redis differs from the ledger's. A Redis that is ahead by an epoch means
// that the ledger was restored from a backup (or, without the lock, that the sale was rebuilt in between).
func (r *Reconciler) needsRebuild(ctx context.Context, v voucher.Voucher, view order.SaleView) (bool, error) {
	if view.Mode == order.SaleMissing || view.Mode == order.SaleRebuilding ||
		view.Mark.Epoch <= r.repairs.badEpoch(v.ID, v.Sale.Epoch) || view.Mark.Epoch > v.Sale.Epoch ||
		view.Mark.Before(order.Mark{Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}) {
		return true, nil
	}
	if !lost(v, view) {
		return false, nil
	}
	// A Redis with other operations means the same, unless they were committed and applied after the ledger was read
	// and before Redis was. So read the ledger again: it then has everything that Redis had applied.
	now, err := r.catalog.Read(ctx, v.ID)
	if err != nil {
		return false, err
	}
	return now.Sale != nil && !now.Sale.Retired && lost(now, view), nil
}

// lost reports whether the ledger seems to have lost operations that Redis has applied. RaiseEpoch, which also knows
// what is pending, decides.
func lost(v voucher.Voucher, view order.SaleView) bool {
	last := order.OperationRef{Number: v.Sale.LastOperation, Identity: v.Sale.LastIdentity}
	return view.Lost(order.LedgerTail{
		Last: last, Applied: last, Mode: order.ModeOf(v.Status, *v.Sale), Begin: v.Sale.Begin, End: v.Sale.End,
	})
}

// tryRebuild rebuilds the sale if it is wrong and no other instance is doing so.
func (r *Reconciler) tryRebuild(ctx context.Context, sale int64) result {
	err := r.stores.Locker.TryDo(ctx, lockName(sale), func(ctx context.Context) error {
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
