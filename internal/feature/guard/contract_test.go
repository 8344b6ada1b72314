package guard

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/challenge"
	"seckill/internal/feature/guard/store"
	"seckill/internal/feature/guard/ticket"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/clientip"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/partition"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// TestContract holds the routes to their description.
func TestContract(t *testing.T) {
	t.Parallel()
	routesOn := func(err error) []httpkit.Route {
		front := httpkit.Front{Now: apitest.Noon, Address: new(clientip.Addresses).Of}
		instances := func(context.Context) ([]partition.Instance, error) { return make([]partition.Instance, 2), err }
		return slices.Concat(Routes((&fakeTickets{err: err}).Give, front), drawRoutes(err),
			[]httpkit.Route{ProposalRoute(instances)})
	}
	apitest.Contract{
		Routes: routesOn(nil),
		Open: func(t *testing.T, _ httpkit.Route, s apitest.State) http.Handler {
			t.Helper()
			return featuretest.Serve(t, routesOn(s.Err), Rules(), s)
		},
		Cases: map[string]apitest.Case{
			"GET /admin/guards/proposal": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/guards/proposal?units=500&crowd=5000"},
				Invalid:  &apitest.Request{Target: "/admin/guards/proposal?units=many"},
				Refusals: []error{order.ErrUnavailable},
			},
			"GET /voucher/:id/draw": {
				Access: httpkit.ForAll, Good: apitest.Request{Target: "/voucher/5/draw?limit=1"},
				Invalid:  &apitest.Request{Target: "/voucher/5/draw?after=x"},
				Refusals: []error{voucher.ErrNotFound, store.ErrNoDraw, order.ErrUnavailable},
			},
			"PUT /admin/voucher/:id/draw": {
				Access: httpkit.ForMerchants,
				Good: apitest.Request{
					Target: "/admin/voucher/5/draw",
					Body:   `{"closeTime":"2026-01-02T11:30:00Z","source":"drand","round":"4711"}`,
				},
				Invalid: &apitest.Request{Target: "/admin/voucher/5/draw", Body: `{"closeTime":"soon"}`},
				Refusals: []error{
					httpkit.ErrNoShop, voucher.ErrNotFound, voucher.ErrArchived, order.ErrUpgrading,
					order.ErrUnavailable, order.ErrUnknownChange,
				},
			},
			"PUT /admin/voucher/:id/draw/beacon": {
				Access:  httpkit.ForMerchants,
				Good:    apitest.Request{Target: "/admin/voucher/5/draw/beacon", Body: `{"beacon":"c0ffee"}`},
				Invalid: &apitest.Request{Target: "/admin/voucher/5/draw/beacon", Body: `{"beacon":"c0f fee"}`},
				Refusals: []error{
					httpkit.ErrNoShop, store.ErrNoDraw, store.ErrNoBeacon, store.ErrBeaconEarly, store.ErrBeaconLate,
					store.ErrBeaconEntered, order.ErrUnavailable, order.ErrUnknownChange,
				},
			},
			"POST /voucher/seckill/:id/ticket": {
				Access: httpkit.ForBuyers,
				Good: apitest.Request{
					Target: "/voucher/seckill/5/ticket", Header: map[string]string{SolutionHeader: "e30="},
				},
				Invalid: &apitest.Request{Target: "/voucher/seckill/x/ticket"},
				Refusals: []error{
					voucher.ErrNotFound, voucher.ErrNotSeckill, gate.ErrEnded, order.ErrUnavailable, ErrNoTickets,
					&TicketsLaterError{}, &ticket.EarlyError{}, &ChallengeError{}, challenge.ErrBusy,
					challenge.ErrTryAgain,
					&StoppedError{
						Guard: guards.LimitsGuard, Why: &budget.RateError{Of: budget.OfUser, Retry: time.Minute},
					},
				},
			},
		},
	}.Hold(t)
}
