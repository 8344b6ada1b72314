package rehearsal

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/idempotency"
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
			return featuretest.Serve(t, routesOn(s.Err), Rules(), s)
		},
		Cases: map[string]apitest.Case{
			"GET /admin/voucher/:id/rehearsal": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/voucher/5/rehearsal"},
				Invalid:  &apitest.Request{Target: "/admin/voucher/x/rehearsal"},
				Refusals: []error{order.ErrUnavailable},
			},
			"POST /admin/voucher/:id/rehearsal": {
				Access:  httpkit.ForAdmins,
				Good:    apitest.Request{Target: "/admin/voucher/7/rehearsal"},
				Invalid: &apitest.Request{Target: "/admin/voucher/x/rehearsal"},
				Refusals: []error{
					voucher.ErrNotFound, voucher.ErrNotSeckill, &NearSaleError{VoucherID: 7}, &RunningError{},
					order.ErrBusy, order.ErrUnavailable, order.ErrUnknownChange, idempotency.ErrReused,
					idempotency.ErrGone,
				},
			},
			"POST /admin/rehearsal/:id/end": {
				Access:   httpkit.ForMerchants,
				Good:     apitest.Request{Target: "/admin/rehearsal/5/end"},
				Invalid:  &apitest.Request{Target: "/admin/rehearsal/x/end"},
				Refusals: []error{ErrNone, order.ErrUnavailable, order.ErrUnknownChange},
			},
			"GET /rehearsal/:id/order": {
				Access:   httpkit.ForCrowds,
				Good:     apitest.Request{Target: "/rehearsal/5/order"},
				Invalid:  &apitest.Request{Target: "/rehearsal/5/order?limit=0"},
				Refusals: []error{ErrNone, order.ErrUnavailable},
			},
			"POST /rehearsal/:id/report": {
				Access: httpkit.ForCrowds,
				Good: apitest.Request{Target: "/rehearsal/5/report", Body: `{"done":true,"buyers":200,"arrived":200,` +
					`"requests":210,"accepted":40,"unclear":1,"soldOutMicros":900000,"p50Micros":1200,` +
					`"p99Micros":8000}`},
				Invalid: &apitest.Request{
					Target: "/rehearsal/5/report",
					Body:   `{"done":true,"buyers":-1,"arrived":200,"requests":210,"accepted":40,"unclear":1}`,
				},
				Refusals: []error{ErrNone, ErrOver, order.ErrUnavailable, order.ErrUnknownChange},
			},
		},
	}.Hold(t)
}

// A crowd may call for its own rehearsal, and an admin for each.
func TestCrowdsOfTheirOwn(t *testing.T) {
	t.Parallel()
	crowd := func(rehearsal int64) string {
		s, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"sub": "8000000000000000", "role": authtoken.RoleCrowd, "voucher": rehearsal,
			"iat": apitest.Noon().Unix(), "exp": apitest.Noon().Add(time.Minute).Unix(),
		}).SignedString([]byte(apitest.Secret))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	api := featuretest.Serve(t, routesOn(nil), Rules(), apitest.State{})
	for name, tc := range map[string]struct {
		token  string
		status int
	}{
		"crowd": {crowd(5), http.StatusOK}, "crowd of another": {crowd(4711), http.StatusForbidden},
		"crowd of none": {crowd(0), http.StatusForbidden}, "till": {apitest.TillToken(t), http.StatusForbidden},
		"buyer": {apitest.Token(t, apitest.BuyerID, ""), http.StatusForbidden},
		"admin": {apitest.Token(t, apitest.AdminID, authtoken.RoleAdmin), http.StatusOK},
	} {
		r := apitest.Request{
			Method: http.MethodGet, Target: "/rehearsal/5/order", Header: map[string]string{"Authorization": tc.token},
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r.HTTP(t, t.Context()))
		if w.Code != tc.status {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, tc.status)
		}
	}
}

// The forecast of a rehearsal is in the caller's language.
func TestRehearsalInTwoLanguages(t *testing.T) {
	t.Parallel()
	for language, says := range map[string]string{
		"en": "40 units within 900 ms of the first press", "zh-CN": "40 份在首次点击后 900 毫秒内售罄",
	} {
		r := apitest.Request{
			Method: http.MethodGet, Target: "/admin/voucher/5/rehearsal", Header: map[string]string{
				"Accept-Language": language, "Authorization": apitest.Token(t, apitest.AdminID, authtoken.RoleAdmin),
			},
		}
		w := httptest.NewRecorder()
		featuretest.Serve(t, routesOn(nil), Rules(), apitest.State{}).ServeHTTP(w, r.HTTP(t, t.Context()))
		if !strings.Contains(w.Body.String(), says) || !strings.Contains(w.Body.String(), `"go":true`) ||
			!strings.HasPrefix(w.Header().Get("Content-Language"), language[:2]) {
			t.Errorf("%s: %v %s", language, w.Header(), w.Body)
		}
	}
}

// routesOn are the routes on one rehearsal that is done, or with err on none.
func routesOn(err error) []httpkit.Route {
	f := &fakeStores{run: oneRun(), runErr: err, locked: err}
	return Routes(NewRehearsals(f.parts()), httpkit.Front{
		ShopOf: featuretest.ShopOf,
		Bodies: httpkit.Bodies{Limit: apitest.BodyLimit}, Now: apitest.Noon,
		Orders: func(context.Context, order.Filter, int64, int) (httpkit.Envelope, error) {
			return httpkit.Envelope{Data: []int{}}, err
		},
	})
}

func oneRun() Run {
	return Run{
		VoucherID: 8, Of: 5, AdminID: apitest.AdminID, Begin: apitest.Noon().Add(-time.Minute), End: apitest.Noon(),
		ReportedAt: apitest.Noon(), Done: true,
		Figures: Figures{
			Stock: 40, Buyers: 200, Arrived: 200, Requests: 210, Accepted: 40, SoldOut: 900 * time.Millisecond,
			P99: 8 * time.Millisecond,
		},
	}
}
