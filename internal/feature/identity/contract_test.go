package identity

import (
	"context"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"seckill/internal/feature/identity/issuers"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
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
			"POST /session": {
				Access:  httpkit.ForAll,
				Good:    apitest.Request{Body: `{"token":"a.b.c","for":"console"}`},
				Invalid: &apitest.Request{Body: `{"token":"a.b.c","for":"admin"}`},
				Refusals: []error{
					issuers.ErrRefused, ErrSignedOut, ErrNotOfConsole, ErrNotOfTill, ErrOften, ErrManySignIns,
					order.ErrUnavailable,
				},
			},
			"POST /session/end": {
				Access: httpkit.ForUsers, Refusals: []error{order.ErrUnavailable, order.ErrUnknownChange},
			},
		},
	}.Hold(t)
}

// routesOn are the routes where everybody may sign in, or with err nobody.
func routesOn(err error) []httpkit.Route {
	return Routes(Service{
		Exchange: func(context.Context, string, Purpose) (Session, error) {
			return Session{Token: "d.e.f", UserID: 1 << 52, Expires: apitest.Noon().Add(time.Hour)}, err
		},
		End:     func(context.Context, int64) error { return err },
		Address: func(*http.Request) netip.Addr { return netip.Addr{} },
		Take:    func(netip.Addr) error { return nil },
		Observe: func(error) {},
	}, httpkit.Bodies{Limit: apitest.BodyLimit})
}
