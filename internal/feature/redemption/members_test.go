package redemption_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/authtoken"
	"seckill/internal/feature/redemption"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/contract"
	"seckill/internal/testkit/featuretest"
	"seckill/internal/voucher"
)

// purchases has one order, for everybody.
type purchases struct {
	shop.Purchases
	order order.Order
}

func (p purchases) Order(context.Context, int64, int64, time.Duration) (order.Order, error) {
	return p.order, nil
}

// orders has one order, without a history.
type orders struct {
	shop.Orders
	order order.Order
}

func (o orders) Order(context.Context, int64) (order.Order, error) { return o.order, nil }

func (orders) History(context.Context, order.Order) ([]order.Event, error) { return nil, nil }

// Its owner reads the code, an admin its end, as it is described.
func TestWhoReadsCodes(t *testing.T) {
	t.Parallel()
	described, err := contract.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []order.Status{order.Paid, order.Redeemed, order.Lapsed} {
		o := order.Order{
			ID: orderID, UserID: apitest.BuyerID, VoucherID: 5, Status: s, Amount: 1000, CreatedAt: noon, PaidAt: noon,
			RedeemedAt: coupon(s).RedeemedAt,
		}
		cfg := featuretest.Config(nil, redemption.Rules(), apitest.State{})
		api := featuretest.WithShop(t, cfg, shop.Config{
			Purchases: purchases{order: o}, Orders: orders{order: o},
			PaymentsOf: func(context.Context, int64) ([]payment.Payment, error) { return nil, nil },
			FindVoucher: func(context.Context, int64) (voucher.Voucher, error) {
				return voucher.Voucher{}, voucher.ErrNotFound
			},
			Front: httpkit.Front{Members: httpkit.Members{
				"coupon": {Order: redemption.ShownCoupon(fakeTills{coupon: coupon(s)}.CouponOf)},
			}},
		})
		by := map[bool]string{true: `,"redeemedBy":"till 70"`}[s == order.Redeemed]
		for target, tc := range map[string]struct{ token, code string }{
			"/order/5":       {apitest.Token(t, apitest.BuyerID, ""), "0A6F-ZXWA-HPRG-DBFQ"},
			"/admin/order/5": {apitest.Token(t, apitest.AdminID, authtoken.RoleAdmin), "····-····-····-DBFQ"},
		} {
			req := apitest.Request{Method: http.MethodGet, Target: target}
			w := ask(t, api, tc.token, req)
			want := `"coupon":{"code":"` + tc.code + `","validUntil":"2026-01-02T13:00:00.000Z"` + by + `}`
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s, %s: %s, want %s", target, s, w.Body, want)
			}
			if err := described.Check(contract.Exchange{
				Request: req.HTTP(t, t.Context()), Status: w.Code, Header: w.Header(), Body: w.Body.Bytes(),
			}); err != nil {
				t.Error(err)
			}
		}
	}
}

// Orders that cannot have a coupon are not asked for one, and one that has none is shown without.
func TestOrdersWithoutCoupons(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	for s := order.Queued; s <= order.Lapsed; s++ {
		none := s == order.Queued || s == order.Unpaid || s == order.Failed
		for _, err := range []error{redemption.ErrNotFound, away} {
			show := redemption.ShownCoupon(fakeTills{couponErr: err}.CouponOf)
			shown, got := show(t.Context(), order.Order{Status: s}, true)
			if shown != nil || (got != nil) != (errors.Is(err, away) && !none) || got != nil && !errors.Is(got, away) {
				t.Errorf("%s, %v: %v, %v", s, err, shown, got)
			}
		}
	}
}

// Codes are masked unless whole ones are asked for.
func TestShownCoupons(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	away := errors.New("away")
	shown := redemption.ShownCoupons(func(context.Context, []int64) (map[int64]redemption.Coupon, error) {
		return map[int64]redemption.Coupon{5: {Code: "ABCDEFGHJKMNPQRS", ValidUntil: until}}, away
	})
	for whole, code := range map[bool]string{false: "····-····-····-PQRS", true: "ABCD-EFGH-JKMN-PQRS"} {
		want := map[int64]map[string]string{5: {"code": code, "validUntil": "2026-01-02T00:00:00.000Z"}}
		got, err := shown(t.Context(), []int64{5}, whole)
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, away) {
			t.Errorf("whole %t: %v (-want +got):\n%s", whole, err, diff)
		}
	}
}

// The order of a code is found however people type the code; what is no code is said.
func TestOrderOfCode(t *testing.T) {
	t.Parallel()
	asked := redemption.Code("")
	find := redemption.FoundOrder(func(_ context.Context, code redemption.Code) (int64, error) {
		asked = code
		return orderID, nil
	})
	id, err := find(t.Context(), "0123-4567 89ab-cdeo")
	if id != orderID || err != nil || asked != "0123456789ABCDE0" {
		t.Errorf("order %d of %q, %v", id, asked, err)
	}
	if _, err := find(t.Context(), "0123"); err == nil || !strings.Contains(err.Error(), "code") {
		t.Errorf("a short code: %v", err)
	}
}
