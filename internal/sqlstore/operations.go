package sqlstore

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/operation"
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
	Identity       *int64         `gorm:"column:identity"` // never 0; NULL: written while a 1.0 might live
}

// TableName implements gorm's schema.Tabler.
func (operationRow) TableName() string { return "tb_voucher_operation" }

func (r operationRow) operation() operation.Operation {
	return operation.Operation{
		VoucherID: r.VoucherID, Number: r.Number, Identity: sqlkit.Value(r.Identity), Kind: r.Kind, Delta: r.Delta,
		Kept: r.Kept, OrderID: sqlkit.Value(r.OrderID), UserID: sqlkit.Value(r.UserID), Mode: r.Mode,
		Begin: sqlkit.At(r.BeginTime), End: sqlkit.At(r.EndTime),
	}
}

// newIdentity returns random bits, never 0.
func newIdentity() int64 {
	for {
		var b [8]byte
		_, _ = rand.Read(b[:]) // it never fails
		if n := int64(binary.LittleEndian.Uint64(b[:])); n != 0 {
			return n
		}
	}
}

func (r operationRow) takes() bool { return r.operation().Takes() }

// changesIssued reports whether the operation changes how many units the sale has issued, rather than moving some.
func (r operationRow) changesIssued() bool { return r.Kind == operation.Restock }

func orderOperation(row orderRow, kind operation.Kind, delta int64, by order.Actor) operationRow {
	return operationRow{Kind: kind, Delta: delta, OrderID: &row.ID, UserID: &row.UserID, Actor: by}
}

// appendOperations writes operations after the last one of a sale whose row this transaction has locked, and numbers
// them. It adds the units that they give back to the sale's stock, or keeps them for the waiting list. Operations of a
// retired sale need not be applied to Redis.
func (tx transaction) appendOperations(sale *saleRow, ops []operationRow, now time.Time) error {
	tx.keep(sale, ops, now)
	last, given, issued, kept := sale.LastOperation, int64(0), int64(0), int64(0)
	for i := range ops {
		op := &ops[i]
		last++
		op.VoucherID, op.Number, op.State, op.CreateTime = sale.VoucherID, last, operationPending, now
		if tx.named.Load() {
			op.Identity = new(newIdentity())
		}
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
	if err := sqlkit.CreateAll(tx.DB, ops); err != nil {
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

// keep keeps the units that the operations are about to put on sale, if the sale's list is open. The sale is locked.
func (tx transaction) keep(sale *saleRow, ops []operationRow, now time.Time) {
	if !sale.ListOpen || sale.Retired || now.Before(sale.BeginTime) || !now.Before(sale.EndTime) {
		return
	}
	kept := false
	for i := range ops {
		if op := &ops[i]; op.Delta > 0 && op.Kind != operation.Releasing { // new units, or units of an order
			ops[i].Kept, ops[i].Delta, kept = ops[i].Delta, 0, true
		}
	}
	if kept {
		tx.kept(sale.VoucherID)
	}
}

// kept tells the hooks, after the commit, that units were kept, or acceptances completed.
func (tx transaction) kept(voucherID int64) {
	for _, h := range tx.hooks {
		if h.Kept != nil {
			sqlkit.AfterCommit(tx.DB, func() { h.Kept(voucherID) })
		}
	}
}
