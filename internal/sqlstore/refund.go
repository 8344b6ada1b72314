package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"seckill/internal/order"
)

// errNotPaid: a paid order without the payment that it was paid with cannot be refunded by the service.
var errNotPaid = errors.New("the order was paid without a payment")

// errNotRefunding: a provider cannot have sent back money that was never to go back.
var errNotRefunding = errors.New("the payment's money is not going back")

// AskRefund implements order.Payments.
func (s *Store) AskRefund(ctx context.Context, owner, orderID int64) (order.Order, error) {
	var rows []orderRow
	err := s.writeAgain(ctx, func(tx *gorm.DB) error {
		row, err := lockOrder(tx, orderID, owner)
		if err != nil {
			return err
		}
		rows = []orderRow{row}
		if row.Status == order.Refunding || row.Status == order.Refunded {
			return nil // asked before
		}
		if err := order.RequestRefund.Check(row.ID, row.Status); err != nil {
			return err
		}
		p, err := paymentOf(tx, row.ID, order.PaymentReceived)
		if err != nil {
			return err
		}
		if p == nil {
			return errNotPaid
		}
		now, err := s.moment(tx)
		if err != nil {
			return err
		}
		if err := advance(tx, rows, order.RequestRefund, cause{by: order.Owner, at: now}); err != nil {
			return err
		}
		return p.sendBack(tx)
	})
	if err != nil {
		return order.Order{}, readError(fmt.Sprintf("asking for a refund of order %d", orderID), err)
	}
	return rows[0].order(), nil
}

// Refunding implements order.Payments.
func (s *Store) Refunding(ctx context.Context, n int) ([]order.Payment, error) {
	var rows []paymentRow
	err := s.read(ctx).Where("state = ?", order.PaymentRefunding).Order("create_time, id").Limit(n).Find(&rows).Error
	if err != nil {
		return nil, readError("reading payments that are to go back", err)
	}
	payments := make([]order.Payment, len(rows))
	for i, row := range rows {
		payments[i] = row.payment()
	}
	return payments, nil
}

// Refunded implements order.Payments.
func (s *Store) Refunded(ctx context.Context, paymentID string) (order.Order, error) {
	var rows []orderRow
	err := s.writeAgain(ctx, func(tx *gorm.DB) error {
		p, row, err := lockPayment(tx, paymentID)
		if err != nil {
			return err
		}
		rows = []orderRow{row}
		switch p.State {
		case order.PaymentRefunded:
			return nil // told before
		case order.PaymentRefunding:
		case order.PaymentOpen, order.PaymentReceived, order.PaymentLate:
			return fmt.Errorf("%w: it is %s", errNotRefunding, p.State)
		}
		now, err := s.moment(tx)
		if err != nil {
			return err
		}
		p.State, p.RefundTime = order.PaymentRefunded, &now
		if err := p.save(tx); err != nil {
			return err
		}
		c := cause{by: order.ByProvider, at: now, why: "the money has gone back"}
		if p.AcceptTime == nil || row.Status != order.Refunding {
			return record(tx, rows, c) // of a payment that the order was not paid with
		}
		return advance(tx, rows, order.ConfirmRefund, c)
	})
	if err != nil {
		return order.Order{}, readError("refunding payment "+paymentID, err)
	}
	return rows[0].order(), nil
}
