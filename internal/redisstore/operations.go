package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/voucher"
)

// The outcomes of one operation in scripts/apply.lua's answer.
const (
	applyRefused   int64 = 0
	applyTaken     int64 = 1
	applyForgotten int64 = -1
)

// Apply is outbox.Stores.Apply, for at most operation.MaxBatch operations. One that took units and was completed long
// ago gets no result.
//
// A revival or an acceptance may have to wait until its unit can be sold. Apply waits for that, up to
// order.ReturnDelay. If ctx ends first, the next call with the same operations continues from there.
func (s *Store) Apply(
	ctx context.Context, sale order.SaleRef, ops []operation.Operation, last int64,
) (operation.ApplyResult, error) {
	args, err := s.operationArgs(sale, ops, last)
	if err != nil {
		return operation.ApplyResult{}, err
	}
	for {
		raw, err := s.scripts.apply.Run(ctx, s.in(sale.Partition),
			[]string{s.keys.sale(sale), s.keys.buyers(sale)}, args...)
		if err != nil {
			return operation.ApplyResult{}, fmt.Errorf("applying %d operations to voucher %d: %w",
				len(ops), sale.VoucherID, err)
		}
		result, wait, err := readApplyResult(raw, ops)
		if err != nil || wait <= 0 {
			return result, err
		}
		// Send all of them again, not only the rest: the script considers operations before the first one as completed.
		if retry.Sleep(ctx, wait); ctx.Err() != nil {
			return operation.ApplyResult{}, fmt.Errorf("a unit of voucher %d is not free yet: %w",
				sale.VoucherID, ctx.Err())
		}
	}
}

// operationArgs returns ARGV of the script.
func (s *Store) operationArgs(sale order.SaleRef, ops []operation.Operation, last int64) ([]any, error) {
	if len(ops) > operation.MaxBatch {
		return nil, fmt.Errorf("%d operations, allowed are %d", len(ops), operation.MaxBatch)
	}
	args := make([]any, 0, 3+9*len(ops))
	args = append(args, s.returnDelay.Milliseconds(), int64(0), last)
	for i, op := range ops {
		if i == 0 {
			args[1] = op.Number
		}
		if err := checkOperation(sale, op, ops[0].Number+int64(i)); err != nil {
			return nil, fmt.Errorf("operation %d of voucher %d: %w", op.Number, op.VoucherID, err)
		}
		args = append(args, op.Delta, op.Kept, operationOrder(op), op.UserID)
		if op.Mode == order.SaleMissing {
			args = append(args, "", 0, 0)
		} else {
			word, err := wordOf(op.Mode)
			if err != nil {
				return nil, fmt.Errorf("operation %d of voucher %d: %w", op.Number, op.VoucherID, err)
			}
			args = append(args, word, op.Begin.UnixMilli(), op.End.UnixMilli())
		}
		decision := ""
		if op.Kind.Decided() {
			decision = string(op.Kind)
		}
		args = append(args, strconv.FormatInt(op.Identity, 10), decision)
	}
	return args, nil
}

// operationOrder returns the operation's order, as an argument of the script.
func operationOrder(op operation.Operation) any {
	if op.OrderID == 0 {
		return int64(0)
	}
	return heldArgument(op.Held())
}

// checkOperation returns an error if the operation is malformed or does not have the expected number.
func checkOperation(sale order.SaleRef, op operation.Operation, number int64) error {
	switch {
	case op.VoucherID != sale.VoucherID:
		return fmt.Errorf("sent to the sale of voucher %d", sale.VoucherID)
	case op.Number != number, number < 1:
		return fmt.Errorf("where number %d is due", number)
	case op.OrderID < 0, op.UserID < 0, (op.OrderID == 0) != (op.UserID == 0):
		return fmt.Errorf("concerns order %d of user %d", op.OrderID, op.UserID)
	case (op.Mode == order.SaleMissing) != op.Begin.IsZero(), op.Begin.IsZero() != op.End.IsZero():
		return fmt.Errorf("sets mode %d with the window from %s to %s: it is all or nothing", op.Mode, op.Begin, op.End)
	case op.OrderID > 0 && (op.Units() < 1 || op.Units() > voucher.MaxPerUser):
		return fmt.Errorf("moves %d units of an order, which has 1 to %d", op.Units(), voucher.MaxPerUser)
	case op.Kind == operation.Acceptance && (op.Delta != 0 || op.OrderID == 0), op.Kept < 0 &&
		op.Kind != operation.Acceptance && op.Delta != -op.Kept:
		return fmt.Errorf("%s changes the kept units by %d and the stock by %d", op.Kind, op.Kept, op.Delta)
	}
	return nil
}

// readApplyResult reads the script's answer, and how long to wait before the call must be sent again.
func readApplyResult(raw any, ops []operation.Operation) (operation.ApplyResult, time.Duration, error) {
	r := rediskit.NewReply(raw)
	state := r.Number()
	a := operation.ApplyResult{Epoch: r.Number(), Applied: r.Number()}
	wait := time.Duration(r.Number()) * time.Millisecond
	if r.Err != nil {
		return operation.ApplyResult{}, 0, r.Err
	}
	if state < 0 || state > int64(operation.ApplyOther) {
		return operation.ApplyResult{}, 0, fmt.Errorf("redis: unknown state %d after applying operations", state)
	}
	a.State = operation.ApplyState(state)
	if a.State != operation.ApplyDone || wait > 0 {
		return a, wait, nil
	}
	for _, op := range ops {
		outcome, sequence := r.Number(), r.Number()
		switch outcome {
		case applyTaken, applyRefused:
			result := operation.Result{Number: op.Number, Taken: outcome == applyTaken}
			if sequence > 0 {
				result.Admission = order.Mark{Epoch: a.Epoch, Sequence: sequence}
			}
			a.Results = append(a.Results, result)
		case applyForgotten:
		default:
			return operation.ApplyResult{}, 0,
				fmt.Errorf("redis: unknown outcome %d of operation %d", outcome, op.Number)
		}
	}
	if r.Err != nil {
		return operation.ApplyResult{}, 0, r.Err
	}
	return a, 0, nil
}
