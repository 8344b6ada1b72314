package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Vouchers creates and shows vouchers: *voucher.Service.
type Vouchers interface {
	// CreateOrdinary returns *voucher.InvalidError for a draft that breaks a rule.
	CreateOrdinary(ctx context.Context, by voucher.Author, d voucher.Draft) (voucher.Shown, error)
	// CreateSeckill returns *voucher.InvalidError for a draft that breaks a rule.
	CreateSeckill(ctx context.Context, by voucher.Author, d voucher.Draft, sd voucher.SaleDraft) (voucher.Shown, error)
	// Get returns one voucher with the server's time, or voucher.ErrNotFound.
	Get(ctx context.Context, id int64) (voucher.Shown, time.Time, error)
	// List returns vouchers of a shop, how many there are in all, and the server's time.
	List(ctx context.Context, shopID int64) ([]voucher.Shown, int64, time.Time, error)
}

// Desk sells, and knows the orders: *order.Desk.
type Desk interface {
	// Buy buys one unit. It waits at most wait for the order to be recorded and returns it as order.Queued or as what
	// it became. Its errors are those of order and voucher, *order.AlreadyBoughtError among them; any other error
	// leaves open whether something was bought.
	Buy(ctx context.Context, userID, voucherID int64, wait time.Duration) (order.Order, error)
	// Order returns a user's own order, waiting at most wait for it to be no longer queued, or order.ErrNotFound.
	Order(ctx context.Context, userID, orderID int64, wait time.Duration) (order.Order, error)
	// Orders returns the orders of the filter's user that it lets through, with an id below before, newest first, at most
	// limit, and how many of them he has in all.
	Orders(ctx context.Context, f order.Filter, before int64, limit int) (orders []order.Order, total int64, err error)
}

// API answers HTTP requests. It is safe for concurrent use.
type API struct {
	cfg     Config
	router  *router
	auth    *authenticator
	speech  *languages
	book    *errorBook
	ready   *readiness
	load    *load
	users   *userLimit // nil: a user may ask as often as he likes
	streams *streams
	log     *slog.Logger
	alarms  *rate.Limiter // bounds the log lines about failing requests
	headers fixedHeaders
}

// fixedHeaders are header values that are the same in every answer, allocated once. Nobody changes them.
type fixedHeaders struct{ json, problem, stream, nosniff, noStore, hangUp, byLanguage []string }

// New returns the API, or an error that lists everything that is wrong with the configuration. It starts nothing.
func New(cfg Config) (*API, error) {
	cfg, err := cfg.filled()
	if err != nil {
		return nil, err
	}
	auth, err := newAuthenticator(cfg.Tokens, cfg.Now)
	if err != nil {
		return nil, err
	}
	speech, err := newLanguages()
	if err != nil {
		return nil, err
	}
	book, err := newErrorBook()
	if err != nil {
		return nil, err
	}
	a := &API{
		cfg: cfg, auth: auth, speech: speech, book: book, log: cfg.Log,
		ready:   newReadiness(cfg.Checks, cfg.Now),
		load:    &load{most: int64(cfg.MaxInFlight)},
		users:   newUserLimit(cfg.UserRate, cfg.UserBurst, cfg.Now()),
		streams: newStreams(cfg.MaxStreams, cfg.UserStreams),
		alarms:  rate.NewLimiter(alarmsPerSecond, alarmsPerSecond),
		headers: fixedHeaders{
			json:       []string{"application/json"},
			problem:    []string{"application/problem+json"},
			stream:     []string{"text/event-stream"},
			nosniff:    []string{"nosniff"},
			noStore:    []string{"no-store"},
			hangUp:     []string{"close"},
			byLanguage: []string{"Accept-Language"},
		},
	}
	if a.router, err = a.newRouter(); err != nil {
		return nil, err
	}
	return a, nil
}

// routes is every route of the public listener. What answers GET answers HEAD too.
func (a *API) routes() []route {
	cfg := a.cfg
	all := []route{
		{method: http.MethodPost, path: "/voucher", access: forAdmins, handle: a.createOrdinary},
		{method: http.MethodPost, path: "/voucher/seckill", access: forAdmins, handle: a.createSeckill},
		{method: http.MethodGet, path: "/voucher/list/:shopId", handle: a.listVouchers},
		{method: http.MethodGet, path: "/voucher/:id", handle: a.showVoucher},
		{method: http.MethodPost, path: "/voucher/seckill/:id", access: forBuyers, handle: a.buy},
		{method: http.MethodPost, path: "/voucher-order/seckill/:id", access: forBuyers, voice: plainEnvelope, handle: a.buyPlainly},
		{method: http.MethodPost, path: "/voucher/buy/:id", access: forBuyers, handle: a.buyFreely, off: cfg.Storefront == nil},
		{method: http.MethodPatch, path: "/voucher/:id", access: forAdmins, handle: a.changeVoucher, off: cfg.VoucherChanges == nil},
		{method: http.MethodPost, path: voucherActions + "stock", access: forAdmins, handle: a.addStock, off: cfg.VoucherChanges == nil},
		{method: http.MethodPost, path: voucherActions + "pause", access: forAdmins, handle: a.pauseSale, off: cfg.VoucherChanges == nil},
		{method: http.MethodPost, path: voucherActions + "resume", access: forAdmins, handle: a.resumeSale, off: cfg.VoucherChanges == nil},
		{method: http.MethodGet, path: "/order", access: forBuyers, handle: a.listOrders},
		{method: http.MethodGet, path: "/order/:id", access: forBuyers, handle: a.showOrder},
		{method: http.MethodGet, path: "/order/:id/events", access: forBuyers, queryToken: true, uncounted: true, handle: a.orderEvents, off: cfg.Watcher == nil},
		{method: http.MethodPost, path: "/order/:id/pay", access: forBuyers, handle: a.pay, off: cfg.Cashier == nil},
		{method: http.MethodPost, path: "/order/:id/cancel", access: forBuyers, handle: a.cancelOrder, off: cfg.Clerk == nil},
		{method: http.MethodPost, path: "/order/:id/refund", access: forBuyers, handle: a.refund, off: cfg.Cashier == nil},
		{method: http.MethodGet, path: "/admin/order", access: forAdmins, handle: a.findOrders, off: cfg.Clerk == nil},
		{method: http.MethodGet, path: "/admin/order/:id", access: forAdmins, handle: a.findOrder, off: cfg.Clerk == nil},
		{method: http.MethodGet, path: "/admin/voucher", access: forAdmins, handle: a.findVouchers, off: cfg.Shelf == nil},
		{method: http.MethodGet, path: "/admin/voucher/:id/live", access: forAdmins, uncounted: true, handle: a.saleEvents, off: cfg.Monitor == nil},
		{method: http.MethodGet, path: "/admin/deadletter", access: forAdmins, handle: a.listDeadLetters, off: cfg.DeadLetters == nil || cfg.Audit == nil},
		{method: http.MethodPost, path: "/admin/deadletter/:id/replay", access: forAdmins, handle: a.replayDeadLetter, off: cfg.DeadLetters == nil || cfg.Audit == nil},
		{method: http.MethodPost, path: "/admin/deadletter/:id/discard", access: forAdmins, handle: a.discardDeadLetter, off: cfg.DeadLetters == nil || cfg.Audit == nil},
		{method: http.MethodGet, path: "/admin/audit", access: forAdmins, handle: a.audit, off: cfg.Audit == nil},
		{method: http.MethodPost, path: "/payment/callback", handle: a.paymentCallback, off: cfg.Cashier == nil || cfg.Notices == nil},
		{method: http.MethodPost, path: "/demo/buyer", handle: a.demoBuyer, off: cfg.DemoBuyers == 0},
		{method: http.MethodGet, path: healthzPath, uncounted: true, handle: a.healthz},
		{method: http.MethodGet, path: readyzPath, uncounted: true, handle: a.readyz},
	}
	return slices.DeleteFunc(all, func(r route) bool { return r.off })
}

// Handler returns the public listener's handler.
func (a *API) Handler() http.Handler { return a.router }

// Drain makes /readyz answer 503 from now on, so that load balancers send no new callers here. Requests are still
// answered.
func (a *API) Drain() { a.ready.drain() }
