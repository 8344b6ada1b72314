package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/internal/voucher"
)

// What one round of the Outbox does.

// follow brings one voucher's sale up to the operations that are committed now. Those that are committed while it works
// are for the next round: a sale that changes all the time does not keep anybody waiting.
func (o *Outbox) follow(ctx context.Context, voucherID int64) error {
	v, err := o.catalog.Find(ctx, voucherID)
	if errors.Is(err, voucher.ErrNotFound) { // somebody may have asked for it just before it was created
		o.catalog.Forget(voucherID)
		v, err = o.catalog.Find(ctx, voucherID)
	}
	switch {
	case errors.Is(err, voucher.ErrNotFound):
		return nil
	case err != nil:
		return err
	case v.Sale == nil || v.Sale.Retired: // what is given to a retired sale is absorbed when it is committed
		return nil
	}
	until, before := int64(-1), int64(0)
	var app Application // the latest
	for {
		select {
		case <-o.closing:
			return fmt.Errorf("%w: the process stops; operations of voucher %d are applied later", ErrUnavailable, voucherID)
		default:
		}
		ops, last, err := o.pending(ctx, voucherID)
		if err != nil {
			return fmt.Errorf("%w: reading the operations of voucher %d: %w", ErrUnavailable, voucherID, err)
		}
		if until < 0 {
			until = last
		}
		switch {
		case len(ops) == 0 && before == 0:
			return o.check(ctx, v, last)
		case len(ops) == 0:
			return nil
		case ops[0].Number <= before:
			// The ledger does not know any more that it was settled, and Redis has forgotten what came of it. A rebuild ends
			// that.
			o.mender.Mend(v.ID, app.Epoch)
			return fmt.Errorf("%w: operation %d of voucher %d is not settled", ErrUnavailable, ops[0].Number, voucherID)
		}
		if app, err = o.apply(ctx, v, ops); err != nil {
			return err
		}
		if before = ops[len(ops)-1].Number; before >= until && len(app.Results) == len(ops) {
			return nil
		}
	}
}

func (o *Outbox) pending(ctx context.Context, voucherID int64) ([]Operation, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, outboxTime)
	defer cancel()
	return o.stores.Ledger.Pending(ctx, voucherID, applyBatch)
}

// apply has Redis apply operations and settles those of which it has told what came of them.
func (o *Outbox) apply(ctx context.Context, v voucher.Voucher, ops []Operation) (Application, error) {
	start := time.Now()
	app, err := o.send(ctx, v, ops)
	if err != nil {
		o.observer.Followed(0, 0, time.Since(start), err)
		return app, err
	}
	call, cancel := context.WithTimeout(ctx, outboxTime)
	defer cancel()
	err = o.stores.Ledger.Settled(call, v.ID, app.Results)
	if errors.Is(err, ErrConflict) { // it is settled all the same, but Redis holds too little now
		o.log.ErrorContext(ctx, "the ledger lacks what Redis gave; the sale is rebuilt", "voucher", v.ID, "error", err)
		o.mender.Mend(v.ID, app.Epoch)
		o.observer.Followed(len(app.Results), 0, time.Since(start), nil)
		return app, nil
	}
	if err != nil {
		err = fmt.Errorf("%w: settling operations of voucher %d: %w", ErrUnavailable, v.ID, err)
		o.observer.Followed(0, 0, time.Since(start), err)
		return app, err
	}
	o.tell(ops, app.Results)
	refused := 0
	for _, r := range app.Results {
		if !r.Taken {
			refused++
		}
	}
	o.observer.Followed(len(app.Results)-refused, refused, time.Since(start), nil)
	return app, nil
}

// check makes sure of a sale without pending operations: a Redis that lacks one that the ledger knows as applied has
// lost its tail.
func (o *Outbox) check(ctx context.Context, v voucher.Voucher, last int64) error {
	if last == 0 {
		return nil
	}
	app, err := o.send(ctx, v, nil)
	if err == nil && app.Applied < last {
		o.mender.Mend(v.ID, app.Epoch)
		err = fmt.Errorf("%w: Redis has lost operations of voucher %d: %d of %d are left", ErrUnavailable, v.ID, app.Applied, last)
	}
	return err
}

// send sends operations to Redis, and has the sale looked at when it cannot follow.
func (o *Outbox) send(ctx context.Context, v voucher.Voucher, ops []Operation) (Application, error) {
	call, cancel := context.WithTimeout(ctx, redisTime)
	defer cancel()
	app, err := o.stores.Sales.Apply(call, saleRef(v), ops)
	if err != nil {
		return app, fmt.Errorf("%w: applying %d operations of voucher %d: %w", ErrUnavailable, len(ops), v.ID, err)
	}
	switch app.State {
	case ApplicationDone:
		return app, nil
	case ApplicationGap:
		o.mender.Mend(v.ID, app.Epoch)
		return app, fmt.Errorf("%w: Redis has lost operations of voucher %d", ErrUnavailable, v.ID)
	case ApplicationMissing, ApplicationRebuilding:
		o.mender.Mend(v.ID, NotBroken)
		return app, fmt.Errorf("%w: the sale of voucher %d is being rebuilt", ErrUnavailable, v.ID)
	default:
		return app, fmt.Errorf("%w: unknown answer %d about operations of voucher %d", ErrUnavailable, app.State, v.ID)
	}
}

// tell calls those who wait for orders that have been revived.
func (o *Outbox) tell(ops []Operation, results []OperationResult) {
	taken := make(map[int64]bool, len(results))
	for _, r := range results {
		taken[r.Number] = r.Taken
	}
	revived := make(map[int64]Status)
	for _, op := range ops {
		if op.Kind == Revival && taken[op.Number] {
			revived[op.OrderID] = Revive.To()
		}
	}
	if len(revived) > 0 {
		o.audience.Told(revived)
	}
}
