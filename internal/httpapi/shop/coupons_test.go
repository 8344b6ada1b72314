package shop_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
)

// Its owner reads the coupon of an order whole, an admin masked; a list has none.
func TestWhoReadsCoupons(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withCoupon(order.Paid))
	for target, want := range map[string]string{
		"/order/5":       `"coupon":{"code":"` + wholeCode + `"}`,
		"/admin/order/5": `"coupon":{"code":"` + maskedCode + `"}`,
	} {
		if w := asBoth(t, a, target); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s, want %s", target, w.Body, want)
		}
	}
	for _, target := range []string{"/order", "/admin/order"} {
		if w := asBoth(t, a, target); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "coupon") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// Staff find the order of a code, which stands in a header: logs keep queries.
func TestFindOrderOfCode(t *testing.T) {
	t.Parallel()
	var filter order.Filter
	a := newAPI(t, withOrders(fakeOrders{
		OnFind: func(f order.Filter, _ int64, _ int) ([]order.Order, error) {
			filter = f
			return nil, nil
		},
	}), func(cfg *setup) {
		cfg.Members["coupon"] = httpkit.Member{Find: func(_ context.Context, text string) (int64, error) {
			return map[string]int64{wholeCode: 5}[text], nil
		}}
	})
	search := request{
		Method: http.MethodGet, Target: "/admin/order", Header: map[string]string{"Coupon-Code": wholeCode},
	}
	if w := asAdmin(t, a, search); w.Code != http.StatusOK || filter.OrderID != 5 {
		t.Errorf("%d, asked for order %d", w.Code, filter.OrderID)
	}
	filter, search.Header["Coupon-Code"] = order.Filter{OrderID: 9}, "of no coupon"
	if w := asAdmin(t, a, search); w.Body.String() != `{"success":true,"data":[]}` || filter.OrderID != 9 {
		t.Errorf("%d %s, asked for order %d", w.Code, w.Body, filter.OrderID)
	}
	inQuery := request{Method: http.MethodGet, Target: "/admin/order?code=" + wholeCode}
	if p := wantProblem(t, asAdmin(t, a, inQuery), http.StatusBadRequest, "INVALID"); p.Errors[0].Field != "code" {
		t.Errorf("a code in the query: %+v", p.Errors)
	}
}

// Orders have codes by default wherever a till can redeem them.
func TestRedeemableByDefault(t *testing.T) {
	t.Parallel()
	const draft = `{"shopId":1,"title":"100 for 10","payValue":1000,"actualValue":10000`
	const sale = draft + `,"stock":5,"beginTime":"2026-01-02T20:00:00.000Z","endTime":"2026-01-02T21:00:00.000Z"`
	for _, c := range []struct {
		redeems bool
		given   string
		status  int
		want    bool
	}{
		{true, ``, http.StatusCreated, true},
		{true, `,"redeemable":true`, http.StatusCreated, true},
		{true, `,"redeemable":false`, http.StatusCreated, false},
		{true, `,"validDays":30`, http.StatusCreated, true},
		{true, `,"validDays":0`, http.StatusBadRequest, false}, // not for ever
		{true, `,"redeemable":false,"validDays":30`, http.StatusBadRequest, false},
		{false, ``, http.StatusCreated, false},
		{false, `,"redeemable":false`, http.StatusCreated, false},
		{false, `,"redeemable":true`, http.StatusBadRequest, false},
	} {
		for target, body := range map[string]string{"/voucher": draft, "/voucher/seckill": sale} {
			vouchers := &fakeVouchers{}
			a := newAPI(t, func(cfg *setup) {
				if cfg.Vouchers = vouchers; !c.redeems {
					delete(cfg.Members, "coupon")
				}
			})
			w := do(t, a, request{
				Method: http.MethodPost, Target: target, Body: body + c.given + "}",
				Header: map[string]string{"Authorization": token(t, adminID, authtoken.RoleAdmin)},
			})
			made := vouchers.Stored()
			if w.Code != c.status || len(made) > 0 && made[0].Redemption.ByCode != c.want {
				t.Errorf("%s, %+v: %d %s, %+v", target, c, w.Code, w.Body, made)
			}
		}
	}
}

// While a store does not tell the coupon, its order is shown without; where no feature has coupons, it has none.
func TestOrdersWithoutCoupons(t *testing.T) {
	t.Parallel()
	fails := func(err error) func(context.Context, order.Order, bool) (any, error) {
		return func(context.Context, order.Order, bool) (any, error) { return nil, err }
	}
	for name, c := range map[string]struct {
		coupon func(context.Context, order.Order, bool) (any, error)
		status int
		stale  bool
	}{
		"away":       {fails(order.ErrUnavailable), http.StatusOK, true},
		"broken":     {fails(errors.New("broken")), http.StatusInternalServerError, false},
		"none":       {noCoupon, http.StatusOK, false},
		"no feature": {nil, http.StatusOK, false},
	} {
		for _, target := range []string{"/order/5", "/admin/order/5"} {
			w := asBoth(t, newAPI(t, has(order.Paid), withMember(c.coupon)), target)
			body := w.Body.String()
			if w.Code != c.status || strings.Contains(body, `"stale":true`) != c.stale ||
				strings.Contains(body, `"status":"paid"`) != (c.status == http.StatusOK) ||
				strings.Contains(body, "coupon") {
				t.Errorf("%s, %s: %d %s", name, target, w.Code, body)
			}
		}
	}
}

// A server that was built without redemption refuses a voucher that is to be redeemable, in both languages. One that is
// not to be is created.
func TestRedeemableWithoutRedemption(t *testing.T) {
	t.Parallel()
	const draft = `{"shopId":1,"title":"100 for 10","payValue":1000,"actualValue":10000`
	const sale = draft + `,"stock":5,"beginTime":"2026-01-02T20:00:00.000Z","endTime":"2026-01-02T21:00:00"`
	for path, body := range map[string]string{"/voucher": draft, "/voucher/seckill": sale} {
		for _, c := range []struct {
			coupon                      func(context.Context, order.Order, bool) (any, error)
			redeemable, language, wants string
			refused                     bool
		}{
			{noCoupon, "true", "en", `"redeemable":true`, false},
			{nil, "false", "en", `"success":true`, false},
			{nil, "true", "en", "needs redemption, which this service was built without", true},
			{nil, "true", "zh", "本服务的构建不含核销功能", true},
		} {
			w := asAdmin(t, newAPI(t, withMember(c.coupon)), request{
				Method: http.MethodPost, Target: path, Body: body + `,"redeemable":` + c.redeemable + "}",
				Header: map[string]string{"Accept-Language": c.language},
			})
			if (w.Code == http.StatusBadRequest) != c.refused || (w.Code == http.StatusCreated) == c.refused ||
				!strings.Contains(w.Body.String(), c.wants) ||
				strings.Contains(w.Body.String(), "NEEDS_REDEMPTION") != c.refused {
				t.Errorf("%s, redeemable %s: %d %s", path, c.redeemable, w.Code, w.Body)
			}
		}
	}
}

// withMember has coupons as the function returns them; nil: there is no such feature.
func withMember(coupon func(context.Context, order.Order, bool) (any, error)) func(*setup) {
	return func(cfg *setup) {
		if cfg.Members["coupon"] = (httpkit.Member{Order: coupon}); coupon == nil {
			delete(cfg.Members, "coupon")
		}
	}
}
