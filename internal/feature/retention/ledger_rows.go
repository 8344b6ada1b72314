package retention

import (
	"encoding/json"
	"time"

	"seckill/internal/order/figures"
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
)

// paymentRow has the columns of a payment that a purge adds up.
type paymentRow struct {
	ID          string           `gorm:"column:id"`
	OrderID     int64            `gorm:"column:order_id"`
	Amount      int64            `gorm:"column:amount"`
	State       payment.State    `gorm:"column:state"`
	ReceiveTime *time.Time       `gorm:"column:receive_time"`
	ReturnTime  *time.Time       `gorm:"column:return_time"`
	GoneBefore  int64            `gorm:"column:gone_before"`
	Returned    int64            `gorm:"column:returned"`
	Dispute     payment.Dispute  `gorm:"column:dispute"`
	Disputed    int64            `gorm:"column:disputed"`
	DisputeTime *time.Time       `gorm:"column:dispute_time"`
	Progress    payment.Progress `gorm:"column:progress"`
	LostTime    *time.Time       `gorm:"column:lost_time"`
	LostBefore  int64            `gorm:"column:lost_before"`
}

// TableName implements gorm's schema.Tabler.
func (*paymentRow) TableName() string { return "tb_payment" }

// moved returns the payment as figures count it.
func (r *paymentRow) moved() figures.Moved {
	lostAt := r.LostTime
	if lostAt == nil { // versions without that column note no more than when a dispute was lost
		lostAt = r.DisputeTime
	}
	return figures.Moved{
		Payment: payment.Payment{
			ID: r.ID, OrderID: r.OrderID, Amount: r.Amount, State: r.State, ReceivedAt: sqlkit.At(r.ReceiveTime),
			Flow: payment.Flow{
				Returned: r.Returned, Dispute: r.Dispute, Disputed: r.Disputed, DisputedAt: sqlkit.At(r.DisputeTime),
			},
		},
		ReturnedAt: sqlkit.At(r.ReturnTime), Before: r.GoneBefore,
		LostAt: sqlkit.At(lostAt), LostBefore: r.LostBefore,
	}
}

// underWay reports whether the money of a payment moves, or should.
func (r *paymentRow) underWay() bool {
	switch r.State {
	case payment.Late, payment.Refunding, payment.Stuck:
		return true
	case payment.Open:
		return r.Progress == payment.ProgressProcessing
	default:
		return false
	}
}

// purgeRow is what was purged of a voucher.
type purgeRow struct {
	VoucherID  int64      `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	Orders     int64      `gorm:"column:orders"`
	Figures    string     `gorm:"column:figures"`
	Waitlist   string     `gorm:"column:waitlist"`
	CreateTime time.Time  `gorm:"column:create_time"`
	EndTime    *time.Time `gorm:"column:end_time"`
}

// TableName implements gorm's schema.Tabler.
func (*purgeRow) TableName() string { return "tb_purge" }

// add adds deleted orders to the figures.
func (r *purgeRow) add(n int, gone figures.Orders) error {
	var sums figures.Orders
	if err := json.Unmarshal([]byte(r.Figures), &sums); err != nil {
		return err
	}
	text, err := json.Marshal(sums.Plus(gone))
	r.Orders, r.Figures = r.Orders+int64(n), string(text)
	return err
}

// dayRow is the money of one day, of what was purged of a voucher.
type dayRow struct {
	VoucherID int64  `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	Day       string `gorm:"column:day;primaryKey"`
	Received  int64  `gorm:"column:received"`
	Receipts  int64  `gorm:"column:receipts"`
	Refunded  int64  `gorm:"column:refunded"`
	Refunds   int64  `gorm:"column:refunds"`
	Lost      int64  `gorm:"column:lost"`
	Losses    int64  `gorm:"column:losses"`
	Returns   int64  `gorm:"column:returns"`
}

// TableName implements gorm's schema.Tabler.
func (*dayRow) TableName() string { return "tb_purge_day" }

func (r *dayRow) add(d figures.Day) {
	r.Received, r.Receipts = r.Received+d.Received, r.Receipts+d.Receipts
	r.Refunded, r.Refunds = r.Refunded+d.Refunded, r.Refunds+d.Refunds
	r.Lost, r.Losses, r.Returns = r.Lost+d.Lost, r.Losses+d.Losses, r.Returns+d.Returns
}
