package redemption_test

import (
	"net/http"
	"testing"

	"seckill/internal/feature/redemption"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
)

// refused are what every till's request may be refused with, and these reasons.
func refused(reasons ...error) []error {
	errs := []error{
		redemption.ErrMalformed, redemption.ErrNotFound, redemption.ErrWrongCodes, order.ErrUnavailable,
		order.ErrUnknownChange,
	}
	for _, reason := range reasons {
		errs = append(errs, &redemption.RefusalError{
			Reason: reason, Coupon: coupon(order.Paid), Till: redemption.Till{ID: apitest.TillID},
		})
	}
	return errs
}

// TestContract holds the routes to their description.
func TestContract(t *testing.T) {
	t.Parallel()
	key := map[string]string{"Idempotency-Key": "k"}
	apitest.Contract{
		Routes: routesOn(fakeTills{}, fakeSales{}),
		Open: func(t *testing.T, r httpkit.Route, s apitest.State) http.Handler {
			t.Helper()
			tills := fakeTills{coupon: coupon(order.Paid), couponErr: s.Err}
			if r.Path == "/till/redeem" {
				tills.coupon = coupon(order.Redeemed)
			}
			if s.Err != nil {
				tills.do = func(redemption.Command) (redemption.Outcome, error) { return redemption.Outcome{}, s.Err }
			}
			return featuretest.Serve(t, routesOn(tills, fakeSales{err: s.Err}), redemption.Rules(), s)
		},
		Cases: map[string]apitest.Case{
			"GET /order/:id/qr": {
				Access: httpkit.ForBuyers,
				Good:   apitest.Request{Target: "/order/5/qr"}, Invalid: &apitest.Request{Target: "/order/x/qr"},
				Refusals: []error{order.ErrNotFound, redemption.ErrNotFound, order.ErrUnavailable},
			},
			"POST /till/validate": {
				Access:  httpkit.ForTills,
				Good:    apitest.Request{Target: "/till/validate", Body: `{"code":"x"}`},
				Invalid: &apitest.Request{Target: "/till/validate", Body: "{}"},
				Refusals: refused(
					redemption.ErrRedeemed, redemption.ErrReserved, redemption.ErrLapsed, redemption.ErrVoid,
					redemption.ErrDisputed),
			},
			"POST /till/reserve": {
				Access:  httpkit.ForTills,
				Good:    apitest.Request{Target: "/till/reserve", Body: `{"code":"x"}`, Header: key},
				Invalid: &apitest.Request{Target: "/till/reserve", Body: `{"code":"x"}`},
				Refusals: refused(
					redemption.ErrRedeemed, redemption.ErrReserved, redemption.ErrLapsed, redemption.ErrVoid,
					redemption.ErrDisputed, redemption.ErrReservationOver),
			},
			"POST /till/redeem": {
				Access:  httpkit.ForTills,
				Good:    apitest.Request{Target: "/till/redeem", Body: `{"code":"x","reservationId":"r"}`, Header: key},
				Invalid: &apitest.Request{Target: "/till/redeem", Body: `{"code":"x"}`},
				Refusals: refused(redemption.ErrRedeemed, redemption.ErrReserved, redemption.ErrLapsed,
					redemption.ErrVoid, redemption.ErrDisputed, redemption.ErrReservationOver, redemption.ErrUndone),
			},
			"POST /till/release": {
				Access:   httpkit.ForTills,
				Good:     apitest.Request{Target: "/till/release", Body: `{"code":"x","reservationId":"r"}`},
				Invalid:  &apitest.Request{Target: "/till/release", Body: `{"code":"x"}`},
				Refusals: refused(redemption.ErrRedeemed),
			},
		},
	}.Hold(t)
}
