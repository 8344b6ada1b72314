package waitlist

import (
	"context"
	"fmt"
	"time"

	"seckill/internal/order"
)

// turnTimeout bounds one transaction of a list, so that a list whose rows are locked does not stop the others.
const turnTimeout = 6 * time.Second

// Turn is Ledger.Turn.
type Turn func(ctx context.Context, voucherID int64, ids []int64) (Pass, error)

// Turns takes the turns of lists, one after the other. A turn is one transaction's work.
type Turns struct {
	take    Turn
	ids     order.IDs
	outbox  order.FlushRequester
	metrics *Metrics
}

// NewTurns returns a Turns that takes each turn by calling take.
func NewTurns(take Turn, ids order.IDs, outbox order.FlushRequester, metrics *Metrics) *Turns {
	return &Turns{take, ids, outbox, metrics}
}

// Take takes turns of one list until nothing is due. Error: order.ErrUnavailable.
func (t *Turns) Take(ctx context.Context, voucherID int64) error {
	var ids []int64
	for {
		start := time.Now()
		pass, err := t.turn(ctx, voucherID, ids)
		if err != nil && ctx.Err() == nil || pass != (Pass{}) { // the end of ctx is no failure of the list
			t.metrics.Turned(pass, time.Since(start), err)
		}
		if err != nil {
			return err
		}
		if pass.Asks() {
			t.outbox.RequestFlush(voucherID)
		}
		if !pass.More && !pass.NeedsIDs {
			return nil
		}
		ids = ids[:0]
		for len(ids) < turnPlaces && pass.NeedsIDs {
			id, err := t.ids.Next(ctx)
			if err != nil {
				return fmt.Errorf("order ids for those who have said yes: %w", err)
			}
			ids = append(ids, id)
		}
	}
}

// turn takes one turn. A ledger that needs longer than turnTimeout counts as unavailable.
func (t *Turns) turn(ctx context.Context, voucherID int64, ids []int64) (Pass, error) {
	call, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	pass, err := t.take(call, voucherID, ids)
	if err != nil && call.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w within %s: %w", order.ErrUnavailable, turnTimeout, err)
	}
	return pass, err
}
