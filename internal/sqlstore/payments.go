package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/refunds"
	"seckill/internal/sqlstore/sqlkit"
)

// Payments has the attempts to pay for orders, and the refunds. It implements service.PaymentLedger.
type Payments struct{ *ledger }

type paymentRow struct {
	ID            string          `gorm:"column:id;primaryKey"`
	Number        int64           `gorm:"column:number;->"`
	OrderID       int64           `gorm:"column:order_id"`
	UserID        int64           `gorm:"column:user_id"`
	VoucherID     int64           `gorm:"column:voucher_id"`
	ShopID        int64           `gorm:"column:shop_id"`
	Amount        int64           `gorm:"column:amount"`
	State         payment.State   `gorm:"column:state"`
	Operation     *int64          `gorm:"column:operation"`
	CreateTime    time.Time       `gorm:"column:create_time"`
	ReceiveTime   *time.Time      `gorm:"column:receive_time"`
	AcceptTime    *time.Time      `gorm:"column:accept_time"`
	RefundingTime *time.Time      `gorm:"column:refunding_time"`
	RefundTime    *time.Time      `gorm:"column:refund_time"`
	StuckTime     *time.Time      `gorm:"column:stuck_time"`
	Refusal       string          `gorm:"column:refusal"`
	CloseTime     *time.Time      `gorm:"column:close_time"`
	ReturnTime    *time.Time      `gorm:"column:return_time"`
	GoneBefore    int64           `gorm:"column:gone_before"`
	Returned      int64           `gorm:"column:returned"`
	Dispute       payment.Dispute `gorm:"column:dispute"`
	Disputed      int64           `gorm:"column:disputed"`
	DisputeTime   *time.Time      `gorm:"column:dispute_time"`
	Provider      string          `gorm:"column:provider"`
	Reference     string          `gorm:"column:reference"`

	Progress      payment.Progress `gorm:"column:progress"`
	ProgressTime  *time.Time       `gorm:"column:progress_time"`
	ProgressUntil *time.Time       `gorm:"column:progress_until"`
	Failure       string           `gorm:"column:failure"`
	LostTime      *time.Time       `gorm:"column:lost_time"`
	LostBefore    int64            `gorm:"column:lost_before"`
}

// TableName implements gorm's schema.Tabler.
func (*paymentRow) TableName() string { return "tb_payment" }

func (r *paymentRow) payment() payment.Payment {
	return payment.Payment{
		ID: r.ID, Number: r.Number, OrderID: r.OrderID, UserID: r.UserID, VoucherID: r.VoucherID, ShopID: r.ShopID,
		Amount: r.Amount, State: r.State, Provider: r.Provider, Reference: r.Reference,
		CreatedAt: r.CreateTime, ReceivedAt: sqlkit.At(r.ReceiveTime), RefundingAt: sqlkit.At(r.RefundingTime),
		RefundedAt: sqlkit.At(r.RefundTime), StuckAt: sqlkit.At(r.StuckTime), Refusal: r.Refusal,
		ClosedAt: sqlkit.At(r.CloseTime), Progress: r.Progress, ProgressAt: sqlkit.At(r.ProgressTime),
		ProgressUntil: sqlkit.At(r.ProgressUntil), Failure: r.Failure,
		Flow: payment.Flow{
			Returned: r.Returned, Dispute: r.Dispute, Disputed: r.Disputed, DisputedAt: sqlkit.At(r.DisputeTime),
		},
	}
}

// save writes the columns of a payment that change.
func (r *paymentRow) save(tx transaction) error {
	err := tx.Model(r).Select("state", "operation", "receive_time", "accept_time", "refunding_time", "refund_time",
		"stuck_time", "refusal", "close_time", "return_time", "gone_before", "returned", "dispute", "disputed",
		"dispute_time", "reference", "progress", "progress_time", "progress_until", "failure", "lost_time",
		"lost_before").Updates(r).Error
	if err != nil {
		return fmt.Errorf("writing payment %s: %w", r.ID, err)
	}
	return nil
}

// accept records that the order is paid with the payment.
func (r *paymentRow) accept(tx transaction, now time.Time) error {
	r.State, r.AcceptTime = payment.Received, &now
	return r.save(tx)
}

// sendBack records that all the money that is left is to go back. refunding_time keeps its first value.
func (r *paymentRow) sendBack(tx transaction, row *orderRow, c cause, why string) error {
	r.State, r.StuckTime, r.Refusal = payment.Refunding, nil, ""
	if r.RefundingTime == nil {
		r.RefundingTime = &c.at
	}
	a, err := tx.account(r, c.at)
	if err != nil {
		return err
	}
	alone, err := tx.alone()
	if err != nil {
		return err
	}
	a.AskAgain(alone, string(c.by), why, c.at)
	if err := tx.keepAccount(a, row); err != nil {
		return err
	}
	return r.save(tx)
}

// wentBack notes that money has gone back now, or come back, for the sums of the day, if that is other than before.
func (tx transaction) wentBack(r *paymentRow, before payment.Flow, now time.Time) {
	after, midnight := r.payment().Flow, tx.db.Midnight(now)
	if after.Gone() != before.Gone() {
		if r.ReturnTime == nil || r.ReturnTime.Before(midnight) {
			r.GoneBefore = before.Gone()
		}
		r.ReturnTime = &now
	}
	if after.Lost() != before.Lost() {
		if r.LostTime == nil || r.LostTime.Before(midnight) {
			r.LostBefore = before.Lost()
		}
		r.LostTime = &now
	}
}

// account is a locked payment with its refunds, which keepAccount writes.
type account struct {
	payment.Account
	row    *paymentRow
	stored []payment.Refund
	before payment.Flow
}

// account returns a locked payment's account.
func (tx transaction) account(p *paymentRow, now time.Time) (*account, error) {
	found, err := refunds.Of(tx.DB, []string{p.ID})
	if err != nil {
		return nil, err
	}
	a := &account{row: p, stored: found[p.ID], before: p.payment().Flow}
	a.Account = payment.Account{Payment: p.payment(), Refunds: slices.Clone(a.stored)}
	a.Adopt(now)
	return a, nil
}

// keepAccount writes the account's refunds, and notes in the locked order that there are some. The payment's row, which
// has their sum from then on, is the caller's to save.
func (tx transaction) keepAccount(a *account, row *orderRow) error {
	if err := refunds.Save(tx.DB, a.stored, a.Refunds); err != nil {
		return err
	}
	a.stored, a.row.Returned = slices.Clone(a.Refunds), a.Returned
	if len(a.Refunds) == 0 || row.Refunds != 0 {
		return nil
	}
	row.Refunds = 1
	if err := tx.Model(row).Update("refunds", row.Refunds).Error; err != nil {
		return fmt.Errorf("noting that order %d has refunds: %w", row.ID, err)
	}
	return nil
}

// refundsSetting names the setting that is there once no version without refunds lives, and none can start any more.
// The ledger's format word does not say so: it is raised before those that live are known to be gone.
const refundsSetting = "refunds_on"

// SwitchRefundsOn notes that no version without refunds lives, and that none can start any more (partition.Formats).
func (s Payments) SwitchRefundsOn(ctx context.Context) error {
	err := s.write(ctx, func(tx transaction) error {
		now, err := tx.now()
		if err != nil {
			return err
		}
		return tx.Clauses(clause.OnConflict{DoNothing: true}).
			Create(&sqlkit.SettingRow{Name: refundsSetting, Value: []byte("1"), CreateTime: now}).Error
	})
	return sqlkit.ReadError("noting that refunds are switched on", err)
}

// alone reports whether no version without refunds writes to the ledger any more (SwitchRefundsOn).
func (tx transaction) alone() (bool, error) {
	var noted int64
	if err := tx.Model(&sqlkit.SettingRow{}).Where("name = ?", refundsSetting).Count(&noted).Error; err != nil {
		return false, fmt.Errorf("reading whether refunds are switched on: %w", err)
	}
	return noted > 0, nil
}

// findPayment returns a payment, or payment.ErrNotFound.
func findPayment(db *gorm.DB, id string) (paymentRow, error) {
	return sqlkit.Take[paymentRow](db.Where("id = ?", id), payment.ErrNotFound, "reading the payment")
}

// lockPayment locks the payment's order, which is the lock of its payments, and returns both.
func lockPayment(tx transaction, id string) (paymentRow, orderRow, error) {
	p, err := findPayment(tx.DB, id)
	if err != nil {
		return p, orderRow{}, err
	}
	row, err := lockOrder(tx, p.OrderID, 0)
	if err != nil {
		return p, row, err
	}
	p, err = findPayment(tx.DB, id) // once more, now that no other transaction can change it
	return p, row, err
}

// withPayment runs f in a transaction that has claimed the key, if one is given, and locked a payment and its order,
// and returns both as f leaves them. rows is the order alone.
func (s Payments) withPayment(
	ctx context.Context, doing string, key idempotency.Key, id string,
	f func(tx transaction, p *paymentRow, rows []orderRow) error,
) (payment.Payment, order.Order, error) {
	var p paymentRow
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
	return p.payment(), rows[0].order(), nil
}

// paymentOf returns a locked order's oldest payment that is in one of the states, or nil. tx may carry further
// conditions (Where).
func paymentOf(query *gorm.DB, orderID int64, states ...payment.State) (*paymentRow, error) {
	var rows []paymentRow
	err := query.Where("order_id = ? AND state IN ?", orderID, states).Order("create_time, number").Limit(1).
		Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("reading the payments of order %d: %w", orderID, err)
	}
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // no payment is an answer
	}
	return &rows[0], nil
}

// latePayment returns the late payment of a locked order; one is there as long as its revival is pending.
func latePayment(tx transaction, orderID int64) (*paymentRow, error) {
	p, err := paymentOf(tx.DB, orderID, payment.Late)
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
	var p *paymentRow
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
		going := tx.Where("provider IN ? AND progress IN ?", slices.Concat(providers, []string{beforeNames}),
			[]payment.Progress{payment.ProgressNone, payment.ProgressProcessing})
		if p, err = paymentOf(going, row.ID, payment.Open); err != nil || p != nil {
			return err
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		terms, err := s.terms.of(tx.DB, []int64{row.VoucherID})
		if err != nil {
			return err
		}
		p = &paymentRow{
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
		Payment: p.payment(), Currency: s.db.Currency(), Quantity: row.units().Units(),
		PayBefore: sqlkit.At(row.PayDeadline),
	}, nil
}

// Begun implements service.PaymentLedger. It changes open payments alone: a notice's reference is newer.
func (s Payments) Begun(ctx context.Context, paymentID, reference string) error {
	_, _, err := s.withPayment(ctx, "storing the reference of", idempotency.Key{}, paymentID,
		func(tx transaction, p *paymentRow, rows []orderRow) error {
			if p.State != payment.Open {
				return nil
			}
			p.Reference = reference
			if rows[0].Status != order.Unpaid {
				if err := tx.cancelPayments([]int64{rows[0].ID}, ""); err != nil {
					return err
				}
			}
			return p.save(tx)
		})
	return err
}

// PaymentsOf implements service.PaymentLedger.
func (s Payments) PaymentsOf(ctx context.Context, orderID int64) ([]payment.Payment, error) {
	return sqlkit.List(s.db.Read(ctx).Where("order_id = ?", orderID).Order("create_time, number"),
		fmt.Sprintf("reading the payments of order %d", orderID), (*paymentRow).payment)
}

// Payment returns one payment, or payment.ErrNotFound.
func (s Payments) Payment(ctx context.Context, id string) (payment.Payment, error) {
	row, err := findPayment(s.db.Read(ctx), id)
	return row.payment(), sqlkit.ReadError("reading payment "+id, err)
}

// paymentChanged gives the change a number among the events of the payment's order, and runs the hooks.
func (tx transaction) paymentChanged(p *paymentRow, rows []orderRow, news payment.News, now time.Time) error {
	return tx.refundChanged(p, rows, news, payment.Refund{}, now)
}

// refundChanged is paymentChanged with the refund that the news is about.
func (tx transaction) refundChanged(
	p *paymentRow, rows []orderRow, news payment.News, r payment.Refund, now time.Time,
) error {
	row := &rows[0]
	row.Revision++
	if err := tx.Model(row).Update("revision", row.Revision).Error; err != nil {
		return fmt.Errorf("counting news of a payment of order %d: %w", row.ID, err)
	}
	terms, err := tx.terms.of(tx.DB, []int64{row.VoucherID})
	if err != nil {
		return err
	}
	change := order.PaymentChange{
		Order: row.order(), Terms: terms[row.VoucherID], Payment: p.payment(), News: news, Refund: r, At: now,
	}
	return tx.each(func(h sqlkit.Hook) error { return tell(tx, h.PaymentChanged, change) })
}
