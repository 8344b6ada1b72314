package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/voucher"
)

// flush applies all operations of one sale that are committed now. It leaves later ones to the next flush, so that
// callers do not wait for ever if the sale changes all the time.
func (o *Outbox) flush(ctx context.Context, sale int64) error {
	v, err := o.find(ctx, sale)
	if err != nil {
		return err
	}
	if v.Sale == nil || v.Sale.Retired { // operations of a retired sale are absorbed when they are committed
		o.flushes.Delete(sale)
		return nil
	}
	until, before := int64(-1), int64(0)
	var applied operation.ApplyResult // the latest
	for {
		select {
		case <-o.closing:
			return fmt.Errorf("%w: the process stops; operations of voucher %d are applied later",
				order.ErrUnavailable, sale)
		default:
		}
		ops, last, err := o.pending(ctx, sale)
		if err != nil {
			return fmt.Errorf("%w: reading the operations of voucher %d: %w", order.ErrUnavailable, sale, err)
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
			// The ledger has lost its completion, and Redis its result. A rebuild resolves that.
			o.repairs.RequestRepair(v.ID, applied.Epoch)
			return fmt.Errorf("%w: operation %d of voucher %d is not completed",
				order.ErrUnavailable, ops[0].Number, sale)
		}
		applied, err = o.apply(ctx, v, ops, last)
		if errors.Is(err, errReadEarly) {
			continue
		}
		if err != nil {
			return err
		}
		if before = ops[len(ops)-1].Number; before >= until && len(applied.Results) == len(ops) {
			return nil
		}
	}
}

// find returns the voucher of a sale, or the zero Voucher if there is none.
func (o *Outbox) find(ctx context.Context, sale int64) (voucher.Voucher, error) {
	v, err := o.catalog.Find(ctx, sale)
	if errors.Is(err, voucher.ErrNotFound) { // the catalog may have cached its absence just before it was created
		o.catalog.Forget(sale)
		v, err = o.catalog.Find(ctx, sale)
	}
	if errors.Is(err, voucher.ErrNotFound) {
		return voucher.Voucher{}, nil
	}
	return v, err
}

func (o *Outbox) pending(ctx context.Context, sale int64) ([]operation.Operation, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	return o.stores.Ledger.Pending(ctx, sale, operation.MaxBatch)
}

// apply lets Redis apply operations, and completes those whose results it returns.
func (o *Outbox) apply(
	ctx context.Context, v voucher.Voucher, ops []operation.Operation, last int64,
) (operation.ApplyResult, error) {
	start := time.Now()
	applied, err := o.send(ctx, v, ops, last)
	if errors.Is(err, errReadEarly) {
		return applied, err
	}
	if err != nil {
		o.observer.OperationsApplied(0, 0, time.Since(start), err)
		return applied, err
	}
	call, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	err = o.stores.Ledger.CompleteOperations(call, v.ID, applied.Results)
	if errors.Is(err, order.ErrConflict) { // the operation is completed as refused, but Redis holds too little now
		o.log.ErrorContext(ctx, "the ledger lacks what Redis gave; the sale is rebuilt", "voucher", v.ID, "error", err)
		o.repairs.RequestRepair(v.ID, applied.Epoch)
		o.observer.OperationsApplied(len(applied.Results), 0, time.Since(start), nil)
		return applied, nil
	}
	if err != nil {
		err = fmt.Errorf("%w: completing operations of voucher %d: %w", order.ErrUnavailable, v.ID, err)
		o.observer.OperationsApplied(0, 0, time.Since(start), err)
		return applied, err
	}
	o.notifyTaken(ops, applied.Results)
	if o.stores.Changed != nil && slices.ContainsFunc(ops, operation.Operation.SetsMode) {
		o.stores.Changed(ctx, v)
	}
	refused := 0
	for _, r := range applied.Results {
		if !r.Taken {
			refused++
		}
	}
	o.observer.OperationsApplied(len(applied.Results)-refused, refused, time.Since(start), nil)
	return applied, nil
}

// check compares a sale without pending operations, and requests a repair if Redis lacks an operation that the ledger
// knows as applied: Redis has then lost its tail.
func (o *Outbox) check(ctx context.Context, v voucher.Voucher, last int64) error {
	if last == 0 {
		return nil
	}
	applied, err := o.send(ctx, v, nil, last)
	if errors.Is(err, errReadEarly) { // it has been flushed since
		return nil
	}
	if err == nil && applied.Applied < last {
		o.repairs.RequestRepair(v.ID, applied.Epoch)
		err = fmt.Errorf("%w: Redis has lost operations of voucher %d: %d of %d are left",
			order.ErrUnavailable, v.ID, applied.Applied, last)
	}
	return err
}

// errReadEarly says that operations were committed and applied after the ledger was read: read it again.
var errReadEarly = errors.New("the ledger was read before later operations were applied")

// send sends operations to Redis, and requests a repair of the sale when Redis cannot apply them. last is the number of
// the ledger's last operation, read with them.
func (o *Outbox) send(
	ctx context.Context, v voucher.Voucher, ops []operation.Operation, last int64,
) (operation.ApplyResult, error) {
	call, cancel := context.WithTimeout(ctx, order.RedisTimeout)
	defer cancel()
	sale := order.SaleOf(v)
	applied, err := o.stores.Apply(call, sale, ops, last)
	if err != nil {
		return applied, fmt.Errorf("%w: applying %d operations of voucher %d: %w",
			order.ErrUnavailable, len(ops), sale.VoucherID, err)
	}
	switch applied.State {
	case operation.ApplyDone:
		return applied, nil
	case operation.ApplyGap:
		o.repairs.RequestRepair(v.ID, applied.Epoch)
		return applied, fmt.Errorf("%w: Redis has lost operations of voucher %d", order.ErrUnavailable, sale.VoucherID)
	case operation.ApplyOther:
		return applied, o.other(ctx, v, applied, last)
	case operation.ApplyMissing, operation.ApplyRebuilding:
		o.repairs.RequestRepair(v.ID, order.NoBadEpoch)
		return applied, fmt.Errorf("%w: the sale of voucher %d is being rebuilt", order.ErrUnavailable, sale.VoucherID)
	default:
		return applied, fmt.Errorf("%w: unknown answer %d about operations of voucher %d",
			order.ErrUnavailable, applied.State, sale.VoucherID)
	}
}

// other finds out why Redis has applied an operation that the ledger did not have when it was read. It returns
// errReadEarly if the ledger has it now. Otherwise the ledger has lost operations, and the sale is rebuilt.
func (o *Outbox) other(ctx context.Context, v voucher.Voucher, applied operation.ApplyResult, last int64) error {
	if applied.Applied > last {
		_, now, err := o.pending(ctx, v.ID)
		if err != nil {
			return fmt.Errorf("%w: reading the operations of voucher %d: %w", order.ErrUnavailable, v.ID, err)
		}
		if applied.Applied <= now {
			return errReadEarly
		}
		last = now
	}
	o.log.ErrorContext(ctx, "the ledger has lost operations that Redis has applied; the sale is rebuilt",
		"voucher", v.ID, "applied", applied.Applied, "last", last)
	o.repairs.RequestRepair(v.ID, applied.Epoch)
	return fmt.Errorf("%w: the ledger has lost operations of voucher %d", order.ErrUnavailable, v.ID)
}

// notifyTaken notifies callers who wait for orders that operations have revived, or created for accepted invitations.
func (o *Outbox) notifyTaken(ops []operation.Operation, results []operation.Result) {
	taken := make(map[int64]bool, len(results))
	for _, r := range results {
		taken[r.Number] = r.Taken
	}
	outcomes := make(map[int64]order.Status)
	for _, op := range ops {
		switch {
		case !taken[op.Number]:
		case op.Kind == operation.Revival:
			outcomes[op.OrderID] = order.Revive.To()
		case op.Kind == operation.Acceptance:
			outcomes[op.OrderID] = order.Unpaid
		}
	}
	if len(outcomes) > 0 {
		o.notifier.Notify(outcomes)
	}
}
