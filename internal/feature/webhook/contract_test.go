package webhook

import (
	"context"
	"net/http"
	"testing"
	"time"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
)

// TestContract holds the routes to their description.
func TestContract(t *testing.T) {
	t.Parallel()
	apitest.Contract{
		Routes: routesOn(fakeWebhooks{}),
		Open: func(t *testing.T, _ httpkit.Route, s apitest.State) http.Handler {
			t.Helper()
			return featuretest.Serve(t, routesOn(fakeWebhooks{err: s.Err, last: s.Way == 1}), Rules(), s)
		},
		Cases: map[string]apitest.Case{
			"GET /admin/webhook": {
				Access:  httpkit.ForMerchants,
				Good:    apitest.Request{Target: "/admin/webhook"},
				Invalid: &apitest.Request{Target: "/admin/webhook?shop=1"}, Refusals: []error{order.ErrUnavailable},
			},
			"POST /admin/webhook": {
				Access: httpkit.ForMerchants,
				Good: apitest.Request{Target: "/admin/webhook", Body: `{"shopId":1,"url":"https://shop.example/hook",` +
					`"description":"x","types":"order.paid","disabled":true}`},
				Invalid: &apitest.Request{
					Target: "/admin/webhook", Body: `{"shopId":1,"url":"x"}`,
				},
				Refusals: []error{
					dispatch.ErrEndpoints, order.ErrUnavailable, order.ErrUnknownChange, idempotency.ErrReused,
					idempotency.ErrGone,
				},
			},
			"PATCH /admin/webhook/:id": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/webhook/3", Body: `{"disabled":false}`},
				Invalid:  &apitest.Request{Target: "/admin/webhook/3", Body: `{"url":"x"}`},
				Refusals: []error{dispatch.ErrNoEndpoint, order.ErrUnavailable, order.ErrUnknownChange},
			},
			"POST /admin/webhook/:id/rotate": {
				Access:  httpkit.ForMerchants,
				Good:    apitest.Request{Target: "/admin/webhook/3/rotate", Body: `{"atOnce":true}`},
				Invalid: &apitest.Request{Target: "/admin/webhook/3/rotate", Body: `{"atOnce":1}`},
				Refusals: []error{
					dispatch.ErrNoEndpoint, dispatch.ErrRotating, order.ErrUnavailable, order.ErrUnknownChange,
				},
			},
			"GET /admin/webhook/:id": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/webhook/3"},
				Invalid:  &apitest.Request{Target: "/admin/webhook/x"},
				Refusals: []error{dispatch.ErrNoEndpoint, order.ErrUnavailable},
			},
			"DELETE /admin/webhook/:id": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/webhook/3"},
				Invalid:  &apitest.Request{Target: "/admin/webhook/x"},
				Refusals: []error{dispatch.ErrNoEndpoint, order.ErrUnavailable, order.ErrUnknownChange},
			},
			"POST /admin/webhook/:id/test": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/webhook/3/test"},
				Invalid:  &apitest.Request{Target: "/admin/webhook/x/test"},
				Refusals: []error{dispatch.ErrNoEndpoint, order.ErrUnavailable},
			},
			"GET /admin/webhook/:id/delivery": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/webhook/3/delivery?limit=1&before=99"},
				Invalid:  &apitest.Request{Target: "/admin/webhook/3/delivery?limit=0"},
				Refusals: []error{dispatch.ErrNoEndpoint, order.ErrUnavailable},
			},
			"GET /admin/webhook/:id/deadletter": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/webhook/3/deadletter?limit=1&before=99"},
				Invalid:  &apitest.Request{Target: "/admin/webhook/3/deadletter?limit=0"},
				Refusals: []error{dispatch.ErrNoEndpoint, order.ErrUnavailable},
			},
			"GET /admin/event": {
				Access:  httpkit.ForMerchants,
				Good:    apitest.Request{Target: "/admin/event?limit=1&type=order.paid&after=end"},
				Ways:    2,
				Invalid: &apitest.Request{Target: "/admin/event?after=1"},
				Refusals: []error{
					dispatch.ErrNotWritten, dispatch.ErrSettling, &dispatch.GoneError{}, order.ErrUpgrading,
					order.ErrUnavailable,
				},
			},
			"POST /admin/webhook/:id/replay": {
				Access:  httpkit.ForMerchants,
				Good:    apitest.Request{Target: "/admin/webhook/3/replay", Body: `{"eventId":"order-5-1"}`},
				Invalid: &apitest.Request{Target: "/admin/webhook/3/replay", Body: `{}`},
				Refusals: []error{
					dispatch.ErrNoEndpoint, dispatch.ErrNoEvent, order.ErrUnavailable, order.ErrUnknownChange,
				},
			},
		},
	}.Hold(t)
}

// shopNames names every shop.
func shopNames(_ context.Context, ids []int64) map[int64]string {
	names := make(map[int64]string)
	for _, id := range ids {
		names[id] = "Tea house"
	}
	return names
}

// routesOn are the routes on the webhooks.
func routesOn(w fakeWebhooks) []httpkit.Route {
	admin := &dispatch.Admin{Endpoints: w, Log: w, Send: w.Send, Never: w.Never, Now: apitest.Noon}
	routes := Routes(admin, httpkit.Front{
		Bodies: httpkit.Bodies{Limit: apitest.BodyLimit}, Zone: time.UTC,
	})
	return append(routes, StreamRoutes(dispatch.NewReader(w, nil), httpkit.Members{"shop": {Shops: shopNames}})...)
}
