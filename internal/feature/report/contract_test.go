package report

import (
	"context"
	"net/http"
	"testing"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
	"seckill/internal/voucher"
)

// TestContract holds the routes to their description.
func TestContract(t *testing.T) {
	t.Parallel()
	apitest.Contract{
		Routes: routesOn(nil),
		Open: func(t *testing.T, _ httpkit.Route, s apitest.State) http.Handler {
			t.Helper()
			return featuretest.Serve(t, routesOn(s.Err), nil, s)
		},
		Cases: map[string]apitest.Case{
			"GET /admin/voucher/:id/report": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/voucher/5/report"},
				Invalid:  &apitest.Request{Target: "/admin/voucher/x/report"},
				Refusals: []error{voucher.ErrNotFound, order.ErrUnavailable},
			},
			"GET /admin/voucher/:id/report.csv": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/voucher/5/report.csv?bom=true"},
				Invalid:  &apitest.Request{Target: "/admin/voucher/5/report.csv?bom=yes"},
				Refusals: []error{voucher.ErrNotFound, httpkit.ErrUserStreams, order.ErrUnavailable},
			},
			"GET /admin/voucher/:id/timeline.csv": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/voucher/5/timeline.csv"},
				Invalid:  &apitest.Request{Target: "/admin/voucher/5/timeline.csv?codes=true"},
				Refusals: []error{voucher.ErrNotFound, httpkit.ErrUserStreams, order.ErrUnavailable},
			},
			"GET /admin/voucher/:id/orders.csv": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/voucher/5/orders.csv?codes=true"},
				Invalid:  &apitest.Request{Target: "/admin/voucher/5/orders.csv?codes=1"},
				Refusals: []error{voucher.ErrNotFound, httpkit.ErrUserStreams, order.ErrUnavailable},
			},
			"GET /admin/audit.csv": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/audit.csv?bom=true&voucherId=5&adminId=7"},
				Invalid:  &apitest.Request{Target: "/admin/audit.csv?limit=1"},
				Refusals: []error{httpkit.ErrUserStreams, order.ErrUnavailable},
			},
			"GET /admin/payments.csv": {
				Access: httpkit.ForMerchants,
				Good: apitest.Request{Target: "/admin/payments.csv?bom=true&state=refunded&dispute=lost&voucherId=5" +
					"&from=2026-01-01T00:00:00.000Z"},
				Invalid:  &apitest.Request{Target: "/admin/payments.csv?limit=1"},
				Refusals: []error{httpkit.ErrNoShop, httpkit.ErrUserStreams, order.ErrUnavailable},
			},
			"GET /admin/sale": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/sale?limit=1&phase=ended&before=9"},
				Invalid:  &apitest.Request{Target: "/admin/sale?phase=over"},
				Refusals: []error{order.ErrUnavailable},
			},
			"GET /admin/today": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/today"},
				Invalid:  &apitest.Request{Target: "/admin/today?since=0"},
				Refusals: []error{order.ErrUnavailable},
			},
		},
	}.Hold(t)
}

// routesOn are the routes on reports with something everywhere, or with err on none.
func routesOn(err error) []httpkit.Route {
	reports := fullReports()
	reports.err, reports.made.Guards = err, Member{} // what guards show is theirs to test
	return Routes(reports, front(), func(context.Context, voucher.Entry) error { return err })
}
