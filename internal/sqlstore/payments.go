package sqlstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/payment"
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
		"dispute_time", "reference", "progress", "progress_time", "progress_until", "failure").Updates(r).Error
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

// sendBack records that the money is to go back. refunding_time keeps its first value.
func (r *paymentRow) sendBack(tx transaction, now time.Time) error {
	r.State, r.StuckTime, r.Refusal = payment.Refunding, nil, ""
	if r.RefundingTime == nil {
		r.RefundingTime = &now
	}
	return r.save(tx)
}

// wentBack notes that money has gone back now, for the sums of the day, if more has gone than before.
func (tx transaction) wentBack(r *paymentRow, before int64, now time.Time) {
	if r.payment().Gone() <= before {
		return
	}
	if r.ReturnTime == nil || r.ReturnTime.Before(tx.db.Midnight(now)) {
		r.GoneBefore = before
	}
	r.ReturnTime = &now
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
) (payment.Payment, error) {
	const beforeNames = "" // what payments of versions that knew one provider only have
	var p *paymentRow
	err := s.write(ctx, func(tx transaction) error {
		row, err := lockOrder(tx, orderID, owner)
		if err != nil {
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
		return payment.Payment{}, sqlkit.ReadError(fmt.Sprintf("opening a payment for order %d", orderID), err)
	}
	return p.payment(), nil
}

// SetReference implements service.PaymentLedger. It is bounded to open payments: a notice's reference is newer.
func (s Payments) SetReference(ctx context.Context, paymentID, reference string) error {
	err := s.write(ctx, func(tx transaction) error {
		return tx.Model(&paymentRow{}).Where("id = ? AND state = ?", paymentID,
			payment.Open).Update("reference", reference).Error
	})
	return sqlkit.ReadError("storing the reference of payment "+paymentID, err)
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

// FindPayments returns payments that the filter selects, with a number below before, newest first, at most limit. Pass
// math.MaxInt64 as before for the first page.
func (s Payments) FindPayments(
	ctx context.Context, f payment.Filter, before int64, limit int,
) ([]payment.Payment, error) {
	const what = "listing payments"
	query, some, err := s.selected(ctx, f)
	if err != nil || !some {
		return nil, err
	}
	if before != math.MaxInt64 {
		var from []paymentRow // the row itself, unless it was removed with a rehearsal
		err := s.db.Read(ctx).Select("create_time").Where("number <= ?", before).Order("number DESC").Limit(1).
			Find(&from).Error
		if err != nil {
			return nil, sqlkit.ReadError(what, err)
		}
		if len(from) == 0 {
			return nil, nil
		}
		query = s.behind(query, "<", payment.Payment{Number: before, CreatedAt: from[0].CreateTime})
	}
	return sqlkit.List(query.Order("create_time DESC, number DESC").Limit(limit), what, (*paymentRow).payment)
}

// PaymentsAfter returns payments that the filter selects, from behind the last one, oldest first, at most limit. The
// zero payment stands before the first.
func (s Payments) PaymentsAfter(
	ctx context.Context, f payment.Filter, last payment.Payment, limit int,
) ([]payment.Payment, error) {
	query, some, err := s.selected(ctx, f)
	if err != nil || !some {
		return nil, err
	}
	if last.Number != 0 {
		query = s.behind(query, ">", last)
	}
	return sqlkit.List(query.Order("create_time, number").Limit(limit), "exporting payments", (*paymentRow).payment)
}

// behind restricts a query to payments on one side of another. Both databases read only the index entries that are
// there: MySQL for the alternative, and SQLite for the pair.
func (s Payments) behind(query *gorm.DB, side string, p payment.Payment) *gorm.DB {
	if s.db.Dialect() == sqlkit.SQLite {
		return query.Where(fmt.Sprintf("(create_time, number) %s (?, ?)", side), p.CreatedAt, p.Number)
	}
	return query.Where(fmt.Sprintf("(create_time %[1]s ? OR create_time = ? AND number %[1]s ?)", side),
		p.CreatedAt, p.CreatedAt, p.Number)
}

// selected returns a query for the payments that the filter selects, or false if there are none.
func (s Payments) selected(ctx context.Context, f payment.Filter) (query *gorm.DB, some bool, err error) {
	query = s.db.Read(ctx)
	if index := indexFor(f); index != "" {
		query = query.Table(s.usingIndex("tb_payment", index))
	}
	if f.Name != "" {
		numbers, err := s.ofPaymentsNamed(ctx, "number", f.Name)
		if err != nil || len(numbers) == 0 {
			return nil, false, err
		}
		query = query.Where("number IN ?", numbers)
	}
	for column, id := range map[string]int64{
		"order_id": f.OrderID, "voucher_id": f.VoucherID, "shop_id": f.ShopID, "state": int64(f.State),
	} {
		if id != 0 {
			query = query.Where(column+" = ?", id)
		}
	}
	if f.Dispute != nil {
		query = query.Where("dispute = ?", *f.Dispute)
	}
	if !f.From.IsZero() {
		query = query.Where("create_time >= ?", f.From.UTC())
	}
	if !f.To.IsZero() {
		query = query.Where("create_time < ?", f.To.UTC())
	}
	return query, true, nil
}

// indexFor returns the index in which the selected payments lie together, sorted as lists are; "" if the filter names
// so few that any will do. The rare states come first: among the payments of a shop they are looked for long.
func indexFor(f payment.Filter) string {
	switch {
	case f.Name != "", f.OrderID != 0:
		return ""
	case f.Dispute != nil && *f.Dispute != payment.DisputeNone:
		return "idx_payment_dispute"
	case f.State == payment.Late, f.State == payment.Refunding, f.State == payment.Stuck,
		f.State == payment.Closed:
		return "idx_payment_state"
	case f.VoucherID != 0:
		return "idx_payment_voucher"
	case f.ShopID != 0:
		return "idx_payment_shop"
	case f.State != 0:
		return "idx_payment_state"
	default:
		return "idx_payment_time"
	}
}

// ofPaymentsNamed returns a column of the payments that have the id or the reference: of one as a rule, and of no more
// than 1000.
func (l *ledger) ofPaymentsNamed(ctx context.Context, column, name string) (values []int64, err error) {
	const most = 1000
	for _, by := range []string{"id", "reference"} {
		var found []int64
		err := l.db.Read(ctx).Model(&paymentRow{}).Where(by+" = ?", name).Limit(most).Pluck(column, &found).Error
		if err != nil {
			return nil, sqlkit.ReadError("looking for payment "+name, err)
		}
		values = append(values, found...)
	}
	return values[:min(len(values), most)], nil
}

// paymentChanged gives the change a number among the events of the payment's order, and runs the hooks.
func (tx transaction) paymentChanged(p *paymentRow, rows []orderRow, news payment.News, now time.Time) error {
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
		Order: row.order(), Terms: terms[row.VoucherID], Payment: p.payment(), News: news, At: now,
	}
	return tx.each(func(h sqlkit.Hook) error { return tell(tx, h.PaymentChanged, change) })
}
