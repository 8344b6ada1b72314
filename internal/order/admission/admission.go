package admission

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/voucher"
)

// Gate decides about requests for a sale's units: scripts/seckill.lua in Redis.
type Gate interface {
	// Admit runs the admission script once, without a retry of its own. Repeating the identical batch is safe: it
	// accepts nobody twice and answers again who was accepted. An error that wraps ErrUnavailable says that the batch
	// certainly had no effect; after any other error it may have had one.
	Admit(ctx context.Context, b order.Batch) (order.BatchResult, error)
}

// HolderLister reads the holders of a sale: redisstore.Store.
type HolderLister interface {
	// Holders yields the holders, at least all who are holders from the call to its end. One may come twice. One that
	// cannot be read is an *order.UnreadableHolderError, after which the others follow; it stops after any other
	// error.
	Holders(ctx context.Context, sale order.SaleRef) iter.Seq2[order.Claim, error]
}

// Observer hears how requests are answered, for metrics. Its methods must not block.
type Observer interface {
	// Admitted: one admission call was answered, or failed with err.
	Admitted(outcomes []order.Result, took time.Duration, err error)
	// RefusedFromCache: so many requests were refused without asking Redis since the last call.
	RefusedFromCache(soldOut, notStarted int64)
}

const (
	tryTimeout     = time.Second // one try of the admission script
	observationTTL = time.Second // how long an observation may be used to answer without asking
	clockMargin    = time.Second // by how much a local estimate of Redis's clock may be wrong
)

// Admission decides who gets a unit of a sale. It has a batcher for each sale that is asked for.
type Admission struct {
	stores   Stores
	catalog  *catalog.Catalog
	recent   *recentAccepts
	repairs  order.RepairRequester
	observer Observer
	log      *slog.Logger
	limit    int64

	running  sync.WaitGroup // the goroutines of batchers and their caches
	closing  chan struct{}
	batchers sync.Map // int64 → *batcher
}

// Stores are the stores of an Admission.
type Stores struct {
	Gate    Gate
	Holders HolderLister
	Rows    order.Reader
}

// New returns an admission that accepts nobody while maxBacklog orders wait to be recorded.
func New(
	stores Stores, catalog *catalog.Catalog, repairs order.RepairRequester, observer Observer,
	maxBacklog int64, log *slog.Logger,
) *Admission {
	return &Admission{
		stores: stores, catalog: catalog, recent: newRecentAccepts(), repairs: repairs, observer: observer, log: log,
		limit: maxBacklog, closing: make(chan struct{}),
	}
}

// Admit asks for units of a voucher's sale for the user, under the given order id. It returns nil when the request is
// accepted; *order.AlreadyBoughtError (its Status not yet filled in) when the user has another order;
// *order.NotEnoughError; *invalid.Error for more units than the sale allows; or a sentinel of order or of voucher.
func (a *Admission) Admit(ctx context.Context, v voucher.Voucher, request order.Request) error {
	if !v.Admits(request.UserID) {
		return voucher.ErrNotFound
	}
	if v.Sale == nil {
		return unlessHidden(v, voucher.ErrNotSeckill)
	}
	if err := checkQuantity(v, request.Quantity); err != nil {
		return err
	}
	if v.Sale.Retired {
		a.batchers.Delete(v.ID)
		return a.afterRetirement(ctx, order.BuyerKey{VoucherID: v.ID, UserID: request.UserID})
	}
	b := a.batcher(order.SaleOf(v))
	if tooEarly(b.latest.Load()) {
		b.counts.notStartedFromCache.Add(1)
		return unlessHidden(v, order.ErrNotStarted)
	}
	recorded := order.Mark{Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}
	switch b.lookup(request.UserID, recorded) {
	case answerSoldOut:
		b.counts.soldOutFromCache.Add(1)
		return order.ErrSoldOut
	case renewCache:
		defer b.cache.renewing.Store(false)
	case askRedis:
	}
	result, err := b.join(ctx, request, recorded)
	if err != nil {
		return unlessHidden(v, err)
	}
	return unlessHidden(v, a.result(b, result))
}

// checkQuantity returns *invalid.Error for more units than the sale allows; of one that the public does not see it
// tells nothing.
func checkQuantity(v voucher.Voucher, q order.Quantity) error {
	switch {
	case q.Units() <= v.MaxQuantity():
		return nil
	case v.Hidden(time.Now()):
		return voucher.ErrNotFound
	}
	return invalid.Join(invalid.Outside("quantity", q.Units(), 1, v.MaxQuantity()))
}

// wrongClock is by how much this instance's clock may be wrong without an order being denied that a lost answer may
// have made.
const wrongClock = time.Hour

// unlessHidden returns the refusal of a sale that has not begun as that of one that does not exist, while the public
// does not see it; also that nothing was bought because Redis is away, which no unknown id would be told. A sale is
// visible before it begins, by Redis's clock, so this instance's clock refuses nobody who could buy.
func unlessHidden(v voucher.Voucher, err error) error {
	now := time.Now()
	if errors.Is(err, order.ErrUnknownOutcome) {
		now = now.Add(wrongClock)
	}
	if v.Hidden(now) && (errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrUnknownOutcome) ||
		errors.Is(err, order.ErrNotStarted) || errors.Is(err, order.ErrPaused) || errors.Is(err, voucher.ErrOffShelf) ||
		errors.Is(err, voucher.ErrNotSeckill)) {
		return voucher.ErrNotFound
	}
	return err
}

// Order asks which order the user has in the voucher's sale, without letting them in: *order.AlreadyBoughtError (its
// Status not yet filled in), order.ErrBarred if they have none, or another sentinel of order or of voucher, when that
// is not known.
func (a *Admission) Order(ctx context.Context, voucherID, userID int64) error {
	v, err := a.catalog.Find(ctx, voucherID)
	switch {
	case err != nil:
		return err
	case !v.Admits(userID):
		return voucher.ErrNotFound
	case v.Sale == nil:
		return voucher.ErrNotSeckill
	}
	if v.Sale.Retired {
		if err := a.afterRetirement(ctx,
			order.BuyerKey{VoucherID: voucherID, UserID: userID}); !errors.Is(err, order.ErrEnded) {
			return err
		}
		return order.ErrBarred
	}
	b := a.batcher(order.SaleOf(v))
	recorded := order.Mark{Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}
	if tooEarly(b.latest.Load()) {
		return order.ErrBarred
	}
	switch b.lookup(userID, recorded) {
	case answerSoldOut:
		return order.ErrBarred
	case renewCache:
		defer b.cache.renewing.Store(false)
	case askRedis:
	}
	result, err := b.join(ctx, order.Request{UserID: userID}, recorded)
	if err != nil {
		return err
	}
	return a.result(b, result)
}

// Now estimates Redis's clock from its last answer about the sale (rule 12); without one it is this machine's.
func (a *Admission) Now(voucherID int64) time.Time {
	if found, ok := a.batchers.Load(voucherID); ok {
		if o := found.(*batcher).latest.Load(); o != nil {
			return o.now()
		}
	}
	return time.Now()
}

// Seen returns the highest mark of the sale that Redis has answered with, the zero one without any.
func (a *Admission) Seen(sale int64) order.Mark {
	found, ok := a.batchers.Load(sale)
	if !ok {
		return order.Mark{}
	}
	if seen := found.(*batcher).seen.Load(); seen != nil {
		return *seen
	}
	return order.Mark{}
}

// RecentAccepts returns what this instance has accepted of the sales lately, oldest first, however old: a process may
// have stood still. By sale.
func (a *Admission) RecentAccepts(sales ...int64) map[int64][]order.Claim {
	return a.recent.of(sales...)
}

// Close waits for the calls under way. No Admit may begin after it. It is called once.
func (a *Admission) Close() {
	close(a.closing) // loading winners is not waited for
	a.running.Wait()
}

// release frees what is remembered of a sale that was retired, its winners above all: nobody may ask for it ever
// again. A sale that the catalog does not know yet is kept.
func (a *Admission) release(b *batcher) {
	kept := a.catalog.Keeps(b.sale.VoucherID)
	if b.kept && !kept {
		a.batchers.CompareAndDelete(b.sale.VoucherID, b)
	}
	b.kept = kept
}

// batcher returns the batcher of a sale.
func (a *Admission) batcher(sale order.SaleRef) *batcher {
	if found, ok := a.batchers.Load(sale.VoucherID); ok {
		return found.(*batcher)
	}
	b := newBatcher(sale, a.limit, a.recent, &a.running, a.admit)
	b.cache = soldOutCache{
		source: a.stores.Holders, sale: b.sale, log: a.log, running: &a.running, closing: a.closing,
		backOff: order.NewBackOff(),
	}
	found, _ := a.batchers.LoadOrStore(sale.VoucherID, b)
	return found.(*batcher)
}

func (a *Admission) admit(ctx context.Context, b order.Batch) (order.BatchResult, error) {
	start := time.Now()
	decided, err := a.stores.Gate.Admit(ctx, b)
	a.observer.Admitted(decided.Results, time.Since(start), err)
	return decided, err
}

// tooEarly reports whether an observation proves that the sale has not begun and has no holder, so that Redis need
// not be asked (rules 2 and 12).
func tooEarly(o *observation) bool {
	return o != nil && time.Since(o.receivedAt) < observationTTL &&
		o.view.Mode == order.SaleOpen && o.view.Buyers == 0 &&
		o.now().Before(o.view.Begin.Add(-clockMargin))
}

// result returns what the caller gets for a request's result. It reports a sale that has to be rebuilt.
func (a *Admission) result(b *batcher, r order.Result) error {
	switch r.Outcome.Repair() {
	case order.RepairEpoch:
		// The script may have been unable to stop the sale (out of memory), so the epoch itself is reported.
		a.repairs.RequestRepair(b.sale.VoucherID, b.latest.Load().view.Mark.Epoch)
	case order.RepairSale:
		// The reconciler also notices a voucher that was retired since the catalog read it.
		a.repairs.RequestRepair(b.sale.VoucherID, order.NoBadEpoch)
	case order.NoRepair:
	}
	return r.Err()
}

// afterRetirement answers for a sale that Redis no longer holds: a buyer who has an order is still told so.
func (a *Admission) afterRetirement(ctx context.Context, key order.BuyerKey) error {
	o, err := a.stores.Rows.LiveOrder(ctx, key)
	switch {
	case err == nil:
		return &order.AlreadyBoughtError{OrderID: o.ID, Quantity: o.Quantity, Status: o.Status}
	case errors.Is(err, order.ErrNotFound):
		return order.ErrEnded
	default:
		return fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
}
