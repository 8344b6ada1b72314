package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

const (
	buyerID = 42
	adminID = 7
	// orderID is beyond 2^53, as real ones are.
	orderID = 660_000_000_123_456_789
)

// noon is the time in most tests. redisNoon is the same as Redis tells it, to the microsecond.
var (
	noon      = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	redisNoon = noon.Add(120*time.Millisecond + 999*time.Microsecond)
)

var secret = []byte("0123456789abcdef0123456789abcdef")

// fakeDesk answers with what its functions say; without them an order is accepted and none is found.
type fakeDesk struct {
	buy    func(ctx context.Context, userID, voucherID int64, wait time.Duration) (order.Order, error)
	order  func(ctx context.Context, userID, orderID int64, wait time.Duration) (order.Order, error)
	orders func(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, int64, error)
}

func (d fakeDesk) Buy(ctx context.Context, userID, voucherID int64, wait time.Duration) (order.Order, error) {
	if d.buy == nil {
		return order.Order{ID: orderID, UserID: userID, VoucherID: voucherID, Status: order.Queued}, nil
	}
	return d.buy(ctx, userID, voucherID, wait)
}

func (d fakeDesk) Order(ctx context.Context, userID, id int64, wait time.Duration) (order.Order, error) {
	if d.order == nil {
		return order.Order{}, order.ErrNotFound
	}
	return d.order(ctx, userID, id, wait)
}

func (d fakeDesk) Orders(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, int64, error) {
	if d.orders == nil {
		return nil, 0, nil
	}
	return d.orders(ctx, f, before, limit)
}

// fakeVouchers keeps what it was asked to create and shows what it is given. Its rules are the real ones: drafts go
// through voucher.Service.
type fakeVouchers struct {
	mu      sync.Mutex
	created []voucher.Voucher
	by      voucher.Author // who created the last one

	get  func(id int64) (voucher.Shown, error)
	list func(shopID int64) ([]voucher.Shown, error)
}

func (f *fakeVouchers) service() *voucher.Service {
	return voucher.NewService(f, f, f, nil, nil, func() time.Time { return noon })
}

func (f *fakeVouchers) CreateOrdinary(ctx context.Context, by voucher.Author, d voucher.Draft) (voucher.Shown, error) {
	return f.service().CreateOrdinary(ctx, by, d)
}

func (f *fakeVouchers) CreateSeckill(ctx context.Context, by voucher.Author, d voucher.Draft, sd voucher.SaleDraft) (voucher.Shown, error) {
	return f.service().CreateSeckill(ctx, by, d, sd)
}

func (f *fakeVouchers) Get(_ context.Context, id int64) (voucher.Shown, time.Time, error) {
	if f.get == nil {
		return voucher.Shown{}, time.Time{}, voucher.ErrNotFound
	}
	v, err := f.get(id)
	return v, redisNoon, err
}

func (f *fakeVouchers) List(_ context.Context, shopID int64) ([]voucher.Shown, int64, time.Time, error) {
	if f.list == nil {
		return nil, 0, redisNoon, nil
	}
	vs, err := f.list(shopID)
	return vs, int64(len(vs)), redisNoon, err
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

func (f *fakeVouchers) Vouchers(context.Context, int64, int64, int) ([]voucher.Voucher, error) {
	return nil, nil
}

func (f *fakeVouchers) VouchersOfShop(context.Context, int64, int) ([]voucher.Voucher, int64, error) {
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

func (f *fakeVouchers) all() []voucher.Voucher {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]voucher.Voucher(nil), f.created...)
}

// newAPI returns an API on fakes, at noon, after the changes to its configuration.
func newAPI(tb testing.TB, change ...func(*Config)) *API {
	tb.Helper()
	cfg := Config{
		Vouchers: &fakeVouchers{}, VoucherChanges: fakeChanges{}, Desk: fakeDesk{}, Clerk: fakeClerk{}, Cashier: fakeCashier{},
		Storefront: fakeStorefront(nil), Watcher: fakeWatcher(nil), Shelf: fakeShelf(nil), Audit: fakeAudit(nil), Monitor: fakeMonitor(nil), DeadLetters: fakeLetters{}, Notices: fakeNotices(nil),
		Log: slog.New(slog.DiscardHandler), Tokens: TokenRules{Secret: secret}, Now: func() time.Time { return noon },
	}
	for _, f := range change {
		f(&cfg)
	}
	a, err := New(cfg)
	if err != nil {
		tb.Fatalf("New: %v", err)
	}
	return a
}

func withDesk(d fakeDesk) func(*Config) { return func(cfg *Config) { cfg.Desk = d } }

// buying returns an API whose desk answers every purchase with err.
func buying(tb testing.TB, err error, change ...func(*Config)) *API {
	tb.Helper()
	return newAPI(tb, append(change, withDesk(fakeDesk{
		buy: func(context.Context, int64, int64, time.Duration) (order.Order, error) { return order.Order{}, err },
	}))...)
}

func token(tb testing.TB, userID int64, role string) string {
	tb.Helper()
	s, err := SignToken(secret, userID, role, time.Hour, "", "", noon)
	if err != nil {
		tb.Fatalf("SignToken: %v", err)
	}
	return s
}

// request is a request to be made. A buyer's token goes with it unless header says otherwise.
type request struct {
	method, target, body string
	header               map[string]string // "" removes
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

// told is any answer of the API, read back.
type told struct {
	Type     string            `json:"type"`
	Title    string            `json:"title"`
	Status   int               `json:"status"`
	Detail   string            `json:"detail"`
	Code     string            `json:"code"`
	Success  *bool             `json:"success"`
	ErrorMsg string            `json:"errorMsg"`
	Data     json.RawMessage   `json:"data"`
	Errors   []voucher.Problem `json:"errors"`
}

func read(tb testing.TB, w *httptest.ResponseRecorder) told {
	tb.Helper()
	var t told
	if err := json.Unmarshal(w.Body.Bytes(), &t); err != nil {
		tb.Fatalf("answer %q: %v", w.Body, err)
	}
	return t
}

// wantProblem checks that w is a whole problem document with the status and code, and returns it.
func wantProblem(tb testing.TB, w *httptest.ResponseRecorder, status int, code string) told {
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

func withLog(l *lines, level slog.Level) func(*Config) {
	return func(cfg *Config) {
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
