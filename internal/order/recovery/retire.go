package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

const (
	// retireAfter is how long a sale stays in Redis after its end, for buyers who ask for their orders.
	retireAfter = 24 * time.Hour
	// retireRehearsalAfter is how long a rehearsal stays in Redis: nobody comes back for its orders.
	retireRehearsalAfter = time.Minute
)

// over reports whether a sale that Redis holds has ended so long ago that it may be retired.
func over(v voucher.Voucher, view order.SaleView) bool {
	after := retireAfter
	if v.Rehearsal() {
		after = retireRehearsalAfter
	}
	end := v.Sale.End
	if v.Sale.CalledOff.After(end) { // its orders are unwound only after that
		end = v.Sale.CalledOff
	}
	return view.Now.After(end.Add(after))
}

// tryRetire removes a sale that is over from Redis, and then marks it as retired in the ledger (rule 13). If the
// process dies in between, the next sweep rebuilds the sale and retires it again. The next sweep also retries failures.
func (r *Reconciler) tryRetire(ctx context.Context, sale int64) result {
	err := r.stores.Locker.TryDo(ctx, lockName(sale), func(ctx context.Context) error { return r.retire(ctx, sale) })
	if err != nil && !errors.Is(err, order.ErrBusy) && ctx.Err() == nil {
		r.log.WarnContext(ctx, "retiring a sale failed; retrying", "voucher", sale, "error", err)
	}
	return jobDone
}

// retire checks the sale again, under its lock, and retires it.
func (r *Reconciler) retire(ctx context.Context, sale int64) error {
	v, view, err := r.look(ctx, sale)
	if err != nil || v.Sale == nil || v.Sale.Retired || !over(v, view) {
		return err
	}
	if broken, err := r.needsRebuild(ctx, v, view); err != nil || broken || view.Applied < v.Sale.LastOperation {
		return err // the next sweep deals with that
	}
	lost, err := r.Untraced(ctx, v)
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		// The entries of these orders are gone (the stream was trimmed, or they could not be decoded), and only the
		// holders are left. A rebuild requeues the orders, and the sale is retired once they are recorded.
		r.log.ErrorContext(ctx, "accepted orders have neither a row nor an entry; rebuilding the sale",
			"voucher", sale, "count", len(lost), "orders", orderIDs(lost))
		r.repairs.RequestRepair(sale, view.Mark.Epoch)
		return nil
	}
	dropped, err := r.stores.Builder.Drop(ctx, order.SaleOf(v), view)
	if err != nil || !dropped {
		return err
	}
	retired, err := r.stores.Ledger.Retire(ctx, sale, v.Sale.LastOperation)
	if err != nil || !retired {
		return err // the sale has changed since the view: the next sweep rebuilds it
	}
	r.forget(sale)
	r.log.InfoContext(ctx, "sale retired", "voucher", sale)
	return nil
}

// Untraced returns the holders' orders that are neither in the stream nor in the ledger. It reads the stream first: an
// order that leaves it meanwhile has its row.
func (r *Reconciler) Untraced(ctx context.Context, v voucher.Voucher) (lost []order.Claim, err error) {
	queued := make(map[int64]bool)
	for claim, err := range r.stores.Reader.Waiting(ctx, order.SaleOf(v)) {
		if err != nil {
			return nil, fmt.Errorf("reading the stream: %w", err)
		}
		queued[claim.OrderID] = true
	}
	var asked []order.Claim
	ask := func() error {
		ids := make([]int64, len(asked))
		for i, c := range asked {
			ids[i] = c.OrderID
		}
		recorded, err := r.stores.Rows.Recorded(ctx, ids)
		if err != nil {
			return fmt.Errorf("reading the ledger: %w", err)
		}
		for _, c := range asked {
			if _, has := recorded[c.OrderID]; !has {
				lost = append(lost, c)
			}
		}
		asked = asked[:0]
		return nil
	}
	for claim, err := range r.stores.Reader.Holders(ctx, order.SaleOf(v)) {
		if _, unreadable := errors.AsType[*order.UnreadableHolderError](err); unreadable {
			continue // its order is unknown
		}
		if err != nil {
			return nil, fmt.Errorf("reading the holders: %w", err)
		}
		if queued[claim.OrderID] {
			continue
		}
		if asked = append(asked, claim); len(asked) == order.MaxOrderIDs {
			if err := ask(); err != nil {
				return nil, err
			}
		}
	}
	if len(asked) > 0 {
		err = ask()
	}
	return lost, err
}
