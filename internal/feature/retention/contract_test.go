package retention

import (
	"context"
	"net/http"
	"testing"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
)

// TestContract holds the routes to their description.
func TestContract(t *testing.T) {
	t.Parallel()
	lost := order.ErrUnknownChange
	apitest.Contract{
		Routes: routesOn(nil),
		Open: func(t *testing.T, _ httpkit.Route, s apitest.State) http.Handler {
			t.Helper()
			return featuretest.Serve(t, routesOn(s.Err), Rules(), s)
		},
		Cases: map[string]apitest.Case{
			"POST /admin/user/:id/forget": {
				Access:   httpkit.ForAdmins,
				Good:     apitest.Request{Target: "/admin/user/5/forget", Body: `{"why":"asked"}`},
				Invalid:  &apitest.Request{Target: "/admin/user/x/forget", Body: `{"why":"asked"}`},
				Refusals: []error{&OwedError{Debts{Coupon: 1}}, order.ErrUpgrading, order.ErrUnavailable, lost},
			},
			"GET /admin/user/:id/export": {
				Access:   httpkit.ForAdmins,
				Good:     apitest.Request{Target: "/admin/user/5/export"},
				Invalid:  &apitest.Request{Target: "/admin/user/0/export"},
				Refusals: []error{order.ErrUnavailable, lost},
			},
		},
	}.Hold(t)
}

// routesOn are the routes, or with err those on which nothing works.
func routesOn(err error) []httpkit.Route {
	return Routes(Service{
		Forget: func(context.Context, int64, Trail) (Forgotten, error) { return Forgotten{Orders: 1}, err },
		Export: func(context.Context, int64, Trail) (Export, error) {
			return Export{
				UserID: 5, At: httpkit.ShownTime(apitest.Noon()),
				Tables: map[string][]map[string]any{"unpaid": {{"user_id": int64(5), "expired": int64(1)}}},
			}, err
		},
	}, httpkit.Bodies{Limit: apitest.BodyLimit})
}
