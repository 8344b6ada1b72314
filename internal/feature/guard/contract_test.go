package guard

import (
	"net/http"
	"testing"
	"time"

	"seckill/internal/feature/guard/challenge"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/clientip"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// TestContract holds the route of tickets to its description.
func TestContract(t *testing.T) {
	t.Parallel()
	routesOn := func(err error) []httpkit.Route {
		front := httpkit.Front{Now: apitest.Noon, Address: new(clientip.Addresses).Of}
		return Routes(&fakeTickets{err: err}, front)
	}
	apitest.Contract{
		Routes: routesOn(nil),
		Open: func(t *testing.T, _ httpkit.Route, s apitest.State) http.Handler {
			t.Helper()
			return featuretest.Serve(t, routesOn(s.Err), Rules(), s)
		},
		Cases: map[string]apitest.Case{
			"POST /voucher/seckill/:id/ticket": {
				Access: httpkit.ForBuyers,
				Good: apitest.Request{
					Target: "/voucher/seckill/5/ticket", Header: map[string]string{SolutionHeader: "e30="},
				},
				Invalid: &apitest.Request{Target: "/voucher/seckill/x/ticket"},
				Refusals: []error{
					voucher.ErrNotFound, voucher.ErrNotSeckill, order.ErrEnded, order.ErrUnavailable, ErrNoTickets,
					&TicketsLaterError{}, &ChallengeError{}, challenge.ErrBusy, challenge.ErrTryAgain,
					&StoppedError{Guard: guards.LimitsGuard, Why: &RateError{Of: OfUser, Retry: time.Minute}},
				},
			},
		},
	}.Hold(t)
}
