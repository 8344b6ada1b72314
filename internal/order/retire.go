package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/internal/voucher"
)

// retireAfter is how long after its end a sale stays in Redis, so that its winners are told their orders there.
const retireAfter = 24 * time.Hour

// SaleRetirer removes a sale that is over from Redis.
type SaleRetirer interface {
	// Drop deletes the sale and its places if no entry of it can be waiting any more, and reports whether it did.
	Drop(ctx context.Context, sale SaleRef, view SaleView) (bool, error)
}

// tryRetire lets a sale that is over leave Redis, and then says so in the ledger (rule 13). Dying between the two is
// mended by the next sweep: it rebuilds the sale and retires it again.
func (k *Keeper) tryRetire(ctx context.Context, v voucher.Voucher, view SaleView) {
	err := k.locker.TryDo(ctx, lockName(v.ID), func(ctx context.Context) error {
		lost, err := k.untraced(ctx, v)
		if err != nil {
			return err
		}
		if lost > 0 {
			// Their entries are gone (somebody trimmed the stream, or they could not be decoded): the places are the
			// last trace. A rebuild queues them again, and the sale is retired once they are recorded.
			k.log.ErrorContext(ctx, "accepted orders have neither a row nor an entry; the sale is rebuilt", "voucher", v.ID, "orders", lost)
			k.wrong.Mend(v.ID, view.Mark.Epoch)
			return nil
		}
		dropped, err := k.retirer.Drop(ctx, saleRef(v), view)
		if err != nil || !dropped {
			return err
		}
		retired, err := k.ledger.Retire(ctx, v.ID, v.Sale.LastOperation)
		if err != nil || !retired {
			return err // something changed since it was looked at: the next sweep rebuilds it
		}
		k.forget(v.ID)
		k.log.InfoContext(ctx, "sale retired", "voucher", v.ID)
		return nil
	})
	if err != nil && !errors.Is(err, ErrBusy) && ctx.Err() == nil {
		k.log.WarnContext(ctx, "a sale could not be retired; trying again", "voucher", v.ID, "error", err)
	}
}

// untraced counts the orders that hold a place in the sale and are neither in the stream nor in the ledger. The stream
// is read first: what leaves it meanwhile has its row.
func (k *Keeper) untraced(ctx context.Context, v voucher.Voucher) (int, error) {
	queued := make(map[int64]bool)
	for claim, err := range k.reader.Waiting(ctx, saleRef(v)) {
		if err != nil {
			return 0, fmt.Errorf("reading the stream: %w", err)
		}
		queued[claim.OrderID] = true
	}
	lost := 0
	var ids []int64
	count := func() error {
		recorded, err := k.rows.Recorded(ctx, ids)
		if err != nil {
			return fmt.Errorf("reading the ledger: %w", err)
		}
		for _, id := range ids {
			if _, has := recorded[id]; !has {
				lost++
			}
		}
		ids = ids[:0]
		return nil
	}
	for claim, err := range k.reader.Holders(ctx, saleRef(v)) {
		if err != nil {
			return 0, fmt.Errorf("reading the places: %w", err)
		}
		if queued[claim.OrderID] {
			continue
		}
		if ids = append(ids, claim.OrderID); len(ids) == pollChunk {
			if err := count(); err != nil {
				return 0, err
			}
		}
	}
	if len(ids) > 0 {
		if err := count(); err != nil {
			return 0, err
		}
	}
	return lost, nil
}
