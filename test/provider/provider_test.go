package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/feature"
	"seckill/internal/feature/report"
	"seckill/internal/httpapi"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/payment"
	"seckill/internal/order/service"
	"seckill/internal/sandbox"
	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/telemetry"
	"seckill/internal/testkit"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/testkit/shoptest"
	"seckill/internal/voucher"
)

const (
	buyer = 42
	price = 10_00
	key   = "a secret for the tests of providers, 32 bytes"
)

var rules = authtoken.Rules{Secret: []byte(key)}

// seller is the service as cmd/server wires it, with the given providers, for ordinary vouchers, which need no Redis.
type seller struct {
	t        *testing.T
	ledger   ledgertest.Whole
	voucher  int64
	notices  *sandbox.Notices
	refusals *shoptest.Notices
	api      http.Handler
	stop     func()
}

func openLedger(t *testing.T) ledgertest.Whole {
	t.Helper()
	ledger, err := sqlstore.OpenMySQL(t.Context(), testkit.MySQL(t),
		sqlkit.Options{Log: slog.New(slog.DiscardHandler), MaxConns: 8, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ledger.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := ledger.Schema().Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ledgertest.WholeOf(ledger)
}

// openShop opens the shop on a ledger with the sandbox and, if it is not nil, the bank; first is the default provider.
func openShop(t *testing.T, ledger ledgertest.Whole, b *bank, first string) *seller {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	toSandbox, err := sandbox.NewProvider([]byte(key), "CNY", quiet)
	if err != nil {
		t.Fatal(err)
	}
	notices, err := sandbox.NewNotices([]byte(key), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	providers := service.Providers{Default: first, ByName: map[string]service.Provider{sandbox.Name: toSandbox}}
	callbacks := map[string]shop.CallbackReader{sandbox.Name: notices.Read}
	if b != nil {
		providers.ByName[bankName], callbacks[bankName] = bankAdapter{b.at.URL}, bankCallback(bankName)
	}
	callbacks[""] = callbacks[first]
	s := openOn(t, ledger, providers, callbacks, true)
	s.notices = notices
	return s
}

// openOn opens the shop on a ledger with the providers; only one that runs sends money back.
func openOn(
	t *testing.T, ledger ledgertest.Whole, providers service.Providers, callbacks map[string]shop.CallbackReader,
	runs bool,
) *seller {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	known := catalog.New(ledger)
	notifier := service.NewNotifier(ledger, quiet)
	lookup := service.NewLookup(
		service.LookupStores{Rows: ledger, Holdings: noHoldings{}, NewSales: ledger.SalesAbove}, known)
	metrics := telemetry.NewMetrics(telemetry.Build{})
	payments := service.NewPayments(ledger, providers, service.PaymentParts{
		Lookup: lookup, Notifier: notifier, Outbox: noOutbox{}, SwitchOn: ledger.SwitchRefundsOn,
	}, newPaymentID, metrics, quiet)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	if runs {
		running.Go(func() { _ = payments.Run(ctx) })
	}
	s := &seller{t: t, ledger: ledger, refusals: &shoptest.Notices{}, stop: sync.OnceFunc(func() {
		stop()
		running.Wait()
		notifier.Close()
		known.Close()
	})}
	t.Cleanup(s.stop)
	inFlight, streams := bulkhead.New(100, 0, bulkhead.Requests()...), httpkit.NewStreams(1, 1)
	sells, err := shop.New(shop.Config{
		Front: httpkit.Front{
			Bodies: httpkit.Bodies{Limit: 1 << 16}, Streams: streams, Now: time.Now, Zone: time.UTC,
			ShopOf: func(context.Context, int64) (int64, error) { return 0, voucher.ErrNotFound },
		},
		Vouchers: struct{ shop.Vouchers }{}, Purchases: struct{ shop.Purchases }{},
		Payments: payments, PaymentsOf: payments.Of, Ledger: ledger, Callbacks: callbacks, Notices: s.refusals,
		BuyOrdinary: service.NewDirectSales(ledger, ids{}).Buy, FindVoucher: known.Find,
		MaxWait: time.Second, InFlight: inFlight,
	})
	if err != nil {
		t.Fatal(err)
	}
	api, err := httpapi.New(httpapi.Config{
		Routes: append(sells.Routes(), report.Routes(report.NewReports(ledger.DB(), report.Core{
			Find: ledger.Voucher, Orders: ledger.OrdersAfter, Payments: ledger.PaymentsAfter,
		}, feature.Members{}), httpkit.Front{
			Streams: streams, Now: time.Now, Zone: time.UTC, Currency: "CNY",
			ShopOf: func(context.Context, int64) (int64, error) { return 1, nil },
		}, ledger.Note)...),
		Rules: shop.Rules(), FindKey: ledger.DB().FindKey, Tokens: rules, Log: quiet,
		BodyLimit: 1 << 16, InFlight: inFlight, UserBurst: 30, Streams: streams,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.api = api.Handler()
	v := voucher.Voucher{
		ShopID: 1, Title: "tea", PayValue: price, ActualValue: 20_00, PayWithin: time.Hour, Kind: voucher.Ordinary,
		Status: voucher.OnShelf,
	}
	if err := ledger.CreateVoucher(t.Context(), &v, voucher.Author{AdminID: 1}); err != nil {
		t.Fatal(err)
	}
	s.voucher = v.ID
	return s
}

// answered is the status and data of an answer.
type answered struct {
	status int
	data   struct {
		OrderID, PaymentID, PayURL, State, Status string
	}
	text string
}

func (s *seller) post(path string, header map[string]string, body string) (a answered) {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, path, strings.NewReader(body))
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	a.status, a.text = w.Code, w.Body.String()
	var envelope struct{ Data json.RawMessage }
	if json.Unmarshal(w.Body.Bytes(), &envelope) == nil && len(envelope.Data) > 0 {
		if err := json.Unmarshal(envelope.Data, &a.data); err != nil {
			s.t.Fatalf("%s answers %s: %v", path, a.text, err)
		}
	}
	return a
}

func (s *seller) asBuyer(want int, path string, args ...any) answered {
	s.t.Helper()
	a := s.post(fmt.Sprintf(path, args...), s.token(), "")
	if a.status != want {
		s.t.Fatalf("%s: %d %s, want %d", fmt.Sprintf(path, args...), a.status, a.text, want)
	}
	return a
}

// order buys a voucher and starts to pay.
func (s *seller) order() (orderID string, payment answered) {
	s.t.Helper()
	orderID = s.asBuyer(http.StatusCreated, "/voucher/buy/%d", s.voucher).data.OrderID
	return orderID, s.asBuyer(http.StatusOK, "/order/%s/pay", orderID)
}

// calls sends a callback to a route and expects a status.
func (s *seller) calls(want int, route, header string, body []byte, signature string) {
	s.t.Helper()
	if a := s.post(route, map[string]string{header: signature}, string(body)); a.status != want {
		s.t.Errorf("%s: %d %s, want %d", route, a.status, a.text, want)
	}
}

// stands checks the order's state and its payments, each as "id provider reference state".
func (s *seller) stands(orderID, status string, payments ...string) {
	s.t.Helper()
	var id int64
	if _, err := fmt.Sscan(orderID, &id); err != nil {
		s.t.Fatal(err)
	}
	got, err := s.ledger.PaymentsOf(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	rows, err := s.ledger.OrdersByID(s.t.Context(), []int64{id})
	if err != nil || rows[id].Status.String() != status {
		s.t.Errorf("the order is %s, %v; want %s", rows[id].Status, err, status)
	}
	texts := []string{}
	for _, p := range got {
		texts = append(texts, strings.TrimSpace(fmt.Sprint(p.Provider, " ", p.Reference, " ", p.State)))
	}
	if strings.Join(texts, "; ") != strings.Join(payments, "; ") {
		s.t.Errorf("the payments are %q, want %q", texts, payments)
	}
}

// TestBank follows a payment at the bank from the button to the refund, with the errors of a bank and of a network.
func TestBank(t *testing.T) {
	t.Parallel()
	b := startBank(t)
	s := openShop(t, openLedger(t), b, bankName)
	b.loses = 1
	id := s.asBuyer(http.StatusCreated, "/voucher/buy/%d", s.voucher).data.OrderID
	s.asBuyer(http.StatusServiceUnavailable, "/order/%s/pay", id)
	begun := s.asBuyer(http.StatusOK, "/order/%s/pay", id)
	if checkouts, _ := b.counts(); checkouts != 1 || begun.data.PayURL != "https://bank.example/chk_1" {
		t.Errorf("%d checkouts, paid at %s", checkouts, begun.data.PayURL)
	}
	s.stands(id, "unpaid", "bank chk_1 open")

	body, signature := b.charge(begun.data.PaymentID, price)
	s.calls(http.StatusUnauthorized, "/payment/callback/bank", "Bank-Signature", append(body, ' '), signature)
	s.calls(http.StatusUnauthorized, "/payment/callback/bank", "Bank-Signature", body, "")
	s.calls(http.StatusUnauthorized, "/payment/callback/sandbox", "Bank-Signature", body, signature)
	less, signed := b.charge(begun.data.PaymentID, price-1)
	s.calls(http.StatusConflict, "/payment/callback/bank", "Bank-Signature", less, signed)
	forged, right, err := s.notices.Write(payment.Notice{PaymentID: begun.data.PaymentID, Amount: price})
	if err != nil {
		t.Fatal(err)
	}
	// The sandbox must refuse the bank's payment.
	s.calls(http.StatusNotFound, "/payment/callback/sandbox", sandbox.SignatureHeader, forged, right)
	s.stands(id, "unpaid", "bank chk_1 open")
	// The default provider's route, and the route with the name.
	for _, route := range []string{"/payment/callback", "/payment/callback/bank", "/payment/callback"} {
		s.calls(http.StatusOK, route, "Bank-Signature", body, signature)
	}
	s.stands(id, "paid", "bank chg_1 received")

	s.refunded(id)
	s.stands(id, "refunded", "bank chg_1 refunded")
	if b.refunds[begun.data.PaymentID] != "chg_1" || len(b.refunds) != 1 {
		t.Errorf("the bank refunded %v", b.refunds)
	}
}

// refunded requests a refund, and waits until the money has been sent back.
func (s *seller) refunded(orderID string) {
	s.t.Helper()
	for {
		a := s.post("/order/"+orderID+"/refund", s.token(), "")
		switch {
		case a.status == http.StatusOK:
			return
		case a.status != http.StatusAccepted:
			s.t.Fatalf("refund: %d %s", a.status, a.text)
		}
	}
}

func (s *seller) token() map[string]string { return s.tokenOf(buyer, "") }

func (s *seller) staff() map[string]string { return s.tokenOf(1, authtoken.RoleAdmin) }

func (s *seller) tokenOf(user int64, role string) map[string]string {
	s.t.Helper()
	token, err := authtoken.Sign(rules, authtoken.Account{User: user, Role: role}, time.Hour, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	return map[string]string{"Authorization": "Bearer " + token}
}

// TestAChangeOfProvider changes a shop's provider: payments that began at the bank stay there, and new ones go to the
// other provider.
func TestAChangeOfProvider(t *testing.T) {
	t.Parallel()
	b, ledger := startBank(t), openLedger(t)
	before := openShop(t, ledger, b, bankName)
	paid, first := before.order()
	body, signature := b.charge(first.data.PaymentID, price)
	before.calls(http.StatusOK, "/payment/callback", "Bank-Signature", body, signature)
	begun, second := before.order()
	before.stop()

	after := openShop(t, ledger, b, sandbox.Name)
	if again := after.asBuyer(http.StatusOK, "/order/%s/pay", begun); again.data.PaymentID != second.data.PaymentID {
		t.Errorf("a payment that was begun at the bank goes on as %+v", again.data)
	}
	body, signature = b.charge(second.data.PaymentID, price)
	// This route is now the sandbox's.
	after.calls(http.StatusUnauthorized, "/payment/callback", "Bank-Signature", body, signature)
	after.calls(http.StatusOK, "/payment/callback/bank", "Bank-Signature", body, signature)
	after.refunded(paid)
	after.stands(paid, "refunded", "bank chg_1 refunded")
	after.stands(begun, "paid", "bank chg_2 received")
	fresh, _ := after.order()
	after.stands(fresh, "unpaid", "sandbox  open")
	if checkouts, refunds := b.counts(); checkouts != 2 || refunds != 1 {
		t.Errorf("%d checkouts and %d refunds at the bank", checkouts, refunds)
	}
	after.stop()

	gone := openShop(t, ledger, nil, sandbox.Name)
	// The bank is no longer configured: its refund waits, the order says so, and no other provider sends the money.
	if a := gone.post("/order/"+begun+"/refund", gone.token(), ""); a.status != http.StatusAccepted {
		t.Errorf("%d %s", a.status, a.text)
	}
	gone.stands(begun, "refunding", "bank chg_2 refunding")
	gone.stop()
	back := openShop(t, ledger, b, sandbox.Name)
	back.refunded(begun)
	back.stands(begun, "refunded", "bank chg_2 refunded")
}

var lastID atomic.Int64

func newPaymentID() string { return fmt.Sprintf("pay_%d", lastID.Add(1)) }

// ids makes the order ids of the tests.
type ids struct{}

// Next implements order.IDs.
func (ids) Next(context.Context) (int64, error) { return lastID.Add(1), nil }

// noHoldings stands for a Redis without sales.
type noHoldings struct{}

// Holdings implements service.Holdings.
func (noHoldings) Holdings(_ context.Context, _ int64, sales []order.SaleRef) ([]order.Holding, error) {
	return make([]order.Holding, len(sales)), nil
}

// Unrecorded implements service.Holdings.
func (noHoldings) UserOf(context.Context, int, int64) (int64, error) { return 0, nil }

func (noHoldings) Unrecorded(context.Context, int) (order.Unrecorded, error) {
	return order.Unrecorded{}, nil
}

// noOutbox stands for an outbox with nothing to apply.
type noOutbox struct{}

// Flush implements service.Outbox.
func (noOutbox) Flush(context.Context, int64) error { return nil }

// RequestFlush implements service.Outbox.
func (noOutbox) RequestFlush(int64) {}
