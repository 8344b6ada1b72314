package checklist

import (
	"context"
	"net/http"
	"testing"
	"time"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
	"seckill/internal/voucher"
)

// TestContract holds the route to its description.
func TestContract(t *testing.T) {
	t.Parallel()
	routes := func(err error) []httpkit.Route {
		facts := func(context.Context, int64) (Facts, error) { return Facts{PoolSize: 16}, err }
		return Routes(facts, httpkit.Front{Now: apitest.Noon, Zone: time.UTC, ShopOf: featuretest.ShopOf})
	}
	apitest.Contract{
		Routes: routes(nil),
		Open: func(t *testing.T, _ httpkit.Route, s apitest.State) http.Handler {
			t.Helper()
			return featuretest.Serve(t, routes(s.Err), nil, s)
		},
		Cases: map[string]apitest.Case{"GET /admin/check": {
			Access:   httpkit.ForMerchants,
			Good:     apitest.Request{Target: "/admin/check?voucherId=5"},
			Invalid:  &apitest.Request{Target: "/admin/check?voucherId=x"},
			Refusals: []error{voucher.ErrNotFound, voucher.ErrNotSeckill, order.ErrUnavailable},
		}},
	}.Hold(t)
}
