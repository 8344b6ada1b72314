package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

func withStorefront(f fakeStorefront) func(*Config) {
	return func(cfg *Config) { cfg.Storefront = f }
}

func TestBuyFreely(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "k-1"} {
		a := newAPI(t, withStorefront(func(userID, voucherID int64, given string) (order.Order, error) {
			if userID != buyerID || voucherID != 9007199254740991 || given != key {
				return order.Order{}, fmt.Errorf("called with %d, %d, %q", userID, voucherID, given)
			}
			return order.Order{ID: orderID, Status: order.Unpaid}, nil
		}))
		w := do(t, a, request{method: http.MethodPost, target: "/voucher/buy/9007199254740991", header: map[string]string{"Idempotency-Key": key}})
		const want = `{"success":true,"data":{"orderId":"660000000123456789","status":"unpaid"}}`
		if w.Code != http.StatusCreated || w.Body.String() != want || w.Header().Get("Location") != "/order/660000000123456789" {
			t.Errorf("key %q: %d %s, Location %q", key, w.Code, w.Body, w.Header().Get("Location"))
		}
	}
}

func TestBuyFreelyRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{order.ErrSeckill, 409, "SECKILL_ONLY"},
		{order.ErrKeyReused, 409, "KEY_REUSED"},
		{voucher.ErrNotFound, 404, "NOT_FOUND"},
		{voucher.ErrOffShelf, 409, "OFF_SHELF"},
		{order.ErrUnavailable, 503, "UNAVAILABLE"},
		{errors.New("x"), 500, "INTERNAL"},
	} {
		a := newAPI(t, withStorefront(func(int64, int64, string) (order.Order, error) {
			return order.Order{}, fmt.Errorf("as adapters do: %w", c.err)
		}))
		wantProblem(t, do(t, a, request{method: http.MethodPost, target: "/voucher/buy/5"}), c.status, c.code)
	}
}

// Nobody is told to repeat what would buy once more.
func TestUnknownOutcomeWithoutAKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withStorefront(func(int64, int64, string) (order.Order, error) { return order.Order{}, order.ErrUnknownOutcome }))
	texts := map[string]string{}
	for _, key := range []string{"", "k"} {
		w := do(t, a, request{method: http.MethodPost, target: "/voucher/buy/5", header: map[string]string{"Idempotency-Key": key}})
		got := wantProblem(t, w, http.StatusGatewayTimeout, "UNKNOWN_OUTCOME")
		texts[key] = got.ErrorMsg + got.Detail
	}
	if texts[""] == texts["k"] {
		t.Errorf("with and without a key: %s", texts[""])
	}
}

func TestBuyFreelyRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withStorefront(func(int64, int64, string) (order.Order, error) {
		t.Error("bought")
		return order.Order{}, nil
	}))
	w := do(t, a, request{method: http.MethodPost, target: "/voucher/buy/x", header: map[string]string{"Idempotency-Key": "a b"}})
	got := wantProblem(t, w, http.StatusBadRequest, "INVALID")
	if len(got.Errors) != 2 || got.Errors[0].Field != "id" || got.Errors[1].Field != "Idempotency-Key" {
		t.Errorf("%+v", got.Errors)
	}
}
