package shops

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

// TestContract holds the routes to their description.
func TestContract(t *testing.T) {
	t.Parallel()
	const name = `{"name":"Corner bakery"}`
	apitest.Contract{
		Routes: routesOn(nil),
		Open: func(t *testing.T, _ httpkit.Route, s apitest.State) http.Handler {
			t.Helper()
			return featuretest.Serve(t, routesOn(s.Err), nil, s)
		},
		Cases: map[string]apitest.Case{
			"GET /shop/:id": {
				Access: httpkit.ForAll, Good: apitest.Request{Target: "/shop/2"},
				Invalid: &apitest.Request{Target: "/shop/x"}, Refusals: []error{order.ErrUnavailable},
			},
			"GET /admin/shop": {
				Access: httpkit.ForAdmins, Good: apitest.Request{Target: "/admin/shop?limit=1"},
				Invalid: &apitest.Request{Target: "/admin/shop?before=x"}, Refusals: []error{order.ErrUnavailable},
			},
			"GET /admin/shop/:id": {
				Access: httpkit.ForMerchants, Good: apitest.Request{Target: "/admin/shop/2"},
				Invalid:  &apitest.Request{Target: "/admin/shop/x"},
				Refusals: []error{httpkit.ErrNoShop, order.ErrUnavailable},
			},
			"PATCH /admin/shop/:id": {
				Access: httpkit.ForMerchants, Good: apitest.Request{Target: "/admin/shop/2", Body: name},
				Invalid:  &apitest.Request{Target: "/admin/shop/2", Body: `{"name":" "}`},
				Refusals: []error{httpkit.ErrNoShop, order.ErrUnavailable, order.ErrUnknownChange},
			},
		},
	}.Hold(t)
}

// routesOn are the routes on one shop, or with err on none.
func routesOn(err error) []httpkit.Route {
	names := NewNames(func(context.Context, []int64) (map[int64]Face, error) {
		return map[int64]Face{2: oneShop().Face}, err
	}, time.Now)
	return Routes(fakeShops{err}, names, voucher.Bounds{Sales: 100, Units: 100_000},
		httpkit.Front{Bodies: httpkit.Bodies{Limit: apitest.BodyLimit}, ShopOf: featuretest.ShopOf})
}

func oneShop() Shop {
	return Shop{
		ID: 2, Face: Face{"Corner bakery", "https://img.shop.example/2.png"},
		Bounds: voucher.Bounds{Sales: 5, Units: 2000}, UpdatedAt: apitest.Noon(),
	}
}

// fakeShops has one shop, or fails.
type fakeShops struct{ err error }

// Find implements Service.
func (f fakeShops) Find(context.Context, int64) (Shop, error) { return oneShop(), f.err }

// Page implements Service.
func (f fakeShops) Page(context.Context, int64, int) ([]Shop, error) {
	return []Shop{oneShop(), {ID: 1}}, f.err
}

// Change implements Service.
func (f fakeShops) Change(context.Context, voucher.Author, int64, Change) (Shop, error) {
	return oneShop(), f.err
}
