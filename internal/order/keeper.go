package order

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/internal/voucher"
)

// ErrBusy says that another instance holds the lock.
var ErrBusy = errors.New("another instance is at it")

// Locker lets one instance at a time do a thing. It saves work; what the thing writes is fenced by itself.
type Locker interface {
	// Do waits for the lock with the name and runs f under it; f's context ends when the lock is lost.
	Do(ctx context.Context, name string, f func(context.Context) error) error
	// TryDo is Do without waiting: ErrBusy when another holds the lock.
	TryDo(ctx context.Context, name string, f func(context.Context) error) error
}

// Notifier is told of sales that Redis has not brought up to the ledger: Outbox.
type Notifier interface {
	// Notify has the sale's pending operations applied soon. It does not wait.
	Notify(voucherID int64)
}

const (
	sweepEvery = time.Second
	lookTime   = time.Minute // how long reading all sales may take
	rebuilders = 64          // rebuilds at a time: most of the time they wait for instances
	readers    = 4           // of those that have heard them: each has all orders of its sale in memory, and a transaction open
	// buildSweeps is for how many sweeps in a row sales may wait to be rebuilt before that is worth a warning: another
	// instance, or whoever has just created the sale, is usually at it.
	buildSweeps = 5
)

// errWaiting: sales wait to be rebuilt.
var errWaiting = errors.New("sales wait to be rebuilt")

// Keeper keeps Redis holding every sale that the ledger says it should (rules 9, 10 and 13): it opens new sales,
// rebuilds missing and outdated ones, has the outbox bring up those that are behind by operations, and retires those long
// over. Every instance runs one; a lock per sale keeps them from doing the same work, the epoch keeps them from harm when
// they do.
type Keeper struct {
	ledger    SaleLedger
	rows      Rows
	reader    SaleReader
	builder   SaleBuilder
	retirer   SaleRetirer
	locker    Locker
	testimony TestimonyReader // nil without witnesses
	outbox    Notifier
	catalog   *Catalog
	wrong     *Complaints
	observer  Observer
	log       *slog.Logger
	reading   chan struct{} // holds one for each of the readers

	state atomic.Pointer[error] // the last sweep's result; a nil pointer before the first
	ready atomic.Bool           // a sweep has found all as it should be
	waits int                   // sweeps in a row after which sales waited to be rebuilt; only sweep uses it
}

// KeeperStores are the stores of a Keeper.
type KeeperStores struct {
	Ledger  SaleLedger
	Rows    Rows
	Reader  SaleReader
	Builder SaleBuilder
	Retirer SaleRetirer
	Locker  Locker
	Outbox  Notifier
	// Testimony is nil where no instance hands in anything: the embedded mode, whose Redis ends with its only process.
	Testimony TestimonyReader
}

// NewKeeper returns a keeper that has not looked at anything yet. It sees to the complaints.
func NewKeeper(stores KeeperStores, catalog *Catalog, complaints *Complaints, observer Observer, log *slog.Logger) *Keeper {
	return &Keeper{
		ledger: stores.Ledger, rows: stores.Rows, reader: stores.Reader, builder: stores.Builder, retirer: stores.Retirer, locker: stores.Locker,
		testimony: stores.Testimony, outbox: stores.Outbox, catalog: catalog, wrong: complaints, observer: observer, log: log,
		reading: make(chan struct{}, readers),
	}
}

// Run sweeps once a second and mends what it is asked to, until ctx ends. It never returns an error before.
func (k *Keeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	var mending errgroup.Group
	mending.SetLimit(rebuilders)
	defer func() { _ = mending.Wait() }() // none returns an error
	k.sweep(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-k.wrong.waiting:
			k.wrong.took(id)
			mending.TryGo(func() error { k.tryRebuild(ctx, id); return nil }) // what finds no room is found by the next sweep
		case <-ticker.C:
			k.sweep(ctx)
		}
	}
}

// Ready returns nil once Redis has held every sale that it should, and until then what is missing. A sale that is
// rebuilt later does not make the instance unready: the other sales sell.
func (k *Keeper) Ready() error {
	if k.ready.Load() {
		return nil
	}
	return k.Healthy()
}

// Healthy returns nil when Redis held every sale that it should at the last sweep, and otherwise what is missing.
func (k *Keeper) Healthy() error {
	state := k.state.Load()
	if state == nil {
		return errors.New("the sales have not been looked at yet")
	}
	return *state
}

// Open puts the sale of a new voucher into Redis, waiting for another instance that is at it.
func (k *Keeper) Open(ctx context.Context, voucherID int64) error {
	return k.locker.Do(ctx, lockName(voucherID), func(ctx context.Context) error {
		return k.rebuildIfNeeded(ctx, voucherID)
	})
}

// forget drops what is remembered of a sale that has left Redis.
func (k *Keeper) forget(voucherID int64) {
	k.catalog.Forget(voucherID)
	k.wrong.forget(voucherID)
}

// sweep compares what Redis holds with what it should, for all sales at once. The ledger is read first: Redis is never
// behind it unless it lost something.
func (k *Keeper) sweep(ctx context.Context) {
	err := k.sweepOnce(ctx)
	if ctx.Err() != nil {
		return
	}
	if errors.Is(err, errWaiting) {
		k.waits++
	} else {
		k.waits = 0
	}
	switch {
	case err == nil:
		k.ready.Store(true)
	case k.waits > 0 && k.waits < buildSweeps:
		k.log.DebugContext(ctx, "sales are being built", "error", err)
	default:
		k.log.WarnContext(ctx, "sweep of the sales failed; trying again", "error", err)
	}
	k.state.Store(&err)
}

func (k *Keeper) sweepOnce(ctx context.Context) error {
	vs, views, err := k.look(ctx)
	if err != nil {
		return err
	}
	var waiting atomic.Int64
	var mending errgroup.Group
	mending.SetLimit(rebuilders)
	defer func() { _ = mending.Wait() }() // none returns an error
	for i, v := range vs {
		wrong, err := k.needsRebuild(ctx, v, views[i])
		switch {
		case err != nil:
			return err
		case wrong:
			mending.Go(func() error {
				if !k.tryRebuild(ctx, v.ID) {
					waiting.Add(1)
				}
				return nil
			})
		case views[i].Applied < v.Sale.LastOperation:
			k.outbox.Notify(v.ID)
		case views[i].Now.After(v.Sale.End.Add(retireAfter)):
			k.tryRetire(ctx, v, views[i])
		}
	}
	_ = mending.Wait()
	if n := waiting.Load(); n > 0 {
		return fmt.Errorf("%w: %d of %d", errWaiting, n, len(vs))
	}
	return nil
}

// look reads the sales from the ledger and then from Redis.
func (k *Keeper) look(ctx context.Context) ([]voucher.Voucher, []SaleView, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	vs, err := k.ledger.SalesToKeep(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the sales from the ledger: %w", err)
	}
	k.catalog.keep(vs)
	if len(vs) == 0 {
		return nil, nil, nil
	}
	sales := make([]SaleRef, len(vs))
	for i, v := range vs {
		sales[i] = saleRef(v)
	}
	views, err := k.reader.Views(ctx, sales)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the sales from Redis: %w", err)
	}
	return vs, views, nil
}

// needsRebuild reports whether Redis does not hold the sale as the ledger knows it. A Redis that is ahead by an epoch
// says that the ledger was restored from a copy (or, when the lock is not held, that it was rebuilt in between).
func (k *Keeper) needsRebuild(ctx context.Context, v voucher.Voucher, view SaleView) (bool, error) {
	if view.Mode == SaleMissing || view.Mode == SaleRebuilding ||
		view.Mark.Epoch <= k.wrong.epoch(v.ID) || view.Mark.Epoch > v.Sale.Epoch ||
		view.Mark.Before(Mark{Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}) {
		return true, nil
	}
	if view.Applied <= v.Sale.LastOperation {
		return false, nil
	}
	// A Redis that is ahead by operations says the same, unless they were committed and applied after the ledger was read
	// and before Redis was. So the ledger is asked again: what Redis had applied by then was committed before.
	k.catalog.Forget(v.ID)
	now, err := k.catalog.Find(ctx, v.ID)
	if err != nil {
		return false, err
	}
	return now.Sale != nil && !now.Sale.Retired && view.Applied > now.Sale.LastOperation, nil
}

// tryRebuild rebuilds the sale if it needs it and nobody else is at it, and reports whether it is now as it should be.
func (k *Keeper) tryRebuild(ctx context.Context, voucherID int64) bool {
	err := k.locker.TryDo(ctx, lockName(voucherID), func(ctx context.Context) error {
		return k.rebuildIfNeeded(ctx, voucherID)
	})
	switch {
	case err == nil:
		return true
	case errors.Is(err, ErrBusy), errors.Is(err, ErrSuperseded):
		k.log.DebugContext(ctx, "another instance rebuilds the sale", "voucher", voucherID)
	case ctx.Err() == nil:
		k.log.ErrorContext(ctx, "a sale could not be rebuilt; trying again", "voucher", voucherID, "error", err)
	}
	return false
}

func lockName(voucherID int64) string { return fmt.Sprintf("sale:%d", voucherID) }
