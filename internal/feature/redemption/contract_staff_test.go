package redemption_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"seckill/internal/feature/redemption"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
)

// fakeStaff answers every act of staff with the coupon, or fails.
type fakeStaff struct {
	coupon redemption.Coupon
	err    error
}

func (f fakeStaff) Extend(context.Context, order.StaffAct, time.Time) (redemption.Coupon, error) {
	return f.coupon, f.err
}

func (f fakeStaff) Unredeem(context.Context, order.StaffAct) (redemption.Coupon, error) {
	return f.coupon, f.err
}

func (f fakeStaff) Coupon(context.Context, int64) (redemption.Coupon, error) { return f.coupon, f.err }

// TestStaffContract holds the routes of staff to their description.
func TestStaffContract(t *testing.T) {
	t.Parallel()
	front := httpkit.Front{
		Bodies: httpkit.Bodies{Limit: apitest.BodyLimit}, Zone: time.UTC, Now: apitest.Noon,
		ShopOf: featuretest.ShopOf,
	}
	front.Order = func(context.Context, int64) (order.Order, error) {
		return order.Order{ID: orderID, VoucherID: 10}, nil
	}
	routes := func(err error) []httpkit.Route {
		return redemption.StaffRoutes(
			redemption.NewStaff(fakeStaff{coupon: coupon(order.Paid), err: err}, nobody{}), front)
	}
	key := map[string]string{"Idempotency-Key": "k"}
	refusals := []error{
		order.ErrNotFound, redemption.ErrNotFound, &order.StateError{OrderID: orderID, Status: order.Refunded},
		idempotency.ErrReused, order.ErrUnavailable, order.ErrUnknownChange,
	}
	apitest.Contract{
		Routes: routes(nil),
		Open: func(t *testing.T, _ httpkit.Route, s apitest.State) http.Handler {
			t.Helper()
			return featuretest.Serve(t, routes(s.Err), redemption.Rules(), s)
		},
		Cases: map[string]apitest.Case{
			"POST /admin/order/:id/extend": {
				Access: httpkit.ForMerchants,
				Good: apitest.Request{
					Target: "/admin/order/5/extend", Header: key,
					Body: `{"validUntil":"2027-01-31T23:00:00.000Z","why":"closed"}`,
				},
				Invalid: &apitest.Request{
					Target: "/admin/order/5/extend", Body: `{"validUntil":"9999-12-31T23:00:00-02:00","why":"x"}`,
					Header: key,
				},
				Refusals: append(refusals, redemption.ErrNotLater),
			},
			"POST /admin/order/:id/unredeem": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/order/5/unredeem", Body: `{"why":"wrong"}`, Header: key},
				Invalid:  &apitest.Request{Target: "/admin/order/5/unredeem", Body: `{"why":"wrong"}`},
				Refusals: refusals,
			},
		},
	}.Hold(t)
}
