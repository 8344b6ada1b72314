package outbox

import (
	"context"
	"fmt"

	"seckill/internal/order"
)

// MoveLedger has the moves of units between the shares of a split sale.
type MoveLedger interface {
	// RequestMove writes, as pending, that units are to be taken from one share and given to another; nothing where a move
	// between the two is pending already, however many units it has. Completing what takes writes what gives.
	RequestMove(ctx context.Context, from order.SaleID, to int, units int64) error
}

// Move implements admission.UnitMover: it writes the move and flushes both shares, first the one that gives: completing what takes
// writes what gives, and never the other way round. Whatever fails in between, the sweep goes on from there.
//
// One move is pending from one share to another at most, and callers for it share it: a share whose Redis stands still is asked for units
// once, and not again by each buyer who waits for them.
func (o *Outbox) Move(ctx context.Context, from, to order.SaleRef, units int64) error {
	call, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	if err := o.stores.Moves.RequestMove(call, from.SaleID, to.Share, units); err != nil {
		return fmt.Errorf("%w: asking voucher %s for %d units: %w", order.ErrUnavailable, from.SaleID, units, err)
	}
	if err := o.FlushSale(ctx, from.SaleID); err != nil {
		return err
	}
	return o.FlushSale(ctx, to.SaleID)
}
