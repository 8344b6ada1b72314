package admission

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/kit/batch"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

// Gate decides requests for units of several sales of one partition: it runs scripts/seckill.lua in Redis once, without
// a retry of its own, and returns a result for each batch, in order. It must not keep the batches. Repeating identical
// batches is safe: it accepts nobody twice, and returns accepted requests as accepted again. An error concerns all
// batches; one that wraps ErrUnavailable says that the call certainly had no effect, and gate.ErrApart that each sale
// needs a call of its own; after any other error it may have had an effect.
type Gate func(ctx context.Context, batches []gate.Batch) ([]gate.BatchResult, error)

// safe returns the gate with errors for panics: the call may have had an effect.
func (g Gate) safe() Gate {
	return func(ctx context.Context, batches []gate.Batch) (decided []gate.BatchResult, err error) {
		err = batch.Safely(func() (err error) {
			decided, err = g(ctx, batches)
			return err
		})
		return decided, err
	}
}

// HolderLister yields the holders of a sale: at least every user who is a holder from the beginning of the call to its
// end, some of them twice. For a holder that cannot be read it yields an *order.UnreadableHolderError and goes on; any
// other error is the last thing it yields.
type HolderLister func(ctx context.Context, sale order.SaleRef) iter.Seq2[order.Claim, error]

// Observer counts how requests are answered, for metrics. Its methods must not block.
type Observer interface {
	// Admitted counts the results of one admission call, which was answered or failed with err.
	Admitted(decided []gate.BatchResult, took time.Duration, err error)
	// RefusedFromCache adds the requests that were refused without asking Redis since the last call.
	RefusedFromCache(soldOut, notStarted int64)
}

// Watcher is called with Redis's answers about a sale while it is sold out, and with the first answer after that. The
// calls of a sale come one after the other. It must not block, nor keep the view.
type Watcher func(voucherID int64, view *order.SaleView, soldOut bool)

const (
	observationTTL = time.Second // how long an observation may be used to answer without asking
	clockMargin    = time.Second // by how much a local estimate of Redis's clock may be wrong
)

// Admission decides who gets a unit of a sale. It has one batcher per partition.
type Admission struct {
	stores   Stores
	catalog  *catalog.Catalog
	recent   *recentAccepts
	repairs  order.RepairRequester
	observer Observer
	log      *slog.Logger
	limit    int64
	watch    Watcher // nil: nobody watches

	running  batch.Running // the goroutines of batchers and of the sales' caches
	closing  chan struct{}
	batchers sync.Map // partition → *batcher
	sales    sync.Map // voucher id → *sale
}

// Stores are the stores of an Admission.
type Stores struct {
	Gate    Gate
	Holders HolderLister
	Rows    order.Reader
}

// New returns an admission. While maxBacklog orders wait to be recorded in a partition, it accepts nobody for the sales
// of that partition.
func New(
	stores Stores, catalog *catalog.Catalog, repairs order.RepairRequester, observer Observer,
	maxBacklog int64, log *slog.Logger,
) *Admission {
	stores.Gate = stores.Gate.safe()
	return &Admission{
		stores: stores, catalog: catalog, recent: newRecentAccepts(), repairs: repairs, observer: observer, log: log,
		limit: maxBacklog, closing: make(chan struct{}),
	}
}

// Admit asks for units of the voucher's sale. It returns nil when the request is accepted; *gate.AlreadyBoughtError
// (without Status) when the user has another order; *gate.NotEnoughError; *invalid.Error for more units than the sale
// allows; or a sentinel error of order or of voucher.
func (a *Admission) Admit(ctx context.Context, v voucher.Voucher, request gate.Request) error {
	if !v.Admits(request.UserID) {
		return voucher.ErrNotFound
	}
	if v.Sale == nil {
		return unlessHidden(v, voucher.ErrNotSeckill, time.Now())
	}
	if n := request.Quantity.Units(); n > v.MaxQuantity() {
		return unlessHidden(v, invalid.Join(invalid.Outside("quantity", n, 1, v.MaxQuantity())), time.Now())
	}
	if v.Sale.Retired {
		a.sales.Delete(v.ID)
		err := a.afterRetirement(ctx, order.BuyerKey{VoucherID: v.ID, UserID: request.UserID}, v.Sale)
		return unlessHidden(v, err, time.Now())
	}
	s, began := a.sale(order.SaleOf(v)), time.Now()
	recorded := order.Mark{Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}
	switch s.lookup(request.UserID, recorded, began) {
	case answerNotStarted:
		s.counts.notStartedFromCache.Add(1)
		return unlessHidden(v, gate.ErrNotStarted, began)
	case answerSoldOut:
		s.counts.soldOutFromCache.Add(1)
		return gate.ErrSoldOut
	case renewCache:
		defer s.cache.renewing.Store(false)
	case askRedis:
	}
	result, err := s.join(ctx, request, recorded, began)
	took := time.Since(began)
	s.counts.took.Observe(took)
	if err == nil && result.Outcome == gate.Accepted {
		return nil
	}
	if err == nil {
		err = a.refusal(s, result)
	}
	return unlessHidden(v, err, began.Add(took))
}

// wrongClock is how far this instance's clock may lag behind Redis's. A sale that is hidden by this clock may then be
// selling already. So for that long before visibleFrom, unlessHidden passes on ErrUnknownOutcome, which may stand for
// an order.
const wrongClock = time.Hour

// unlessHidden returns err, or voucher.ErrNotFound if err is a refusal that would give away a hidden sale. A request
// for an unknown id never gets such a refusal: that a sale has not begun or is over, how many units it allows, or that
// nothing was bought because Redis is away. A sale becomes visible before it begins, by Redis's clock, so this
// instance's clock refuses nobody who could buy.
func unlessHidden(v voucher.Voucher, err error, now time.Time) error {
	if errors.Is(err, order.ErrUnknownOutcome) {
		now = now.Add(wrongClock)
	}
	if v.Hidden(now) && (errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrUnknownOutcome) ||
		errors.Is(err, gate.ErrNotStarted) || errors.Is(err, gate.ErrPaused) || errors.Is(err, gate.ErrEnded) ||
		errors.Is(err, voucher.ErrOffShelf) || errors.Is(err, voucher.ErrCalledOff) ||
		errors.Is(err, voucher.ErrNotSeckill) || errors.As(err, new(*invalid.Error))) {
		return voucher.ErrNotFound
	}
	return err
}

// Order looks up which order the user has in the voucher's sale, without letting them in. It always returns an error:
// *gate.AlreadyBoughtError (without Status) names the order, gate.ErrBarred says that they have none, and another
// sentinel error of order or of voucher says that it is not known.
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
			order.BuyerKey{VoucherID: voucherID, UserID: userID}, v.Sale); !errors.Is(err, gate.ErrEnded) &&
			!errors.Is(err, voucher.ErrCalledOff) {
			return err
		}
		return gate.ErrBarred
	}
	s, now := a.sale(order.SaleOf(v)), time.Now()
	recorded := order.Mark{Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}
	switch s.lookup(userID, recorded, now) {
	case answerNotStarted, answerSoldOut:
		return gate.ErrBarred
	case renewCache:
		defer s.cache.renewing.Store(false)
	case askRedis:
	}
	result, err := s.join(ctx, gate.Request{UserID: userID}, recorded, now)
	if err != nil {
		return err
	}
	return a.refusal(s, result)
}

// Holds reports whether this instance remembers the user as a holder of a sale that was sold out. They may have
// cancelled their order since.
func (a *Admission) Holds(voucherID, userID int64) bool {
	found, ok := a.sales.Load(voucherID)
	if !ok {
		return false
	}
	winners := found.(*sale).cache.winners.Load()
	return winners != nil && winners.has(userID)
}

// Now estimates Redis's clock from its last answer about the sale (rule 12). Without such an answer it returns this
// machine's time.
func (a *Admission) Now(voucherID int64) time.Time {
	if found, ok := a.sales.Load(voucherID); ok {
		if o := found.(*sale).latest.Load(); o != nil {
			return o.at(time.Now())
		}
	}
	return time.Now()
}

// Clock is Now with its bound: Redis's clock shows at least now, and at most within more. Without an answer of Redis
// about the sale, ok is false.
func (a *Admission) Clock(voucherID int64) (now time.Time, within time.Duration, ok bool) {
	found, ok := a.sales.Load(voucherID)
	if !ok {
		return time.Time{}, 0, false
	}
	o := found.(*sale).latest.Load()
	if o == nil {
		return time.Time{}, 0, false
	}
	return o.at(time.Now()), o.receivedAt.Sub(o.sentAt) + time.Millisecond, true
}

// Watch has w watch all sales. Call it before the first Admit.
func (a *Admission) Watch(w Watcher) { a.watch = w }

// Seen returns the highest mark of the sale that Redis has answered with; the zero mark before its first answer.
func (a *Admission) Seen(voucherID int64) order.Mark {
	found, ok := a.sales.Load(voucherID)
	if !ok {
		return order.Mark{}
	}
	if seen := found.(*sale).seen.Load(); seen != nil {
		return *seen
	}
	return order.Mark{}
}

// RecentAccepts returns, by sale, the recent accepts of this instance, oldest first. It drops none for its age: the
// process may have been suspended.
func (a *Admission) RecentAccepts(sales ...int64) map[int64][]order.Claim {
	return a.recent.of(sales...)
}

// Close waits for the calls under way. Call it once, when no Admit can begin any more.
func (a *Admission) Close() {
	close(a.closing) // loading winners is aborted, not waited for
	a.running.Wait()
}

// refusal returns a refused request's result as the caller's error, and requests a repair of the sale if the outcome
// asks for one.
func (a *Admission) refusal(s *sale, r gate.Result) error {
	switch r.Outcome.Repair() {
	case gate.RepairEpoch:
		// The script may have been unable to stop the sale (out of memory), so the epoch itself is reported.
		a.repairs.RequestRepair(s.ref.VoucherID, s.latest.Load().view.Mark.Epoch)
	case gate.RepairSale:
		// The reconciler also notices a voucher that was retired since the catalog read it.
		a.repairs.RequestRepair(s.ref.VoucherID, order.NoBadEpoch)
	case gate.NoRepair:
	}
	return r.Err()
}

// afterRetirement returns the answer for a sale that Redis no longer holds. It still names the order of a buyer who has
// one.
func (a *Admission) afterRetirement(ctx context.Context, key order.BuyerKey, sale *voucher.Sale) error {
	o, err := a.stores.Rows.LiveOrder(ctx, key)
	switch {
	case err == nil:
		return &gate.AlreadyBoughtError{OrderID: o.ID, Quantity: o.Quantity, Status: o.Status}
	case errors.Is(err, order.ErrNotFound) && sale.IsCalledOff():
		return voucher.ErrCalledOff
	case errors.Is(err, order.ErrNotFound):
		return gate.ErrEnded
	default:
		return fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
}
