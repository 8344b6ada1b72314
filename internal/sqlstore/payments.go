package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/payments"
	"seckill/internal/sqlstore/sqlkit"
)

// Payments has the attempts to pay for orders, and the refunds. It implements service.PaymentLedger.
type Payments struct {
	payments.Lists
	*ledger
}

// sendBack records that all the money that is left is to go back. refunding_time keeps its first value.
func (tx transaction) sendBack(r *payments.Row, row *orderRow, c cause, why string) error {
	r.State, r.StuckTime, r.Refusal = payment.Refunding, nil, ""
	r.RefundingTime = cmp.Or(r.RefundingTime, &c.at)
	a, err := payments.Open(tx.DB, r, c.at)
	if err != nil {
		return err
	}
	alone, err := tx.alone()
	if err != nil {
		return err
	}
	a.AskAgain(alone, string(c.by), why, c.at)
	return tx.store(a, row, "", payment.Refund{}, c.at)
}

// store writes the account, with when its money moved, and the payment. If there is news, it runs the hooks; r is the
// refund that the news is about.
func (tx transaction) store(
	a *payments.Account, row *orderRow, news payment.News, r payment.Refund, now time.Time,
) error {
	if err := tx.keepAccount(a, row); err != nil {
		return err
	}
	a.Moved(now, tx.db.Midnight(now))
	if err := a.Row.Save(tx.DB); err != nil || news == "" {
		return err
	}
	return tx.refundChanged(a.Row, row, news, r, now)
}

// sendUnused is sendBack for money that does not pay for the locked order, which is news.
func (tx transaction) sendUnused(p *payments.Row, rows []orderRow, c cause, news payment.News) error {
	if err := tx.sendBack(p, &rows[0], c, ""); err != nil {
		return err
	}
	return tx.paymentChanged(p, rows, news, c.at)
}

// account opens a locked payment's account now.
func (tx transaction) account(p *payments.Row) (a *payments.Account, now time.Time, err error) {
	if now, err = tx.now(); err != nil {
		return nil, now, err
	}
	a, err = payments.Open(tx.DB, p, now)
	return a, now, err
}

// keepAccount writes the account's refunds, and notes in the locked order that there are some.
func (tx transaction) keepAccount(a *payments.Account, row *orderRow) error {
	some, err := a.Keep(tx.DB)
	if err != nil || !some || row.Refunds != 0 {
		return err
	}
	row.Refunds = 1
	err = tx.Model(row).Update("refunds", row.Refunds).Error
	return sqlkit.Wrapf(err, "noting that order %d has refunds", row.ID)
}

// refundsSetting names the setting that is there once no version without refunds lives, and none can start any more.
// The ledger's format word does not say so: it is raised before those that live are known to be gone.
const refundsSetting = "refunds_on"

// SwitchRefundsOn notes that no version without refunds lives, and that none can start any more (partition.Formats).
func (s Payments) SwitchRefundsOn(ctx context.Context) error {
	err := s.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		return tx.Clauses(clause.OnConflict{DoNothing: true}).
			Create(&sqlkit.SettingRow{Name: refundsSetting, Value: []byte("1"), CreateTime: now}).Error
	})
	return sqlkit.ReadError("noting that refunds are switched on", err)
}

// RefundsOn reports whether SwitchRefundsOn has noted that.
func (s Payments) RefundsOn(ctx context.Context) (bool, error) {
	on, err := refundsOn(s.db.Read(ctx))
	return on, sqlkit.ReadError("looking for versions without refunds", err)
}

// alone reports whether no version without refunds writes to the ledger any more (SwitchRefundsOn).
func (tx transaction) alone() (bool, error) { return refundsOn(tx.DB) }

func refundsOn(db *gorm.DB) (bool, error) {
	var noted int64
	if err := db.Model(&sqlkit.SettingRow{}).Where("name = ?", refundsSetting).Count(&noted).Error; err != nil {
		return false, fmt.Errorf("reading whether refunds are switched on: %w", err)
	}
	return noted > 0, nil
}

// lockPayment locks the payment's order, which is the lock of its payments, and returns both.
func lockPayment(tx transaction, id string) (payments.Row, orderRow, error) {
	p, err := payments.Find(tx.DB, id)
	if err != nil {
		return p, orderRow{}, err
	}
	row, err := lockOrder(tx, p.OrderID, 0)
	if err != nil {
		return p, row, err
	}
	p, err = payments.Find(tx.DB, id) // once more, now that no other transaction can change it
	return p, row, err
}

// withPayment runs f in a transaction that has claimed the key, if one is given, and locked a payment and its order,
// and returns both as f leaves them. rows is the order alone.
func (s Payments) withPayment(
	ctx context.Context, doing string, key idempotency.Key, id string,
	f func(tx transaction, p *payments.Row, rows []orderRow) error,
) (payment.Payment, order.Order, error) {
	var p payments.Row
	var rows []orderRow
	err := s.write(ctx, func(tx transaction) error {
		if err := tx.claimKey(key, id); err != nil {
			return err
		}
		locked, row, err := lockPayment(tx, id)
		if err != nil {
			return err
		}
		p, rows = locked, []orderRow{row}
		return f(tx, &p, rows)
	})
	if err != nil {
		return payment.Payment{}, order.Order{}, sqlkit.ReadError(doing+" payment "+id, err)
	}
	return p.Payment(), rows[0].order(), nil
}

// latePayment returns the late payment of a locked order; one is there as long as its revival is pending.
func latePayment(tx transaction, orderID int64) (*payments.Row, error) {
	p, err := payments.OfOrder(tx.DB, orderID, payment.Late)
	if err == nil && p == nil {
		err = fmt.Errorf("order %d has no late payment", orderID)
	}
	return p, err
}

// OpenPayment implements service.PaymentLedger.
func (s Payments) OpenPayment(
	ctx context.Context, owner, orderID int64, id string, providers []string,
) (payment.Beginning, error) {
	const beforeNames = "" // what payments of versions that knew one provider only have
	var p *payments.Row
	var row orderRow
	err := s.write(ctx, func(tx transaction) (err error) {
		if row, err = lockOrder(tx, orderID, owner); err != nil {
			return err
		}
		if err := order.Pay.Check(row.ID, row.Status); err != nil {
			return err
		}
		if len(providers) == 0 && row.Amount > 0 {
			return payment.ErrNoProvider
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		over, err := tx.couponOver(row.VoucherID, now)
		if err != nil {
			return err
		}
		if over {
			return order.Pay.Check(row.ID, order.Lapsed)
		}
		going := tx.Where("provider IN ? AND progress IN ?", slices.Concat(providers, []string{beforeNames}),
			[]payment.Progress{payment.ProgressNone, payment.ProgressProcessing})
		if p, err = payments.OfOrder(going, row.ID, payment.Open); err != nil || p != nil {
			return err
		}
		terms, err := s.terms.of(tx.DB, []int64{row.VoucherID})
		if err != nil {
			return err
		}
		p = &payments.Row{
			ID: id, OrderID: row.ID, UserID: row.UserID, VoucherID: row.VoucherID, ShopID: terms[row.VoucherID].ShopID,
			Amount: row.Amount, State: payment.Open, CreateTime: now,
		}
		if len(providers) > 0 && row.Amount > 0 {
			p.Provider = providers[0]
		}
		return tx.Create(p).Error
	})
	if err != nil {
		return payment.Beginning{}, sqlkit.ReadError(fmt.Sprintf("opening a payment for order %d", orderID), err)
	}
	return payment.Beginning{
		Payment: p.Payment(), Currency: s.db.Currency(), Quantity: row.units().Units(),
		PayBefore: sqlkit.At(row.PayDeadline),
	}, nil
}

// couponOver reports whether nothing of the voucher is to be paid any more: the coupon would lapse at once.
func (tx transaction) couponOver(voucherID int64, now time.Time) (bool, error) {
	terms, err := tx.terms.of(tx.DB, []int64{voucherID})
	return terms[voucherID].Redemption.Over(now), err
}

// Begun implements service.PaymentLedger. It changes open payments alone: a notice's reference is newer.
func (s Payments) Begun(ctx context.Context, paymentID, reference string) error {
	_, _, err := s.withPayment(ctx, "storing the reference of", idempotency.Key{}, paymentID,
		func(tx transaction, p *payments.Row, rows []orderRow) error {
			if p.State != payment.Open {
				return nil
			}
			p.Reference = reference
			if rows[0].Status != order.Unpaid {
				if err := payments.CancelOpen(tx.DB, tx.now, []int64{rows[0].ID}, ""); err != nil {
					return err
				}
			}
			return p.Save(tx.DB)
		})
	return err
}

// paymentChanged gives the change a number among the events of the payment's order, and runs the hooks.
func (tx transaction) paymentChanged(p *payments.Row, rows []orderRow, news payment.News, now time.Time) error {
	return tx.refundChanged(p, &rows[0], news, payment.Refund{}, now)
}

// refundChanged is paymentChanged with the refund that the news is about.
func (tx transaction) refundChanged(
	p *payments.Row, row *orderRow, news payment.News, r payment.Refund, now time.Time,
) error {
	row.Revision++
	if err := tx.Model(row).Update("revision", row.Revision).Error; err != nil {
		return fmt.Errorf("counting news of a payment of order %d: %w", row.ID, err)
	}
	terms, err := tx.terms.of(tx.DB, []int64{row.VoucherID})
	if err != nil {
		return err
	}
	change := order.PaymentChange{
		Order: row.order(), Terms: terms[row.VoucherID], Payment: p.Payment(), News: news, Refund: r, At: now,
	}
	return tx.each(func(h sqlkit.Hook) error { return tell(tx, h.PaymentChanged, change) })
}
