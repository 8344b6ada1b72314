package rehearsal

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/order"
)

const (
	emptyEvery   = 10 * time.Second // how often ended rehearsals are looked for
	emptyBatch   = 500              // orders in one transaction at most
	emptyPause   = 100 * time.Millisecond
	emptyTimeout = 30 * time.Second // one transaction at most
)

// Ledger removes what a rehearsal has left.
type Ledger interface {
	// RetiredRehearsals returns the vouchers of rehearsals whose sale is retired.
	RetiredRehearsals(ctx context.Context) ([]int64, error)
	// EmptyRehearsal removes up to n orders of a retired rehearsal, with all that belongs to them, or, when it has none, the
	// voucher itself; then it is done. It removes nothing of any other voucher, which is an error.
	EmptyRehearsal(ctx context.Context, voucherID int64, n int) (done bool, err error)
}

// Emptier removes the rows of rehearsals that have ended. Every instance runs one, and one of them at a time works: 5,000 orders a
// second at most, which leave the ledger room.
type Emptier struct {
	ledger Ledger
	locker order.Locker
	log    *slog.Logger
}

// NewEmptier returns an emptier; Run starts it.
func NewEmptier(ledger Ledger, locker order.Locker, log *slog.Logger) *Emptier {
	return &Emptier{ledger: ledger, locker: locker, log: log}
}

// Run empties rehearsals until ctx ends. It never returns an error: what fails is tried again.
func (e *Emptier) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := e.round(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, order.ErrBusy) {
			e.log.WarnContext(ctx, "emptying rehearsals failed; retrying", "error", err)
		}
		order.Sleep(ctx, emptyEvery)
	}
	return nil
}

// round empties what there is, if no other instance does. Without a rehearsal, nearly always, it costs one query.
func (e *Emptier) round(ctx context.Context) error {
	ids, err := e.ledger.RetiredRehearsals(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	return e.locker.TryDo(ctx, lockName+":emptier", func(ctx context.Context) error {
		for _, id := range ids {
			if err := e.empty(ctx, id); err != nil {
				return err
			}
			e.log.InfoContext(ctx, "rehearsal removed", "voucher", id)
		}
		return nil
	})
}

func (e *Emptier) empty(ctx context.Context, id int64) error {
	for {
		call, cancel := context.WithTimeout(ctx, emptyTimeout)
		done, err := e.ledger.EmptyRehearsal(call, id, emptyBatch)
		cancel()
		if done || err != nil {
			return err
		}
		if order.Sleep(ctx, emptyPause); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
