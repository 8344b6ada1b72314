package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// Receive implements service.PaymentLedger.
func (s *Store) Receive(ctx context.Context, n order.Notice) (order.Payment, order.Order, error) {
	var r receipt
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		p, row, err := lockPayment(tx, n.PaymentID)
		if err != nil {
			return err
		}
		if err := p.of(n); err != nil {
			return err
		}
		if n.Amount != p.Amount {
			return fmt.Errorf("%w: %d cents, not %d", order.ErrWrongAmount, n.Amount, p.Amount)
		}
		r = receipt{store: s, tx: tx, payment: p, order: row}
		if p.State != order.PaymentOpen {
			return nil // received before
		}
		if r.now, err = s.db.LedgerTime(tx); err != nil {
			return err
		}
		r.payment.ReceiveTime = &r.now
		if r.payment.ReturnTime != nil { // its return was notified first: the money comes in and goes back now
			r.payment.ReturnTime, r.payment.GoneBefore = &r.now, 0
		}
		if n.Reference != "" { // the notice names the attempt that was paid, even if the buyer began twice
			r.payment.Reference = n.Reference
		}
		return r.use()
	})
	if err != nil {
		return order.Payment{}, order.Order{}, sqlkit.ReadError("receiving payment "+n.PaymentID, err)
	}
	return r.payment.payment(), r.order.order(), nil
}

// receipt is a payment that has just arrived, and its locked order.
type receipt struct {
	store   *Store
	tx      *gorm.DB
	now     time.Time
	payment paymentRow
	order   orderRow
}

// use decides what the money is for.
func (r *receipt) use() error {
	if p := r.payment.payment(); p.AllGone() { // the notice that it went back came first
		return r.refuse(order.ByProvider, order.MoneyReturned)
	}
	if r.order.Status == order.Unpaid {
		if err := r.advance(order.Pay, order.ByProvider, ""); err != nil {
			return err
		}
		return r.payment.accept(r.tx, r.now)
	}
	if r.order.Status == order.Cancelled {
		other, err := paymentOf(r.tx, r.order.ID, order.PaymentLate)
		if err != nil {
			return err
		}
		if other == nil {
			return r.late()
		}
	}
	return r.refuse(order.ByProvider, order.PaidTwice)
}

// late tries to revive a cancelled order. Its unit was given back, so one has to be taken again; for a seckill order,
// Redis is asked first.
func (r *receipt) late() error {
	if r.order.Kind != liveKind {
		if err := r.noteLate(); err != nil {
			return err
		}
		return r.reviveDirect()
	}
	sale, err := lockSale(r.tx, r.order.VoucherID)
	if err != nil {
		return err
	}
	if err := r.noteLate(); err != nil {
		return err
	}
	return r.revive(&sale)
}

func (r *receipt) noteLate() error {
	return r.note(order.ByProvider, order.PaidLate)
}

// reviveDirect revives the order of an ordinary voucher, unless that would put the buyer over the voucher's perUser.
func (r *receipt) reviveDirect() error {
	v, err := findVoucher(r.tx, r.order.VoucherID)
	if err != nil {
		return err
	}
	why := order.NoLimit
	if v.PerUser > 0 {
		why = order.BuyerBelowLimit
		err := claimLimited(r.tx, v, r.order.UserID)
		if _, reached := errors.AsType[*order.LimitError](err); reached {
			return r.refuse(order.ByPayments, order.BuyerAtLimit)
		}
		if err != nil {
			return err
		}
	}
	if err := r.advance(order.Revive, order.ByPayments, why); err != nil {
		return err
	}
	return r.payment.accept(r.tx, r.now)
}

// revive writes an operation that asks Redis for a unit. If the locked sale was called off or has left Redis for good,
// it sends the money back instead.
func (r *receipt) revive(sale *saleRow) error {
	switch {
	case sale.CalledOff != nil:
		return r.refuse(order.ByPayments, order.CalledOffSale)
	case sale.Retired:
		return r.refuse(order.ByPayments, order.SaleOver)
	}
	ops := []operationRow{orderOperation(r.order, order.Revival, -r.order.units().Units(), order.ByPayments)}
	if err := r.store.appendOperations(r.tx, sale, ops, r.now); err != nil {
		return err
	}
	r.payment.State, r.payment.Operation = order.PaymentLate, &ops[0].Number
	return r.payment.save(r.tx)
}

func (r *receipt) advance(action order.Action, by order.Actor, why order.Why) error {
	rows := []orderRow{r.order}
	err := r.store.advance(r.tx, rows, action, cause{by: by, at: r.now, why: why})
	r.order = rows[0]
	return err
}

// note writes an event without changing the order.
func (r *receipt) note(by order.Actor, why order.Why) error {
	return writeHistory(r.tx, []orderRow{r.order}, cause{by: by, at: r.now, why: why})
}

func (r *receipt) refuse(by order.Actor, why order.Why) error {
	if err := r.note(by, why); err != nil {
		return err
	}
	return r.payment.sendBack(r.tx, r.now)
}

// ReviveLate implements service.PaymentLedger.
func (s *Store) ReviveLate(ctx context.Context, n int) ([]int64, error) {
	var vouchers []int64
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		vouchers = nil
		found, err := undecided(tx.Limit(n))
		if err != nil || len(found) == 0 {
			return err
		}
		orders, err := lockOrders(tx, sqlkit.Distinct(found, func(p paymentRow) int64 { return p.OrderID }))
		if err != nil {
			return err
		}
		sales, err := lockSales(tx, salesOf(orders))
		if err != nil {
			return err
		}
		// Once more, now that no other transaction can decide about them.
		found, err = undecided(tx.Where("p.id IN ?", sqlkit.Distinct(found, func(p paymentRow) string { return p.ID })))
		if err != nil {
			return err
		}
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		for _, p := range found {
			if err := s.reviveOne(tx, p, orders, sales, now); err != nil {
				return err
			}
		}
		vouchers = sqlkit.Distinct(found, func(p paymentRow) int64 { return p.VoucherID })
		return nil
	})
	if err != nil {
		return nil, sqlkit.ReadError("reviving orders with late payments", err)
	}
	return vouchers, nil
}

// undecided returns late payments that no pending revival decides about, the oldest first.
func undecided(query *gorm.DB) ([]paymentRow, error) {
	var found []paymentRow
	err := query.Table("tb_payment p").Select("p.*").
		Joins("JOIN tb_voucher_order r ON r.id = p.order_id JOIN tb_voucher_operation o "+
			"ON o.voucher_id = p.voucher_id AND o.number = p.operation").
		Where("p.state = ? AND o.state <> ?", order.PaymentLate, operationPending).
		Order("p.create_time, p.id").Find(&found).Error
	if err != nil {
		return nil, fmt.Errorf("looking for late payments: %w", err)
	}
	return found, nil
}

func (s *Store) reviveOne(
	tx *gorm.DB, p paymentRow, orders map[int64]*orderRow, sales map[int64]saleRow, now time.Time,
) error {
	row, found := orders[p.OrderID]
	var sale saleRow
	sold := false
	if found {
		sale, sold = sales[row.VoucherID]
	}
	if !sold {
		return fmt.Errorf("payment %s is for order %d of voucher %d, which are not both there",
			p.ID, p.OrderID, p.VoucherID)
	}
	r := receipt{store: s, tx: tx, now: now, payment: p, order: *row}
	if err := r.revive(&sale); err != nil {
		return err
	}
	sales[row.VoucherID] = sale
	return nil
}

// salesOf returns the sales of the orders, each once.
func salesOf(orders map[int64]*orderRow) []int64 {
	ids := make(map[int64]bool, len(orders))
	for _, row := range orders {
		ids[row.VoucherID] = true
	}
	return slices.Sorted(maps.Keys(ids))
}
