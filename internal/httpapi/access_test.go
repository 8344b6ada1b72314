package httpapi_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/testkit/apitest"
)

// fill makes a path of a pattern.
func fill(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, ":") {
			parts[i] = "5"
		}
	}
	return strings.Join(parts, "/")
}

// The routes are read from the engine: one that is added without a row here fails the test.
func TestAccessOfEveryRoute(t *testing.T) {
	t.Parallel()
	want := map[string]httpkit.Access{
		"POST /voucher":                      httpkit.ForMerchants,
		"POST /voucher/seckill":              httpkit.ForMerchants,
		"GET /voucher/list/:shopId":          httpkit.ForAll,
		"HEAD /voucher/list/:shopId":         httpkit.ForAll,
		"GET /voucher/:id":                   httpkit.ForAll,
		"HEAD /voucher/:id":                  httpkit.ForAll,
		"POST /voucher/seckill/:id":          httpkit.ForBuyers,
		"POST /voucher-order/seckill/:id":    httpkit.ForBuyers,
		"POST /voucher/buy/:id":              httpkit.ForBuyers,
		"PATCH /voucher/:id":                 httpkit.ForMerchants,
		"POST /voucher/:id/stock":            httpkit.ForMerchants,
		"POST /voucher/:id/pause":            httpkit.ForMerchants,
		"POST /voucher/:id/resume":           httpkit.ForMerchants,
		"POST /voucher/:id/archive":          httpkit.ForMerchants,
		"POST /voucher/:id/restore":          httpkit.ForMerchants,
		"GET /order/events":                  httpkit.ForBuyers,
		"HEAD /order/events":                 httpkit.ForBuyers,
		"GET /order/:id/events":              httpkit.ForBuyers,
		"HEAD /order/:id/events":             httpkit.ForBuyers,
		"POST /order/:id/pay":                httpkit.ForBuyers,
		"POST /order/:id/cancel":             httpkit.ForBuyers,
		"POST /order/:id/refund":             httpkit.ForBuyers,
		"POST /admin/voucher/:id/call-off":   httpkit.ForMerchants,
		"GET /admin/voucher/:id/call-off":    httpkit.ForMerchants,
		"HEAD /admin/voucher/:id/call-off":   httpkit.ForMerchants,
		"GET /admin/order":                   httpkit.ForMerchants,
		"HEAD /admin/order":                  httpkit.ForMerchants,
		"GET /admin/order/:id":               httpkit.ForMerchants,
		"GET /admin/search":                  httpkit.ForMerchants,
		"HEAD /admin/search":                 httpkit.ForMerchants,
		"GET /admin/payment":                 httpkit.ForMerchants,
		"HEAD /admin/payment":                httpkit.ForMerchants,
		"GET /admin/payment/:id":             httpkit.ForMerchants,
		"HEAD /admin/payment/:id":            httpkit.ForMerchants,
		"POST /admin/payment/:id/refund":     httpkit.ForMerchants,
		"POST /admin/payment/:id/retry":      httpkit.ForMerchants,
		"POST /admin/payment/:id/close":      httpkit.ForMerchants,
		"HEAD /admin/order/:id":              httpkit.ForMerchants,
		"POST /admin/order/:id/cancel":       httpkit.ForMerchants,
		"POST /admin/order/:id/refund":       httpkit.ForMerchants,
		"GET /admin/voucher":                 httpkit.ForMerchants,
		"HEAD /admin/voucher":                httpkit.ForMerchants,
		"GET /admin/voucher/:id/live":        httpkit.ForMerchants,
		"HEAD /admin/voucher/:id/live":       httpkit.ForMerchants,
		"GET /admin/deadletter":              httpkit.ForAdmins,
		"HEAD /admin/deadletter":             httpkit.ForAdmins,
		"POST /admin/deadletter/:id/replay":  httpkit.ForAdmins,
		"HEAD /admin/partition":              httpkit.ForAdmins,
		"GET /admin/partition":               httpkit.ForAdmins,
		"HEAD /admin/notice":                 httpkit.ForAdmins,
		"HEAD /admin/provider":               httpkit.ForAdmins,
		"GET /admin/provider":                httpkit.ForAdmins,
		"GET /admin/notice":                  httpkit.ForAdmins,
		"POST /admin/deadletter/:id/discard": httpkit.ForAdmins,
		"GET /admin/audit":                   httpkit.ForMerchants,
		"HEAD /admin/audit":                  httpkit.ForMerchants,
		"POST /payment/callback":             httpkit.ForAll,
		"POST /payment/callback/:provider":   httpkit.ForAll,
		"GET /order/:id":                     httpkit.ForBuyers,
		"HEAD /order/:id":                    httpkit.ForBuyers,
		"GET /order":                         httpkit.ForBuyers,
		"HEAD /order":                        httpkit.ForBuyers,
		"GET /healthz":                       httpkit.ForAll,
		"HEAD /healthz":                      httpkit.ForAll,
		"GET /readyz":                        httpkit.ForAll,
		"HEAD /readyz":                       httpkit.ForAll,
	}
	a := newAPI(t, forgeryRules)
	sign := func(of authtoken.Account) string {
		s, err := authtoken.Sign(a.Config.Tokens, of, time.Hour, noon)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	buyer := sign(authtoken.Account{User: buyerID})
	admin := sign(authtoken.Account{User: buyerID, Role: authtoken.RoleAdmin})
	till := sign(authtoken.Account{User: apitest.TillID, Role: authtoken.RoleTill, Shop: apitest.ShopID})
	merchant := sign(authtoken.Account{User: apitest.MerchantID, Role: authtoken.RoleMerchant, Shop: apitest.ShopID})
	forged := forgeries(t)
	var routes []string
	for _, r := range a.Router().Routes() {
		name := r.Method + " " + r.Path
		routes = append(routes, name)
		may, known := want[name]
		if !known {
			t.Errorf("route %s has no row in this test", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try := func(what, authorization string, status int, code string) {
				t.Helper()
				w := do(t, a, request{
					Method: r.Method, Target: fill(r.Path), Header: map[string]string{"Authorization": authorization},
				})
				in := w.Code != http.StatusUnauthorized && (w.Code != http.StatusForbidden ||
					read(t, w).Code != "FORBIDDEN")
				if status == 0 {
					if !in {
						t.Errorf("%s: %d %s, want access", what, w.Code, w.Body)
					}
					return
				}
				if w.Code != status || read(t, w).Code != code {
					t.Errorf("%s: %d %s, want %d %s", what, w.Code, w.Body, status, code)
				}
				if challenge := w.Header().Get("WWW-Authenticate"); (status == http.StatusUnauthorized) !=
					strings.HasPrefix(challenge, "Bearer") {
					t.Errorf("%s: WWW-Authenticate is %q", what, challenge)
				}
			}
			outside, role := http.StatusUnauthorized, 0
			if may == httpkit.ForAll {
				outside = 0
			}
			if may == httpkit.ForAdmins || may == httpkit.ForMerchants {
				role = http.StatusForbidden
			}
			if may == httpkit.ForBuyers {
				status := http.StatusForbidden
				if strings.HasPrefix(r.Path, "/voucher-order/") {
					status = http.StatusOK // the tutorial's, for what is no breakdown
				}
				try("till", till, status, "FORBIDDEN")
				try("crowd", crowdToken(t, a, 4711), status, "FORBIDDEN")
			}
			if may == httpkit.ForAdmins || may == httpkit.ForMerchants {
				try("till", till, http.StatusForbidden, "FORBIDDEN")
				try("crowd of another", crowdToken(t, a, 4711), http.StatusForbidden, "FORBIDDEN")
				try("crowd of none", crowdToken(t, a, 0), http.StatusForbidden, "FORBIDDEN")
			}
			if may == httpkit.ForAdmins {
				try("merchant", merchant, http.StatusForbidden, "FORBIDDEN")
			} else {
				try("merchant", merchant, 0, "")
			}
			try("no token", "", outside, "UNAUTHENTICATED")
			for _, what := range slices.Sorted(maps.Keys(forged)) {
				try(what, forged[what], outside, "UNAUTHENTICATED")
				try(what+", bearer", "Bearer "+forged[what], outside, "UNAUTHENTICATED")
			}
			try("buyer", buyer, role, "FORBIDDEN")
			try("admin", admin, 0, "")
		})
	}
	slices.Sort(routes)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), routes); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}

func TestTokenForms(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	good := token(t, buyerID, "")
	for _, form := range []string{"%s", "Bearer %s", "bearer %s", "BEARER  %s", "Bearer\t%s", " %s "} {
		w := do(t, a, request{
			Method: http.MethodGet, Target: "/order",
			Header: map[string]string{"Authorization": fmt.Sprintf(form, good)},
		})
		if w.Code != http.StatusOK {
			t.Errorf("%q: %d %s", form, w.Code, w.Body)
		}
	}
	for _, form := range []string{"Bearer%s", "Token %s", "%s %[1]s", "bearer Bearer %s", "%s,%[1]s"} {
		w := do(t, a, request{
			Method: http.MethodGet, Target: "/order",
			Header: map[string]string{"Authorization": fmt.Sprintf(form, good)},
		})
		wantProblem(t, w, http.StatusUnauthorized, "UNAUTHENTICATED")
	}
}

// crowdToken is a token of a rehearsal's crowd, under an API's rules.
func crowdToken(t *testing.T, a *API, rehearsal int64) string {
	t.Helper()
	s, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": "8000000000000000", "role": authtoken.RoleCrowd, "voucher": rehearsal, "iss": a.Config.Tokens.Issuer,
		"aud": a.Config.Tokens.Audience, "iat": noon.Unix(), "exp": noon.Add(time.Minute).Unix(),
	}).SignedString(a.Config.Tokens.Secret)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
