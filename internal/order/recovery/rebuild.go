package recovery

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// SaleLedger is the part of the ledger that rebuilds use.
type SaleLedger interface {
	order.KeptSales
	// RaiseEpoch begins a rebuild: it raises the sale's epoch by one, or to one more than above if that is higher, and
	// sets the sequence to 0. The epoch is the rebuild's fencing token. seen is the sale as Redis has it: if the ledger
	// has lost the last decision of a person that Redis had applied, RaiseEpoch also pauses the sale, and keeps both
	// sides as evidence. Operations that follow get numbers above Redis's.
	RaiseEpoch(ctx context.Context, sale int64, above int64, seen order.SaleView) (order.Raised, error)
	// LostDecisions returns the lost decisions of a sale, or of all sales for 0, that nobody has decided anew.
	LostDecisions(ctx context.Context, sale int64) ([]voucher.LostDecision, error)
	// Snapshot reads the sale and all its orders under its row's lock. It marks pending operations as absorbed, and
	// those that take units as void. It returns ErrSuperseded when the sale's epoch is not the given one.
	Snapshot(ctx context.Context, sale int64, epoch int64) (order.Snapshot, error)
	// Retire marks the sale as no longer held by Redis, and reports whether it is so marked. It does not mark a sale
	// that has a pending operation, has not ended, or whose last operation is not the given one.
	Retire(ctx context.Context, sale int64, lastOperation int64) (retired bool, err error)
}

// SaleReader reads sales in Redis.
type SaleReader interface {
	// Views returns the state of each sale, in the order asked, in few round trips however many there are.
	Views(ctx context.Context, sales []order.SaleRef) ([]order.SaleView, error)
	// Waiting yields the claims of a sale that are in the stream, delivered or not, oldest first.
	Waiting(ctx context.Context, sale order.SaleRef) iter.Seq2[order.Claim, error]
	// Holders yields the holders of a sale, as claims without epoch and sequence, some of them twice. For a holder that
	// cannot be read it yields an *order.UnreadableHolderError and goes on.
	Holders(ctx context.Context, sale order.SaleRef) iter.Seq2[order.Claim, error]
}

// SaleBuilder writes a sale into Redis step by step, and removes it. Every step of a rebuild carries its epoch and
// returns ErrSuperseded once a newer rebuild has begun or the sale is open at this epoch or a later one.
type SaleBuilder interface {
	// Begin stops the sale (SaleRebuilding) and removes anything that is not a sale from its keys. Buyers who have an
	// order still get it as the answer. At epoch 0, which every sale has passed, Begin only tests whether Redis would
	// stop the sale: it returns ErrSuperseded if so.
	Begin(ctx context.Context, sale order.SaleRef, epoch int64) error
	// SetHolders makes each claim's user a holder by its order, and removes the fields of other holders in remove.
	SetHolders(ctx context.Context, sale order.SaleRef, epoch int64, claims []order.Claim, remove []string) error
	// Requeue appends to the stream the claims that have lost their entries.
	Requeue(ctx context.Context, sale order.SaleRef, epoch int64, claims []order.Claim) error
	// Publish opens the sale at the epoch with sequence 0.
	Publish(ctx context.Context, sale order.SaleRef, epoch int64, o order.Opening) error
	// Drop removes an ended sale and its holders, and reports whether it did. It removes nothing if an entry of the
	// sale may still wait or the view is outdated.
	Drop(ctx context.Context, sale order.SaleRef, view order.SaleView) (bool, error)
}

// rebuildIfNeeded checks the sale again, under its lock, and rebuilds it if it is wrong.
func (r *Reconciler) rebuildIfNeeded(ctx context.Context, sale int64) error {
	v, view, err := r.look(ctx, sale)
	if err != nil && !errors.Is(err, voucher.ErrNotFound) {
		return err
	}
	if v.Sale == nil || v.Sale.Retired {
		r.forget(sale)
		return nil
	}
	broken, err := r.needsRebuild(ctx, v, view)
	if err != nil {
		return err
	}
	if !broken {
		r.repairs.rebuilt(sale, view.Mark.Epoch)
		return nil
	}
	start := time.Now()
	err = r.rebuild(ctx, v, view)
	if !errors.Is(err, order.ErrSuperseded) {
		r.observer.Rebuilt(time.Since(start), err)
	}
	return err
}

// look reads one sale from the ledger, and then from Redis if Redis must hold it.
func (r *Reconciler) look(ctx context.Context, sale int64) (voucher.Voucher, order.SaleView, error) {
	v, err := r.catalog.Read(ctx, sale)
	if err != nil || v.Sale == nil || v.Sale.Retired {
		return v, order.SaleView{}, err
	}
	views, err := r.stores.Reader.Views(ctx, []order.SaleRef{order.SaleOf(v)})
	if err != nil {
		return v, order.SaleView{}, fmt.Errorf("reading the sale from Redis: %w", err)
	}
	return v, views[0], nil
}

// canStop returns nil if Redis would stop the sale now. While a cluster moves the sale's slot to another node, key by
// key, Redis refuses (TRYAGAIN). Without this check each instance would keep retrying, and raise the epoch each time
// for a rebuild that cannot even begin.
func (r *Reconciler) canStop(ctx context.Context, sale order.SaleRef) error {
	err := r.stores.Builder.Begin(ctx, sale, 0)
	if errors.Is(err, order.ErrSuperseded) {
		return nil
	}
	return err
}

// rebuild writes the sale into Redis as the ledger has it, with the accepted orders that still wait (rule 10).
//
// The order of reading makes the result exact. From Begin on the sale is stopped. Then rebuild reads the stream, the
// holders, the recovery reports and the ledger, in this order: an order that leaves the stream meanwhile has its row by
// then, so each accepted order is seen at least once. Seeing one twice is harmless, since orders are compared by id. An
// order that is recorded after the ledger was read lowers the ledger's stock by the units that the rebuild has already
// counted for it.
//
// view is the sale in Redis. Its epoch is above the ledger's if the ledger was restored from a backup.
//
// If the process dies during the rebuild, the sale stays stopped, and the next rebuild starts over with the next epoch.
func (r *Reconciler) rebuild(ctx context.Context, v voucher.Voucher, view order.SaleView) error {
	sale := order.SaleOf(v)
	if err := r.canStop(ctx, sale); err != nil {
		return fmt.Errorf("stopping the sale: %w", err)
	}
	raised, err := r.stores.Ledger.RaiseEpoch(ctx, sale.VoucherID, r.epochAbove(v, view), view)
	if err != nil {
		return fmt.Errorf("raising the epoch: %w", err)
	}
	epoch := raised.Epoch
	r.logLostTail(ctx, v, view, raised)
	if err := r.stores.Builder.Begin(ctx, sale, epoch); err != nil {
		return fmt.Errorf("stopping the sale: %w", err)
	}
	in := rebuildInput{
		holders: map[int64]order.Held{},
		reached: []order.Mark{view.Mark, {Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}},
		held:    view.Mark.Epoch,
	}
	if epoch > 1 { // a new sale has no orders to wait for or read
		if in.seen, err = r.awaitReports(ctx, sale, epoch); err != nil {
			return fmt.Errorf("waiting for recovery reports: %w", err)
		}
		if in.seen.Epoch > epoch {
			// The ledger was restored from a backup. Instances that know the higher epoch would conclude that Redis has
			// lost its tail, so the sale is rebuilt once more, above that epoch.
			r.repairs.RequestRepair(sale.VoucherID, in.seen.Epoch)
		}
		done, err := r.startReading(ctx, urgencyOf(v, view))
		if err != nil {
			return err
		}
		defer done()
	}
	if err := r.gather(ctx, sale, &in); err != nil {
		return err
	}
	if in.ledger, err = r.stores.Ledger.Snapshot(ctx, sale.VoucherID, epoch); err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	plan := in.makePlan(epoch)
	if err := r.stores.Builder.SetHolders(ctx, sale, epoch, plan.setHolders, plan.removeHolders); err != nil {
		return fmt.Errorf("writing the holders: %w", err)
	}
	if err := r.stores.Builder.Requeue(ctx, sale, epoch, plan.requeue); err != nil {
		return fmt.Errorf("writing the stream: %w", err)
	}
	if err := r.stores.Builder.Publish(ctx, sale, epoch, plan.opening); err != nil {
		return fmt.Errorf("opening the sale: %w", err)
	}
	r.repairs.rebuilt(sale.VoucherID, epoch)
	if isNew := epoch == 1 && len(in.ledger.Live)+len(in.waiting) == 0; isNew {
		r.log.InfoContext(ctx, "sale opened", "voucher", sale.VoucherID, "stock", plan.opening.Stock)
	} else {
		r.log.InfoContext(ctx, "sale rebuilt", "voucher", sale.VoucherID, "epoch", epoch, "stock", plan.opening.Stock,
			"orders", len(in.ledger.Live), "waiting", len(in.waiting), "requeued", len(plan.requeue))
	}
	r.logLosses(ctx, sale, &in, plan)
	return nil
}

// startReading waits until one more rebuild may read, and returns done, which ends its reading. At most maxReadingLate
// of the maxReading rebuilds that read at a time are of ended sales, so that the other sales need not wait for them.
func (r *Reconciler) startReading(ctx context.Context, u Urgency) (done func(), err error) {
	turns := []chan struct{}{r.late, r.reading}
	if u < Ended {
		turns = turns[1:]
	}
	for i, turn := range turns {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			release(turns[:i])
			return nil, ctx.Err()
		}
	}
	return func() { release(turns) }, nil
}

func release(turns []chan struct{}) {
	for _, turn := range turns {
		<-turn
	}
}

// MaxEpochLead is how far Redis's epoch may be ahead of a ledger that was restored from a backup. A higher one was
// written by hand, and the scripts ignore it too (scripts/sale.lua).
const MaxEpochLead = 1e9

// epochAbove returns the highest known epoch of the sale. The rebuild's epoch must be higher.
func (r *Reconciler) epochAbove(v voucher.Voucher, view order.SaleView) int64 {
	above := v.Sale.Epoch
	for _, epoch := range []int64{view.Mark.Epoch, view.Building, r.repairs.badEpoch(v.ID, v.Sale.Epoch)} {
		if epoch-v.Sale.Epoch <= MaxEpochLead {
			above = max(above, epoch)
		}
	}
	return above
}

// gather reads the stopped sale's stream entries and holders from Redis, and the recovery reports.
func (r *Reconciler) gather(ctx context.Context, sale order.SaleRef, in *rebuildInput) error {
	for claim, err := range r.stores.Reader.Waiting(ctx, sale) {
		if err != nil {
			return fmt.Errorf("reading the stream: %w", err)
		}
		in.waiting = append(in.waiting, claim)
	}
	for claim, err := range r.stores.Reader.Holders(ctx, sale) {
		var unreadable *order.UnreadableHolderError
		switch {
		case errors.As(err, &unreadable):
			in.unreadable = append(in.unreadable, *unreadable)
		case err != nil:
			return fmt.Errorf("reading the holders: %w", err)
		default:
			in.holders[claim.UserID] = claim.Held()
		}
	}
	if r.stores.Reports == nil {
		return nil
	}
	for claim, err := range r.stores.Reports.Reported(ctx, sale) {
		if err != nil {
			return fmt.Errorf("reading the recovery reports: %w", err)
		}
		in.reported = append(in.reported, claim)
	}
	return nil
}
