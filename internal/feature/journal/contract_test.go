package journal

import (
	"context"
	"net/http"
	"net/http/httptest"
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
	refusals := []error{voucher.ErrNotFound, voucher.ErrNotSeckill, order.ErrUnavailable}
	apitest.Contract{
		Routes: routesOn(nil),
		Open: func(t *testing.T, _ httpkit.Route, s apitest.State) http.Handler {
			t.Helper()
			return featuretest.Serve(t, routesOn(s.Err), nil, s)
		},
		Cases: map[string]apitest.Case{
			"GET /voucher/:id/mine": {
				Access: httpkit.ForBuyers, Good: apitest.Request{Target: "/voucher/5/mine"},
				Invalid: &apitest.Request{Target: "/voucher/x/mine"}, Refusals: refusals,
			},
			"GET /admin/voucher/:id/refusals": {
				Access: httpkit.ForMerchants, Good: apitest.Request{Target: "/admin/voucher/5/refusals?userId=7"},
				Invalid: &apitest.Request{Target: "/admin/voucher/5/refusals"}, Refusals: refusals,
			},
		},
	}.Hold(t)
}

// A rehearsal exists for those who buy in it, and an ordinary voucher off the shelf for nobody: its kind is not told.
func TestMineOfWhatIsNotShown(t *testing.T) {
	t.Parallel()
	sale := &voucher.Sale{Begin: apitest.Noon(), End: apitest.Noon().Add(time.Hour)}
	for name, c := range map[string]struct {
		shown  voucher.Voucher
		err    error
		status int
	}{
		"rehearsal": {
			voucher.Voucher{ShopID: voucher.RehearsalShop, Status: voucher.OnShelf, Sale: sale}, nil, 404,
		},
		"off the shelf": {voucher.Voucher{Status: voucher.OffShelf}, voucher.ErrNotSeckill, 404},
		"an order":      {voucher.Voucher{Status: voucher.OffShelf, Sale: sale}, nil, 200},
	} {
		find := func(context.Context, int64) (voucher.Voucher, error) { return c.shown, nil }
		h := featuretest.Serve(t, Routes(fakeWhys{c.err}, find, httpkit.Front{Now: apitest.Noon}), nil, apitest.State{})
		r := apitest.Request{Method: http.MethodGet, Target: "/voucher/5/mine", Header: map[string]string{
			"Authorization": apitest.Token(t, 42, ""),
		}}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r.HTTP(t, t.Context())); w.Code != c.status {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.status)
		}
	}
}

// fakeWhys knows of one refusal, or fails.
type fakeWhys struct{ err error }

func (f fakeWhys) Of(context.Context, voucher.Voucher, int64) (Why, error) {
	at := apitest.Noon()
	return Why{
		OrderID: 9, Status: order.Cancelled, Refusal: &Refusal{At: at, Within: 2 * time.Millisecond, Code: "SOLD_OUT"},
		Moments: Moments{
			FirstSoldOut: at, SoldOut: []Span{{at, at.Add(time.Minute)}}, Ran: 2, Wrote: 1, Users: 3, Unwritten: 1,
			Missed: 1, More: 1,
		},
	}, f.err
}

func routesOn(err error) []httpkit.Route {
	find := func(context.Context, int64) (voucher.Voucher, error) {
		return voucher.Voucher{
			ID: 5, ShopID: 2, Status: voucher.OnShelf,
			Sale: &voucher.Sale{Begin: apitest.Noon(), End: apitest.Noon().Add(time.Hour)},
		}, nil
	}
	return Routes(fakeWhys{err}, find, httpkit.Front{Now: apitest.Noon, ShopOf: featuretest.ShopOf})
}
