package httpapi

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// foundOrder is what a desk says that has this order for everybody.
func foundOrder(o order.Order) func(context.Context, int64, int64, time.Duration) (order.Order, error) {
	return func(context.Context, int64, int64, time.Duration) (order.Order, error) { return o, nil }
}

// asAdmin makes a request with an admin's token.
func asAdmin(tb testing.TB, a *API, req request) *httptest.ResponseRecorder {
	tb.Helper()
	header := map[string]string{"Authorization": token(tb, adminID, RoleAdmin)}
	maps.Copy(header, req.header)
	req.header = header
	return do(tb, a, req)
}

// asBoth asks for something as an admin where it is an admin's, else as the buyer.
func asBoth(tb testing.TB, a *API, target string) *httptest.ResponseRecorder {
	tb.Helper()
	if strings.HasPrefix(target, "/admin/") {
		return asAdmin(tb, a, request{method: http.MethodGet, target: target})
	}
	return do(tb, a, request{method: http.MethodGet, target: target})
}

// fakeChanges answers with what its functions say; without them every voucher is the seckill one, and Redis follows.
type fakeChanges struct {
	change   func(by voucher.Author, id int64, change voucher.Change) error
	addStock func(by voucher.Author, id, delta int64, key string) error
	pause    func(by voucher.Author, id int64) error
	resume   func(by voucher.Author, id int64) error
	behind   bool // Redis does not follow
}

func (f fakeChanges) shown(err error) (voucher.Shown, bool, error) {
	if err != nil {
		return voucher.Shown{}, false, err
	}
	return seckillVoucher(), !f.behind, nil
}

func (f fakeChanges) Change(_ context.Context, by voucher.Author, id int64, change voucher.Change) (voucher.Shown, bool, error) {
	if f.change == nil {
		return f.shown(nil)
	}
	return f.shown(f.change(by, id, change))
}

func (f fakeChanges) AddStock(_ context.Context, by voucher.Author, id, delta int64, key string) (voucher.Shown, bool, error) {
	if f.addStock == nil {
		return f.shown(nil)
	}
	return f.shown(f.addStock(by, id, delta, key))
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

// fakeClerk answers with what its functions say; without them there is no order.
type fakeClerk struct {
	cancel  func(userID, orderID int64) (order.Order, error)
	history func(o order.Order) ([]order.Event, error)
	order   func(orderID int64) (order.Order, error)
	find    func(f order.Filter, before int64, limit int) ([]order.Order, error)
}

func (f fakeClerk) Cancel(_ context.Context, userID, orderID int64) (order.Order, error) {
	if f.cancel == nil {
		return order.Order{}, order.ErrNotFound
	}
	return f.cancel(userID, orderID)
}

func (f fakeClerk) History(_ context.Context, o order.Order) ([]order.Event, error) {
	if f.history == nil {
		return nil, nil
	}
	return f.history(o)
}

func (f fakeClerk) Order(_ context.Context, orderID int64) (order.Order, error) {
	if f.order == nil {
		return order.Order{}, order.ErrNotFound
	}
	return f.order(orderID)
}

func (f fakeClerk) Find(_ context.Context, filter order.Filter, before int64, limit int) ([]order.Order, error) {
	if f.find == nil {
		return nil, nil
	}
	return f.find(filter, before, limit)
}

// fakeCashier answers with what its functions say; without them there is no order and no payment.
type fakeCashier struct {
	pay     func(userID, orderID int64) (order.Payment, string, error)
	confirm func(n order.Notice) error
	refund  func(userID, orderID int64) (order.Order, error)
}

func (f fakeCashier) Pay(_ context.Context, userID, orderID int64) (order.Payment, string, error) {
	if f.pay == nil {
		return order.Payment{}, "", order.ErrNotFound
	}
	return f.pay(userID, orderID)
}

func (f fakeCashier) Confirm(_ context.Context, n order.Notice) error {
	if f.confirm == nil {
		return order.ErrNoPayment
	}
	return f.confirm(n)
}

func (f fakeCashier) Refund(_ context.Context, userID, orderID int64) (order.Order, error) {
	if f.refund == nil {
		return order.Order{}, order.ErrNotFound
	}
	return f.refund(userID, orderID)
}

// fakeStorefront sells what it is asked for, or answers with what the function says.
type fakeStorefront func(userID, voucherID int64, key string) (order.Order, error)

func (f fakeStorefront) Buy(_ context.Context, userID, voucherID int64, key string) (order.Order, error) {
	if f == nil {
		return order.Order{ID: orderID, UserID: userID, VoucherID: voucherID, Status: order.Unpaid}, nil
	}
	return f(userID, voucherID, key)
}

// fakeWatcher yields what the function says; without it there is no order.
type fakeWatcher func(ctx context.Context, userID, orderID int64, yield func(order.Order, bool) error) error

func (f fakeWatcher) Watch(ctx context.Context, userID, orderID int64, yield func(order.Order, bool) error) error {
	if f == nil {
		return order.ErrNotFound
	}
	return f(ctx, userID, orderID, yield)
}

// fakeNotices reads what the function says; without it every notice is good.
type fakeNotices func(header http.Header, body []byte) (order.Notice, error)

func (f fakeNotices) Read(header http.Header, body []byte) (order.Notice, error) {
	if f == nil {
		return order.Notice{PaymentID: "pay_1", Amount: 1000}, nil
	}
	return f(header, body)
}

// fakeShelf answers with what it says; a nil one is empty.
type fakeShelf func(shopID, before int64, limit int) ([]voucher.Shown, error)

func (f fakeShelf) All(_ context.Context, shopID, before int64, limit int) ([]voucher.Shown, time.Time, error) {
	if f == nil {
		return nil, redisNoon, nil
	}
	vs, err := f(shopID, before, limit)
	return vs, redisNoon, err
}

// fakeAudit answers with what it says; in a nil one nobody has changed anything.
type fakeAudit func(f voucher.AuditFilter, before int64, limit int) ([]voucher.Entry, error)

func (f fakeAudit) Entries(_ context.Context, filter voucher.AuditFilter, before int64, limit int) ([]voucher.Entry, error) {
	if f == nil {
		return nil, nil
	}
	return f(filter, before, limit)
}

// fakeMonitor answers with what it says; a nil one knows no voucher.
type fakeMonitor func(voucherID int64) (order.Figures, error)

func (f fakeMonitor) Figures(_ context.Context, voucherID int64) (order.Figures, error) {
	if f == nil {
		return order.Figures{}, voucher.ErrNotFound
	}
	return f(voucherID)
}

// Note takes everything.
func (f fakeAudit) Note(context.Context, voucher.Entry) error { return nil }

// fakeLetters answers with what its functions say; without them there is no letter.
type fakeLetters struct {
	list    func(after string, n int) ([]order.DeadLetter, int64, error)
	replay  func(id, by, why string) (order.Claim, error)
	discard func(id, by, why string) (order.DeadLetter, error)
}

func (f fakeLetters) List(_ context.Context, after string, n int) ([]order.DeadLetter, int64, error) {
	if f.list == nil {
		return nil, 0, nil
	}
	return f.list(after, n)
}

func (f fakeLetters) Replay(_ context.Context, id, by, why string) (order.Claim, error) {
	if f.replay == nil {
		return order.Claim{}, order.ErrNoLetter
	}
	return f.replay(id, by, why)
}

func (f fakeLetters) Discard(_ context.Context, id, by, why string) (order.DeadLetter, error) {
	if f.discard == nil {
		return order.DeadLetter{}, order.ErrNoLetter
	}
	return f.discard(id, by, why)
}
