package order

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

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

// NotBroken is the epoch to pass to Mend when no epoch of the sale is known to be wrong.
const NotBroken int64 = -1

const (
	sweepEvery = time.Second
	lookTime   = time.Minute            // how long reading all sales may take
	mendQueue  = 1024                   // requests to mend that can wait; more are found by the next sweep
	mendEvery  = 100 * time.Millisecond // a sale that every caller complains of is looked at no more often
)

// Keeper keeps Redis holding every sale that the ledger says it should (rules 9, 10 and 13): it opens new sales,
// rebuilds missing and outdated ones, and retires those long over. Every instance runs one; a lock per sale keeps
// them from doing the same work, the epoch keeps them from harm when they do.
type Keeper struct {
	ledger   SaleLedger
	rows     Rows
	reader   SaleReader
	builder  SaleBuilder
	retirer  SaleRetirer
	locker   Locker
	catalog  *Catalog
	observer Observer
	log      *slog.Logger

	mends  chan int64 // voucher ids
	mu     sync.Mutex
	asked  map[int64]asking // by voucher id
	broken map[int64]int64  // by voucher id: an epoch known to be wrong, until a rebuild has left it behind

	state atomic.Pointer[error] // the last sweep's result; a nil pointer before the first
	ready atomic.Bool           // a sweep has found all as it should be
}

// asking is what is known of the requests to mend a sale.
type asking struct {
	waits bool      // one waits in the queue
	last  time.Time // when the last one was taken from the queue
}

// KeeperStores are the stores of a Keeper.
type KeeperStores struct {
	Ledger  SaleLedger
	Rows    Rows
	Reader  SaleReader
	Builder SaleBuilder
	Retirer SaleRetirer
	Locker  Locker
}

// NewKeeper returns a keeper that has not looked at anything yet.
func NewKeeper(stores KeeperStores, catalog *Catalog, observer Observer, log *slog.Logger) *Keeper {
	return &Keeper{
		ledger: stores.Ledger, rows: stores.Rows, reader: stores.Reader, builder: stores.Builder, retirer: stores.Retirer, locker: stores.Locker,
		catalog: catalog, observer: observer, log: log,
		mends: make(chan int64, mendQueue), asked: make(map[int64]asking), broken: make(map[int64]int64),
	}
}

// Run sweeps once a second and mends what it is asked to, until ctx ends. It never returns an error before.
func (k *Keeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	k.sweep(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-k.mends:
			k.mend(ctx, id)
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

// Mend asks for the sale to be looked at, and rebuilt if Redis does not hold it as the ledger says, or if its epoch is
// not above broken. It does not wait. Every refused buyer may call it: what is asked again, or again too soon, is
// dropped, as the next sweep looks anyway; a broken epoch is remembered until it has been left behind.
func (k *Keeper) Mend(voucherID, broken int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, has := k.broken[voucherID]
	news := broken > NotBroken && (!has || broken > known)
	if news {
		k.broken[voucherID] = broken
	}
	before := k.asked[voucherID]
	if before.waits || !news && time.Since(before.last) < mendEvery {
		return
	}
	select {
	case k.mends <- voucherID:
		k.asked[voucherID] = asking{waits: true, last: before.last}
	default: // the next sweep finds what is missing
	}
}

func (k *Keeper) mend(ctx context.Context, voucherID int64) {
	k.mu.Lock()
	k.asked[voucherID] = asking{last: time.Now()}
	k.mu.Unlock()
	k.tryRebuild(ctx, voucherID)
}

// brokenEpoch returns the highest epoch of the sale that is known to be wrong, or NotBroken.
func (k *Keeper) brokenEpoch(voucherID int64) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if epoch, has := k.broken[voucherID]; has {
		return epoch
	}
	return NotBroken
}

// leftBehind forgets a broken epoch that the sale is above of.
func (k *Keeper) leftBehind(voucherID, epoch int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if broken, has := k.broken[voucherID]; has && broken < epoch {
		delete(k.broken, voucherID)
	}
}

// forget drops what is remembered of a sale that has left Redis.
func (k *Keeper) forget(voucherID int64) {
	k.catalog.Forget(voucherID)
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.asked, voucherID)
	delete(k.broken, voucherID)
}

// sweep compares what Redis holds with what it should, for all sales at once. The ledger is read first: Redis is never
// behind it unless it lost something.
func (k *Keeper) sweep(ctx context.Context) {
	err := k.sweepOnce(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		k.log.WarnContext(ctx, "sweep of the sales failed; trying again", "error", err)
	}
	k.state.Store(&err)
	if err == nil {
		k.ready.Store(true)
	}
}

func (k *Keeper) sweepOnce(ctx context.Context) error {
	vs, views, err := k.look(ctx)
	if err != nil {
		return err
	}
	waiting := 0
	for i, v := range vs {
		switch {
		case needsRebuild(views[i], v.Sale, k.brokenEpoch(v.ID)):
			if !k.tryRebuild(ctx, v.ID) {
				waiting++
			}
		case views[i].Now.After(v.Sale.End.Add(retireAfter)):
			k.tryRetire(ctx, v, views[i])
		}
	}
	if waiting > 0 {
		return fmt.Errorf("%d of %d sales wait to be rebuilt", waiting, len(vs))
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
func needsRebuild(view SaleView, sale *voucher.Sale, broken int64) bool {
	return view.Mode == SaleMissing || view.Mode == SaleRebuilding ||
		view.Mark.Epoch <= broken || view.Mark.Epoch > sale.Epoch ||
		view.Mark.Before(Mark{Epoch: sale.Epoch, Sequence: sale.Sequence})
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
