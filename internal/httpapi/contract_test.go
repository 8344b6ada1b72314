package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/httpapi"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/gate"
	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
	"seckill/internal/order/recorder"
	"seckill/internal/testkit/apitest"
	"seckill/internal/voucher"
	"seckill/internal/voucher/listing"
)

// described is a route's part in the contract test: how it succeeds, and what it may be refused with in addition to
// what every route of its kind may be.
type described struct {
	good     request
	succeeds []func(*setup)
	known    *request // one whose answer its caller has already
	invalid  *request // nil: nothing in a request can be invalid
	refusals []error
	never    []int // statuses that its kind could have and it has not
}

// routesDescribed is everything that the routes may answer, by method and pattern.
func routesDescribed() map[string]described {
	ready := func(err error) func(*setup) {
		return func(cfg *setup) {
			cfg.Checks = []httpapi.Check{{
				Name: "redis", Required: true, Run: func(context.Context) error { return err },
			}}
		}
	}
	asIs := func(*setup) {}
	unavailable, lost := order.ErrUnavailable, order.ErrUnknownChange
	noVoucher, noOrder := voucher.ErrNotFound, order.ErrNotFound
	state := &order.StateError{OrderID: orderID, Status: order.Refunded}
	draft := `{"shopId":1,"title":"100 for 10","payValue":1000,"actualValue":10000`
	sale := draft + `,"stock":5,"beginTime":"2026-01-02T20:00:00Z","endTime":"2026-01-02T21:00:00"}`
	key := map[string]string{"Idempotency-Key": "k"}
	behind := func(cfg *setup) { cfg.VoucherChanges = fakeChanges{Behind: true} }
	stuckRefusals := []error{
		payment.ErrNotFound, &payment.StateError{PaymentID: "pay_1", State: payment.Refunded},
		&order.NotNowError{Why: payment.ErrDisputed}, idempotency.ErrReused, unavailable, lost,
	}
	actsOnPayment := func(s payment.State) func(*setup) {
		return func(cfg *setup) { cfg.Payments = fakePayments{State: s} }
	}
	noProvider := func(cfg *setup) { cfg.NoProvider = true }
	purchases := []error{
		&gate.AlreadyBoughtError{OrderID: 5, Status: order.Unpaid}, noVoucher, voucher.ErrNotSeckill, unavailable,
		&shop.OrderFailedError{Order: order.Order{ID: 5, Reason: reason.NoStock}},
	}
	purchases = append(purchases, apitest.StoppedAll()...)
	for _, o := range gate.Outcomes() {
		if err := (gate.Result{Outcome: o, OrderID: 5, Quantity: order.QuantityOf(2), Left: 3}).Err(); err != nil &&
			o != gate.Barred {
			purchases = append(purchases, err)
		}
	}
	fixed := []error{
		noVoucher, voucher.ErrNotSeckill, voucher.ErrArchived, voucher.ErrRetired, voucher.ErrCalledOff, unavailable,
		lost,
	}
	return map[string]described{
		"POST /voucher": {
			good: request{Body: draft + "}"}, succeeds: []func(*setup){asIs, noProvider},
			invalid:  &request{Body: "{}"},
			refusals: []error{unavailable, lost, idempotency.ErrReused, idempotency.ErrGone},
		},
		"POST /voucher/seckill": {
			good: request{Body: sale}, succeeds: []func(*setup){asIs, noProvider}, invalid: &request{
				Body: draft + "}",
			}, refusals: []error{
				unavailable, lost, voucher.ErrNoPartition, voucher.ErrOtherData, idempotency.ErrReused,
				idempotency.ErrGone,
				&voucher.BoundError{What: "sales", Most: 3},
			},
		},
		"GET /voucher/list/:shopId": {
			good: request{Target: "/voucher/list/1"}, succeeds: []func(*setup){
				asIs, shows(seckillVoucher()), shows(ordinaryVoucher()), withListings(staleVouchers()),
			},
			known: &request{
				Target: "/voucher/list/1?limit=1&before=9", Header: map[string]string{"If-None-Match": "*"},
			},
			invalid: &request{Target: "/voucher/list/x"}, refusals: []error{unavailable},
		},
		"GET /voucher/:id": {
			good:     request{Target: "/voucher/5"},
			succeeds: []func(*setup){shows(seckillVoucher()), shows(ordinaryVoucher()), withListings(staleVouchers())},
			known:    &request{Target: "/voucher/5", Header: map[string]string{"If-None-Match": "*"}},
			invalid:  &request{Target: "/voucher/x"}, refusals: []error{noVoucher, unavailable},
		},
		"PATCH /voucher/:id": {
			good: request{Target: "/voucher/5", Body: `{"title":"a","endTime":"2026-01-02T21:00:00Z","status":2,` +
				`"guards":{"limits":{"perUser":{"requests":5,"seconds":10}},"conditions":null}}`},
			succeeds: []func(*setup){asIs, behind}, invalid: &request{Target: "/voucher/5", Body: `{"stock":5}`},
			refusals: []error{
				noVoucher, voucher.ErrArchived, voucher.ErrRetired, voucher.ErrCalledOff, unavailable, lost,
				&voucher.BoundError{What: "sales", Most: 3},
			},
		},
		"POST /voucher/:id/stock": {
			good:     request{Target: "/voucher/5/stock", Body: `{"delta":-5}`, Header: key},
			succeeds: []func(*setup){asIs, behind},
			invalid:  &request{Target: "/voucher/5/stock", Body: `{"delta":-5}`},
			refusals: []error{
				noVoucher, voucher.ErrArchived, voucher.ErrRetired, voucher.ErrCalledOff, voucher.ErrNotSeckill,
				idempotency.ErrReused, voucher.ErrUndecided,
				unavailable, lost, &voucher.InsufficientStockError{Left: 3},
				&voucher.BoundError{What: "units", Most: 3},
			},
		},
		"POST /voucher/:id/pause": {
			good: request{Target: "/voucher/5/pause"}, succeeds: []func(*setup){asIs, behind},
			invalid:  &request{Target: "/voucher/0/pause"},
			refusals: fixed,
		},
		"POST /voucher/:id/resume": {
			good: request{Target: "/voucher/5/resume"}, succeeds: []func(*setup){asIs, behind},
			invalid:  &request{Target: "/voucher/05/resume"},
			refusals: fixed,
		},
		"POST /voucher/:id/archive": {
			good: request{Target: "/voucher/5/archive"}, succeeds: []func(*setup){asIs},
			invalid:  &request{Target: "/voucher/0/archive"},
			refusals: []error{noVoucher, voucher.ErrSaleNotOver, voucher.ErrOrdersWait, unavailable, lost},
		},
		"POST /voucher/:id/restore": {
			good: request{Target: "/voucher/5/restore"}, succeeds: []func(*setup){asIs},
			invalid: &request{Target: "/voucher/05/restore"}, refusals: []error{noVoucher, unavailable, lost},
		},
		"POST /voucher/seckill/:id": {
			good:     request{Target: "/voucher/seckill/5?quantity=2&wait=1s"},
			succeeds: []func(*setup){sells(order.Queued), sells(order.Unpaid)},
			invalid:  &request{Target: "/voucher/seckill/5?wait=soon"}, refusals: purchases,
		},
		"POST /voucher-order/seckill/:id": {
			good:     request{Target: "/voucher-order/seckill/5"},
			succeeds: []func(*setup){sells(order.Queued), sells(order.Unpaid)},
			invalid:  &request{Target: "/voucher-order/seckill/x"}, refusals: purchases,
		},
		"POST /voucher/buy/:id": {
			good: request{Target: "/voucher/buy/5", Header: key}, succeeds: []func(*setup){asIs},
			invalid: &request{Target: "/voucher/buy/x"}, refusals: []error{
				noVoucher, voucher.ErrOffShelf, order.ErrSeckill, &order.LimitError{PerUser: 2},
				unavailable, order.ErrUnknownOutcome, idempotency.ErrReused, idempotency.ErrGone,
			},
		},
		"GET /order": {
			good: request{Target: "/order?limit=1&before=9&voucherId=5&status=queued"}, succeeds: []func(*setup){
				asIs, has(order.Queued), has(order.Paid), withPurchases(fakePurchases{Stale: true}),
			},
			invalid: &request{Target: "/order?limit=0"}, refusals: []error{unavailable},
		},
		"GET /order/:id": {
			good: request{Target: "/order/5?wait=1s"}, succeeds: []func(*setup){
				has(order.Queued), has(order.Paid), has(order.Failed), withCoupon(order.Paid),
			},
			invalid: &request{Target: "/order/5?wait=-1s"}, refusals: []error{noOrder, unavailable},
		},
		"GET /order/:id/events": {
			good:     request{Target: "/order/5/events", Header: map[string]string{"Last-Event-ID": "refunded"}},
			succeeds: []func(*setup){has(order.Refunded), has(order.Paid)},
			// Of uncounted routes this one alone can be unavailable.
			invalid: &request{Target: "/order/x/events"}, refusals: []error{noOrder, unavailable},
		},
		"GET /order/events": {
			good:     request{Target: "/order/events"},
			succeeds: []func(*setup){asIs, has(order.Paid)},
			invalid:  &request{Target: "/order/events?id=5"}, refusals: []error{unavailable},
		},
		"POST /order/:id/pay": {
			good: request{Target: "/order/5/pay"}, succeeds: []func(*setup){pays("/sandbox/pay/x"), pays("")},
			invalid:  &request{Target: "/order/x/pay"},
			refusals: []error{noOrder, state, payment.ErrNoProvider, unavailable, lost},
		},
		"POST /order/:id/cancel": {
			good: request{Target: "/order/5/cancel"}, succeeds: []func(*setup){has(order.Cancelled)},
			invalid: &request{Target: "/order/x/cancel"}, refusals: []error{noOrder, state, unavailable, lost},
		},
		"POST /order/:id/refund": {
			good: request{Target: "/order/5/refund"}, succeeds: []func(*setup){
				has(order.Refunding), has(order.Refunded),
			}, invalid: &request{Target: "/order/x/refund"},
			refusals: []error{
				noOrder, state, &order.NotNowError{Why: errCoupon}, &order.NotNowError{Why: payment.ErrDisputed},
				unavailable, lost,
			},
		},
		"GET /admin/order": {
			good:     request{Target: "/admin/order?limit=1&userId=42&shopId=2&payment=pay_1&status=paid"},
			succeeds: []func(*setup){asIs, has(order.Paid)},
			invalid:  &request{Target: "/admin/order?status=queued&payment="}, refusals: []error{unavailable},
		},
		"GET /admin/search": {
			good: request{Target: "/admin/search?q=5"}, succeeds: []func(*setup){asIs},
			invalid: &request{Target: "/admin/search?q=%20"}, refusals: []error{unavailable},
		},
		"GET /admin/payment": {
			good: request{Target: "/admin/payment?limit=1&payment=r-7&orderId=5&voucherId=5&shopId=2&state=received" +
				"&dispute=open&from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00"},
			succeeds: []func(*setup){asIs},
			invalid:  &request{Target: "/admin/payment?state=paid&dispute=yes&from=today"},
			refusals: []error{unavailable},
		},
		"GET /admin/payment/:id": {
			good: request{Target: "/admin/payment/pay_1"}, succeeds: []func(*setup){asIs},
			refusals: []error{payment.ErrNotFound, unavailable},
		},
		"POST /admin/payment/:id/refund": {
			good: request{
				Target: "/admin/payment/pay_1/refund", Body: `{"amount":300,"why":"cold soup"}`, Header: key,
			},
			succeeds: []func(*setup){asIs},
			invalid: &request{
				Target: "/admin/payment/pay_1/refund", Body: `{"amount":0,"why":"cold soup"}`, Header: key,
			},
			refusals: []error{
				payment.ErrNotFound, &payment.NotReceivedError{PaymentID: "pay_1", State: payment.Refunded},
				&payment.LeftError{PaymentID: "pay_1", Left: 1, Currency: "CNY"}, state,
				&order.NotNowError{Why: payment.ErrDisputed},
				&order.NotNowError{Why: errCoupon}, idempotency.ErrReused, order.ErrUpgrading, unavailable, lost,
			},
		},
		"POST /admin/payment/:id/retry": {
			good:     request{Target: "/admin/payment/pay_1/retry", Body: `{"why":"it works now"}`, Header: key},
			succeeds: []func(*setup){actsOnPayment(payment.Refunded), actsOnPayment(payment.Refunding)},
			invalid:  &request{Target: "/admin/payment/pay_1/retry", Body: `{"why":"it works now"}`},
			refusals: stuckRefusals,
		},
		"POST /admin/payment/:id/close": {
			good:     request{Target: "/admin/payment/pay_1/close", Body: `{"why":"paid in cash"}`, Header: key},
			succeeds: []func(*setup){actsOnPayment(payment.Closed), actsOnPayment(payment.Refunding)},
			invalid:  &request{Target: "/admin/payment/pay_1/close", Body: `{}`, Header: key},
			refusals: stuckRefusals,
		},
		"GET /admin/order/:id": {
			good: request{Target: "/admin/order/5"}, succeeds: []func(*setup){
				has(order.Paid), has(order.Failed), withCoupon(order.Paid),
			}, invalid: &request{Target: "/admin/order/x"},
			refusals: []error{noOrder, unavailable},
		},
		"POST /admin/order/:id/cancel": {
			good:     request{Target: "/admin/order/5/cancel", Body: `{"why":"closed"}`, Header: key},
			succeeds: []func(*setup){has(order.Cancelled)},
			invalid:  &request{Target: "/admin/order/5/cancel", Body: `{"why":"closed"}`},
			refusals: []error{noOrder, state, idempotency.ErrReused, unavailable, lost},
		},
		"POST /admin/order/:id/refund": {
			good:     request{Target: "/admin/order/5/refund", Body: `{"why":"closed"}`, Header: key},
			succeeds: []func(*setup){has(order.Refunding), has(order.Refunded)},
			invalid:  &request{Target: "/admin/order/5/refund", Body: `{"why":" "}`, Header: key},
			refusals: []error{
				noOrder, state, &order.NotNowError{Why: errCoupon}, &order.NotNowError{Why: payment.ErrDisputed},
				idempotency.ErrReused, unavailable, lost,
			},
		},
		"POST /admin/voucher/:id/call-off": {
			good:     request{Target: "/admin/voucher/5/call-off", Body: `{"why":"the price was wrong"}`, Header: key},
			succeeds: []func(*setup){asIs, behind},
			invalid:  &request{Target: "/admin/voucher/5/call-off", Body: `{"why":"x"}`},
			refusals: []error{
				noVoucher, voucher.ErrArchived, voucher.ErrRetired, voucher.ErrNotSeckill, idempotency.ErrReused,
				unavailable, lost,
			},
		},
		"GET /admin/voucher/:id/call-off": {
			good:     request{Target: "/admin/voucher/5/call-off?limit=2&before=9"},
			succeeds: []func(*setup){shows(seckillVoucher())},
			invalid:  &request{Target: "/admin/voucher/5/call-off?limit=0"},
			refusals: []error{noVoucher, voucher.ErrNotSeckill, unavailable},
		},
		"GET /admin/voucher": {
			good:     request{Target: "/admin/voucher?limit=1&shopId=2&title=noodles&archived=only"},
			succeeds: []func(*setup){asIs, shows(seckillVoucher()), shows(ordinaryVoucher())},
			invalid:  &request{Target: "/admin/voucher?before=x&title="}, refusals: []error{unavailable},
		},
		"GET /admin/voucher/:id/live": {
			good: request{Target: "/admin/voucher/5/live"}, succeeds: []func(*setup){withStatsOnce(saleStats())},
			invalid:  &request{Target: "/admin/voucher/x/live"},
			refusals: []error{noVoucher, voucher.ErrNotSeckill, httpkit.ErrUserStreams, unavailable},
		},
		"GET /admin/partition": {
			good: request{Target: "/admin/partition"}, succeeds: []func(*setup){asIs},
			invalid: &request{Target: "/admin/partition?limit=1"}, refusals: []error{unavailable},
		},
		"GET /admin/provider": {
			good: request{Target: "/admin/provider"}, succeeds: []func(*setup){asIs},
			invalid: &request{Target: "/admin/provider?limit=1"}, refusals: []error{unavailable},
		},
		"GET /admin/notice": {
			good: request{Target: "/admin/notice"}, succeeds: []func(*setup){asIs},
			invalid: &request{Target: "/admin/notice?limit=1"}, refusals: []error{unavailable},
		},
		"GET /admin/deadletter": {
			good:     request{Target: "/admin/deadletter?limit=1&after=8-0"},
			succeeds: []func(*setup){asIs, withDeadLetters}, invalid: &request{Target: "/admin/deadletter?limit=0"},
			refusals: []error{order.ErrNoDeadLetter, unavailable},
		},
		"POST /admin/deadletter/:id/replay": {
			good:     request{Target: "/admin/deadletter/9-0/replay", Body: `{"why":"x"}`},
			succeeds: []func(*setup){withDeadLetters}, invalid: &request{
				Target: "/admin/deadletter/9-0/replay", Body: `{}`,
			}, refusals: []error{order.ErrNoDeadLetter, recorder.ErrNotReplayable, unavailable, lost},
		},
		"POST /admin/deadletter/:id/discard": {
			good:     request{Target: "/admin/deadletter/9-0/discard", Body: `{"why":"x"}`},
			succeeds: []func(*setup){withDeadLetters}, invalid: &request{
				Target: "/admin/deadletter/9-0/discard", Body: `{}`,
			}, refusals: []error{order.ErrNoDeadLetter, unavailable, lost},
		},
		"GET /admin/audit": {
			good:     request{Target: "/admin/audit?limit=1&voucherId=5&adminId=7"},
			succeeds: []func(*setup){asIs, withAudit(voucher.Changed), withAudit(voucher.Restocked)},
			invalid:  &request{Target: "/admin/audit?adminId=0"}, refusals: []error{unavailable},
		},
		"POST /payment/callback": {
			good: request{
				Target: "/payment/callback", Body: `{"paymentId":"pay_1","amount":1000,"status":"succeeded"}`,
				Header: map[string]string{"Authorization": ""},
			},
			succeeds: []func(*setup){pays("")}, invalid: &request{
				Target: "/payment/callback", Body: apitest.BrokenOff,
			},
			refusals: []error{
				payment.ErrBadNotice, payment.ErrNotFound, payment.ErrWrongAmount, order.ErrUpgrading, unavailable,
				lost,
			},
		},
		"POST /payment/callback/:provider": {
			good: request{
				Target: "/payment/callback/bank", Body: `{"paymentId":"pay_2","amount":2000,"status":"succeeded"}`,
				Header: map[string]string{"Authorization": ""},
			},
			succeeds: []func(*setup){pays("")}, invalid: &request{
				Target: "/payment/callback/bank", Body: apitest.BrokenOff,
			},
			refusals: []error{
				payment.ErrBadNotice, payment.ErrNotFound, payment.ErrWrongAmount, order.ErrUpgrading, unavailable,
				lost,
			},
		},
		"POST /demo/buyer": {
			good: request{Target: "/demo/buyer"}, succeeds: []func(*setup){asIs},
			never: []int{http.StatusInternalServerError},
		},
		"POST /demo/admin": {
			good:     request{Target: "/demo/admin", Body: `{"code":"open-sesame"}`, From: "127.0.0.1:40000"},
			succeeds: []func(*setup){func(cfg *setup) { cfg.SignInCode = "open-sesame" }},
			invalid:  &request{Target: "/demo/admin", Body: apitest.BrokenOff, From: "127.0.0.1:40000"},
			never:    []int{http.StatusInternalServerError},
		},
		"GET /healthz": {
			good: request{Target: "/healthz"}, succeeds: []func(*setup){asIs},
			never: []int{http.StatusInternalServerError},
		},
		"GET /readyz": {
			good: request{Target: "/readyz"}, succeeds: []func(*setup){asIs, ready(nil), ready(errors.New("away"))},
			never: []int{http.StatusInternalServerError},
		},
	}
}

// withDeadLetters has two dead letters.
func withDeadLetters(cfg *setup) {
	cfg.DeadLetters = fakeDeadLetters{
		OnList: func(string, int) ([]recorder.DeadLetter, int64, error) {
			return []recorder.DeadLetter{
				deadLetter(), {ID: "10-0", Entry: "2-0", At: noon, Why: "x", Fields: map[string]string{}},
			}, 2, nil
		},
		OnReplay:  func(string, string, string) (order.Claim, error) { return deadLetter().Claim, nil },
		OnDiscard: func(string, string, string) (recorder.DeadLetter, error) { return deadLetter(), nil },
	}
}

// withAudit has an audit trail of two entries.
func withAudit(action voucher.Action) func(*setup) {
	e := voucher.Entry{
		ID: 3, At: redisNoon, Changes: []voucher.FieldChange{}, By: voucher.Author{AdminID: adminID, Request: "r-1"},
		Action: action, VoucherID: 5,
	}
	if action == voucher.Restocked {
		e.Delta = -5
	} else {
		e.Changes = []voucher.FieldChange{{Field: "title", To: "a"}}
	}
	return func(cfg *setup) {
		cfg.Ledger = fakeLedger{OnEntries: func(voucher.AuditFilter, int64, int) ([]voucher.Entry, error) {
			return []voucher.Entry{e, e}, nil
		}}
	}
}

// withStatsOnce has a sale whose stats can be read once.
func withStatsOnce(stats audit.SaleStats) func(*setup) {
	return func(cfg *setup) {
		var asked atomic.Bool
		withSaleStats(func(int64) (audit.SaleStats, error) {
			if asked.Swap(true) {
				return audit.SaleStats{}, voucher.ErrNotFound
			}
			return stats, nil
		})(cfg)
	}
}

func sells(s order.Status) func(*setup) {
	return withPurchases(fakePurchases{
		OnBuy: func(context.Context, int64, int64, time.Duration) (order.Order, error) { return orderIn(s), nil },
	})
}

func pays(url string) func(*setup) {
	return func(cfg *setup) {
		cfg.Payments = fakePayments{
			OnPay: func(int64, int64) (payment.Payment, string, error) {
				return payment.Payment{ID: "pay_1", OrderID: orderID, Amount: 1000, State: payment.Open}, url, nil
			},
			OnConfirm: func(payment.Notice) error { return nil },
		}
	}
}

// failingListings fails with err in every method.
type failingListings struct{ err error }

func (f failingListings) Voucher(context.Context, int64) (listing.Snapshot, error) {
	return listing.Snapshot{}, f.err
}

func (f failingListings) List(context.Context, int64, int64) (listing.Snapshot, error) {
	return listing.Snapshot{}, f.err
}

// failing has everything fail with err.
func failing(err error) func(*setup) {
	return func(cfg *setup) {
		cfg.Vouchers, cfg.Listings = failingVouchers{Err: err}, failingListings{err}
		cfg.VoucherChanges = fakeChanges{
			OnChange:   func(voucher.Author, int64, voucher.Change) error { return err },
			OnAddStock: func(voucher.Author, int64, int64, string) error { return err },
			OnPause:    func(voucher.Author, int64) error { return err },
			OnCallOff:  func(voucher.Author, int64, string) error { return err },
			OnResume:   func(voucher.Author, int64) error { return err },
			Archive:    func(voucher.Author, int64, bool) error { return err },
		}
		cfg.Purchases = fakePurchases{
			OnBuy: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
				return order.Order{}, err
			},
			OnOrder: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
				return order.Order{}, err
			},
			OnOrders: func(context.Context, order.Filter, int64, int) ([]order.Order, int64, error) {
				return nil, 0, err
			},
			OnWatch: func(context.Context, int64, int64, func(order.Order, bool) error) error { return err },
		}
		cfg.Orders = fakeOrders{
			OnCancel: func(int64, int64) (order.Order, error) { return order.Order{}, err },
			OnOrder:  func(int64) (order.Order, error) { return order.Order{}, err },
			OnFind:   func(order.Filter, int64, int) ([]order.Order, error) { return nil, err },
		}
		cfg.Payments = fakePayments{
			OnPay:     func(int64, int64) (payment.Payment, string, error) { return payment.Payment{}, "", err },
			OnConfirm: func(payment.Notice) error { return err },
			OnRefund:  func(int64, int64) (order.Order, error) { return order.Order{}, err },
			Err:       err,
		}
		cfg.Ledger = fakeLedger{Err: err}
		cfg.BuyOrdinary = func(context.Context, int64, int64, idempotency.Key) (order.Order, error) {
			return order.Order{}, err
		}
		cfg.SaleStats = func(context.Context, int64) (audit.SaleStats, error) { return audit.SaleStats{}, err }
		cfg.DeadLetters = fakeDeadLetters{
			OnList:    func(string, int) ([]recorder.DeadLetter, int64, error) { return nil, 0, err },
			OnReplay:  func(string, string, string) (order.Claim, error) { return order.Claim{}, err },
			OnDiscard: func(string, string, string) (recorder.DeadLetter, error) { return recorder.DeadLetter{}, err },
		}
		cfg.Partitions = partitionsOrError(err)
		cfg.Notices = &notices{Err: err}
		cfg.Providers = providersOrError(err)
		reader := reads(payment.Notice{}, err)
		cfg.Callbacks = map[string]shop.CallbackReader{"": reader, "bank": reader}
	}
}

// TestContract holds the core's routes to their description.
func TestContract(t *testing.T) {
	t.Parallel()
	described, cases := routesDescribed(), map[string]apitest.Case{}
	for route, d := range described {
		cases[route] = d.shared()
	}
	routes := everything(t).AllRoutes()
	for _, r := range routes { // TestAccessOfEveryRoute has who may call them
		c := cases[r.Method+" "+r.Path]
		c.Access = r.Access
		cases[r.Method+" "+r.Path] = c
	}
	apitest.Contract{
		Routes: routes, Cases: cases,
		Open: func(t *testing.T, r httpkit.Route, s apitest.State) http.Handler {
			t.Helper()
			d := described[r.Method+" "+r.Path]
			var change []func(*setup)
			switch {
			case s.Err != nil:
				change = append(change, failing(s.Err))
			default:
				change = append(change, d.succeeds[s.Way])
			}
			if s.Made != "x" && strings.HasPrefix(r.Path, "/admin/payment/") {
				s.Made = strings.Replace(s.Made, "3", "pay_1", 1) // ids of payments are no numbers
			}
			change = append(change, func(cfg *setup) { cfg.FindKey = apitest.FindKey(s.Made) })
			if s.Strict {
				change = append(change, func(cfg *setup) { cfg.UserRate, cfg.UserBurst = 1, 1 })
			}
			a := everything(t, change...)
			if s.Full {
				saturate(a)
			}
			return a.Handler()
		},
		More: func(t *testing.T, r httpkit.Route, good apitest.Request, ask apitest.Ask) {
			t.Helper()
			switch r.Path {
			case "/demo/buyer":
				many := everything(t)
				many.DemoBuyers().SetBurst(0)
				ask(t, many.Handler(), good)
				ask(t, everything(t).Handler(), good, func(r *http.Request) { r.Host = "evil.example" })
			case "/demo/admin":
				ask(t, everything(t).Handler(), good) // a used link
				ask(t, everything(t).Handler(), good, func(r *http.Request) { r.RemoteAddr = "192.0.2.7:40000" })
			}
		},
	}.Hold(t)
}

// shared returns the case as other routes have it.
func (d described) shared() apitest.Case {
	return apitest.Case{
		Good: d.good, Known: d.known, Invalid: d.invalid, Ways: len(d.succeeds), Refusals: d.refusals, Never: d.never,
	}
}

// everything is an API all of whose routes exist.
func everything(t *testing.T, change ...func(*setup)) *API {
	t.Helper()
	return newAPI(t, append([]func(*setup){func(cfg *setup) { cfg.DemoTokens = time.Hour }}, change...)...)
}
