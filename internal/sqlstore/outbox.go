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
	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/payments"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Operations are the changes of sales that Redis has still to apply. It implements outbox.OperationLedger.
type Operations struct{ *ledger }

// Pending implements outbox.OperationLedger. It is one statement, so that ops and last are from the same moment. The
// operations are chosen before they are joined, as a backlog may be long and only its beginning is read.
func (s Operations) Pending(ctx context.Context, id int64, n int) (ops []operation.Operation, last int64, err error) {
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
func (s Operations) SalesWithPending(ctx context.Context, n int) ([]int64, error) {
	var sales []int64
	err := s.db.Read(ctx).Raw(
		"SELECT voucher_id FROM (SELECT s.voucher_id, (SELECT o.create_time FROM tb_voucher_operation o "+
			"WHERE o.state = ? AND o.voucher_id = s.voucher_id ORDER BY o.number LIMIT 1) AS since "+
			"FROM tb_seckill_voucher s WHERE s.retired = ? AND s.last_operation > 0) f "+
			"WHERE since IS NOT NULL ORDER BY since, voucher_id LIMIT ?", operationPending, false, n).Find(&sales).Error
	return sales, sqlkit.ReadError("looking for sales with pending operations", err)
}

// CompleteOperations implements outbox.OperationLedger.
func (s Operations) CompleteOperations(ctx context.Context, id int64, results []operation.Result) error {
	if len(results) == 0 {
		return nil
	}
	var conflict error
	err := s.write(ctx, func(tx transaction) (err error) {
		conflict, err = tx.complete(id, results)
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
func (tx transaction) complete(id int64, results []operation.Result) (conflict, err error) {
	ops, err := pendingAmong(tx, id, results)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(ops, operationRow.takes) {
		now, err := tx.now()
		if err != nil {
			return nil, err
		}
		return nil, markOperations(tx, id, ops, operationApplied, now)
	}
	c := completion{tx: tx}
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
	if c.now, err = tx.now(); err != nil {
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
func pendingAmong(tx transaction, id int64, results []operation.Result) ([]operationRow, error) {
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
func markOperations(tx transaction, id int64, ops []operationRow, state operationState, now time.Time) error {
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

// completion collects the effects of a sale's operations while they are completed. The caller has locked the orders
// that they revive, and then the sale.
type completion struct {
	tx     transaction
	now    time.Time
	orders map[int64]*orderRow
	sale   saleRow

	applied, refused []operationRow
	units, issued    int64 // to be subtracted from the sale's
	kept, accepted   int64 // likewise
	conflict         error
}

// complete decides the outcome of one operation. If Redis gave a unit that the ledger does not have, it refuses the
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
		lacking, err = c.pay(p, row, op)
		if err != nil {
			return false, nil, err
		}
		if lacking == nil {
			return true, nil, c.paidLate(p, row)
		}
	}
	why := cause{by: order.ByPayments, at: c.now, why: reason.NoUnitForLate}
	rows := []orderRow{*row}
	if err := c.tx.sendUnused(p, rows, why, payment.NewsReceived); err != nil {
		return false, nil, err
	}
	*row = rows[0]
	return false, lacking, writeHistory(c.tx, rows, why)
}

// paidLate begins to refund an order that was paid with a late payment if the payment's money has gone back, or the
// coupon's date has passed while Redis was asked.
func (c *completion) paidLate(p *payments.Row, row *orderRow) error {
	over, err := c.tx.couponOver(row.VoucherID, c.now)
	why := cause{by: order.ByPayments, at: c.now, why: reason.SaleOver}
	if left := p.Payment(); left.AllGone() {
		why.by, why.why = order.ByProvider, reason.MoneyReturned
	} else if err != nil || !over {
		return err
	}
	if err := c.tx.sendBack(p, row, why, ""); err != nil {
		return err
	}
	rows := []orderRow{*row}
	err = c.tx.advance(rows, order.RequestRefund, why)
	*row = rows[0]
	return err
}

// pay makes a cancelled order paid with a late payment, or returns why it cannot.
func (c *completion) pay(p *payments.Row, row *orderRow, op operationRow) (lacking, err error) {
	if err := order.Revive.Check(row.ID, row.Status); err != nil {
		return fmt.Errorf("%w: operation %d: %w", order.ErrConflict, op.Number, err), nil
	}
	if c.sale.Stock-c.units < -op.Delta {
		return fmt.Errorf("%w: no unit is left for operation %d", order.ErrConflict, op.Number), nil
	}
	if err := p.Accept(c.tx.DB, c.now); err != nil {
		return nil, err
	}
	rows := []orderRow{*row}
	err = c.tx.advance(rows, order.Revive, cause{by: order.ByPayments, at: c.now, why: reason.UnitForLate})
	if sqlkit.IsDuplicate(err) { // the statement changed nothing, and the transaction goes on
		p.AcceptTime = nil
		return fmt.Errorf("%w: operation %d: the user of order %d has another live order",
			order.ErrConflict, op.Number, row.ID), nil
	}
	*row = rows[0]
	return nil, err
}

// accept writes the order of an acceptance if the operation made its user a holder in Redis (taken).
func (c *completion) accept(op operationRow, taken bool) (accepted bool, lacking, err error) {
	if op.UserID == nil || op.OrderID == nil {
		return false, nil, fmt.Errorf("operation %d accepts nothing for nobody", op.Number)
	}
	c.accepted++
	if !taken {
		return false, nil, nil
	}
	if c.sale.Kept-c.kept < 1 {
		return false, fmt.Errorf("%w: no unit is kept for operation %d", order.ErrConflict, op.Number), nil
	}
	lacking, err = c.buy(op)
	if err != nil || lacking != nil {
		return false, lacking, err
	}
	c.kept++
	return true, nil, nil
}

// buy writes the order of an acceptance, or returns why it cannot.
func (c *completion) buy(op operationRow) (lacking, err error) {
	terms, err := c.tx.terms.of(c.tx.DB, []int64{op.VoucherID})
	if err != nil {
		return nil, err
	}
	t, found := terms[op.VoucherID]
	if !found {
		return nil, voucher.ErrNotFound
	}
	bought, err := newOrderRow(order.Claim{
		OrderID: *op.OrderID, UserID: *op.UserID, VoucherID: op.VoucherID, Quantity: op.operation().Held().Quantity,
	}, t, c.now)
	if err != nil {
		return nil, fmt.Errorf("order %d: %w", *op.OrderID, err)
	}
	err = c.tx.Create(&bought).Error
	if sqlkit.IsDuplicate(err) { // the statement changed nothing, and the transaction goes on
		return fmt.Errorf("%w: operation %d: order %d is there, or user %d has another live order",
			order.ErrConflict, op.Number, bought.ID, bought.UserID), nil
	}
	if err != nil {
		return nil, fmt.Errorf("writing the order of an acceptance: %w", err)
	}
	done := cause{by: order.ByWaitlist, at: c.now, why: reason.InvitedToBuy}
	if err := writeHistory(c.tx, []orderRow{bought}, done); err != nil {
		return nil, err
	}
	return nil, c.tx.recorded([]orderRow{bought}, done)
}

// takeKept lets an admin's removal of stock, when there was too little on sale, take kept units that are promised to
// nobody.
func (c *completion) takeKept(op *operationRow) (taken bool, err error) {
	sale := c.sale
	sale.Kept, sale.Accepted = sale.Kept-c.kept, sale.Accepted-c.accepted
	spare, err := c.tx.spare(sale)
	if err != nil || spare < -op.Delta {
		return false, err
	}
	op.Kept, op.Delta = op.Delta, 0
	c.kept, c.issued = c.kept-op.Kept, c.issued-op.Kept
	err = c.tx.Model(op).Updates(map[string]any{"delta": op.Delta, "kept": op.Kept}).Error
	return err == nil, sqlkit.Wrapf(err, "taking %d kept units of voucher %d", -op.Kept, op.VoucherID)
}

// spare returns how many kept units are promised to nobody. The sale is locked.
func (tx transaction) spare(sale saleRow) (int64, error) {
	spare := sale.Kept - sale.Accepted
	err := tx.each(func(h sqlkit.Hook) error {
		if h.Promised == nil || spare <= 0 {
			return nil
		}
		promised, err := h.Promised(tx.DB, sale.VoucherID)
		spare -= promised
		return err
	})
	return spare, err
}

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
	c.tx.kept(c.sale.VoucherID)
	err := c.tx.Exec("UPDATE tb_seckill_voucher SET stock = stock - ?, issued = issued - ?, kept = kept - ?, "+
		"accepted = accepted - ? WHERE voucher_id = ?",
		c.units, c.issued, c.kept, c.accepted, c.sale.VoucherID).Error
	if err != nil {
		return fmt.Errorf("taking %d units of voucher %d: %w", c.units, c.sale.VoucherID, err)
	}
	return c.tx.issuedChanged(c.sale.VoucherID, c.issued)
}
