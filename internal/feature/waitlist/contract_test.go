package waitlist

import (
	"cmp"
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// TestContract holds the routes to their description.
func TestContract(t *testing.T) {
	t.Parallel()
	already := &gate.AlreadyBoughtError{OrderID: 5, Status: order.StatusUnknown}
	places := []State{Waiting, Invited, Missed, Left}
	apitest.Contract{
		Routes: routesOn(fakeLists{}),
		Open: func(t *testing.T, r httpkit.Route, s apitest.State) http.Handler {
			t.Helper()
			lists := fakeLists{place: placeIn(places[s.Way]), err: s.Err}
			if r.Path == "/voucher/:id/waitlist/accept" {
				lists.place = placeIn([]State{Bought, Accepted}[s.Way])
			}
			return featuretest.Serve(t, routesOn(lists), append(Rules(), apitest.StoppedRules()...), s)
		},
		Cases: map[string]apitest.Case{
			"POST /voucher/:id/waitlist": {
				Access: httpkit.ForBuyers, Good: apitest.Request{Target: "/voucher/5/waitlist?standing=true"}, Ways: 2,
				Invalid: &apitest.Request{Target: "/voucher/5/waitlist?standing=x"},
				Refusals: append(apitest.StoppedAll(),
					voucher.ErrNotFound, voucher.ErrNotSeckill, voucher.ErrOffShelf, ErrNoList, ErrOnSale,
					gate.ErrPaused, gate.ErrNotStarted, gate.ErrEnded, voucher.ErrCalledOff, already,
					order.ErrUnavailable, order.ErrUnknownChange),
			},
			"GET /voucher/:id/waitlist": {
				Access: httpkit.ForBuyers, Good: apitest.Request{Target: "/voucher/5/waitlist"}, Ways: 4,
				Invalid:  &apitest.Request{Target: "/voucher/x/waitlist"},
				Refusals: []error{ErrNoPlace, order.ErrUnavailable},
			},
			"POST /voucher/:id/waitlist/accept": {
				Access: httpkit.ForBuyers, Good: apitest.Request{Target: "/voucher/5/waitlist/accept"}, Ways: 2,
				Invalid: &apitest.Request{Target: "/voucher/x/waitlist/accept"},
				Refusals: append(apitest.StoppedAll(),
					voucher.ErrNotFound, voucher.ErrOffShelf, voucher.ErrCalledOff, gate.ErrPaused, ErrNoPlace,
					ErrNotInvited,
					already, order.ErrUnavailable, order.ErrUnknownChange),
			},
			"POST /voucher/:id/waitlist/leave": {
				Access: httpkit.ForBuyers, Good: apitest.Request{Target: "/voucher/5/waitlist/leave"},
				Invalid:  &apitest.Request{Target: "/voucher/x/waitlist/leave"},
				Refusals: []error{ErrNoPlace, ErrAccepted, order.ErrUnavailable, order.ErrUnknownChange},
			},
			"GET /waitlist": {
				Access: httpkit.ForBuyers, Good: apitest.Request{Target: "/waitlist"},
				Invalid: &apitest.Request{Target: "/waitlist?limit=1"}, Refusals: []error{order.ErrUnavailable},
			},
			"GET /admin/voucher/:id/waitlist": {
				Access: httpkit.ForMerchants, Good: apitest.Request{Target: "/admin/voucher/5/waitlist"},
				Invalid: &apitest.Request{Target: "/admin/voucher/x/waitlist"},
				Refusals: []error{
					voucher.ErrNotFound, voucher.ErrNotSeckill, ErrNoList, order.ErrUnavailable,
				},
			},
		},
	}.Hold(t)
}

// placeIn returns a place in the state, with every field that it can have.
func placeIn(s State) Place {
	noon := apitest.Noon()
	p := Place{VoucherID: 5, UserID: 42, Position: 9, State: s, JoinedAt: noon, Missed: 1, Standing: true}
	if s == Waiting {
		p.Ahead = MaxCounted
	} else {
		p.InvitedAt, p.Deadline, p.Paused = noon, noon.Add(time.Minute), true
	}
	if s == Accepted || s == Bought {
		p.OrderID = 660000000123456789
	}
	if !s.Open() {
		p.EndedAt = noon
	}
	return p
}

// fakeLists answers with one place, or fails.
type fakeLists struct {
	place  Place
	err    error
	accept error // of accepting
	join   error // of joining
	said   **bool
}

func (f fakeLists) Join(_ context.Context, _ int64, _ voucher.Voucher, standing *bool) (Place, error) {
	if f.said != nil {
		*f.said = standing
	}
	return f.place, cmp.Or(f.join, f.err)
}

func (f fakeLists) Accept(context.Context, int64, voucher.Voucher) (Place, error) {
	return f.place, cmp.Or(f.accept, f.err)
}

func (f fakeLists) Leave(context.Context, int64, int64) (Place, error) { return f.place, f.err }

func (f fakeLists) Place(context.Context, int64, int64) (Place, error) { return f.place, f.err }

func (f fakeLists) Places(context.Context, int64) ([]Place, error) { return []Place{f.place}, f.err }

func (f fakeLists) Counts(context.Context, voucher.Voucher) (Counts, error) {
	return Counts{States: map[State]int64{Waiting: 3, Invited: 2}, Kept: 2}, f.err
}

// routesOn returns the routes for a sale without guards.
func routesOn(lists fakeLists) []httpkit.Route { return routesBehind(lists, nil, nil) }

func routesBehind(lists fakeLists, gate httpkit.Gatekeeper, set *guards.Settings) []httpkit.Route {
	return Routes(lists, func(context.Context, int64) (voucher.Voucher, error) {
		sale := &voucher.Sale{InviteWindow: time.Minute, Guards: set}
		return voucher.Voucher{ID: 5, Status: voucher.OnShelf, Sale: sale}, nil
	}, httpkit.Front{Gatekeeper: gate, Now: apitest.Noon, ShopOf: featuretest.ShopOf})
}

// gatekeeper is a Gatekeeper that refuses to let anybody in, or to reserve a unit, and records what became of the unit.
type gatekeeper struct {
	httpkit.Gatekeeper
	entry, share error
	outcome      *guards.Outcome
}

func (g gatekeeper) Enter(*gin.Context, httpkit.Identity, voucher.Voucher) error { return g.entry }

func (g gatekeeper) Reserve(
	_ *gin.Context, _ httpkit.Identity, _ voucher.Voucher, _ int64,
) (finish func(guards.Ending), err error) {
	return func(e guards.Ending) { *g.outcome = e.Outcome }, g.share
}
