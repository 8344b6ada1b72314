package sqlstore

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// The tables as GORM sees them. They stay inside this package: the domain's types have no tags, and a renamed column
// changes nothing outside.

type voucherRow struct {
	ID          int64          `gorm:"column:id;primaryKey"`
	ShopID      int64          `gorm:"column:shop_id"`
	Title       string         `gorm:"column:title"`
	SubTitle    string         `gorm:"column:sub_title"`
	Rules       string         `gorm:"column:rules"`
	Picture     *string        `gorm:"column:picture"`
	PayValue    int64          `gorm:"column:pay_value"`
	ActualValue int64          `gorm:"column:actual_value"`
	Kind        voucher.Kind   `gorm:"column:type"`
	Status      voucher.Status `gorm:"column:status"`
	Version     int64          `gorm:"column:version"`
	CreateTime  time.Time      `gorm:"column:create_time"`
	UpdateTime  time.Time      `gorm:"column:update_time"`
	PayWithin   int64          `gorm:"column:pay_within"`        // seconds
	Processing  *int64         `gorm:"column:processing_within"` // seconds; nil: as PayWithin
	Redeemable  bool           `gorm:"column:redeemable"`
	ValidUntil  *time.Time     `gorm:"column:valid_until"`
	ValidDays   int64          `gorm:"column:valid_days"`
	VisibleFrom *time.Time     `gorm:"column:visible_from"`
	PerUser     int64          `gorm:"column:per_user"`
	Guards      string         `gorm:"column:guards"` // of its sale; guards.Settings.Text
	Archived    *time.Time     `gorm:"column:archived"`
}

// TableName implements gorm's schema.Tabler.
func (voucherRow) TableName() string { return "tb_voucher" }

type saleRow struct {
	VoucherID     int64      `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	Stock         int64      `gorm:"column:stock"`
	Issued        int64      `gorm:"column:issued"`
	BeginTime     time.Time  `gorm:"column:begin_time"`
	EndTime       time.Time  `gorm:"column:end_time"`
	Paused        bool       `gorm:"column:paused"`
	Epoch         int64      `gorm:"column:epoch"`
	FirstEpoch    int64      `gorm:"column:first_epoch"`
	Sequence      int64      `gorm:"column:sequence"`
	PartitionNo   int        `gorm:"column:partition_no"`
	Retired       bool       `gorm:"column:retired"`
	LastOperation int64      `gorm:"column:last_operation"`
	InviteWindow  int64      `gorm:"column:invite_window"` // seconds
	Kept          int64      `gorm:"column:kept"`
	Accepted      int64      `gorm:"column:accepted"`
	ListOpen      bool       `gorm:"column:list_open"`
	CalledOff     *time.Time `gorm:"column:called_off"`
}

// TableName implements gorm's schema.Tabler.
func (saleRow) TableName() string { return "tb_seckill_voucher" }

// sale returns the sale with its guards, which are in the voucher's row.
func (r saleRow) sale(v voucherRow) *voucher.Sale {
	return &voucher.Sale{
		Guards: guards.Parse(v.Guards),
		Stock:  r.Stock, Issued: r.Issued, Begin: r.BeginTime, End: r.EndTime, Paused: r.Paused,
		Epoch: r.Epoch, FirstEpoch: r.FirstEpoch, Sequence: r.Sequence, Partition: r.PartitionNo, Retired: r.Retired,
		LastOperation: r.LastOperation, InviteWindow: time.Duration(r.InviteWindow) * time.Second,
		Kept: r.Kept, Accepted: r.Accepted, ListOpen: r.ListOpen, CalledOff: sqlkit.At(r.CalledOff),
	}
}

func (r voucherRow) voucher() voucher.Voucher {
	return voucher.Voucher{
		ID: r.ID, ShopID: r.ShopID, Title: r.Title, SubTitle: r.SubTitle, Rules: r.Rules,
		Picture: sqlkit.Value(r.Picture), PayValue: r.PayValue, ActualValue: r.ActualValue, Kind: r.Kind,
		Status: r.Status, Version: r.Version, CreatedAt: r.CreateTime, UpdatedAt: r.UpdateTime,
		PayWithin: time.Duration(r.PayWithin) * time.Second, Redemption: r.redemption(),
		VisibleFrom: sqlkit.At(r.VisibleFrom), PerUser: r.PerUser, Archived: sqlkit.At(r.Archived),
		ProcessingWithin: r.processingWithin(),
	}
}

// voucherRows are a voucher's row and that of its sale.
type voucherRows struct {
	row  voucherRow
	sale *saleRow // nil for an ordinary voucher
}

func (r voucherRows) voucher() voucher.Voucher {
	v := r.row.voucher()
	if r.sale != nil {
		v.Sale = r.sale.sale(r.row)
	}
	return v
}

func (r voucherRow) redemption() voucher.Redemption {
	return voucher.Redemption{ByCode: r.Redeemable, ValidUntil: sqlkit.At(r.ValidUntil), ValidDays: r.ValidDays}
}

// processingWithin returns by how much money that is under way moves a payment deadline; 0: by the time to pay.
func (r voucherRow) processingWithin() time.Duration {
	return time.Duration(sqlkit.Value(r.Processing)) * time.Second
}

func (r voucherRow) terms(currency string) order.Terms {
	return order.Terms{
		ShopID: r.ShopID, Cents: r.PayValue, Currency: currency, PayWithin: time.Duration(r.PayWithin) * time.Second,
		Redemption:       r.redemption(),
		ProcessingWithin: cmp.Or(r.processingWithin(), time.Duration(r.PayWithin)*time.Second),
	}
}

// orderRow has no field for the column live, which the database computes.
type orderRow struct {
	ID            int64          `gorm:"column:id;primaryKey;autoIncrement:false"`
	UserID        int64          `gorm:"column:user_id"`
	VoucherID     int64          `gorm:"column:voucher_id"`
	Kind          voucher.Kind   `gorm:"column:kind"`
	Amount        int64          `gorm:"column:amount"`
	PayType       int8           `gorm:"column:pay_type"`
	Status        order.Status   `gorm:"column:status"`
	Reason        reason.Failure `gorm:"column:reason"`
	Detail        string         `gorm:"column:detail"`
	CreateTime    time.Time      `gorm:"column:create_time"`
	PayDeadline   *time.Time     `gorm:"column:pay_deadline"`
	PayTime       *time.Time     `gorm:"column:pay_time"`
	RedeemTime    *time.Time     `gorm:"column:redeem_time"`
	CancelTime    *time.Time     `gorm:"column:cancel_time"`
	RefundingTime *time.Time     `gorm:"column:refunding_time"`
	RefundTime    *time.Time     `gorm:"column:refund_time"`
	FailTime      *time.Time     `gorm:"column:fail_time"`
	LapseTime     *time.Time     `gorm:"column:lapse_time"`
	Quantity      int64          `gorm:"column:quantity"`
	Revision      int64          `gorm:"column:revision"`
	Processing    int8           `gorm:"column:processing"`
	Refunds       int8           `gorm:"column:refunds"`
}

// What orderRow.Processing says of money for the order.
const (
	isProcessing  = 1 // it is under way
	wasProcessing = 2 // it was, and did not come
)

func (r orderRow) units() order.Quantity { return order.QuantityOf(r.Quantity) }

func (r orderRow) id() int64 { return r.ID }

// TableName implements gorm's schema.Tabler.
func (orderRow) TableName() string { return "tb_voucher_order" }

func (r orderRow) order() order.Order {
	return order.Order{
		ID: r.ID, UserID: r.UserID, VoucherID: r.VoucherID, Quantity: r.units(), Amount: r.Amount, Status: r.Status,
		Reason: r.Reason, CreatedAt: r.CreateTime, PayBefore: sqlkit.At(r.PayDeadline), PaidAt: sqlkit.At(r.PayTime),
		RedeemedAt:  sqlkit.At(r.RedeemTime),
		CancelledAt: sqlkit.At(r.CancelTime), RefundingAt: sqlkit.At(r.RefundingTime),
		RefundedAt: sqlkit.At(r.RefundTime), FailedAt: sqlkit.At(r.FailTime), LapsedAt: sqlkit.At(r.LapseTime),
		Revision: r.Revision, Processing: r.Status == order.Unpaid && r.Processing == isProcessing,
		HasRefunds: r.Refunds != 0,
	}
}

// rowOf is the opposite of order, for an order that is not inserted: its kind and its detail are left out.
func rowOf(o order.Order) orderRow {
	return orderRow{
		ID: o.ID, UserID: o.UserID, VoucherID: o.VoucherID, Quantity: o.Quantity.Units(), Amount: o.Amount,
		Status: o.Status, Reason: o.Reason, CreateTime: o.CreatedAt, PayDeadline: sqlkit.Stamp(o.PayBefore),
		PayTime: sqlkit.Stamp(o.PaidAt), RedeemTime: sqlkit.Stamp(o.RedeemedAt),
		CancelTime: sqlkit.Stamp(o.CancelledAt), RefundingTime: sqlkit.Stamp(o.RefundingAt),
		RefundTime: sqlkit.Stamp(o.RefundedAt), FailTime: sqlkit.Stamp(o.FailedAt),
		LapseTime: sqlkit.Stamp(o.LapsedAt), Revision: o.Revision,
	}
}

type eventRow struct {
	ID         int64        `gorm:"column:id;primaryKey"`
	OrderID    int64        `gorm:"column:order_id"`
	Status     order.Status `gorm:"column:status"`
	Actor      order.Actor  `gorm:"column:actor"`
	Why        reason.Why   `gorm:"column:why"`
	CreateTime time.Time    `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (eventRow) TableName() string { return "tb_order_event" }

// liveKind is the kind of voucher that allows each user one live order at most.
const liveKind = voucher.Seckill

// paidAtOnce reports whether the transaction that writes the order pays for it, as it costs nothing.
func (r orderRow) paidAtOnce() bool { return r.Status == order.Unpaid && r.Amount == 0 }

func newOrderRow(c order.Claim, terms order.Terms, now time.Time) (orderRow, error) {
	deadline := terms.Deadline(now)
	amount, err := c.Quantity.Amount(terms.Cents)
	return orderRow{
		ID: c.OrderID, UserID: c.UserID, VoucherID: c.VoucherID, Kind: liveKind, Quantity: c.Quantity.Units(),
		Amount: amount, Status: order.Unpaid, CreateTime: now, PayDeadline: &deadline,
	}, err
}

const (
	termsTTL = time.Minute // the service never changes terms; it notices a correction by hand after this
	maxTerms = 10_000
)

// termsCache caches the vouchers' terms for orders, so that recording a batch reads nothing.
type termsCache struct {
	now      func() time.Time
	currency string

	mu      sync.Mutex
	entries map[int64]termsEntry
}

type termsEntry struct {
	order.Terms

	until time.Time
}

func newTermsCache(now func() time.Time, currency string) *termsCache {
	return &termsCache{now: now, currency: currency, entries: make(map[int64]termsEntry)}
}

// of returns the terms of the vouchers that exist. It reads those that are not cached from db.
func (c *termsCache) of(db *gorm.DB, voucherIDs []int64) (map[int64]order.Terms, error) {
	terms := make(map[int64]order.Terms, len(voucherIDs))
	var missing []int64
	now := c.now()
	c.mu.Lock()
	for _, id := range voucherIDs {
		if e, ok := c.entries[id]; ok && now.Before(e.until) {
			terms[id] = e.Terms
		} else {
			missing = append(missing, id)
		}
	}
	c.mu.Unlock()
	return terms, c.read(db, missing, terms)
}

// read adds the terms of vouchers that are not cached.
func (c *termsCache) read(db *gorm.DB, voucherIDs []int64, terms map[int64]order.Terms) error {
	for part := range sqlkit.Chunks(voucherIDs) {
		var rows []voucherRow
		if err := db.Select("id", "pay_value", "pay_within", "processing_within", "shop_id", "redeemable",
			"valid_until", "valid_days").Where("id IN ?", part).Find(&rows).Error; err != nil {
			return fmt.Errorf("reading pay terms: %w", err)
		}
		for _, row := range rows {
			terms[row.ID] = row.terms(c.currency)
		}
		c.learn(rows)
	}
	return nil
}

func (c *termsCache) learn(rows []voucherRow) {
	until := c.now().Add(termsTTL)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries)+len(rows) > maxTerms {
		clear(c.entries) // rare, and one query brings back what is in use
	}
	for _, row := range rows {
		c.entries[row.ID] = termsEntry{Terms: row.terms(c.currency), until: until}
	}
}
