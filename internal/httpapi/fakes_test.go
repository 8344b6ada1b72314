package httpapi

import (
	"cmp"
	"context"
	"sync"
	"time"

	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/order/recorder"
	"seckill/internal/voucher"
	"seckill/internal/voucher/listing"
)

// fakePurchases calls its functions; without them an order is accepted and none is found.
type fakePurchases struct {
	buy    func(ctx context.Context, userID, voucherID int64, wait time.Duration) (order.Order, error)
	asked  *order.Quantity // what Buy was asked for last
	order  func(ctx context.Context, userID, orderID int64, wait time.Duration) (order.Order, error)
	orders func(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, int64, error)
	stale  bool // what orders returns
	watch  watch
}

// watch is the method Watch of Purchases.
type watch func(ctx context.Context, userID, orderID int64, yield func(order.Order, bool) error) error

func (d fakePurchases) Buy(
	ctx context.Context, userID int64, v voucher.Voucher, q order.Quantity, wait time.Duration,
) (order.Order, error) {
	if d.asked != nil {
		*d.asked = q
	}
	if d.buy == nil {
		return order.Order{ID: orderID, UserID: userID, VoucherID: v.ID, Quantity: q, Status: order.Queued}, nil
	}
	return d.buy(ctx, userID, v.ID, wait)
}

func (d fakePurchases) Order(ctx context.Context, userID, id int64, wait time.Duration) (order.Order, error) {
	if d.order == nil {
		return order.Order{}, order.ErrNotFound
	}
	return d.order(ctx, userID, id, wait)
}

func (d fakePurchases) Orders(ctx context.Context, f order.Filter, before int64, limit int) (order.Page, error) {
	if d.orders == nil {
		return order.Page{Stale: d.stale}, nil
	}
	orders, total, err := d.orders(ctx, f, before, limit)
	return order.Page{Orders: orders, Total: total, Stale: d.stale}, err
}

func (d fakePurchases) Watch(ctx context.Context, userID, id int64, yield func(order.Order, bool) error) error {
	if d.watch == nil {
		return order.ErrNotFound
	}
	return d.watch(ctx, userID, id, yield)
}

// fakeVouchers stores what is created and shows what its functions return. Its rules are the real ones: drafts go
// through voucher.Service.
type fakeVouchers struct {
	mu      sync.Mutex
	created []voucher.Voucher
	by      voucher.Author // who created the last one

	get  func(id int64) (voucher.Shown, error)
	list func(shopID int64) ([]voucher.Shown, error)
	all  func(voucher.Search) (voucher.Found, error)
}

func (f *fakeVouchers) service() *voucher.Service {
	return voucher.NewService(voucher.Parts{
		Ledger: f, Changed: f.Changed, Live: f.Live, Open: f.Open, Place: f.Place,
		Now: func() time.Time { return noon },
	})
}

func (f *fakeVouchers) CreateOrdinary(ctx context.Context, by voucher.Author, d voucher.Draft) (voucher.Shown, error) {
	return f.service().CreateOrdinary(ctx, by, d)
}

func (f *fakeVouchers) CreateSeckill(
	ctx context.Context, by voucher.Author, d voucher.Draft, sd voucher.SaleDraft,
) (voucher.Shown, error) {
	return f.service().CreateSeckill(ctx, by, d, sd)
}

// Changed is what the lists are told.
func (f *fakeVouchers) Changed(context.Context, voucher.Voucher) {}

// Place takes partitions 0 to 3.
func (f *fakeVouchers) Place(_ context.Context, wanted *int64) (int, error) {
	switch {
	case wanted == nil:
		return 0, nil
	case *wanted < 0 || *wanted > 3:
		return 0, invalid.Join(invalid.Outside("partition", 4, 0, 3))
	default:
		return int(*wanted), nil
	}
}

// fakeListings show what the functions of a fakeVouchers return, at redisNoon.
type fakeListings struct{ *fakeVouchers }

func (f fakeListings) Voucher(_ context.Context, id int64) (listing.Snapshot, error) {
	if f.get == nil {
		return listing.Snapshot{}, voucher.ErrNotFound
	}
	v, err := f.get(id)
	return listing.Snapshot{Content: &listing.Content{Vouchers: []voucher.Shown{v}}, Now: redisNoon}, err
}

func (f fakeListings) List(_ context.Context, shopID, _ int64) (listing.Snapshot, error) {
	if f.list == nil {
		return listing.Snapshot{Content: &listing.Content{}, Now: redisNoon}, nil
	}
	vs, err := f.list(shopID)
	return listing.Snapshot{Content: &listing.Content{Vouchers: vs, Total: int64(len(vs))}, Now: redisNoon}, err
}

// Find shows the seckill voucher under every id.
func (f *fakeVouchers) Find(_ context.Context, id int64) (voucher.Shown, error) {
	v := seckillVoucher()
	v.ID = id
	return v, nil
}

func (f *fakeVouchers) All(_ context.Context, q voucher.Search) (voucher.Found, error) {
	if f.all == nil {
		return voucher.Found{Now: redisNoon}, nil
	}
	found, err := f.all(q)
	found.Now = redisNoon
	return found, err
}

// CreateVoucher is the ledger's part.
func (f *fakeVouchers) CreateVoucher(_ context.Context, v *voucher.Voucher, by voucher.Author) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	v.ID, v.CreatedAt, v.UpdatedAt = int64(len(f.created))+1, noon, noon
	f.created, f.by = append(f.created, *v), by
	return nil
}

func (f *fakeVouchers) Voucher(context.Context, int64) (voucher.Voucher, error) {
	return voucher.Voucher{}, voucher.ErrNotFound
}

func (f *fakeVouchers) Vouchers(context.Context, voucher.Search) ([]voucher.Voucher, int64, error) {
	return nil, 0, nil
}

func (f *fakeVouchers) Live(_ context.Context, vs []voucher.Voucher) ([]voucher.Live, time.Time, error) {
	live := make([]voucher.Live, len(vs))
	for i, v := range vs {
		live[i] = voucher.Live{State: voucher.StateOnSale, Stock: v.Sale.Stock}
	}
	return live, noon, nil
}

func (f *fakeVouchers) Open(context.Context, int64) error { return nil }

func (f *fakeVouchers) stored() []voucher.Voucher {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]voucher.Voucher(nil), f.created...)
}

// fakeChanges calls its functions; without them every voucher is the seckill one. Redis applies changes at once.
type fakeChanges struct {
	change   func(by voucher.Author, id int64, change voucher.Change) error
	addStock func(by voucher.Author, id, delta int64, key string) error
	pause    func(by voucher.Author, id int64) error
	resume   func(by voucher.Author, id int64) error
	callOff  func(by voucher.Author, id int64, why string) error
	archive  func(by voucher.Author, id int64, archived bool) error
	behind   bool // Redis has not applied the change yet
}

func (f fakeChanges) shown(err error) (voucher.Shown, bool, error) {
	if err != nil {
		return voucher.Shown{}, false, err
	}
	return seckillVoucher(), !f.behind, nil
}

func (f fakeChanges) Change(
	_ context.Context, by voucher.Author, id int64, change voucher.Change,
) (voucher.Shown, bool, error) {
	if f.change == nil {
		return f.shown(nil)
	}
	return f.shown(f.change(by, id, change))
}

func (f fakeChanges) AddStock(
	_ context.Context, by voucher.Author, id, delta int64, key string,
) (voucher.Shown, bool, error) {
	if f.addStock == nil {
		return f.shown(nil)
	}
	return f.shown(f.addStock(by, id, delta, key))
}

func (f fakeChanges) CallOff(
	_ context.Context, by voucher.Author, id int64, why string,
) (voucher.Shown, bool, error) {
	if f.callOff == nil {
		return f.shown(nil)
	}
	return f.shown(f.callOff(by, id, why))
}

func (f fakeChanges) SetArchived(
	_ context.Context, by voucher.Author, id int64, archived bool,
) (voucher.Shown, error) {
	var err error
	if f.archive != nil {
		err = f.archive(by, id, archived)
	}
	v, _, err := f.shown(err)
	return v, err
}

func (f fakeChanges) Pause(_ context.Context, by voucher.Author, id int64) (voucher.Shown, bool, error) {
	if f.pause == nil {
		return f.shown(nil)
	}
	return f.shown(f.pause(by, id))
}

func (f fakeChanges) Resume(_ context.Context, by voucher.Author, id int64) (voucher.Shown, bool, error) {
	if f.resume == nil {
		return f.shown(nil)
	}
	return f.shown(f.resume(by, id))
}

// fakeOrders calls its functions; without them there is no order.
type fakeOrders struct {
	cancel  func(userID, orderID int64) (order.Order, error)
	history func(o order.Order) ([]order.Event, error)
	order   func(orderID int64) (order.Order, error)
	find    func(f order.Filter, before int64, limit int) ([]order.Order, error)
}

func (f fakeOrders) Cancel(_ context.Context, userID, orderID int64) (order.Order, error) {
	if f.cancel == nil {
		return order.Order{}, order.ErrNotFound
	}
	return f.cancel(userID, orderID)
}

// CancelForStaff is Cancel of the buyer.
func (f fakeOrders) CancelForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	return f.Cancel(ctx, 42, act.OrderID)
}

func (f fakeOrders) History(_ context.Context, o order.Order) ([]order.Event, error) {
	if f.history == nil {
		return nil, nil
	}
	return f.history(o)
}

func (f fakeOrders) Order(_ context.Context, orderID int64) (order.Order, error) {
	if f.order == nil {
		return order.Order{}, order.ErrNotFound
	}
	return f.order(orderID)
}

func (f fakeOrders) Find(_ context.Context, filter order.Filter, before int64, limit int) ([]order.Order, error) {
	if f.find == nil {
		return nil, nil
	}
	return f.find(filter, before, limit)
}

// fakeLedger has two payments of shop 2, one order in each fate, and the entries; it keeps what is noted. It fails with
// err.
type fakeLedger struct {
	err     error
	entries func(f voucher.AuditFilter, before int64, limit int) ([]voucher.Entry, error) // nil: none
	noted   *[]voucher.Entry
}

func (f fakeLedger) FindPayments(
	_ context.Context, filter payment.Filter, _ int64, limit int,
) ([]payment.Payment, error) {
	if filter.ShopID != 0 && filter.ShopID != 2 {
		return nil, f.err
	}
	return twoPayments()[:min(limit, 2)], f.err
}

func (f fakeLedger) Payment(_ context.Context, id string) (payment.Payment, error) {
	if f.err != nil || id != "pay_1" {
		return payment.Payment{}, cmp.Or(f.err, payment.ErrNotFound)
	}
	return twoPayments()[0], nil
}

// twoPayments returns two payments: one is disputed and partly refunded, the other has just begun.
func twoPayments() []payment.Payment {
	return []payment.Payment{
		{
			ID: "pay_1", Number: 8, OrderID: orderID, UserID: 42, VoucherID: 5, ShopID: 2, Amount: 1000,
			State: payment.Received, Provider: "bank", Reference: "r-7", CreatedAt: noon, ReceivedAt: noon,
			Flow: payment.Flow{Returned: 300, Dispute: payment.DisputeOpen, Disputed: 700, DisputedAt: noon},
		},
		{
			ID: "pay_2", Number: 7, OrderID: orderID + 1, UserID: 43, VoucherID: 5, ShopID: 2, Amount: 1000,
			State: payment.Open, CreatedAt: noon,
		},
	}
}

// fakePayments calls its functions; without them there is no order and no payment.
type fakePayments struct {
	pay     func(userID, orderID int64) (payment.Payment, string, error)
	confirm func(n payment.Notice) error
	refund  func(userID, orderID int64) (order.Order, error)
	state   payment.State // of the first payment after its refund was retried or closed
	err     error         // of retrying and closing
}

func (f fakePayments) Pay(_ context.Context, userID, orderID int64) (payment.Payment, string, error) {
	if f.pay == nil {
		return payment.Payment{}, "", order.ErrNotFound
	}
	return f.pay(userID, orderID)
}

func (f fakePayments) Confirm(_ context.Context, n payment.Notice) error {
	if f.confirm == nil {
		return payment.ErrNotFound
	}
	return f.confirm(n)
}

// RefundForStaff is Refund of the buyer.
func (f fakePayments) RefundForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	return f.Refund(ctx, 42, act.OrderID)
}

func (f fakePayments) Refund(_ context.Context, userID, orderID int64) (order.Order, error) {
	if f.refund == nil {
		return order.Order{}, order.ErrNotFound
	}
	return f.refund(userID, orderID)
}

// RetryRefund answers with the first payment, in the state, or fails.
func (f fakePayments) RetryRefund(_ context.Context, act order.PaymentAct) (payment.Payment, error) {
	if f.err != nil || act.PaymentID != "pay_1" {
		return payment.Payment{}, cmp.Or(f.err, payment.ErrNotFound)
	}
	p := twoPayments()[0]
	p.State, p.RefundingAt, p.Flow = f.state, noon, payment.Flow{}
	if f.state == payment.Closed {
		p.StuckAt, p.Refusal, p.ClosedAt = noon, "the account is closed", noon
	}
	return p, nil
}

// CloseRefund is RetryRefund.
func (f fakePayments) CloseRefund(ctx context.Context, act order.PaymentAct) (payment.Payment, error) {
	return f.RetryRefund(ctx, act)
}

func (f fakeLedger) Entries(
	_ context.Context, filter voucher.AuditFilter, before int64, limit int,
) ([]voucher.Entry, error) {
	if f.entries == nil {
		return nil, f.err
	}
	return f.entries(filter, before, limit)
}

func (f fakeLedger) Note(_ context.Context, e voucher.Entry) error {
	if f.noted != nil {
		*f.noted = append(*f.noted, e)
	}
	return f.err
}

// fakeDeadLetters calls its functions; without them there is no dead letter.
type fakeDeadLetters struct {
	list    func(after string, n int) ([]recorder.DeadLetter, int64, error)
	replay  func(id, by, why string) (order.Claim, error)
	discard func(id, by, why string) (recorder.DeadLetter, error)
}

func (f fakeDeadLetters) List(_ context.Context, after string, n int) ([]recorder.DeadLetter, int64, error) {
	if f.list == nil {
		return nil, 0, nil
	}
	return f.list(after, n)
}

func (f fakeDeadLetters) Replay(_ context.Context, id, by, why string) (order.Claim, error) {
	if f.replay == nil {
		return order.Claim{}, order.ErrNoDeadLetter
	}
	return f.replay(id, by, why)
}

func (f fakeDeadLetters) Discard(_ context.Context, id, by, why string) (recorder.DeadLetter, error) {
	if f.discard == nil {
		return recorder.DeadLetter{}, order.ErrNoDeadLetter
	}
	return f.discard(id, by, why)
}

func (f fakeLedger) Unwinding(context.Context, int64) (order.Unwinding, error) {
	one := order.Tally{Orders: 1, Units: 2, Cents: 300}
	u := order.Unwinding{CalledOff: noon, Withdrawn: 7, Kept: 1, Issued: 10, Orders: map[order.Fate]order.Tally{}}
	for _, fate := range []order.Fate{order.FateUnpaid, order.FateRedeemed, order.FateRefunded} {
		u.Orders[fate] = one
	}
	return u, f.err
}

func (f fakeLedger) LeftToStaff(context.Context, int64, int64, int) ([]order.LeftOrder, error) {
	return []order.LeftOrder{
		{
			Order: order.Order{ID: 9, UserID: 8, Status: order.Redeemed, Amount: 300, PaidAt: noon},
			Fate:  order.FateRedeemed,
		},
		{Order: order.Order{ID: 5, UserID: 7, Status: order.Paid}, Fate: order.FateFree},
	}, f.err
}
