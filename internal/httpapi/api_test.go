package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/preflight"
	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/testkit/apitest"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

const (
	buyerID = 42
	adminID = 7
	// orderID is beyond 2^53, as real ones are.
	orderID = 660_000_000_123_456_789
	// testBodyLimit is the largest body in most tests, in bytes.
	testBodyLimit = 64 << 10
)

// noon is the time in most tests. redisNoon is Redis's time then, to the microsecond.
var (
	noon      = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	redisNoon = noon.Add(120*time.Millisecond + 999*time.Microsecond)
)

var secret = []byte("0123456789abcdef0123456789abcdef")

// setup configures an API with the core's routes. Zone, MaxInFlight and Gatekeeper are for both.
type setup struct {
	Config
	shopConfig

	Zone        *time.Location
	MaxInFlight int
	Gatekeeper  httpkit.Gatekeeper
	MaxWait     time.Duration
	Now         func() time.Time
	Streams     *httpkit.Streams
}

type shopConfig = shop.Config

// testSetup is a configuration on fakes, at noon, with limits that tests do not reach by accident.
func testSetup() setup {
	return setup{
		shopConfig: shop.Config{
			Vouchers: &fakeVouchers{}, VoucherChanges: fakeChanges{}, Purchases: fakePurchases{}, Orders: fakeOrders{},
			Payments: fakePayments{}, Ledger: fakeLedger{},
			PaymentsOf: func(context.Context, int64) ([]order.Payment, error) { return nil, nil },
			Coupon:     noCoupon, GuardFigures: shownGuards,
			FindVoucher: findSeckill(), DeadLetters: fakeDeadLetters{},
			Partitions: partitionsOrError(nil),
			BuyOrdinary: func(_ context.Context, userID, voucherID int64, _ idempotency.Key) (order.Order, error) {
				return order.Order{ID: orderID, UserID: userID, VoucherID: voucherID, Status: order.Unpaid}, nil
			},
			SaleStats: func(context.Context, int64) (audit.SaleStats, error) {
				return audit.SaleStats{}, voucher.ErrNotFound
			},
			Check: func(context.Context, int64) (preflight.Facts, error) { return preflight.Facts{PoolSize: 16}, nil },
			Callbacks: map[string]shop.CallbackReader{
				"":     reads(order.Notice{PaymentID: "pay_1", Amount: 1000}, nil),
				"bank": reads(order.Notice{PaymentID: "pay_2", Amount: 2000, Provider: "bank"}, nil),
			},
		},
		Config: Config{
			FindKey:  apitest.FindKey(""),
			GuardsOf: func(int64) *guards.Settings { return nil }, Rules: append(apitest.StoppedRules(), couponRule()),
			Log: slog.New(slog.DiscardHandler), Tokens: authtoken.Rules{Secret: secret},
			OperationsHosts: []string{"example.com"}, // httptest's
			BodyLimit:       testBodyLimit, UserBurst: 30,
		},
		Zone: time.UTC, MaxInFlight: 20_000, Gatekeeper: &gate{}, MaxWait: maxWait,
		Now: func() time.Time { return noon }, Streams: httpkit.NewStreams(20_000, 10),
	}
}

// maxWait is how long ?wait= may ask for in most tests.
const maxWait = 30 * time.Second

// Server returns a server of the API.
func (a *API) Server(addr string) *http.Server {
	return NewServer(addr, a.Handler(), maxWait, a.cfg.Streams, a.log)
}

// open returns the API.
func (s setup) open() (*API, error) {
	engine, parts := s.Config, s.shopConfig
	var inFlight *bulkhead.Bulkhead
	if s.MaxInFlight > 0 {
		inFlight = bulkhead.New(s.MaxInFlight, 0, bulkhead.Requests()...)
	}
	parts.Front = httpkit.Front{
		Bodies: httpkit.Bodies{Limit: s.BodyLimit}, Streams: s.Streams, Now: s.Now, Zone: s.Zone, Currency: "CNY",
		ShopOf: func(ctx context.Context, id int64) (int64, error) {
			v, err := parts.FindVoucher(ctx, id)
			return v.ShopID, err
		},
	}
	parts.Gatekeeper, parts.MaxWait, parts.InFlight = s.Gatekeeper, s.MaxWait, inFlight
	if f, is := parts.Vouchers.(*fakeVouchers); is && parts.Listings == nil {
		parts.Listings = fakeListings{f}
	}
	sells, err := shop.New(parts)
	if err != nil {
		return nil, err
	}
	engine.Gatekeeper, engine.Now, engine.Streams = s.Gatekeeper, s.Now, s.Streams
	engine.InFlight, engine.Apart = inFlight, sells.Apart()
	engine.Routes = slices.Concat(sells.Routes(), s.Routes)
	engine.Rules = slices.Concat(shop.Rules(), s.Rules)
	return New(engine)
}

// findSeckill returns a function that finds a seckill voucher under every id.
func findSeckill() func(context.Context, int64) (voucher.Voucher, error) {
	found := seckillVoucher().Voucher
	return func(_ context.Context, id int64) (voucher.Voucher, error) {
		v := found
		v.ID = id
		return v, nil
	}
}

// reads returns a reader that takes every callback for n, or fails.
func reads(n order.Notice, err error) shop.CallbackReader {
	return func(http.Header) (func([]byte) (order.Notice, error), error) {
		return func([]byte) (order.Notice, error) { return n, err }, nil
	}
}

// newAPI returns an API of the tests' configuration after the changes to it.
func newAPI(tb testing.TB, change ...func(*setup)) *API {
	tb.Helper()
	cfg := testSetup()
	for _, f := range change {
		f(&cfg)
	}
	a, err := cfg.open()
	if err != nil {
		tb.Fatalf("New: %v", err)
	}
	return a
}

func withPurchases(d fakePurchases) func(*setup) { return func(cfg *setup) { cfg.Purchases = d } }

// withWatch has orders watched with w.
func withWatch(w watch) func(*setup) { return withPurchases(fakePurchases{watch: w}) }

// withSaleStats has sales' stats read with stats.
func withSaleStats(stats func(voucherID int64) (audit.SaleStats, error)) func(*setup) {
	return func(cfg *setup) {
		cfg.SaleStats = func(_ context.Context, id int64) (audit.SaleStats, error) { return stats(id) }
	}
}

// buying returns an API in which every purchase fails with err.
func buying(tb testing.TB, err error, change ...func(*setup)) *API {
	tb.Helper()
	return newAPI(tb, append(change, withPurchases(fakePurchases{
		buy: func(context.Context, int64, int64, time.Duration) (order.Order, error) { return order.Order{}, err },
	}))...)
}

func token(tb testing.TB, userID int64, role string) string {
	tb.Helper()
	s, err := authtoken.Sign(authtoken.Rules{Secret: secret}, userID, role, time.Hour, noon)
	if err != nil {
		tb.Fatalf("Sign: %v", err)
	}
	return s
}

// request is a request to be made, with a buyer's token unless header has another.
type request struct {
	method, target, body string
	header               map[string]string // "" removes
	from                 string            // the caller's address and port; "": another machine's
}

// do makes the request.
func do(tb testing.TB, a *API, req request) *httptest.ResponseRecorder {
	tb.Helper()
	return doWith(tb, tb.Context(), a, req)
}

// doWith makes the request for a caller who hangs up when ctx ends.
func doWith(tb testing.TB, ctx context.Context, a *API, req request) *httptest.ResponseRecorder {
	tb.Helper()
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, newRequest(tb, ctx, req))
	return w
}

func newRequest(tb testing.TB, ctx context.Context, req request) *http.Request {
	tb.Helper()
	var body io.Reader
	if req.body != "" {
		body = strings.NewReader(req.body)
	}
	r := httptest.NewRequestWithContext(ctx, req.method, req.target, body)
	r.Header.Set("Authorization", token(tb, buyerID, ""))
	if req.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range req.header {
		if value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, value)
		}
	}
	if req.from != "" {
		r.RemoteAddr = req.from
	}
	return r
}

// discard is a response writer that costs nothing.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// response is any answer of the API, read back.
type response struct {
	Type     string          `json:"type"`
	Title    string          `json:"title"`
	Status   int             `json:"status"`
	Detail   string          `json:"detail"`
	Code     string          `json:"code"`
	Success  *bool           `json:"success"`
	ErrorMsg string          `json:"errorMsg"`
	Data     json.RawMessage `json:"data"`
	Errors   []invalid.Said  `json:"errors"`
}

func read(tb testing.TB, w *httptest.ResponseRecorder) response {
	tb.Helper()
	var t response
	if err := json.Unmarshal(w.Body.Bytes(), &t); err != nil {
		tb.Fatalf("answer %q: %v", w.Body, err)
	}
	return t
}

// wantProblem checks that w is a whole problem document with the status and code, and returns it.
func wantProblem(tb testing.TB, w *httptest.ResponseRecorder, status int, code string) response {
	tb.Helper()
	t := read(tb, w)
	if w.Code != status || t.Status != status || t.Code != code {
		tb.Fatalf("answer is %d %s, want %d %s", w.Code, w.Body, status, code)
	}
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		tb.Errorf("Content-Type is %q", got)
	}
	if t.Type == "" || t.Title == "" || t.Detail == "" || t.ErrorMsg == "" || t.Success == nil || *t.Success {
		tb.Errorf("not a whole problem document: %s", w.Body)
	}
	return t
}

// lines is a log that can be read back.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func withLog(l *lines, level slog.Level) func(*setup) {
	return func(cfg *setup) {
		cfg.Log = slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level}))
	}
}

// page is a page of orders, read back.
type page struct {
	Data []struct {
		ID string `json:"id"`
	} `json:"data"`
	Total int    `json:"total"`
	Next  string `json:"next"`
}

func readPage(tb testing.TB, w *httptest.ResponseRecorder) page {
	tb.Helper()
	if w.Code != http.StatusOK {
		tb.Fatalf("answer is %d %s", w.Code, w.Body)
	}
	var p page
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		tb.Fatalf("answer %q: %v", w.Body, err)
	}
	return p
}

// foundOrder finds this order for every user and id.
func foundOrder(o order.Order) func(context.Context, int64, int64, time.Duration) (order.Order, error) {
	return func(context.Context, int64, int64, time.Duration) (order.Order, error) { return o, nil }
}

// asAdmin makes a request with an admin's token.
func asAdmin(tb testing.TB, a *API, req request) *httptest.ResponseRecorder {
	tb.Helper()
	header := map[string]string{"Authorization": token(tb, adminID, authtoken.RoleAdmin)}
	maps.Copy(header, req.header)
	req.header = header
	return do(tb, a, req)
}

// asBoth makes a GET request as an admin where the route is an admin's, else as the buyer.
func asBoth(tb testing.TB, a *API, target string) *httptest.ResponseRecorder {
	tb.Helper()
	if strings.HasPrefix(target, "/admin/") {
		return asAdmin(tb, a, request{method: http.MethodGet, target: target})
	}
	return do(tb, a, request{method: http.MethodGet, target: target})
}
