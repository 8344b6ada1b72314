package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
)

func withCashier(f fakeCashier) func(*Config) { return func(cfg *Config) { cfg.Cashier = f } }

func TestPay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payment order.Payment
		payURL  string
		want    string
	}{
		"begun": {
			order.Payment{ID: "pay_1", OrderID: orderID, Amount: 1000, State: order.PaymentOpen},
			"https://pay.example/pay_1",
			`{"success":true,"data":{"orderId":"660000000123456789","paymentId":"pay_1","amount":1000,"payUrl":"https://pay.example/pay_1","state":"open"}}`,
		},
		"free": {
			order.Payment{ID: "pay_2", OrderID: orderID, State: order.PaymentReceived},
			"",
			`{"success":true,"data":{"orderId":"660000000123456789","paymentId":"pay_2","amount":0,"state":"received"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, withCashier(fakeCashier{pay: func(userID, id int64) (order.Payment, string, error) {
				if userID != buyerID || id != orderID {
					return order.Payment{}, "", fmt.Errorf("called with %d, %d", userID, id)
				}
				return c.payment, c.payURL, nil
			}}))
			w := do(t, a, request{method: http.MethodPost, target: "/order/660000000123456789/pay"})
			if diff := cmp.Diff(c.want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
				t.Errorf("%d %s", w.Code, diff)
			}
		})
	}
}

// orderRefusals is what can keep an owner from doing something with his order.
var orderRefusals = []struct {
	err    error
	status int
	code   string
	data   string
}{
	{order.ErrNotFound, 404, "NOT_FOUND", ""},
	{&order.StateError{OrderID: orderID, Status: order.Redeemed, Action: order.RequestRefund}, 409, "ORDER_STATE", `{"orderId":"660000000123456789","status":"redeemed"}`},
	{&order.StateError{OrderID: orderID, Status: order.StatusUnknown}, 409, "ORDER_STATE", `{"orderId":"660000000123456789"}`},
	{order.ErrNoProvider, 501, "NO_PROVIDER", ""},
	{order.ErrUnavailable, 503, "UNAVAILABLE", ""},
	{errors.New("driver: secret detail"), 500, "INTERNAL", ""},
}

func TestOrderRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range orderRefusals {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			err := fmt.Errorf("as the domain does: %w", c.err)
			a := newAPI(t, withCashier(fakeCashier{
				pay:    func(int64, int64) (order.Payment, string, error) { return order.Payment{}, "", err },
				refund: func(int64, int64) (order.Order, error) { return order.Order{}, err },
			}), withClerk(fakeClerk{cancel: func(int64, int64) (order.Order, error) { return order.Order{}, err }}))
			for _, what := range []string{"pay", "cancel", "refund"} {
				w := do(t, a, request{method: http.MethodPost, target: "/order/5/" + what})
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
	for state, status := range map[order.Status]int{order.Refunding: http.StatusAccepted, order.Refunded: http.StatusOK} {
		a := newAPI(t, withCashier(fakeCashier{refund: func(userID, id int64) (order.Order, error) {
			if userID != buyerID || id != orderID {
				return order.Order{}, fmt.Errorf("called with %d, %d", userID, id)
			}
			return order.Order{ID: id, UserID: userID, VoucherID: 5, Status: state, Amount: 1000}, nil
		}}))
		w := do(t, a, request{method: http.MethodPost, target: "/order/660000000123456789/refund"})
		want := `{"success":true,"data":{"id":"660000000123456789","voucherId":5,"userId":42,"status":"` + state.String() + `","amount":1000}}`
		if w.Code != status || w.Body.String() != want {
			t.Errorf("%d %s, want %d %s", w.Code, w.Body, status, want)
		}
	}
}

// The provider's adapter gets the body as it came and the header, needs no token and no content type, and hears the same
// each time.
func TestPaymentCallback(t *testing.T) {
	t.Parallel()
	const body = "{ \"raw\":\t1 }\xff"
	confirmed := 0
	a := newAPI(t, withCashier(fakeCashier{confirm: func(n order.Notice) error {
		if n != (order.Notice{PaymentID: "pay_1", Amount: 1000}) {
			return fmt.Errorf("confirmed %+v", n)
		}
		confirmed++
		return nil
	}}), func(cfg *Config) {
		cfg.Notices = fakeNotices(func(h http.Header, got []byte) (order.Notice, error) {
			if string(got) != body || h.Get("X-Signature") != "s" {
				return order.Notice{}, fmt.Errorf("%w: %q, %v", order.ErrBadNotice, got, h)
			}
			return order.Notice{PaymentID: "pay_1", Amount: 1000}, nil
		})
	})
	for range 2 {
		w := do(t, a, request{
			method: http.MethodPost, target: "/payment/callback", body: body,
			header: map[string]string{"Authorization": "", "Content-Type": "", "X-Signature": "s"},
		})
		if w.Code != http.StatusOK || w.Body.String() != `{"success":true}` {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if confirmed != 2 {
		t.Errorf("%d confirmed", confirmed)
	}
	w := do(t, a, request{method: http.MethodPost, target: "/payment/callback", body: body, header: map[string]string{"Authorization": ""}})
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
		{order.ErrNoPayment, 404, "NOT_FOUND"},
		{order.ErrWrongAmount, 409, "PAYMENT_MISMATCH"},
		{order.ErrUnavailable, 503, "UNAVAILABLE"},
		{errors.New("x"), 500, "INTERNAL"},
	} {
		a := newAPI(t, withCashier(fakeCashier{confirm: func(order.Notice) error { return fmt.Errorf("as the domain does: %w", c.err) }}))
		wantProblem(t, do(t, a, request{method: http.MethodPost, target: "/payment/callback", body: "{}"}), c.status, c.code)
	}
}
