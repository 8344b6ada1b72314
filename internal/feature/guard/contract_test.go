package guard

import (
	"context"
	"net/http"
	"testing"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/challenge"
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
		return append(Routes((&fakeTickets{err: err}).Give, front), ProposalRoute(instances))
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
			"POST /voucher/seckill/:id/ticket": {
				Access: httpkit.ForBuyers,
				Good: apitest.Request{
					Target: "/voucher/seckill/5/ticket", Header: map[string]string{SolutionHeader: "e30="},
				},
				Invalid: &apitest.Request{Target: "/voucher/seckill/x/ticket"},
				Refusals: []error{
					voucher.ErrNotFound, voucher.ErrNotSeckill, gate.ErrEnded, order.ErrUnavailable, ErrNoTickets,
					&TicketsLaterError{}, &ChallengeError{}, challenge.ErrBusy, challenge.ErrTryAgain,
					&StoppedError{
						Guard: guards.LimitsGuard, Why: &budget.RateError{Of: budget.OfUser, Retry: time.Minute},
					},
				},
			},
		},
	}.Hold(t)
}
