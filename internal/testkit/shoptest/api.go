package shoptest

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/search"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/payment"
	"seckill/internal/testkit/apitest"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// Callers, orders and limits of the tests.
const (
	BuyerID = apitest.BuyerID
	AdminID = apitest.AdminID
	// OrderID is beyond 2^53, as real ones are.
	OrderID = 660_000_000_123_456_789
	// TestBodyLimit is the largest body in most tests, in bytes.
	TestBodyLimit = 64 << 10
)

// Noon is the time in most tests. RedisNoon is Redis's time then, to the microsecond.
var (
	Noon      = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	RedisNoon = Noon.Add(120*time.Millisecond + 999*time.Microsecond)
)

// Secret signs the tokens of tests.
var Secret = []byte(apitest.Secret)

// Setup configures an API with the core's routes. Zone, MaxInFlight and Gatekeeper are for both.
type Setup struct {
	httpapi.Config
	ShopConfig

	Zone        *time.Location
	MaxInFlight int
	Gatekeeper  httpkit.Gatekeeper
	Members     httpkit.Members
	MaxWait     time.Duration
	Now         func() time.Time
	Streams     *httpkit.Streams
}

// ShopConfig is the part of a setup that is the shop's.
type ShopConfig = shop.Config

// TestSetup is a configuration on fakes, at noon, with limits that tests do not reach by accident.
func TestSetup() Setup {
	return Setup{
		ShopConfig: shop.Config{
			Vouchers: &FakeVouchers{}, VoucherChanges: FakeChanges{}, Purchases: FakePurchases{}, Orders: FakeOrders{},
			Payments: FakePayments{}, Ledger: FakeLedger{}, Notices: &Notices{}, DefaultProvider: "cards",
			Providers:   ProvidersOrError(nil),
			PaymentsOf:  func(context.Context, int64) ([]payment.Payment, error) { return nil, nil },
			FindVoucher: FindSeckill(), DeadLetters: FakeDeadLetters{},
			Partitions: PartitionsOrError(nil),
			BuyOrdinary: func(_ context.Context, userID, voucherID int64, _ idempotency.Key) (order.Order, error) {
				return order.Order{ID: OrderID, UserID: userID, VoucherID: voucherID, Status: order.Unpaid}, nil
			},
			LostDecisions: func(context.Context, int64) ([]voucher.LostDecision, error) { return nil, nil },
			SaleStats: func(context.Context, int64) (audit.SaleStats, error) {
				return audit.SaleStats{}, voucher.ErrNotFound
			},
			Callbacks: map[string]shop.CallbackReader{
				"":     Reads(payment.Notice{PaymentID: "pay_1", Amount: 1000}, nil),
				"bank": Reads(payment.Notice{PaymentID: "pay_2", Amount: 2000, Provider: "bank"}, nil),
			},
		},
		Config: httpapi.Config{
			FindKey:  apitest.FindKey(""),
			GuardsOf: func(int64) *guards.Settings { return nil }, Rules: append(apitest.StoppedRules(), CouponRule()),
			Log: slog.New(slog.DiscardHandler), Tokens: authtoken.Rules{Secret: Secret},
			OperationsHosts: []string{"example.com"}, // httptest's
			BodyLimit:       TestBodyLimit, UserBurst: 30,
		},
		Members: httpkit.Members{"coupon": {Order: NoCoupon}, "guards": {Sale: ShownGuards}},
		Zone:    time.UTC, MaxInFlight: 20_000, Gatekeeper: &Gate{}, MaxWait: MaxWait,
		Now: func() time.Time { return Noon }, Streams: httpkit.NewStreams(20_000, 10),
	}
}

// API is an open API, with the configuration that it was opened with.
type API struct {
	*httpapi.API

	Config httpapi.Config
}

// MaxWait is how long ?wait= may ask for in most tests.
const MaxWait = 30 * time.Second

// Server returns a server of the API.
func (a *API) Server(addr string) *http.Server {
	return httpapi.NewServer(addr, a.Handler(), MaxWait, a.Config.Streams, a.Config.Log)
}

// Open returns the API.
func (s Setup) Open() (*API, error) {
	engine, parts := s.Config, s.ShopConfig
	var inFlight *bulkhead.Bulkhead
	if s.MaxInFlight > 0 {
		inFlight = bulkhead.New(s.MaxInFlight, 0, bulkhead.Requests()...)
	}
	parts.Front = httpkit.Front{
		Bodies: httpkit.Bodies{Limit: s.BodyLimit}, Streams: s.Streams, Now: s.Now, Zone: s.Zone, Currency: "CNY",
		Members: s.Members, Gatekeeper: s.Gatekeeper, PictureHosts: parts.PictureHosts,
		ShopOf: func(ctx context.Context, id int64) (int64, error) {
			v, err := parts.FindVoucher(ctx, id)
			return v.ShopID, err
		},
	}
	parts.MaxWait, parts.InFlight = s.MaxWait, inFlight
	if f, is := parts.Vouchers.(*FakeVouchers); is && parts.Listings == nil {
		parts.Listings = FakeListings{f}
	}
	sells, err := shop.New(parts)
	if err != nil {
		return nil, err
	}
	engine.Gatekeeper, engine.Now, engine.Streams = s.Gatekeeper, s.Now, s.Streams
	engine.InFlight, engine.Apart = inFlight, sells.Apart()
	finds := search.Routes(search.Config{
		FindVoucher: parts.FindVoucher, Vouchers: parts.Vouchers.All, Orders: parts.Orders.Find,
		Payments: parts.Ledger.FindPayments, Members: s.Members,
	})
	engine.Routes = slices.Concat(sells.Routes(), finds, s.Routes)
	engine.Rules = slices.Concat(shop.Rules(), s.Rules)
	a, err := httpapi.New(engine)
	return &API{API: a, Config: engine}, err
}

// FindSeckill returns a function that finds a seckill voucher under every id.
func FindSeckill() func(context.Context, int64) (voucher.Voucher, error) {
	found := SeckillVoucher().Voucher
	return func(_ context.Context, id int64) (voucher.Voucher, error) {
		v := found
		v.ID = id
		return v, nil
	}
}

// Reads returns a reader that takes every callback for n, or fails.
func Reads(n payment.Notice, err error) shop.CallbackReader {
	return func(http.Header) (payment.ReadNotice, error) {
		return func(context.Context, []byte, payment.FindPayment) (payment.Notice, error) { return n, err }, nil
	}
}

// NewAPI returns an API of the tests' configuration after the changes to it.
func NewAPI(tb testing.TB, change ...func(*Setup)) *API {
	tb.Helper()
	cfg := TestSetup()
	for _, f := range change {
		f(&cfg)
	}
	a, err := cfg.Open()
	if err != nil {
		tb.Fatalf("New: %v", err)
	}
	return a
}

// WithPurchases has orders taken by d.
func WithPurchases(d FakePurchases) func(*Setup) { return func(cfg *Setup) { cfg.Purchases = d } }

// WithWatch has orders watched with w.
func WithWatch(w Watch) func(*Setup) { return WithPurchases(FakePurchases{OnWatch: w}) }

// WithSaleStats has sales' stats read with stats.
func WithSaleStats(stats func(voucherID int64) (audit.SaleStats, error)) func(*Setup) {
	return func(cfg *Setup) {
		cfg.SaleStats = func(_ context.Context, id int64) (audit.SaleStats, error) { return stats(id) }
	}
}

// Buying returns an API in which every purchase fails with err.
func Buying(tb testing.TB, err error, change ...func(*Setup)) *API {
	tb.Helper()
	return NewAPI(tb, append(change, WithPurchases(FakePurchases{
		OnBuy: func(context.Context, int64, int64, time.Duration) (order.Order, error) { return order.Order{}, err },
	}))...)
}

// Request is a request to be made, with a buyer's token unless header has another.
type Request = apitest.Request

// Do makes the request.
func Do(tb testing.TB, a *API, req Request) *httptest.ResponseRecorder {
	tb.Helper()
	return DoWith(tb, tb.Context(), a, req)
}

// DoWith makes the request for a caller who hangs up when ctx ends.
func DoWith(tb testing.TB, ctx context.Context, a *API, req Request) *httptest.ResponseRecorder {
	tb.Helper()
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, req.HTTP(tb, ctx))
	return w
}

// Discard is a response writer that costs nothing.
type Discard struct {
	OnHeader http.Header
	Status   int
}

func (d *Discard) Header() http.Header { return d.OnHeader }

func (d *Discard) Write(p []byte) (int, error) { return len(p), nil }

func (d *Discard) WriteHeader(status int) { d.Status = status }

// Response is any answer of the API, read back.
type Response struct {
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

// Read reads an answer back.
func Read(tb testing.TB, w *httptest.ResponseRecorder) Response {
	tb.Helper()
	var t Response
	if err := json.Unmarshal(w.Body.Bytes(), &t); err != nil {
		tb.Fatalf("answer %q: %v", w.Body, err)
	}
	return t
}

// WantProblem checks that w is a whole problem document with the status and code, and returns it.
func WantProblem(tb testing.TB, w *httptest.ResponseRecorder, status int, code string) Response {
	tb.Helper()
	t := Read(tb, w)
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

// Lines is a log that can be read back.
type Lines struct {
	Mu  sync.Mutex
	Buf bytes.Buffer
}

func (l *Lines) Write(p []byte) (int, error) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.Buf.Write(p)
}

func (l *Lines) String() string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.Buf.String()
}

// WithLog has the API log into l.
func WithLog(l *Lines, level slog.Level) func(*Setup) {
	return func(cfg *Setup) {
		cfg.Log = slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level}))
	}
}

// FoundOrder finds this order for every user and id.
func FoundOrder(o order.Order) func(context.Context, int64, int64, time.Duration) (order.Order, error) {
	return func(context.Context, int64, int64, time.Duration) (order.Order, error) { return o, nil }
}

// AsAdmin makes a request with an admin's token.
func AsAdmin(tb testing.TB, a *API, req Request) *httptest.ResponseRecorder {
	tb.Helper()
	header := map[string]string{"Authorization": apitest.Token(tb, AdminID, authtoken.RoleAdmin)}
	maps.Copy(header, req.Header)
	req.Header = header
	return Do(tb, a, req)
}
