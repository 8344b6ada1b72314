package shoptest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/order/recorder"
	"seckill/internal/voucher"
)

// FakePurchases calls its functions; without them an order is accepted and none is found.
type FakePurchases struct {
	OnBuy    func(ctx context.Context, userID, voucherID int64, wait time.Duration) (order.Order, error)
	Asked    *order.Quantity // what Buy was asked for last
	OnOrder  func(ctx context.Context, userID, orderID int64, wait time.Duration) (order.Order, error)
	OnOrders func(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, int64, error)
	Stale    bool // what orders returns
	OnWatch  Watch
}

// Watch is the method Watch of Purchases.
type Watch func(ctx context.Context, userID, orderID int64, yield func(order.Order, bool) error) error

func (d FakePurchases) Buy(
	ctx context.Context, userID int64, v voucher.Voucher, q order.Quantity, wait time.Duration,
) (order.Order, error) {
	if d.Asked != nil {
		*d.Asked = q
	}
	if d.OnBuy == nil {
		return order.Order{ID: OrderID, UserID: userID, VoucherID: v.ID, Quantity: q, Status: order.Queued}, nil
	}
	return d.OnBuy(ctx, userID, v.ID, wait)
}

func (d FakePurchases) Order(ctx context.Context, userID, id int64, wait time.Duration) (order.Order, error) {
	if d.OnOrder == nil {
		return order.Order{}, order.ErrNotFound
	}
	return d.OnOrder(ctx, userID, id, wait)
}

func (d FakePurchases) Orders(ctx context.Context, f order.Filter, before int64, limit int) (order.Page, error) {
	if d.OnOrders == nil {
		return order.Page{Stale: d.Stale}, nil
	}
	orders, total, err := d.OnOrders(ctx, f, before, limit)
	return order.Page{Orders: orders, Total: total, Stale: d.Stale}, err
}

func (d FakePurchases) Watch(ctx context.Context, userID, id int64, yield func(order.Order, bool) error) error {
	if d.OnWatch == nil {
		return order.ErrNotFound
	}
	return d.OnWatch(ctx, userID, id, yield)
}

// WatchAll is Watch of the order with the id OrderID.
func (d FakePurchases) WatchAll(ctx context.Context, userID int64, yield func(order.Order, bool) error) error {
	if d.OnWatch == nil {
		return nil
	}
	return d.OnWatch(ctx, userID, OrderID, yield)
}

// FakeOrders calls its functions; without them there is no order.
type FakeOrders struct {
	OnCancel  func(userID, orderID int64) (order.Order, error)
	OnHistory func(o order.Order) ([]order.Event, error)
	OnOrder   func(orderID int64) (order.Order, error)
	OnFind    func(f order.Filter, before int64, limit int) ([]order.Order, error)
}

func (f FakeOrders) Cancel(_ context.Context, userID, orderID int64) (order.Order, error) {
	if f.OnCancel == nil {
		return order.Order{}, order.ErrNotFound
	}
	return f.OnCancel(userID, orderID)
}

// CancelForStaff is Cancel of the buyer.
func (f FakeOrders) CancelForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	return f.Cancel(ctx, 42, act.OrderID)
}

func (f FakeOrders) History(_ context.Context, o order.Order) ([]order.Event, error) {
	if f.OnHistory == nil {
		return nil, nil
	}
	return f.OnHistory(o)
}

func (f FakeOrders) Order(_ context.Context, orderID int64) (order.Order, error) {
	if f.OnOrder == nil {
		return order.Order{}, order.ErrNotFound
	}
	return f.OnOrder(orderID)
}

func (f FakeOrders) Find(_ context.Context, filter order.Filter, before int64, limit int) ([]order.Order, error) {
	if f.OnFind == nil {
		return nil, nil
	}
	return f.OnFind(filter, before, limit)
}

// FakeLedger has two payments of shop 2, one order in each fate, and the entries; it keeps what is noted. It fails with
// err.
type FakeLedger struct {
	Err       error
	OnEntries func(f voucher.AuditFilter, before int64, limit int) ([]voucher.Entry, error) // nil: none
	Noted     *[]voucher.Entry
}

func (f FakeLedger) FindPayments(
	_ context.Context, filter payment.Filter, _ int64, limit int,
) ([]payment.Payment, error) {
	if filter.ShopID != 0 && filter.ShopID != 2 {
		return nil, f.Err
	}
	return TwoPayments()[:min(limit, 2)], f.Err
}

func (f FakeLedger) Payment(_ context.Context, id string) (payment.Payment, error) {
	if f.Err != nil || id != "pay_1" {
		return payment.Payment{}, cmp.Or(f.Err, payment.ErrNotFound)
	}
	return TwoPayments()[0], nil
}

// RefundsOf returns a refund of the first payment, which is on its way.
func (f FakeLedger) RefundsOf(_ context.Context, payments []string) (map[string][]payment.Refund, error) {
	found := make(map[string][]payment.Refund)
	if slices.Contains(payments, "pay_1") {
		found["pay_1"] = []payment.Refund{
			{
				ID: "pay_1-1", PaymentID: "pay_1", Amount: 300, State: payment.RefundDone,
				Origin: payment.OriginUnnamed,
				Actor:  "payment provider", CreatedAt: Noon, DoneAt: Noon,
			},
			{
				ID: "pay_1-2", PaymentID: "pay_1", Amount: 100, State: payment.RefundPending,
				Origin:    payment.OriginPart,
				Reference: "re_7", Actor: "admin 7", Why: "cold soup", CreatedAt: Noon, SentAt: Noon,
			},
		}
	}
	return found, f.Err
}

// TwoPayments returns two payments: one is disputed and partly refunded, the other has just begun.
func TwoPayments() []payment.Payment {
	return []payment.Payment{
		{
			ID: "pay_1", Number: 8, OrderID: OrderID, UserID: 42, VoucherID: 5, ShopID: 2, Amount: 1000,
			State: payment.Received, Provider: "bank", Reference: "r-7", CreatedAt: Noon, ReceivedAt: Noon,
			Flow: payment.Flow{Returned: 300, Dispute: payment.DisputeOpen, Disputed: 700, DisputedAt: Noon},
		},
		{
			ID: "pay_2", Number: 7, OrderID: OrderID + 1, UserID: 43, VoucherID: 5, ShopID: 2, Amount: 1000,
			State: payment.Open, CreatedAt: Noon,
		},
	}
}

// FakePayments calls its functions; without them there is no order and no payment.
type FakePayments struct {
	OnPay     func(userID, orderID int64) (payment.Payment, string, error)
	OnConfirm func(n payment.Notice) error
	OnRefund  func(userID, orderID int64) (order.Order, error)
	State     payment.State // of the first payment after its refund was retried or closed
	Err       error         // of retrying and closing
}

func (f FakePayments) Pay(
	_ context.Context, userID, orderID int64, _ payment.Visit,
) (payment.Payment, string, error) {
	if f.OnPay == nil {
		return payment.Payment{}, "", order.ErrNotFound
	}
	return f.OnPay(userID, orderID)
}

// RefundPart asks for a part of the first payment.
func (f FakePayments) RefundPart(_ context.Context, act order.PaymentAct, _ int64) (payment.Payment, error) {
	if f.Err != nil || act.PaymentID != "pay_1" {
		return payment.Payment{}, cmp.Or(f.Err, payment.ErrNotFound)
	}
	return TwoPayments()[0], nil
}

func (f FakePayments) Confirm(_ context.Context, n payment.Notice) error {
	if f.OnConfirm == nil {
		return payment.ErrNotFound
	}
	return f.OnConfirm(n)
}

// RefundForStaff is Refund of the buyer.
func (f FakePayments) RefundForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	return f.Refund(ctx, 42, act.OrderID)
}

func (f FakePayments) Refund(_ context.Context, userID, orderID int64) (order.Order, error) {
	if f.OnRefund == nil {
		return order.Order{}, order.ErrNotFound
	}
	return f.OnRefund(userID, orderID)
}

// RetryRefund answers with the first payment, in the state, or fails.
func (f FakePayments) RetryRefund(_ context.Context, act order.PaymentAct) (payment.Payment, error) {
	if f.Err != nil || act.PaymentID != "pay_1" {
		return payment.Payment{}, cmp.Or(f.Err, payment.ErrNotFound)
	}
	p := TwoPayments()[0]
	p.State, p.RefundingAt, p.Flow = f.State, Noon, payment.Flow{}
	if f.State == payment.Closed {
		p.StuckAt, p.Refusal, p.ClosedAt = Noon, "the account is closed", Noon
	}
	return p, nil
}

// CloseRefund is RetryRefund.
func (f FakePayments) CloseRefund(ctx context.Context, act order.PaymentAct) (payment.Payment, error) {
	return f.RetryRefund(ctx, act)
}

func (f FakeLedger) Entries(
	_ context.Context, filter voucher.AuditFilter, before int64, limit int,
) ([]voucher.Entry, error) {
	if f.OnEntries == nil {
		return nil, f.Err
	}
	return f.OnEntries(filter, before, limit)
}

func (f FakeLedger) Note(_ context.Context, e voucher.Entry) error {
	if f.Noted != nil {
		*f.Noted = append(*f.Noted, e)
	}
	return f.Err
}

// FakeDeadLetters calls its functions; without them there is no dead letter.
type FakeDeadLetters struct {
	OnList    func(after string, n int) ([]recorder.DeadLetter, int64, error)
	OnReplay  func(id, by, why string) (order.Claim, error)
	OnDiscard func(id, by, why string) (recorder.DeadLetter, error)
}

func (f FakeDeadLetters) List(_ context.Context, after string, n int) ([]recorder.DeadLetter, int64, error) {
	if f.OnList == nil {
		return nil, 0, nil
	}
	return f.OnList(after, n)
}

func (f FakeDeadLetters) Replay(_ context.Context, id, by, why string) (order.Claim, error) {
	if f.OnReplay == nil {
		return order.Claim{}, order.ErrNoDeadLetter
	}
	return f.OnReplay(id, by, why)
}

func (f FakeDeadLetters) Discard(_ context.Context, id, by, why string) (recorder.DeadLetter, error) {
	if f.OnDiscard == nil {
		return recorder.DeadLetter{}, order.ErrNoDeadLetter
	}
	return f.OnDiscard(id, by, why)
}

func (f FakeLedger) Unwinding(context.Context, int64) (order.Unwinding, error) {
	one := order.Tally{Orders: 1, Units: 2, Cents: 300}
	u := order.Unwinding{CalledOff: Noon, Withdrawn: 7, Kept: 1, Issued: 10, Orders: map[order.Fate]order.Tally{}}
	for _, fate := range []order.Fate{order.FateUnpaid, order.FateRedeemed, order.FateRefunded} {
		u.Orders[fate] = one
	}
	return u, f.Err
}

func (f FakeLedger) LeftToStaff(context.Context, int64, int64, int) ([]order.LeftOrder, error) {
	return []order.LeftOrder{
		{
			Order: order.Order{ID: 9, UserID: 8, Status: order.Redeemed, Amount: 300, PaidAt: Noon},
			Fate:  order.FateRedeemed,
		},
		{Order: order.Order{ID: 5, UserID: 7, Status: order.Paid}, Fate: order.FateFree},
	}, f.Err
}
