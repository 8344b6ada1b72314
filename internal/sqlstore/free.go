package sqlstore

import (
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// paidAtOnce reports whether the transaction that writes the order pays for it, as it costs nothing.
func (r orderRow) paidAtOnce() bool { return r.Status == order.Unpaid && r.Amount == 0 }

// payForNothing pays for those of the rows that cost nothing, in the transaction that writes them: nobody ever sees
// them unpaid, and no payment is made for them. It goes through advance, as every payment does, so that hooks see them
// paid.
func (s *Store) payForNothing(tx *gorm.DB, rows []orderRow, now time.Time) error {
	var free []orderRow
	var at []int
	for i := range rows {
		if rows[i].paidAtOnce() {
			free, at = append(free, rows[i]), append(at, i)
		}
	}
	err := s.advance(tx, free, order.Pay, cause{by: order.ByPayments, at: now, why: order.NothingToPay})
	for i := range free {
		rows[at[i]] = free[i]
	}
	return err
}

// payRecorded is payForNothing for claims that a batch has inserted. A batch without free orders costs a look at its
// terms.
func (s *Store) payRecorded(tx *gorm.DB, claims []order.Claim, terms map[int64]order.Terms) error {
	var ids []int64
	for _, c := range claims {
		if terms[c.VoucherID].Cents == 0 {
			ids = append(ids, c.OrderID)
		}
	}
	for part := range sqlkit.Chunks(ids) {
		var rows []orderRow // their times are the database's
		if err := tx.Where("id IN ?", part).Order("id").Find(&rows).Error; err != nil {
			return fmt.Errorf("reading %d free orders: %w", len(part), err)
		}
		if err := s.payForNothing(tx, rows, rows[0].CreateTime); err != nil {
			return err
		}
	}
	return nil
}

// refundNothing ends a paid order that cost nothing, as its owner or staff want: there is no money that a provider
// would send back.
func (s *Store) refundNothing(tx *gorm.DB, rows []orderRow, c cause) error {
	if err := s.advance(tx, rows, order.RequestRefund, c); err != nil {
		return err
	}
	return s.advance(tx, rows, order.ConfirmRefund, cause{by: order.ByPayments, at: c.at, why: order.NothingToPayBack})
}
