package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/audit"
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
			cfg.Checks = []Check{{Name: "redis", Required: true, Run: func(context.Context) error { return err }}}
		}
	}
	asIs := func(*setup) {}
	unavailable := order.ErrUnavailable
	noVoucher, noOrder := voucher.ErrNotFound, order.ErrNotFound
	state := &order.StateError{OrderID: orderID, Status: order.Refunded}
	draft := `{"shopId":1,"title":"100 for 10","payValue":1000,"actualValue":10000`
	sale := draft + `,"stock":5,"beginTime":"2026-01-02T20:00:00Z","endTime":"2026-01-02T21:00:00"}`
	key := map[string]string{"Idempotency-Key": "k"}
	behind := func(cfg *setup) { cfg.VoucherChanges = fakeChanges{behind: true} }
	stuckRefusals := []error{
		order.ErrNoPayment, &order.PaymentStateError{PaymentID: "pay_1", State: order.PaymentRefunded},
		&order.NotNowError{Why: order.ErrDisputed}, idempotency.ErrReused, unavailable,
	}
	actsOnPayment := func(s order.PaymentState) func(*setup) {
		return func(cfg *setup) { cfg.Payments = fakePayments{state: s} }
	}
	noProvider := func(cfg *setup) { cfg.NoProvider = true }
	purchases := []error{
		&order.AlreadyBoughtError{OrderID: 5, Status: order.Unpaid}, noVoucher, voucher.ErrNotSeckill, unavailable,
		&shop.OrderFailedError{Order: order.Order{ID: 5, Reason: order.NoStock}},
	}
	purchases = append(purchases, apitest.StoppedAll()...)
	for _, o := range order.Outcomes() {
		if err := (order.Result{Outcome: o, OrderID: 5, Quantity: order.QuantityOf(2), Left: 3}).Err(); err != nil &&
			o != order.Barred {
			purchases = append(purchases, err)
		}
	}
	fixed := []error{
		noVoucher, voucher.ErrNotSeckill, voucher.ErrArchived, voucher.ErrRetired, voucher.ErrCalledOff, unavailable,
	}
	return map[string]described{
		"POST /voucher": {
			good: request{body: draft + "}"}, succeeds: []func(*setup){asIs, noProvider},
			invalid:  &request{body: "{}"},
			refusals: []error{unavailable, idempotency.ErrReused, idempotency.ErrGone},
		},
		"POST /voucher/seckill": {
			good: request{body: sale}, succeeds: []func(*setup){asIs, noProvider}, invalid: &request{
				body: draft + "}",
			}, refusals: []error{
				unavailable, voucher.ErrNoPartition, voucher.ErrOtherData, idempotency.ErrReused, idempotency.ErrGone,
				&voucher.BoundError{What: "sales", Most: 3},
			},
		},
		"GET /voucher/list/:shopId": {
			good: request{target: "/voucher/list/1"}, succeeds: []func(*setup){
				asIs, shows(seckillVoucher()), shows(ordinaryVoucher()), withListings(staleVouchers()),
			},
			known: &request{
				target: "/voucher/list/1?limit=1&before=9", header: map[string]string{"If-None-Match": "*"},
			},
			invalid: &request{target: "/voucher/list/x"}, refusals: []error{unavailable},
		},
		"GET /voucher/:id": {
			good:     request{target: "/voucher/5"},
			succeeds: []func(*setup){shows(seckillVoucher()), shows(ordinaryVoucher()), withListings(staleVouchers())},
			known:    &request{target: "/voucher/5", header: map[string]string{"If-None-Match": "*"}},
			invalid:  &request{target: "/voucher/x"}, refusals: []error{noVoucher, unavailable},
		},
		"PATCH /voucher/:id": {
			good: request{target: "/voucher/5", body: `{"title":"a","endTime":"2026-01-02T21:00:00Z","status":2,` +
				`"guards":{"limits":{"perUser":{"requests":5,"seconds":10}},"conditions":null}}`},
			succeeds: []func(*setup){asIs, behind}, invalid: &request{target: "/voucher/5", body: `{"stock":5}`},
			refusals: []error{
				noVoucher, voucher.ErrArchived, voucher.ErrRetired, voucher.ErrCalledOff, unavailable,
				&voucher.BoundError{What: "sales", Most: 3},
			},
		},
		"POST /voucher/:id/stock": {
			good:     request{target: "/voucher/5/stock", body: `{"delta":-5}`, header: key},
			succeeds: []func(*setup){asIs, behind},
			invalid:  &request{target: "/voucher/5/stock", body: `{"delta":-5}`},
			refusals: []error{
				noVoucher, voucher.ErrArchived, voucher.ErrRetired, voucher.ErrCalledOff, voucher.ErrNotSeckill,
				idempotency.ErrReused, voucher.ErrUndecided,
				unavailable, &voucher.InsufficientStockError{Left: 3},
				&voucher.BoundError{What: "units", Most: 3},
			},
		},
		"POST /voucher/:id/pause": {
			good: request{target: "/voucher/5/pause"}, succeeds: []func(*setup){asIs, behind},
			invalid:  &request{target: "/voucher/0/pause"},
			refusals: fixed,
		},
		"POST /voucher/:id/resume": {
			good: request{target: "/voucher/5/resume"}, succeeds: []func(*setup){asIs, behind},
			invalid:  &request{target: "/voucher/05/resume"},
			refusals: fixed,
		},
		"POST /voucher/:id/archive": {
			good: request{target: "/voucher/5/archive"}, succeeds: []func(*setup){asIs},
			invalid:  &request{target: "/voucher/0/archive"},
			refusals: []error{noVoucher, voucher.ErrSaleNotOver, voucher.ErrOrdersWait, unavailable},
		},
		"POST /voucher/:id/restore": {
			good: request{target: "/voucher/5/restore"}, succeeds: []func(*setup){asIs},
			invalid: &request{target: "/voucher/05/restore"}, refusals: []error{noVoucher, unavailable},
		},
		"POST /voucher/seckill/:id": {
			good:     request{target: "/voucher/seckill/5?quantity=2&wait=1s"},
			succeeds: []func(*setup){sells(order.Queued), sells(order.Unpaid)},
			invalid:  &request{target: "/voucher/seckill/5?wait=soon"}, refusals: purchases,
		},
		"POST /voucher-order/seckill/:id": {
			good:     request{target: "/voucher-order/seckill/5"},
			succeeds: []func(*setup){sells(order.Queued), sells(order.Unpaid)},
			invalid:  &request{target: "/voucher-order/seckill/x"}, refusals: purchases,
		},
		"POST /voucher/buy/:id": {
			good: request{target: "/voucher/buy/5", header: key}, succeeds: []func(*setup){asIs},
			invalid: &request{target: "/voucher/buy/x"}, refusals: []error{
				noVoucher, voucher.ErrOffShelf, order.ErrSeckill, &order.LimitError{PerUser: 2},
				unavailable, order.ErrUnknownOutcome, idempotency.ErrReused, idempotency.ErrGone,
			},
		},
		"GET /order": {
			good: request{target: "/order?limit=1&before=9&voucherId=5&status=queued"}, succeeds: []func(*setup){
				asIs, has(order.Queued), has(order.Paid), withPurchases(fakePurchases{stale: true}),
			},
			invalid: &request{target: "/order?limit=0"}, refusals: []error{unavailable},
		},
		"GET /order/:id": {
			good: request{target: "/order/5?wait=1s"}, succeeds: []func(*setup){
				has(order.Queued), has(order.Paid), has(order.Failed), withCoupon(order.Paid),
			},
			invalid: &request{target: "/order/5?wait=-1s"}, refusals: []error{noOrder, unavailable},
		},
		"GET /order/:id/events": {
			good:     request{target: "/order/5/events", header: map[string]string{"Last-Event-ID": "refunded"}},
			succeeds: []func(*setup){has(order.Refunded), has(order.Paid)},
			// Of uncounted routes this one alone can be unavailable.
			invalid: &request{target: "/order/x/events"}, refusals: []error{noOrder, unavailable},
		},
		"POST /order/:id/pay": {
			good: request{target: "/order/5/pay"}, succeeds: []func(*setup){pays("/sandbox/pay/x"), pays("")},
			invalid:  &request{target: "/order/x/pay"},
			refusals: []error{noOrder, state, order.ErrNoProvider, unavailable},
		},
		"POST /order/:id/cancel": {
			good: request{target: "/order/5/cancel"}, succeeds: []func(*setup){has(order.Cancelled)},
			invalid: &request{target: "/order/x/cancel"}, refusals: []error{noOrder, state, unavailable},
		},
		"POST /order/:id/refund": {
			good: request{target: "/order/5/refund"}, succeeds: []func(*setup){
				has(order.Refunding), has(order.Refunded),
			}, invalid: &request{target: "/order/x/refund"},
			refusals: []error{
				noOrder, state, &order.NotNowError{Why: errCoupon}, &order.NotNowError{Why: order.ErrDisputed},
				unavailable,
			},
		},
		"GET /admin/order": {
			good:     request{target: "/admin/order?limit=1&userId=42&shopId=2&payment=pay_1&status=paid"},
			succeeds: []func(*setup){asIs, has(order.Paid)},
			invalid:  &request{target: "/admin/order?status=queued&payment="}, refusals: []error{unavailable},
		},
		"GET /admin/payment": {
			good: request{target: "/admin/payment?limit=1&payment=r-7&orderId=5&voucherId=5&shopId=2&state=received" +
				"&dispute=open&from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00"},
			succeeds: []func(*setup){asIs},
			invalid:  &request{target: "/admin/payment?state=paid&dispute=yes&from=today"},
			refusals: []error{unavailable},
		},
		"GET /admin/payment/:id": {
			good: request{target: "/admin/payment/pay_1"}, succeeds: []func(*setup){asIs},
			refusals: []error{order.ErrNoPayment, unavailable},
		},
		"POST /admin/payment/:id/retry": {
			good:     request{target: "/admin/payment/pay_1/retry", body: `{"why":"it works now"}`, header: key},
			succeeds: []func(*setup){actsOnPayment(order.PaymentRefunded), actsOnPayment(order.PaymentRefunding)},
			invalid:  &request{target: "/admin/payment/pay_1/retry", body: `{"why":"it works now"}`},
			refusals: stuckRefusals,
		},
		"POST /admin/payment/:id/close": {
			good:     request{target: "/admin/payment/pay_1/close", body: `{"why":"paid in cash"}`, header: key},
			succeeds: []func(*setup){actsOnPayment(order.PaymentClosed), actsOnPayment(order.PaymentRefunding)},
			invalid:  &request{target: "/admin/payment/pay_1/close", body: `{}`, header: key},
			refusals: stuckRefusals,
		},
		"GET /admin/order/:id": {
			good: request{target: "/admin/order/5"}, succeeds: []func(*setup){
				has(order.Paid), has(order.Failed), withCoupon(order.Paid),
			}, invalid: &request{target: "/admin/order/x"},
			refusals: []error{noOrder, unavailable},
		},
		"POST /admin/order/:id/cancel": {
			good:     request{target: "/admin/order/5/cancel", body: `{"why":"closed"}`, header: key},
			succeeds: []func(*setup){has(order.Cancelled)},
			invalid:  &request{target: "/admin/order/5/cancel", body: `{"why":"closed"}`},
			refusals: []error{noOrder, state, idempotency.ErrReused, unavailable},
		},
		"POST /admin/order/:id/refund": {
			good:     request{target: "/admin/order/5/refund", body: `{"why":"closed"}`, header: key},
			succeeds: []func(*setup){has(order.Refunding), has(order.Refunded)},
			invalid:  &request{target: "/admin/order/5/refund", body: `{"why":" "}`, header: key},
			refusals: []error{
				noOrder, state, &order.NotNowError{Why: errCoupon}, &order.NotNowError{Why: order.ErrDisputed},
				idempotency.ErrReused, unavailable,
			},
		},
		"POST /admin/voucher/:id/call-off": {
			good:     request{target: "/admin/voucher/5/call-off", body: `{"why":"the price was wrong"}`, header: key},
			succeeds: []func(*setup){asIs, behind},
			invalid:  &request{target: "/admin/voucher/5/call-off", body: `{"why":"x"}`},
			refusals: []error{
				noVoucher, voucher.ErrArchived, voucher.ErrRetired, voucher.ErrNotSeckill, idempotency.ErrReused,
				unavailable,
			},
		},
		"GET /admin/voucher/:id/call-off": {
			good:     request{target: "/admin/voucher/5/call-off?limit=2&before=9"},
			succeeds: []func(*setup){shows(seckillVoucher())},
			invalid:  &request{target: "/admin/voucher/5/call-off?limit=0"},
			refusals: []error{noVoucher, voucher.ErrNotSeckill, unavailable},
		},
		"GET /admin/voucher": {
			good:     request{target: "/admin/voucher?limit=1&shopId=2&title=noodles&archived=only"},
			succeeds: []func(*setup){asIs, shows(seckillVoucher()), shows(ordinaryVoucher())},
			invalid:  &request{target: "/admin/voucher?before=x&title="}, refusals: []error{unavailable},
		},
		"GET /admin/voucher/:id/live": {
			good: request{target: "/admin/voucher/5/live"}, succeeds: []func(*setup){withStatsOnce(saleStats())},
			invalid:  &request{target: "/admin/voucher/x/live"},
			refusals: []error{noVoucher, voucher.ErrNotSeckill, httpkit.ErrUserStreams, unavailable},
		},
		"GET /admin/partition": {
			good: request{target: "/admin/partition"}, succeeds: []func(*setup){asIs},
			invalid: &request{target: "/admin/partition?limit=1"}, refusals: []error{unavailable},
		},
		"GET /admin/deadletter": {
			good:     request{target: "/admin/deadletter?limit=1&after=8-0"},
			succeeds: []func(*setup){asIs, withDeadLetters}, invalid: &request{target: "/admin/deadletter?limit=0"},
			refusals: []error{order.ErrNoDeadLetter, unavailable},
		},
		"POST /admin/deadletter/:id/replay": {
			good:     request{target: "/admin/deadletter/9-0/replay", body: `{"why":"x"}`},
			succeeds: []func(*setup){withDeadLetters}, invalid: &request{
				target: "/admin/deadletter/9-0/replay", body: `{}`,
			}, refusals: []error{order.ErrNoDeadLetter, recorder.ErrNotReplayable, unavailable},
		},
		"POST /admin/deadletter/:id/discard": {
			good:     request{target: "/admin/deadletter/9-0/discard", body: `{"why":"x"}`},
			succeeds: []func(*setup){withDeadLetters}, invalid: &request{
				target: "/admin/deadletter/9-0/discard", body: `{}`,
			}, refusals: []error{order.ErrNoDeadLetter, unavailable},
		},
		"GET /admin/audit": {
			good:     request{target: "/admin/audit?limit=1&voucherId=5&adminId=7"},
			succeeds: []func(*setup){asIs, withAudit(voucher.Changed), withAudit(voucher.Restocked)},
			invalid:  &request{target: "/admin/audit?adminId=0"}, refusals: []error{unavailable},
		},
		"POST /payment/callback": {
			good: request{
				target: "/payment/callback", body: `{"paymentId":"pay_1","amount":1000,"status":"succeeded"}`,
				header: map[string]string{"Authorization": ""},
			},
			succeeds: []func(*setup){pays("")}, invalid: &request{
				target: "/payment/callback", body: apitest.BrokenOff,
			},
			refusals: []error{order.ErrBadNotice, order.ErrNoPayment, order.ErrWrongAmount, unavailable},
		},
		"POST /payment/callback/:provider": {
			good: request{
				target: "/payment/callback/bank", body: `{"paymentId":"pay_2","amount":2000,"status":"succeeded"}`,
				header: map[string]string{"Authorization": ""},
			},
			succeeds: []func(*setup){pays("")}, invalid: &request{
				target: "/payment/callback/bank", body: apitest.BrokenOff,
			},
			refusals: []error{order.ErrBadNotice, order.ErrNoPayment, order.ErrWrongAmount, unavailable},
		},
		"POST /demo/buyer": {
			good: request{target: "/demo/buyer"}, succeeds: []func(*setup){asIs},
			never: []int{http.StatusInternalServerError},
		},
		"POST /demo/admin": {
			good:     request{target: "/demo/admin", body: `{"code":"open-sesame"}`, from: "127.0.0.1:40000"},
			succeeds: []func(*setup){func(cfg *setup) { cfg.SignInCode = "open-sesame" }},
			invalid:  &request{target: "/demo/admin", body: apitest.BrokenOff, from: "127.0.0.1:40000"},
			never:    []int{http.StatusInternalServerError},
		},
		"GET /healthz": {
			good: request{target: "/healthz"}, succeeds: []func(*setup){asIs},
			never: []int{http.StatusInternalServerError},
		},
		"GET /readyz": {
			good: request{target: "/readyz"}, succeeds: []func(*setup){asIs, ready(nil), ready(errors.New("away"))},
			never: []int{http.StatusInternalServerError},
		},
	}
}

// everything is an API all of whose routes exist.
func everything(t *testing.T, change ...func(*setup)) *API {
	t.Helper()
	return newAPI(t, append([]func(*setup){func(cfg *setup) { cfg.DemoTokens = time.Hour }}, change...)...)
}

func shows(v voucher.Shown) func(*setup) {
	return func(cfg *setup) {
		cfg.Vouchers = &fakeVouchers{
			get:  func(int64) (voucher.Shown, error) { return v, nil },
			list: func(int64) ([]voucher.Shown, error) { return []voucher.Shown{v}, nil },
			all: func(voucher.Search) (voucher.Found, error) {
				return voucher.Found{Vouchers: []voucher.Shown{v, v}, Next: v.ID}, nil
			},
		}
	}
}

// withDeadLetters has two dead letters.
func withDeadLetters(cfg *setup) {
	cfg.DeadLetters = fakeDeadLetters{
		list: func(string, int) ([]recorder.DeadLetter, int64, error) {
			return []recorder.DeadLetter{
				deadLetter(), {ID: "10-0", Entry: "2-0", At: noon, Why: "x", Fields: map[string]string{}},
			}, 2, nil
		},
		replay:  func(string, string, string) (order.Claim, error) { return deadLetter().Claim, nil },
		discard: func(string, string, string) (recorder.DeadLetter, error) { return deadLetter(), nil },
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
		cfg.Ledger = fakeLedger{entries: func(voucher.AuditFilter, int64, int) ([]voucher.Entry, error) {
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
		buy: func(context.Context, int64, int64, time.Duration) (order.Order, error) { return orderIn(s), nil },
	})
}

// has is a configuration with every order in the state, with everything that can be known of it.
func has(s order.Status) func(*setup) {
	o := orderIn(s)
	if s == order.Failed {
		o.Reason, o.FailedAt = order.NoStock, noon
	}
	if s != order.Queued {
		o.CreatedAt, o.PayBefore, o.PaidAt, o.CancelledAt, o.RefundingAt, o.RefundedAt = noon, noon,
			noon, noon, noon, redisNoon
	}
	return func(cfg *setup) {
		cfg.Purchases = fakePurchases{
			order: foundOrder(o),
			orders: func(context.Context, order.Filter, int64, int) ([]order.Order, int64, error) {
				return []order.Order{o, o}, 2, nil
			},
			watch: func(_ context.Context, _, _ int64, yield func(order.Order, bool) error) error {
				return yield(o, true)
			},
		}
		cfg.Orders = fakeOrders{
			cancel: func(int64, int64) (order.Order, error) { return o, nil },
			order:  func(int64) (order.Order, error) { return o, nil },
			find:   func(order.Filter, int64, int) ([]order.Order, error) { return []order.Order{o, o}, nil },
			history: func(order.Order) ([]order.Event, error) {
				return []order.Event{
					{Status: order.Queued, At: noon, By: order.Owner},
					{Status: s, At: redisNoon, By: order.ByRecorder, Why: order.ReservedUntil(noon)},
				}, nil
			},
		}
		cfg.Payments = fakePayments{
			refund: func(int64, int64) (order.Order, error) { return o, nil },
		}
		cfg.PaymentsOf = func(context.Context, int64) ([]order.Payment, error) {
			return append(twoPayments(), order.Payment{
				ID: "pay_3", OrderID: orderID, UserID: 42, VoucherID: 5, ShopID: 2, Amount: 1000,
				State: order.PaymentRefunded, Provider: "bank", CreatedAt: noon, ReceivedAt: noon,
				RefundingAt: noon, RefundedAt: noon, Flow: order.Flow{Returned: 1000},
			}), nil
		}
	}
}

func pays(url string) func(*setup) {
	return func(cfg *setup) {
		cfg.Payments = fakePayments{
			pay: func(int64, int64) (order.Payment, string, error) {
				return order.Payment{ID: "pay_1", OrderID: orderID, Amount: 1000, State: order.PaymentOpen}, url, nil
			},
			confirm: func(order.Notice) error { return nil },
		}
	}
}

// failingVouchers fails with err in every method.
type failingVouchers struct{ err error }

func (f failingVouchers) CreateOrdinary(context.Context, voucher.Author, voucher.Draft) (voucher.Shown, error) {
	return voucher.Shown{}, f.err
}

func (f failingVouchers) CreateSeckill(
	context.Context, voucher.Author, voucher.Draft, voucher.SaleDraft,
) (voucher.Shown, error) {
	return voucher.Shown{}, f.err
}

func (f failingVouchers) Find(context.Context, int64) (voucher.Shown, error) {
	return voucher.Shown{}, f.err
}

func (f failingVouchers) All(context.Context, voucher.Search) (voucher.Found, error) {
	return voucher.Found{}, f.err
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
		cfg.Vouchers, cfg.Listings = failingVouchers{err}, failingListings{err}
		cfg.VoucherChanges = fakeChanges{
			change:   func(voucher.Author, int64, voucher.Change) error { return err },
			addStock: func(voucher.Author, int64, int64, string) error { return err },
			pause:    func(voucher.Author, int64) error { return err },
			callOff:  func(voucher.Author, int64, string) error { return err },
			resume:   func(voucher.Author, int64) error { return err },
			archive:  func(voucher.Author, int64, bool) error { return err },
		}
		cfg.Purchases = fakePurchases{
			buy: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
				return order.Order{}, err
			},
			order: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
				return order.Order{}, err
			},
			orders: func(context.Context, order.Filter, int64, int) ([]order.Order, int64, error) {
				return nil, 0, err
			},
			watch: func(context.Context, int64, int64, func(order.Order, bool) error) error { return err },
		}
		cfg.Orders = fakeOrders{
			cancel: func(int64, int64) (order.Order, error) { return order.Order{}, err },
			order:  func(int64) (order.Order, error) { return order.Order{}, err },
			find:   func(order.Filter, int64, int) ([]order.Order, error) { return nil, err },
		}
		cfg.Payments = fakePayments{
			pay:     func(int64, int64) (order.Payment, string, error) { return order.Payment{}, "", err },
			confirm: func(order.Notice) error { return err },
			refund:  func(int64, int64) (order.Order, error) { return order.Order{}, err },
			err:     err,
		}
		cfg.Ledger = fakeLedger{err: err}
		cfg.BuyOrdinary = func(context.Context, int64, int64, idempotency.Key) (order.Order, error) {
			return order.Order{}, err
		}
		cfg.SaleStats = func(context.Context, int64) (audit.SaleStats, error) { return audit.SaleStats{}, err }
		cfg.DeadLetters = fakeDeadLetters{
			list:    func(string, int) ([]recorder.DeadLetter, int64, error) { return nil, 0, err },
			replay:  func(string, string, string) (order.Claim, error) { return order.Claim{}, err },
			discard: func(string, string, string) (recorder.DeadLetter, error) { return recorder.DeadLetter{}, err },
		}
		cfg.Partitions = partitionsOrError(err)
		reader := reads(order.Notice{}, err)
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
	routes := everything(t).routes()
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
				many.demoBuyers.SetBurst(0)
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
	c := apitest.Case{Good: d.good.shared(), Ways: len(d.succeeds), Refusals: d.refusals, Never: d.never}
	for from, to := range map[*request]**apitest.Request{d.known: &c.Known, d.invalid: &c.Invalid} {
		if from != nil {
			r := from.shared()
			*to = &r
		}
	}
	return c
}

func (r request) shared() apitest.Request {
	return apitest.Request{Method: r.method, Target: r.target, Body: r.body, Header: r.header, From: r.from}
}
