package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/sqlkit"
)

// operationState is the state of a row of tb_voucher_operation. Its numbers are the ones stored.
type operationState int8

// The states of an operation.
const (
	operationPending operationState = sqlkit.OperationPending // committed here, not yet known to Redis
	operationApplied operationState = 2                       // Redis contains it, and so does the ledger
	// A rebuild has built the sale from a stock that includes it, or the sale has left Redis.
	operationAbsorbed operationState = 3
	operationRefused  operationState = 4 // it wanted to take units and there were none
	operationVoid     operationState = 5 // it wanted to take units and a rebuild came between: nothing was changed
)

type operationRow struct {
	VoucherID      int64          `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	Number         int64          `gorm:"column:number;primaryKey;autoIncrement:false"`
	Kind           operation.Kind `gorm:"column:kind"`
	Delta          int64          `gorm:"column:delta"`
	Kept           int64          `gorm:"column:kept"`
	OrderID        *int64         `gorm:"column:order_id"`
	UserID         *int64         `gorm:"column:user_id"`
	Mode           order.SaleMode `gorm:"column:mode"`
	BeginTime      *time.Time     `gorm:"column:begin_time"`
	EndTime        *time.Time     `gorm:"column:end_time"`
	Actor          order.Actor    `gorm:"column:actor"`
	IdempotencyKey *string        `gorm:"column:idempotency_key"`
	State          operationState `gorm:"column:state"`
	Epoch          int64          `gorm:"column:epoch"`
	Sequence       int64          `gorm:"column:sequence"`
	CreateTime     time.Time      `gorm:"column:create_time"`
	SettleTime     *time.Time     `gorm:"column:settle_time"`
}

// TableName implements gorm's schema.Tabler.
func (operationRow) TableName() string { return "tb_voucher_operation" }

func (r operationRow) operation() operation.Operation {
	op := operation.Operation{
		VoucherID: r.VoucherID, Number: r.Number, Kind: r.Kind, Delta: r.Delta, Kept: r.Kept,
		Mode: r.Mode, Begin: sqlkit.At(r.BeginTime), End: sqlkit.At(r.EndTime),
	}
	if r.OrderID != nil && r.UserID != nil {
		op.OrderID, op.UserID = *r.OrderID, *r.UserID
	}
	return op
}

// takes reports whether the operation takes units.
func (r operationRow) takes() bool { return r.operation().Takes() }

// changesIssued reports whether the operation changes how many units the sale has issued, rather than moving some.
func (r operationRow) changesIssued() bool { return r.Kind == operation.Restock }

// orderOperation is an operation that concerns an order.
func orderOperation(row orderRow, kind operation.Kind, delta int64, by order.Actor) operationRow {
	return operationRow{Kind: kind, Delta: delta, OrderID: &row.ID, UserID: &row.UserID, Actor: by}
}

// appendOperations writes operations after the last one of a sale whose row this transaction has locked, and numbers
// them. It adds the units that they give back to the sale's stock, or keeps them for the waiting list. Operations of a
// retired sale need not be applied to Redis.
func (s *Store) appendOperations(tx *gorm.DB, sale *saleRow, ops []operationRow, now time.Time) error {
	s.keep(tx, sale, ops, now)
	last, given, issued, kept := sale.LastOperation, int64(0), int64(0), int64(0)
	for i := range ops {
		op := &ops[i]
		last++
		op.VoucherID, op.Number, op.State, op.CreateTime = sale.VoucherID, last, operationPending, now
		if sale.Retired {
			op.State, op.SettleTime = operationAbsorbed, &now
		}
		if op.takes() {
			continue
		}
		given, kept = given+op.Delta, kept+op.Kept
		if op.changesIssued() {
			issued += op.Delta + op.Kept
		}
	}
	if err := sqlkit.CreateAll(tx, ops); err != nil {
		return fmt.Errorf("writing %d operations of voucher %d: %w", len(ops), sale.VoucherID, err)
	}
	err := tx.Exec("UPDATE tb_seckill_voucher SET stock = stock + ?, issued = issued + ?, kept = kept + ?, "+
		"last_operation = ? WHERE voucher_id = ?", given, issued, kept, last, sale.VoucherID).Error
	if err != nil {
		return fmt.Errorf("giving %d units to voucher %d: %w", given, sale.VoucherID, err)
	}
	sale.LastOperation, sale.Stock, sale.Issued, sale.Kept = last, sale.Stock+given, sale.Issued+issued, sale.Kept+kept
	return nil
}

// Pending implements outbox.OperationLedger. It is one statement, so that ops and last are from the same moment. The
// operations are chosen before they are joined, as a backlog may be long and only its beginning is read.
func (s *Store) Pending(ctx context.Context, id int64, n int) (ops []operation.Operation, last int64, err error) {
	first := s.db.Read(ctx).Model(&operationRow{}).
		Where("voucher_id = ? AND state = ?", id, operationPending).Order("number").Limit(n)
	var rows []struct {
		Operation operationRow `gorm:"embedded"`
		Last      int64        `gorm:"column:last_operation"`
	}
	err = s.db.Read(ctx).Table("tb_seckill_voucher s").Select("s.last_operation, o.*").
		Joins("LEFT JOIN (?) o ON o.voucher_id = s.voucher_id", first).
		Where("s.voucher_id = ?", id).Order("o.number").Find(&rows).Error
	if err != nil {
		return nil, 0, sqlkit.ReadError(fmt.Sprintf("reading the pending operations of voucher %d", id), err)
	}
	for _, row := range rows {
		last = row.Last
		if row.Operation.Number != 0 {
			ops = append(ops, row.Operation.operation())
		}
	}
	return ops, last, nil
}

// SalesWithPending implements outbox.OperationLedger. It looks up the first pending operation of each sale that is not
// retired, as there are far fewer sales than operations.
func (s *Store) SalesWithPending(ctx context.Context, n int) ([]int64, error) {
	var sales []int64
	err := s.db.Read(ctx).Raw(
		"SELECT voucher_id FROM (SELECT s.voucher_id, (SELECT o.create_time FROM tb_voucher_operation o "+
			"WHERE o.state = ? AND o.voucher_id = s.voucher_id ORDER BY o.number LIMIT 1) AS since "+
			"FROM tb_seckill_voucher s WHERE s.retired = ? AND s.last_operation > 0) f "+
			"WHERE since IS NOT NULL ORDER BY since, voucher_id LIMIT ?", operationPending, false, n).Find(&sales).Error
	return sales, sqlkit.ReadError("looking for sales with pending operations", err)
}

// CompleteOperations implements outbox.OperationLedger.
func (s *Store) CompleteOperations(ctx context.Context, id int64, results []operation.Result) error {
	if len(results) == 0 {
		return nil
	}
	var conflict error
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) (err error) {
		conflict, err = s.complete(tx, id, results)
		return err
	})
	what := fmt.Sprintf("completing %d operations of voucher %d", len(results), id)
	switch {
	case err != nil:
		return sqlkit.ReadError(what, err)
	case conflict != nil:
		return fmt.Errorf("%s: %w", what, conflict)
	}
	return nil
}

// complete completes the operations that are still pending. An operation that gives units back changed the sale when it
// was written, so it is only marked, and the hot row is left alone. conflict is set when Redis gave a unit that the
// ledger does not have.
func (s *Store) complete(tx *gorm.DB, id int64, results []operation.Result) (conflict, err error) {
	ops, err := pendingAmong(tx, id, results)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(ops, operationRow.takes) {
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return nil, err
		}
		return nil, markOperations(tx, id, ops, operationApplied, now)
	}
	c := completion{store: s, tx: tx}
	if c.orders, err = lockOrders(tx, revived(ops)); err != nil {
		return nil, err
	}
	if c.sale, err = lockSale(tx, id); err != nil {
		return nil, err
	}
	// Once more, now that no other transaction can complete them.
	if ops, err = pendingAmong(tx, id, results); err != nil {
		return nil, err
	}
	if c.now, err = s.db.LedgerTime(tx); err != nil {
		return nil, err
	}
	byNumber := make(map[int64]operation.Result, len(results))
	for _, r := range results {
		byNumber[r.Number] = r
	}
	for _, op := range ops {
		r := byNumber[op.Number]
		op.Epoch, op.Sequence = r.Admission.Epoch, r.Admission.Sequence
		if err := c.complete(op, r.Taken); err != nil {
			return nil, err
		}
	}
	return c.conflict, c.finish()
}

// pendingAmong returns the operations that are pending and have a result, in order.
func pendingAmong(tx *gorm.DB, id int64, results []operation.Result) ([]operationRow, error) {
	numbers := sqlkit.Distinct(results, func(r operation.Result) int64 { return r.Number })
	var ops []operationRow
	for part := range sqlkit.Chunks(numbers) {
		var rows []operationRow
		err := tx.Where("voucher_id = ? AND number IN ? AND state = ?", id, part, operationPending).Find(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("reading operations: %w", err)
		}
		ops = append(ops, rows...)
	}
	slices.SortFunc(ops, func(a, b operationRow) int { return cmp.Compare(a.Number, b.Number) })
	return ops, nil
}

// revived returns the orders that operations revive.
func revived(ops []operationRow) []int64 {
	var ids []int64
	for _, op := range ops {
		if op.Kind == operation.Revival && op.OrderID != nil {
			ids = append(ids, *op.OrderID)
		}
	}
	return ids
}

// markOperations gives pending operations their final state, and stores the mark of each that was an admission.
func markOperations(tx *gorm.DB, id int64, ops []operationRow, state operationState, now time.Time) error {
	for part := range sqlkit.Chunks(ops) {
		numbers := sqlkit.Distinct(part, func(op operationRow) int64 { return op.Number })
		changes := map[string]any{"state": state, "settle_time": now}
		if slices.ContainsFunc(part, func(op operationRow) bool { return op.Sequence > 0 }) {
			changes["epoch"] = valueOf(part, func(op operationRow) int64 { return op.Epoch })
			changes["sequence"] = valueOf(part, func(op operationRow) int64 { return op.Sequence })
		}
		err := tx.Model(&operationRow{}).Where("voucher_id = ? AND number IN ? AND state = ?", id,
			numbers, operationPending).
			Updates(changes).Error
		if err != nil {
			return fmt.Errorf("marking %d operations: %w", len(ops), err)
		}
	}
	return nil
}

// valueOf returns an SQL expression that is, for each operation's row, the value of that operation.
func valueOf(ops []operationRow, value func(operationRow) int64) any {
	text := strings.Repeat(" WHEN ? THEN ?", len(ops))
	args := make([]any, 0, 2*len(ops))
	for _, op := range ops {
		args = append(args, op.Number, value(op))
	}
	return gorm.Expr("CASE number"+text+" END", args...)
}

// completion completes operations of one sale, some of which take units. The caller has locked the orders that they
// revive, and then the sale.
type completion struct {
	store  *Store
	tx     *gorm.DB
	now    time.Time
	orders map[int64]*orderRow
	sale   saleRow

	applied, refused []operationRow
	units, issued    int64 // to be subtracted from the sale's
	kept, accepted   int64 // likewise
	conflict         error
}

// complete decides what becomes of one operation. If Redis gave a unit that the ledger does not have, it refuses the
// operation with a conflict.
func (c *completion) complete(op operationRow, taken bool) error {
	var lacking error
	var err error
	switch {
	case !op.takes():
		taken = true
	case op.Kind == operation.Revival:
		taken, lacking, err = c.revive(op, taken)
	case op.Kind == operation.Acceptance:
		taken, lacking, err = c.accept(op, taken)
	case !taken && op.Kind == operation.Restock:
		taken, err = c.takeKept(&op)
	case taken && c.sale.Stock-c.units < -op.Delta:
		taken, lacking = false, fmt.Errorf("%w: %d units are left for operation %d, which took %d",
			order.ErrConflict, c.sale.Stock-c.units, op.Number, -op.Delta)
	}
	if taken && op.changesIssued() {
		c.issued -= min(0, op.Delta)
	}
	if err != nil {
		return err
	}
	c.conflict = errors.Join(c.conflict, lacking)
	if !taken {
		c.refused = append(c.refused, op)
		return nil
	}
	c.applied = append(c.applied, op)
	c.units -= min(0, op.Delta)
	return nil
}

// revive makes the order of a late payment paid if it got a unit, and otherwise sends the money back.
func (c *completion) revive(op operationRow, taken bool) (revived bool, lacking, err error) {
	if op.OrderID == nil {
		return false, nil, fmt.Errorf("operation %d revives no order", op.Number)
	}
	row, found := c.orders[*op.OrderID]
	if !found {
		return false, nil, fmt.Errorf("operation %d revives order %d, which is not there", op.Number, *op.OrderID)
	}
	p, err := latePayment(c.tx, row.ID)
	if err != nil {
		return false, nil, err
	}
	if taken {
		lacking, err = c.pay(row, op)
		if err != nil {
			return false, nil, err
		}
		if lacking == nil {
			return true, nil, c.paidLate(p, row)
		}
	}
	if err := p.sendBack(c.tx, c.now); err != nil {
		return false, nil, err
	}
	return false, lacking, writeHistory(c.tx, []orderRow{*row},
		cause{by: order.ByPayments, at: c.now, why: reason.NoUnitForLate})
}

// paidLate records that the order is paid with a late payment, and begins to refund it if its money has gone back.
func (c *completion) paidLate(p *paymentRow, row *orderRow) error {
	if err := p.accept(c.tx, c.now); err != nil {
		return err
	}
	if left := p.payment(); !left.AllGone() {
		return nil
	}
	rows := []orderRow{*row}
	why := cause{by: order.ByProvider, at: c.now, why: reason.MoneyReturned}
	if err := c.store.advance(c.tx, rows, order.RequestRefund, why); err != nil {
		return err
	}
	*row = rows[0]
	return p.sendBack(c.tx, c.now)
}

// pay makes a cancelled order paid, or returns why it cannot.
func (c *completion) pay(row *orderRow, op operationRow) (lacking, err error) {
	if err := order.Revive.Check(row.ID, row.Status); err != nil {
		return fmt.Errorf("%w: operation %d: %w", order.ErrConflict, op.Number, err), nil
	}
	if c.sale.Stock-c.units < -op.Delta {
		return fmt.Errorf("%w: no unit is left for operation %d", order.ErrConflict, op.Number), nil
	}
	rows := []orderRow{*row}
	err = c.store.advance(c.tx, rows, order.Revive, cause{
		by: order.ByPayments, at: c.now, why: reason.UnitForLate,
	})
	if sqlkit.IsDuplicate(err) { // the statement changed nothing, and the transaction goes on
		return fmt.Errorf("%w: operation %d: the user of order %d has another live order",
			order.ErrConflict, op.Number, row.ID), nil
	}
	*row = rows[0]
	return nil, err
}

// finish writes the outcome of the operations.
func (c *completion) finish() error {
	if err := markOperations(c.tx, c.sale.VoucherID, c.applied, operationApplied, c.now); err != nil {
		return err
	}
	if err := markOperations(c.tx, c.sale.VoucherID, c.refused, operationRefused, c.now); err != nil {
		return err
	}
	if c.units == 0 && c.kept == 0 && c.accepted == 0 {
		return nil
	}
	c.store.kept(c.tx, c.sale.VoucherID)
	err := c.tx.Exec("UPDATE tb_seckill_voucher SET stock = stock - ?, issued = issued - ?, kept = kept - ?, "+
		"accepted = accepted - ? WHERE voucher_id = ?",
		c.units, c.issued, c.kept, c.accepted, c.sale.VoucherID).Error
	if err != nil {
		return fmt.Errorf("taking %d units of voucher %d: %w", c.units, c.sale.VoucherID, err)
	}
	return nil
}
