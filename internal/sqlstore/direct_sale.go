package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// RecordDirectSale implements service.OrderLedger. Repeating it with the same order id is harmless too. It returns
// order.ErrUnavailable when nothing was written, and order.ErrUnknownChange when the answer to COMMIT was lost.
func (s Orders) RecordDirectSale(
	ctx context.Context, orderID, userID, voucherID int64, key idempotency.Key,
) (order.Order, error) {
	what := fmt.Sprintf("recording order %d of user %d for voucher %d", orderID, userID, voucherID)
	p := directPurchase{orderID: orderID, userID: userID, voucherID: voucherID, key: key}
	var row orderRow
	err := s.write(ctx, func(tx transaction) error {
		now, err := tx.now()
		if err != nil {
			return err
		}
		var fresh bool
		row, fresh, err = p.record(tx, now)
		if err == nil && fresh {
			rows := []orderRow{row}
			err = tx.recorded(rows, cause{by: order.Owner, at: now})
			row = rows[0]
		}
		return err
	})
	switch {
	case err == nil:
		return row.order(), nil
	case sqlkit.IsDuplicate(err):
		return order.Order{}, fmt.Errorf("%s: %w: %w", what, order.ErrConflict, err)
	default:
		return order.Order{}, sqlkit.ReadError(what, err)
	}
}

// directPurchase is a purchase of an ordinary voucher.
type directPurchase struct {
	orderID, userID, voucherID int64
	key                        idempotency.Key
}

// record returns the order, which it records unless it was recorded before. fresh reports whether it was not.
func (p directPurchase) record(tx transaction, now time.Time) (row orderRow, fresh bool, err error) {
	row, err = p.own(tx, p.orderID)
	if !errors.Is(err, gorm.ErrRecordNotFound) {
		return row, false, err
	}
	err = sqlkit.ClaimKey(tx.DB, now, p.key, strconv.FormatInt(p.orderID, 10))
	if before, done := errors.AsType[*idempotency.RepeatedError](err); done {
		row, err = p.madeBefore(tx, before.Made)
	}
	if row.ID != 0 || err != nil {
		return row, false, err
	}
	v, err := p.offered(tx, now)
	if err != nil {
		return row, false, err
	}
	if v.PerUser > 0 {
		if err := claimLimited(tx, v, p.userID); err != nil {
			return row, false, err
		}
	}
	deadline := now.Add(v.PayWithin)
	row = orderRow{
		ID: p.orderID, UserID: p.userID, VoucherID: p.voucherID, Kind: v.Kind, Quantity: 1, Amount: v.PayValue,
		Status: order.Unpaid, CreateTime: now, PayDeadline: &deadline,
	}
	if err := tx.Create(&row).Error; err != nil {
		return row, false, fmt.Errorf("order: %w", err)
	}
	return row, true, nil
}

// offered returns the voucher if it can be bought here at the time now.
func (p directPurchase) offered(tx transaction, now time.Time) (voucher.Voucher, error) {
	v, err := findVoucher(tx.DB, p.voucherID)
	switch {
	case err != nil:
		return v, err
	case v.Hidden(now): // checked before the kind, which a hidden voucher must not reveal either
		return v, voucher.ErrNotFound
	case v.Kind != voucher.Ordinary:
		return v, order.ErrSeckill
	case v.Status != voucher.OnShelf, v.IsArchived():
		return v, voucher.ErrOffShelf
	}
	return v, nil
}

// madeBefore returns the order that an earlier request with the same key made, or idempotency.ErrGone.
func (p directPurchase) madeBefore(tx transaction, made string) (orderRow, error) {
	id, err := strconv.ParseInt(made, 10, 64)
	if err != nil {
		return orderRow{}, fmt.Errorf("the order of an idempotency key: %w", err)
	}
	row, err := p.own(tx, id)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, idempotency.ErrGone
	}
	return row, err
}

// own returns the user's order of the voucher with an id, or gorm.ErrRecordNotFound.
func (p directPurchase) own(tx transaction, id int64) (row orderRow, err error) {
	err = tx.Where("id = ? AND user_id = ? AND voucher_id = ?", id, p.userID, p.voucherID).Take(&row).Error
	if err != nil {
		return orderRow{}, fmt.Errorf("looking for the order: %w", err)
	}
	return row, nil
}

// limitedBuyerRow is written by each transaction that adds a live order of a limited ordinary voucher for this user.
type limitedBuyerRow struct {
	VoucherID int64 `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	UserID    int64 `gorm:"column:user_id;primaryKey;autoIncrement:false"`
	Writes    int64 `gorm:"column:writes"`
}

// TableName implements gorm's schema.Tabler.
func (limitedBuyerRow) TableName() string { return "tb_limited_buyer" }

// claimLimited returns *order.LimitError if the user has as many live orders of the voucher as a user may have. Until
// the transaction ends, no other transaction can add one: its claim waits for the row that this one writes. The row is
// written and not just locked, because the nodes of a Galera cluster share no locks, and only refuse to commit the
// second transaction that changed a row. It counts the orders themselves, so that no counter has to be kept in step
// when an order is cancelled or refunded.
func claimLimited(tx transaction, v voucher.Voucher, userID int64) error {
	claim := clause.OnConflict{
		Columns:   []clause.Column{{Name: "voucher_id"}, {Name: "user_id"}},
		DoUpdates: clause.Assignments(map[string]any{"writes": gorm.Expr("writes + 1")}),
	}
	if err := tx.Clauses(claim).Create(&limitedBuyerRow{VoucherID: v.ID, UserID: userID, Writes: 1}).Error; err != nil {
		return fmt.Errorf("claiming one of %d orders of voucher %d: %w", v.PerUser, v.ID, err)
	}
	var found []order.Status
	// At READ COMMITTED this sees all orders that were committed before this transaction locked the row.
	if err := tx.Model(&orderRow{}).Where("user_id = ? AND voucher_id = ?", userID,
		v.ID).Pluck("status", &found).Error; err != nil {
		return fmt.Errorf("counting the orders of a user: %w", err)
	}
	live := int64(0)
	for _, status := range found {
		if status.Live() {
			live++
		}
	}
	if live >= v.PerUser {
		return &order.LimitError{PerUser: v.PerUser}
	}
	return nil
}
