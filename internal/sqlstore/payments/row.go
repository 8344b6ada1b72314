// Package payments has the rows of payments: what one holds, its refunds, and the lists of them. Every change of one is
// made under the lock of its order.
package payments

import (
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
)

// Row is a row of tb_payment.
type Row struct {
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
func (*Row) TableName() string { return "tb_payment" }

// Payment returns the payment.
func (r *Row) Payment() payment.Payment {
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

// Save writes the columns of a payment that change.
func (r *Row) Save(tx *gorm.DB) error {
	err := tx.Model(r).Select("state", "operation", "receive_time", "accept_time", "refunding_time", "refund_time",
		"stuck_time", "refusal", "close_time", "return_time", "gone_before", "returned", "dispute", "disputed",
		"dispute_time", "reference", "progress", "progress_time", "progress_until", "failure", "lost_time",
		"lost_before").Updates(r).Error
	return sqlkit.Wrapf(err, "writing payment %s", r.ID)
}

// Accept records that the order is paid with the payment.
func (r *Row) Accept(tx *gorm.DB, now time.Time) error {
	r.State, r.AcceptTime = payment.Received, &now
	return r.Save(tx)
}

// From returns payment.ErrNotFound if the notice is from a provider other than the payment's.
func (r *Row) From(n payment.Notice) error {
	if r.Provider != "" && r.Provider != n.Provider {
		return fmt.Errorf("%w with %q: it is with %q", payment.ErrNotFound, n.Provider, r.Provider)
	}
	return nil
}

// HasUnseen reports whether a part of a received payment has failed, and nobody has seen to it.
func (r *Row) HasUnseen(tx *gorm.DB) (bool, error) {
	if r.State != payment.Received {
		return false, nil
	}
	found, err := refundsOf(tx, []string{r.ID})
	return slices.ContainsFunc(found[r.ID], payment.Refund.NeedsStaff), err
}

// Find returns a payment, or payment.ErrNotFound.
func Find(db *gorm.DB, id string) (Row, error) {
	return sqlkit.Take[Row](db.Where("id = ?", id), payment.ErrNotFound, "reading the payment")
}

// OfOrder returns a locked order's oldest payment that is in one of the states, or nil. tx may carry further
// conditions (Where).
func OfOrder(query *gorm.DB, orderID int64, states ...payment.State) (*Row, error) {
	var rows []Row
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
