package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gin-gonic/gin"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/testkit/apitest"
	"seckill/internal/voucher"
)

// Every route that uses a store has a class, and admins' routes have theirs, which nobody else has.
func TestRoutesHaveClasses(t *testing.T) {
	t.Parallel()
	for _, r := range everything(t).AllRoutes() {
		storeless := r.Path == healthzPath || r.Path == readyzPath // the latter names its class for both listeners
		if (r.Class == bulkhead.Unnamed) != storeless ||
			(r.Class == bulkhead.Admin) != (r.Access == httpkit.ForAdmins || r.Access == httpkit.ForMerchants) {
			t.Errorf("%s %s is of class %s", r.Method, r.Path, r.Class)
		}
		if (r.Class == bulkhead.PublicRead) != (r.Access == httpkit.ForAll && !storeless &&
			!strings.HasPrefix(r.Path, "/payment/callback")) {
			t.Errorf("%s %s, for whom it is, is of class %s", r.Method, r.Path, r.Class)
		}
	}
}

// What a handler asks of the stores counts as its route's class.
func TestHandlersWorkInTheirClass(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, class := range bulkhead.Requests() {
		var got bulkhead.Class
		r := httpkit.Route{Class: class, Handle: func(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
			got = bulkhead.Of(c.Request.Context())
			return httpkit.Answer{Status: http.StatusOK, Body: []byte("{}")}, nil
		}}
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = request{Method: http.MethodGet, Target: "/"}.HTTP(t, t.Context())
		a.Serve(r)(c)
		if got != class {
			t.Errorf("a route of class %s works in %s", class, got)
		}
	}
}

// Merchants' reads take no permits of admins', neither in flight nor of the stores, so that a shop's lists leave room
// for its sale; what merchants change, and what admins read, does.
func TestMerchantsReadsYield(t *testing.T) {
	t.Parallel()
	admin, merchant := token(t, adminID, authtoken.RoleAdmin), apitest.MerchantToken(t, apitest.ShopID)
	for _, c := range []struct {
		method, token string
		want          bulkhead.Class
	}{
		{http.MethodGet, merchant, bulkhead.OwnRead},
		{http.MethodPost, merchant, bulkhead.Admin},
		{http.MethodGet, admin, bulkhead.Admin},
	} {
		a := newAPI(t)
		var inFlight, ofStores bulkhead.Class
		r := httpkit.Staff(c.method+" /", func(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
			ofStores = bulkhead.Of(c.Request.Context())
			for _, load := range a.Load().Requests {
				if load.InUse > 0 {
					inFlight = load.Class
				}
			}
			return httpkit.Answer{Status: http.StatusOK, Body: []byte("{}")}, nil
		}, httpkit.ByHandler)
		gc, _ := gin.CreateTestContext(httptest.NewRecorder())
		gc.Request = request{Method: c.method, Target: "/", Header: map[string]string{
			"Authorization": c.token,
		}}.HTTP(t, t.Context())
		a.Serve(r)(gc)
		if inFlight != c.want || ofStores != c.want {
			t.Errorf("%s is of class %s in flight, and %s at the stores, want %s", c.method, inFlight, ofStores, c.want)
		}
	}
}

// A crowd of readers that a store keeps waiting leaves room for buyers, owners and admins; strangers who ask admins'
// routes take nothing from admins.
func TestReadersLeaveRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answered := make(chan struct{})
		a := newAPI(t, func(cfg *setup) {
			cfg.MaxInFlight = 100
			cfg.Vouchers = &fakeVouchers{OnList: func(int64) ([]voucher.Shown, error) { <-answered; return nil, nil }}
		})
		var readers sync.WaitGroup
		var mu sync.Mutex
		codes := map[int]int{}
		for range 1000 {
			readers.Go(func() {
				w := do(t, a, request{Method: http.MethodGet, Target: "/voucher/list/1"})
				mu.Lock()
				defer mu.Unlock()
				codes[w.Code]++
			})
		}
		synctest.Wait()
		if n := a.Load().InFlight; n != 25 { // 6 of their own, and a quarter of 76
			t.Errorf("%d readers are in flight", n)
		}
		admin := map[string]string{"Authorization": token(t, adminID, authtoken.RoleAdmin)}
		for range 50 {
			for _, ask := range []struct {
				request

				status int
			}{
				{request{Method: http.MethodPost, Target: "/voucher/seckill/5"}, http.StatusAccepted},
				{request{Method: http.MethodGet, Target: "/order"}, http.StatusOK},
				{request{Method: http.MethodPost, Target: "/voucher/5/pause", Header: admin}, http.StatusOK},
				{request{Method: http.MethodPost, Target: "/voucher/5/pause"}, http.StatusForbidden},
			} {
				if w := do(t, a, ask.request); w.Code != ask.status && w.Code != http.StatusTooManyRequests {
					t.Errorf("%s %s: %d", ask.Method, ask.Target, w.Code)
				}
			}
		}
		close(answered)
		readers.Wait()
		if codes[http.StatusOK] != 25 || codes[http.StatusServiceUnavailable] != 975 {
			t.Errorf("readers got %v", codes)
		}
	})
}
