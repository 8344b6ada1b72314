package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// of returns order.ErrNoPayment for a notice of another provider than the payment's.
func (r *paymentRow) of(n order.Notice) error {
	if r.Provider != "" && r.Provider != n.Provider {
		return fmt.Errorf("%w with %q: it is with %q", order.ErrNoPayment, n.Provider, r.Provider)
	}
	return nil
}

// TakeNotice implements service.PaymentLedger.
func (s *Store) TakeNotice(ctx context.Context, n order.Notice) (order.Payment, order.Order, error) {
	take := func(tx *gorm.DB, p *paymentRow, rows []orderRow) error {
		if err := p.of(n); err != nil {
			return err
		}
		before := p.payment().Flow
		after, err := before.After(n, p.Amount)
		if err != nil || after == before {
			return err // repeated, or older than what is known
		}
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		p.Returned, p.Dispute, p.Disputed = after.Returned, after.Dispute, after.Disputed
		if after.Dispute != before.Dispute {
			p.DisputeTime = &now
		}
		s.wentBack(p, before.Gone(), now)
		return s.tookNotice(tx, p, rows, n, now)
	}
	return s.withPayment(ctx, "taking a notice about", idempotency.Key{}, n.PaymentID, take)
}

// tookNotice writes the payment as a notice has changed it, the history of its locked order, and what features write.
// A payment whose money has all gone back is refunding, and so is its order, if it can be: the job that confirms
// refunds finds that there is nothing left to send.
func (s *Store) tookNotice(tx *gorm.DB, p *paymentRow, rows []orderRow, n order.Notice, now time.Time) error {
	as := p.payment()
	c := cause{by: order.ByProvider, at: now, why: n.Why(as.AllGone())}
	if err := s.paymentChanged(tx, p, rows, n.News(), now); err != nil {
		return err
	}
	ends := as.AllGone() && slices.Contains(
		[]order.PaymentState{order.PaymentReceived, order.PaymentStuck, order.PaymentClosed}, p.State)
	if ends && p.AcceptTime != nil && rows[0].Status == order.Paid {
		if err := s.advance(tx, rows, order.RequestRefund, c); err != nil {
			return err
		}
	} else if err := writeHistory(tx, rows, c); err != nil {
		return err
	}
	if ends {
		return p.sendBack(tx, now)
	}
	return p.save(tx)
}

// paymentChanged gives the change a number among the events of the payment's order, and runs the hooks.
func (s *Store) paymentChanged(
	tx *gorm.DB, p *paymentRow, rows []orderRow, news order.PaymentNews, now time.Time,
) error {
	row := &rows[0]
	row.Revision++
	if err := tx.Model(row).Update("revision", row.Revision).Error; err != nil {
		return fmt.Errorf("counting news of a payment of order %d: %w", row.ID, err)
	}
	terms, err := s.terms.of(tx, []int64{row.VoucherID})
	if err != nil {
		return err
	}
	change := order.PaymentChange{
		Order: row.order(), Terms: terms[row.VoucherID], Payment: p.payment(), News: news, At: now,
	}
	for _, h := range s.hooks {
		if h.PaymentChanged == nil {
			continue
		}
		if err := sqlkit.HookError(h.Feature, h.PaymentChanged(tx, change)); err != nil {
			return err
		}
	}
	return nil
}
