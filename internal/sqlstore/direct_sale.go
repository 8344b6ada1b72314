package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

type requestRow struct {
	UserID     int64     `gorm:"column:user_id;primaryKey;autoIncrement:false"`
	RequestKey string    `gorm:"column:request_key;primaryKey"`
	OrderID    int64     `gorm:"column:order_id"`
	CreateTime time.Time `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (requestRow) TableName() string { return "tb_order_request" }

// RecordDirectSale implements service.DirectSaleLedger. Repeating it with the same order id is harmless too. It returns
// order.ErrUnavailable when nothing was written, and order.ErrUnknownOutcome when the reply to COMMIT was lost.
func (s *Store) RecordDirectSale(
	ctx context.Context, orderID, userID, voucherID int64, key string,
) (order.Order, error) {
	what := fmt.Sprintf("recording order %d of user %d for voucher %d", orderID, userID, voucherID)
	p := directPurchase{orderID: orderID, userID: userID, voucherID: voucherID, key: key}
	var row orderRow
	committing := false
	record := func(tx *gorm.DB) error {
		committing = false
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		var fresh bool
		row, fresh, err = p.record(tx, now)
		if err == nil && fresh {
			err = s.directlyRecorded(tx, &row, now)
		}
		committing = err == nil
		return err
	}
	err := s.db.WriteRetry(ctx, record)
	if sqlkit.IsDuplicate(err) { // the same request, at the same time: its row is visible now
		err = s.db.WriteRetry(ctx, record)
	}
	switch {
	case err == nil:
		return row.order(), nil
	case sqlkit.IsDuplicate(err):
		return order.Order{}, fmt.Errorf("%s: %w: %w", what, order.ErrConflict, err)
	case committing && !sqlkit.IsContended(err):
		return order.Order{}, fmt.Errorf("%s: %w: %w", what, order.ErrUnknownOutcome, err)
	default:
		return order.Order{}, sqlkit.ReadError(what, err)
	}
}

// directlyRecorded runs the hooks for a new order, and pays for it if it costs nothing.
func (s *Store) directlyRecorded(tx *gorm.DB, row *orderRow, now time.Time) error {
	rows := []orderRow{*row}
	if err := s.changed(tx, rows, order.Change{Recorded: true, By: order.Owner, At: now}); err != nil {
		return err
	}
	err := s.payForNothing(tx, rows, now)
	*row = rows[0]
	return err
}

// directPurchase is a purchase of an ordinary voucher.
type directPurchase struct {
	orderID, userID, voucherID int64
	key                        string
}

// record records the order, unless it was recorded before, and returns it; it is fresh if it was not.
func (p directPurchase) record(tx *gorm.DB, now time.Time) (row orderRow, fresh bool, err error) {
	row, err = p.before(tx)
	if !errors.Is(err, gorm.ErrRecordNotFound) {
		return row, false, err
	}
	v, err := p.offered(tx, now)
	if err != nil {
		return row, false, err
	}
	if row, err = p.claim(tx, v); row.ID != 0 || err != nil {
		return row, false, err
	}
	deadline := now.Add(v.PayWithin)
	row = orderRow{
		ID: p.orderID, UserID: p.userID, VoucherID: p.voucherID, Kind: v.Kind, Quantity: 1, Amount: v.PayValue,
		Status: order.Unpaid, CreateTime: now, PayDeadline: &deadline,
	}
	if err := tx.Create(&row).Error; err != nil {
		return row, false, fmt.Errorf("order: %w", err)
	}
	if p.key == "" {
		return row, true, nil
	}
	request := requestRow{UserID: p.userID, RequestKey: p.key, OrderID: p.orderID, CreateTime: now}
	if err := tx.Create(&request).Error; err != nil {
		return row, false, fmt.Errorf("request: %w", err)
	}
	return row, true, nil
}

// offered returns the voucher if it can be bought here at the time now.
func (p directPurchase) offered(tx *gorm.DB, now time.Time) (voucher.Voucher, error) {
	v, err := findVoucher(tx, p.voucherID)
	switch {
	case err != nil:
		return v, err
	case v.Hidden(now): // before its kind, which nobody is to know either
		return v, voucher.ErrNotFound
	case v.Kind != voucher.Ordinary:
		return v, order.ErrSeckill
	case v.Status != voucher.OnShelf:
		return v, voucher.ErrOffShelf
	}
	return v, nil
}

// claim makes sure that the user may have one more of the voucher. If the same request was recorded while this one
// waited for its turn, and has taken the last one, it returns that order.
func (p directPurchase) claim(tx *gorm.DB, v voucher.Voucher) (orderRow, error) {
	if v.PerUser == 0 {
		return orderRow{}, nil
	}
	limit := claimLimited(tx, v, p.userID)
	if _, reached := errors.AsType[*order.LimitError](limit); !reached {
		return orderRow{}, limit
	}
	row, err := p.before(tx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return orderRow{}, limit
	}
	return row, err
}

// before returns the order that the same request made before, or gorm.ErrRecordNotFound.
func (p directPurchase) before(tx *gorm.DB) (orderRow, error) {
	id := p.orderID
	if p.key != "" {
		var requests []requestRow
		if err := tx.Where("user_id = ? AND request_key = ?", p.userID, p.key).Find(&requests).Error; err != nil {
			return orderRow{}, fmt.Errorf("looking for the request: %w", err)
		}
		if len(requests) > 0 {
			id = requests[0].OrderID
		}
	}
	var row orderRow
	err := tx.Where("id = ? AND user_id = ?", id, p.userID).Take(&row).Error
	switch {
	case err != nil:
		return row, fmt.Errorf("looking for the order: %w", err)
	case row.VoucherID != p.voucherID:
		return row, order.ErrKeyReused
	}
	return row, nil
}
