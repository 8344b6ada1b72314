package shop_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

func withPayments(f fakePayments) func(*setup) { return func(cfg *setup) { cfg.Payments = f } }

func TestPay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payment payment.Payment
		payURL  string
		want    string
	}{
		"begun": {
			payment.Payment{ID: "pay_1", OrderID: orderID, Amount: 1000, State: payment.Open},
			"https://pay.example/pay_1",
			`{"success":true,"data":{"orderId":"660000000123456789","paymentId":"pay_1","amount":1000,` +
				`"currency":"CNY","payUrl":"https://pay.example/pay_1","state":"open"}}`,
		},
		"free": {
			payment.Payment{ID: "pay_2", OrderID: orderID, State: payment.Received},
			"",
			`{"success":true,"data":{"orderId":"660000000123456789","paymentId":"pay_2",` +
				`"amount":0,"currency":"CNY","state":"received"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, withPayments(fakePayments{OnPay: func(userID, id int64) (payment.Payment, string, error) {
				if userID != buyerID || id != orderID {
					return payment.Payment{}, "", fmt.Errorf("called with %d, %d", userID, id)
				}
				return c.payment, c.payURL, nil
			}}))
			w := do(t, a, request{Method: http.MethodPost, Target: "/order/660000000123456789/pay"})
			if diff := cmp.Diff(c.want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
				t.Errorf("%d %s", w.Code, diff)
			}
		})
	}
}

// Staff read payments with what has become of their money; a merchant reads those of their own shop.
func TestPaymentsForStaff(t *testing.T) {
	t.Parallel()
	const (
		first = `{"id":"pay_1","orderId":"660000000123456789","voucherId":5,"title":"券","shopId":2,"userId":42,` +
			`"amount":1000,"currency":"CNY","state":"received","provider":"bank","reference":"r-7",` +
			`"receivedAmount":1000,` +
			`"returnedAmount":300,"keptAmount":700,"refundedAmount":300,"lostAmount":0,"refundingAmount":100,` +
			`"dispute":"open","disputedAmount":700,` +
			`"createTime":"2026-01-02T12:00:00.000Z",` +
			`"receiveTime":"2026-01-02T12:00:00.000Z","disputeTime":"2026-01-02T12:00:00.000Z",` +
			`"refunds":[{"id":"pay_1-1","amount":300,"state":"done","origin":"unnamed","by":"payment provider",` +
			`"createTime":"2026-01-02T12:00:00.000Z","refundTime":"2026-01-02T12:00:00.000Z"},` +
			`{"id":"pay_1-2","amount":100,"state":"pending","origin":"part","reference":"re_7","by":"admin 7",` +
			`"why":"cold soup","createTime":"2026-01-02T12:00:00.000Z"}]}`
		second = `{"id":"pay_2","orderId":"660000000123456790","voucherId":5,"title":"券","shopId":2,"userId":43,` +
			`"amount":1000,"currency":"CNY","state":"open","receivedAmount":0,"returnedAmount":0,"keptAmount":0,` +
			`"refundedAmount":0,"lostAmount":0,` +
			`"dispute":"none",` +
			`"createTime":"2026-01-02T12:00:00.000Z"}`
	)
	a := newAPI(t)
	for target, want := range map[string]string{
		"/admin/payment":         `{"success":true,"data":[` + first + `,` + second + `]}`,
		"/admin/payment?limit=1": `{"success":true,"data":[` + first + `],"next":"8"}`,
		"/admin/payment/pay_1":   `{"success":true,"data":` + first + `}`,
	} {
		w := asAdmin(t, a, request{Method: http.MethodGet, Target: target})
		if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
			t.Errorf("%s: %d (-want +got):\n%s", target, w.Code, diff)
		}
	}
	for _, id := range []string{"pay_9", "%20", strings.Repeat("x", 65), "%F0%9F%98%80"} {
		wantProblem(t, asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/payment/" + id}), 404, "NOT_FOUND")
	}
}

// orderRefusals are the errors of paying, cancelling and refunding.
var orderRefusals = []struct {
	err    error
	status int
	code   string
	data   string
}{
	{order.ErrNotFound, 404, "NOT_FOUND", ""},
	{
		&order.StateError{OrderID: orderID, Status: order.Redeemed, Action: order.RequestRefund}, 409, "ORDER_STATE",
		`{"orderId":"660000000123456789","status":"redeemed"}`,
	},
	{
		&order.StateError{OrderID: orderID, Status: order.StatusUnknown}, 409, "ORDER_STATE",
		`{"orderId":"660000000123456789"}`,
	},
	{payment.ErrNoProvider, 501, "NO_PROVIDER", ""},
	{order.ErrUnavailable, 503, "UNAVAILABLE", ""},
	{errors.New("driver: secret detail"), 500, "INTERNAL", ""},
}

func TestOrderRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range orderRefusals {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			err := fmt.Errorf("as the domain does: %w", c.err)
			a := newAPI(t, withPayments(fakePayments{
				OnPay:    func(int64, int64) (payment.Payment, string, error) { return payment.Payment{}, "", err },
				OnRefund: func(int64, int64) (order.Order, error) { return order.Order{}, err },
			}), withOrders(fakeOrders{OnCancel: func(int64, int64) (order.Order, error) { return order.Order{}, err }}))
			for _, what := range []string{"pay", "cancel", "refund"} {
				w := do(t, a, request{Method: http.MethodPost, Target: "/order/5/" + what})
				got := wantProblem(t, w, c.status, c.code)
				if string(got.Data) != c.data || strings.Contains(w.Body.String(), "secret detail") {
					t.Errorf("%s: %s", what, w.Body)
				}
			}
		})
	}
}

func TestRefund(t *testing.T) {
	t.Parallel()
	for state, status := range map[order.Status]int{
		order.Refunding: http.StatusAccepted, order.Refunded: http.StatusOK,
	} {
		a := newAPI(t, withPayments(fakePayments{OnRefund: func(userID, id int64) (order.Order, error) {
			if userID != buyerID || id != orderID {
				return order.Order{}, fmt.Errorf("called with %d, %d", userID, id)
			}
			return order.Order{ID: id, UserID: userID, VoucherID: 5, Status: state, Amount: 1000}, nil
		}}))
		w := do(t, a, request{Method: http.MethodPost, Target: "/order/660000000123456789/refund"})
		want := `{"success":true,"data":{"id":"660000000123456789","voucherId":5,"userId":42,"status":"` +
			state.String() + `","amount":1000,"currency":"CNY"}}`
		if w.Code != status || w.Body.String() != want {
			t.Errorf("%d %s, want %d %s", w.Code, w.Body, status, want)
		}
	}
}

// The provider's adapter gets the body as it came and the header, needs no token and no content type, and the
// answer is the same each time.
func TestPaymentCallback(t *testing.T) {
	t.Parallel()
	const body = "{ \"raw\":\t1 }\xff"
	confirmed := 0
	a := newAPI(t, withPayments(fakePayments{OnConfirm: func(n payment.Notice) error {
		if n != (payment.Notice{PaymentID: "pay_1", Amount: 1000}) {
			return fmt.Errorf("confirmed %+v", n)
		}
		confirmed++
		return nil
	}}), func(cfg *setup) {
		cfg.Callbacks[""] = func(h http.Header) (payment.ReadNotice, error) {
			if h.Get("X-Signature") != "s" {
				return nil, fmt.Errorf("%w: %v", payment.ErrBadNotice, h)
			}
			return func(_ context.Context, got []byte, _ payment.FindPayment) (payment.Notice, error) {
				if string(got) != body {
					return payment.Notice{}, fmt.Errorf("%w: %q", payment.ErrBadNotice, got)
				}
				return payment.Notice{PaymentID: "pay_1", Amount: 1000}, nil
			}, nil
		}
	})
	for range 2 {
		w := do(t, a, request{
			Method: http.MethodPost, Target: "/payment/callback", Body: body,
			Header: map[string]string{"Authorization": "", "Content-Type": "", "X-Signature": "s"},
		})
		if w.Code != http.StatusOK || w.Body.String() != `{"success":true}` {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if confirmed != 2 {
		t.Errorf("%d confirmed", confirmed)
	}
	w := do(t, a, request{
		Method: http.MethodPost, Target: "/payment/callback", Body: body,
		Header: map[string]string{"Authorization": ""},
	})
	wantProblem(t, w, http.StatusUnauthorized, "BAD_NOTICE")
	if got := w.Header().Get("WWW-Authenticate"); got == "" || strings.HasPrefix(got, "Bearer") {
		t.Errorf("WWW-Authenticate is %q", got)
	}
	if confirmed != 2 {
		t.Error("a bad notice was confirmed")
	}
}

func TestPaymentCallbackRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{payment.ErrNotFound, 404, "NOT_FOUND"},
		{payment.ErrWrongAmount, 409, "PAYMENT_MISMATCH"},
		{order.ErrUnavailable, 503, "UNAVAILABLE"},
		{errors.New("x"), 500, "INTERNAL"},
	} {
		a := newAPI(t, withPayments(fakePayments{
			OnConfirm: func(payment.Notice) error { return fmt.Errorf("as the domain does: %w", c.err) },
		}))
		wantProblem(t, do(t, a, request{Method: http.MethodPost, Target: "/payment/callback", Body: "{}"}),
			c.status, c.code)
	}
}

// Callbacks that never end stay outside of what is in flight: those without a signature are refused before a body is
// read, of the others few are read at once and for a short time, and buyers buy meanwhile.
func TestUnfinishedCallbacksStopNobody(t *testing.T) {
	t.Parallel()
	settings := []func(*setup){
		withPayments(fakePayments{OnConfirm: func(payment.Notice) error { return nil }}), func(cfg *setup) {
			cfg.MaxInFlight = 1
			cfg.Callbacks[""] = func(h http.Header) (payment.ReadNotice, error) {
				if h.Get("X-Signature") == "" {
					return nil, payment.ErrBadNotice
				}
				return func(context.Context, []byte, payment.FindPayment) (payment.Notice, error) {
					return payment.Notice{PaymentID: "pay_1", Amount: 1000}, nil
				}, nil
			}
		},
	}
	const maxCallback, maxCallbacks = 256 << 10, 64
	a := newAPI(t, settings...)
	// All are read at once, however long it takes until they are there.
	patient := newAPI(t, append(settings, func(cfg *setup) { cfg.CallbackTime = time.Hour })...)
	addr, patientAddr := start(t, a.Server("")), start(t, patient.Server(""))
	askAt := func(addr, rest string) (net.Conn, *bufio.Reader) {
		t.Helper()
		conn, r := dial(t, addr)
		begin(t, conn, "POST /payment/callback", "", rest)
		return conn, r
	}
	ask := func(rest string) (net.Conn, *bufio.Reader) { t.Helper(); return askAt(addr, rest) }
	status := func(r *bufio.Reader) (int, bool) {
		t.Helper()
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Close
	}
	const half = "Content-Length: 100\r\n\r\nhalf"
	for range 3 {
		_, r := ask(half)
		if got, closed := status(r); got != http.StatusUnauthorized || !closed {
			t.Errorf("without a signature: %d, closed %t", got, closed)
		}
	}
	_, large := ask(fmt.Sprintf("X-Signature: s\r\nContent-Length: %d\r\n\r\n", maxCallback+1))
	if got, _ := status(large); got != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of more than 256 KiB: %d", got)
	}
	_, unfinished := ask("X-Signature: s\r\n" + half)
	if got, closed := status(unfinished); got != http.StatusBadRequest || !closed {
		t.Errorf("one that never ended: %d, closed %t", got, closed)
	}
	for range maxCallbacks {
		askAt(patientAddr, "X-Signature: s\r\n"+half)
	}
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		reading, _ := patient.Config.Apart[0].Taken()
		if reading == maxCallbacks {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("%d callbacks are being read", reading)
		}
	}
	_, r := askAt(patientAddr, "X-Signature: s\r\n"+half)
	if got, closed := status(r); got != http.StatusServiceUnavailable || !closed {
		t.Errorf("beyond the bound: %d, closed %t", got, closed)
	}
	if w := do(t, patient,
		request{Method: http.MethodPost, Target: "/voucher/seckill/5"}); w.Code != http.StatusAccepted {
		t.Errorf("a buyer meanwhile: %d %s", w.Code, w.Body)
	}
	// Whole ones are confirmed, several on one connection.
	conn, r := ask("X-Signature: s\r\nContent-Length: 2\r\n\r\n{}")
	for range 3 {
		if got, closed := status(r); got != http.StatusOK || closed {
			t.Errorf("a whole one: %d, closed %t", got, closed)
		}
		begin(t, conn, "POST /payment/callback", "", "X-Signature: s\r\nContent-Length: 2\r\n\r\n{}")
	}
}

// A signed callback is work like any other: beyond the bound of requests in flight the provider is to come back.
func TestSignedCallbacksAreInFlight(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPayments(fakePayments{OnConfirm: func(payment.Notice) error { return nil }}))
	release := saturate(a)
	wantProblem(t, do(t, a, request{Method: http.MethodPost, Target: "/payment/callback", Body: "{}"}),
		http.StatusServiceUnavailable, "UNAVAILABLE")
	release()
	if w := do(t, a, request{
		Method: http.MethodPost, Target: "/payment/callback", Body: "{}",
	}); w.Code != http.StatusOK || a.Load().InFlight != 0 {
		t.Errorf("%d %s, %d in flight", w.Code, w.Body, a.Load().InFlight)
	}
}

// Each provider's callbacks are read by its own adapter; one that is not configured has no route.
func TestCallbacksByProvider(t *testing.T) {
	t.Parallel()
	var confirmed []payment.Notice
	a := newAPI(t, withPayments(fakePayments{OnConfirm: func(n payment.Notice) error {
		confirmed = append(confirmed, n)
		return nil
	}}))
	for target, status := range map[string]int{
		"/payment/callback/bank": 200, "/payment/callback/": 404, "/payment/callback/BANK": 404,
		"/payment/callback/other": 404, "/payment/callback/bank/x": 404,
	} {
		w := do(t, a, request{
			Method: http.MethodPost, Target: target, Body: "{}", Header: map[string]string{"Authorization": ""},
		})
		if w.Code != status {
			t.Errorf("%s: %d %s, want %d", target, w.Code, w.Body, status)
		}
	}
	if diff := cmp.Diff([]payment.Notice{{PaymentID: "pay_2", Amount: 2000, Provider: "bank"}}, confirmed); diff != "" {
		t.Errorf("confirmed (-want +got):\n%s", diff)
	}
}

// Where nobody takes money, a voucher with a price is created with a warning in the caller's language, or refused.
func TestPricesWithoutAProvider(t *testing.T) {
	t.Parallel()
	const priced = `{"shopId":1,"title":"t","payValue":1000,"actualValue":2000}`
	const free = `{"shopId":1,"title":"t","payValue":0,"actualValue":2000}`
	for name, tc := range map[string]struct {
		none, required bool
		body, language string
		status         int
		says           string // "": no warning
	}{
		"a provider": {body: priced, status: 201},
		"none": {
			none: true, body: priced, status: 201,
			says: `"warnings":[{"code":"NO_PROVIDER","field":"payValue","message":"No payment provider`,
		},
		"none, in Chinese": {none: true, body: priced, language: "zh", status: 201, says: "无法支付"},
		"none, and free":   {none: true, required: true, body: free, status: 201},
		"none, but required": {
			none: true, required: true, body: priced, status: 400, says: `"field":"payValue","code":"UNPAYABLE"`,
		},
		"required and present": {required: true, body: priced, status: 201},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, func(cfg *setup) {
				cfg.NoProvider, cfg.RequireProvider = tc.none, tc.required
				cfg.Vouchers = pricedVouchers{&fakeVouchers{}}
			})
			w := asAdmin(t, a, request{
				Method: http.MethodPost, Target: "/voucher", Body: tc.body,
				Header: map[string]string{"Accept-Language": tc.language},
			})
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) ||
				tc.says == "" && strings.Contains(w.Body.String(), "warnings") {
				t.Errorf("%d %s, want %d with %q", w.Code, w.Body, tc.status, tc.says)
			}
		})
	}
}

// pricedVouchers creates vouchers with the price that was asked for.
type pricedVouchers struct{ *fakeVouchers }

func (pricedVouchers) CreateOrdinary(_ context.Context, _ voucher.Author, d voucher.Draft) (voucher.Shown, error) {
	v := ordinaryVoucher()
	v.PayValue = d.PayValue
	return v, nil
}
