package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
)

type paymentRow struct {
	ID          string             `gorm:"column:id;primaryKey"`
	OrderID     int64              `gorm:"column:order_id"`
	UserID      int64              `gorm:"column:user_id"`
	VoucherID   int64              `gorm:"column:voucher_id"`
	Amount      int64              `gorm:"column:amount"`
	State       order.PaymentState `gorm:"column:state"`
	Operation   *int64             `gorm:"column:operation"`
	CreateTime  time.Time          `gorm:"column:create_time"`
	ReceiveTime *time.Time         `gorm:"column:receive_time"`
	AcceptTime  *time.Time         `gorm:"column:accept_time"`
	RefundTime  *time.Time         `gorm:"column:refund_time"`
}

// TableName implements gorm's schema.Tabler.
func (*paymentRow) TableName() string { return "tb_payment" }

func (r *paymentRow) payment() order.Payment {
	return order.Payment{
		ID: r.ID, OrderID: r.OrderID, UserID: r.UserID, VoucherID: r.VoucherID, Amount: r.Amount, State: r.State,
		CreatedAt: r.CreateTime, ReceivedAt: at(r.ReceiveTime), RefundedAt: at(r.RefundTime),
	}
}

// save writes the columns of a payment that change.
func (r *paymentRow) save(tx *gorm.DB) error {
	err := tx.Model(r).Select("state", "operation", "receive_time", "accept_time", "refund_time").Updates(r).Error
	if err != nil {
		return fmt.Errorf("writing payment %s: %w", r.ID, err)
	}
	return nil
}

// accept says that the order is paid with the payment.
func (r *paymentRow) accept(tx *gorm.DB, now time.Time) error {
	r.State, r.AcceptTime = order.PaymentReceived, &now
	return r.save(tx)
}

// sendBack says that the money is to go back.
func (r *paymentRow) sendBack(tx *gorm.DB) error {
	r.State = order.PaymentRefunding
	return r.save(tx)
}

// findPayment returns a payment, or order.ErrNoPayment.
func findPayment(tx *gorm.DB, id string) (paymentRow, error) {
	var row paymentRow
	err := tx.Where("id = ?", id).Take(&row).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return row, order.ErrNoPayment
	case err != nil:
		return row, fmt.Errorf("reading the payment: %w", err)
	}
	return row, nil
}

// lockPayment locks the payment's order, which is the lock of its payments, and returns both.
func lockPayment(tx *gorm.DB, id string) (paymentRow, orderRow, error) {
	p, err := findPayment(tx, id)
	if err != nil {
		return p, orderRow{}, err
	}
	row, err := lockOrder(tx, p.OrderID, 0)
	if err != nil {
		return p, row, err
	}
	p, err = findPayment(tx, id) // as it is now that nobody else can change it
	return p, row, err
}

// paymentOf returns the oldest payment of a locked order in one of the states, or nil.
func paymentOf(tx *gorm.DB, orderID int64, states ...order.PaymentState) (*paymentRow, error) {
	var rows []paymentRow
	err := tx.Where("order_id = ? AND state IN ?", orderID, states).Order("create_time, id").Limit(1).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("reading the payments of order %d: %w", orderID, err)
	}
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // no payment is an answer
	}
	return &rows[0], nil
}

// latePayment returns the late payment of a locked order; one is there as long as its revival is pending.
func latePayment(tx *gorm.DB, orderID int64) (*paymentRow, error) {
	p, err := paymentOf(tx, orderID, order.PaymentLate)
	if err == nil && p == nil {
		err = fmt.Errorf("order %d has no late payment", orderID)
	}
	return p, err
}

// OpenPayment implements order.Payments.
func (s *Store) OpenPayment(ctx context.Context, owner, orderID int64, id string) (order.Payment, error) {
	var p *paymentRow
	err := s.writeAgain(ctx, func(tx *gorm.DB) error {
		row, err := lockOrder(tx, orderID, owner)
		if err != nil {
			return err
		}
		if err := order.Pay.Check(row.ID, row.Status); err != nil {
			return err
		}
		if p, err = paymentOf(tx, row.ID, order.PaymentOpen); err != nil || p != nil {
			return err
		}
		now, err := s.moment(tx)
		if err != nil {
			return err
		}
		p = &paymentRow{
			ID: id, OrderID: row.ID, UserID: row.UserID, VoucherID: row.VoucherID, Amount: row.Amount,
			State: order.PaymentOpen, CreateTime: now,
		}
		return tx.Create(p).Error
	})
	if err != nil {
		return order.Payment{}, readError(fmt.Sprintf("opening a payment for order %d", orderID), err)
	}
	return p.payment(), nil
}
