package template

import (
	"context"
	"net/http"
	"testing"
	"time"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// TestContract holds the routes to their description.
func TestContract(t *testing.T) {
	t.Parallel()
	apitest.Contract{
		Routes: routesOn(nil),
		Open: func(t *testing.T, _ httpkit.Route, s apitest.State) http.Handler {
			t.Helper()
			return featuretest.Serve(t, routesOn(s.Err), Rules(), s)
		},
		Cases: map[string]apitest.Case{
			"GET /admin/template": {
				Access:  httpkit.ForMerchants,
				Good:    apitest.Request{Target: "/admin/template?shopId=1"},
				Invalid: &apitest.Request{Target: "/admin/template?shopId=x"}, Refusals: []error{order.ErrUnavailable},
			},
			"POST /admin/template": {
				Access:  httpkit.ForMerchants,
				Good:    apitest.Request{Target: "/admin/template", Body: `{"voucherId":5,"name":"Evening"}`},
				Invalid: &apitest.Request{Target: "/admin/template", Body: `{"voucherId":5}`},
				Refusals: []error{
					voucher.ErrNotFound, ErrName, ErrMany, order.ErrUnavailable, order.ErrUnknownChange,
					idempotency.ErrReused,
					idempotency.ErrGone,
				},
			},
			"PATCH /admin/template/:id": {
				Access:  httpkit.ForMerchants,
				Good:    apitest.Request{Target: "/admin/template/3", Body: `{"name":"Evening"}`},
				Invalid: &apitest.Request{Target: "/admin/template/3", Body: `{}`}, Refusals: []error{
					ErrNone, ErrName, order.ErrUnavailable, order.ErrUnknownChange,
				},
			},
			"GET /admin/template/:id": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/template/3"},
				Invalid:  &apitest.Request{Target: "/admin/template/x"},
				Refusals: []error{ErrNone, order.ErrUnavailable},
			},
			"DELETE /admin/template/:id": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/template/3"},
				Invalid:  &apitest.Request{Target: "/admin/template/x"},
				Refusals: []error{ErrNone, order.ErrUnavailable, order.ErrUnknownChange},
			},
		},
	}.Hold(t)
}

// routesOn are the routes on one template, or with err on none.
func routesOn(err error) []httpkit.Route {
	return Routes(fakeTemplates{err}, httpkit.Front{
		Bodies: httpkit.Bodies{Limit: apitest.BodyLimit}, ShopOf: featuretest.ShopOf, Currency: "CNY",
	})
}

func sale() voucher.Voucher {
	return voucher.Voucher{
		ID: 5, ShopID: 2, Title: "Evening", PayValue: 1000, ActualValue: 10_000,
		Sale: &voucher.Sale{Issued: 100, Begin: apitest.Noon(), End: apitest.Noon().Add(time.Hour)},
	}
}

// fakeTemplates has one template, of a sale, or fails.
type fakeTemplates struct{ err error }

func oneTemplate() Template {
	v := sale()
	v.VisibleFrom = v.Sale.Begin.Add(-time.Hour)
	v.Sale.InviteWindow = time.Minute
	v.Sale.Guards = &guards.Settings{Limits: &guards.Limits{PerUser: &guards.Rate{Requests: 5, Seconds: 10}}}
	t := Of(v, "Evening")
	t.ID, t.CreatedAt = 3, apitest.Noon()
	return t
}

// List returns it.
func (f fakeTemplates) List(context.Context, int64) ([]Template, error) {
	return []Template{oneTemplate()}, f.err
}

// Save returns it.
func (f fakeTemplates) Save(context.Context, voucher.Author, int64, string) (Template, error) {
	return oneTemplate(), f.err
}

// Find returns it.
func (f fakeTemplates) Find(context.Context, int64) (Template, error) { return oneTemplate(), f.err }

// Rename returns it.
func (f fakeTemplates) Rename(context.Context, voucher.Author, int64, string) (Template, error) {
	return oneTemplate(), f.err
}

// Delete does nothing.
func (f fakeTemplates) Delete(context.Context, voucher.Author, int64) error { return f.err }
