package sqlstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// operationState is where a row of tb_voucher_operation is. Its numbers are the ones stored.
type operationState int8

// The states of an operation.
const (
	operationPending operationState = sqlkit.OperationPending // committed here, not yet known to Redis
	operationApplied operationState = 2                       // Redis contains it, and so does the ledger
	// A rebuild has built the sale from a stock that contains it, or the sale has left Redis.
	operationAbsorbed operationState = 3
	operationRefused  operationState = 4 // it wanted to take units and there were none
	operationVoid     operationState = 5 // it wanted to take units and a rebuild came between: nothing was changed
)

type operationRow struct {
	VoucherID      int64               `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	Number         int64               `gorm:"column:number;primaryKey;autoIncrement:false"`
	Kind           order.OperationKind `gorm:"column:kind"`
	Delta          int64               `gorm:"column:delta"`
	Kept           int64               `gorm:"column:kept"`
	OrderID        *int64              `gorm:"column:order_id"`
	UserID         *int64              `gorm:"column:user_id"`
	Mode           order.SaleMode      `gorm:"column:mode"`
	BeginTime      *time.Time          `gorm:"column:begin_time"`
	EndTime        *time.Time          `gorm:"column:end_time"`
	Actor          order.Actor         `gorm:"column:actor"`
	IdempotencyKey *string             `gorm:"column:idempotency_key"`
	State          operationState      `gorm:"column:state"`
	Epoch          int64               `gorm:"column:epoch"`
	Sequence       int64               `gorm:"column:sequence"`
	CreateTime     time.Time           `gorm:"column:create_time"`
	SettleTime     *time.Time          `gorm:"column:settle_time"`
}

// TableName implements gorm's schema.Tabler.
func (operationRow) TableName() string { return "tb_voucher_operation" }

func (r operationRow) operation() order.Operation {
	op := order.Operation{
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

// changesIssued reports whether the operation changes how many units the sale has issued, and not only where they are.
func (r operationRow) changesIssued() bool { return r.Kind == order.Restock }

// orderOperation is an operation that concerns an order.
func orderOperation(row orderRow, kind order.OperationKind, delta int64, by order.Actor) operationRow {
	return operationRow{Kind: kind, Delta: delta, OrderID: &row.ID, UserID: &row.UserID, Actor: by}
}

// appendOperations writes operations after the last one of a sale whose row this transaction has locked, numbers
// them, and adds what they give back to the sale, or keeps it for those who wait. Those of a retired sale need not be
// applied to Redis.
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

// Pending implements outbox.OperationLedger. It is one statement, so that both answers are of one moment; the
// operations are chosen before they are joined, as a backlog is long and only its beginning is read.
func (s *Store) Pending(ctx context.Context, id int64, n int) (ops []order.Operation, last int64, err error) {
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

// hasPending reports whether an operation of the sale is pending. The sale's row is locked.
func hasPending(tx *gorm.DB, id int64) (bool, error) {
	var numbers []int64
	err := tx.Model(&operationRow{}).Where("voucher_id = ? AND state = ?", id, operationPending).
		Order("number").Limit(1).Pluck("number", &numbers).Error
	if err != nil {
		return false, fmt.Errorf("looking for pending operations of voucher %d: %w", id, err)
	}
	return len(numbers) > 0, nil
}
