package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/voucher"
)

// TestDemoBuyer: each request makes another user, who is a buyer and no admin, for the configured time.
func TestDemoBuyer(t *testing.T) {
	t.Parallel()
	now := noon
	a := newAPI(t, func(cfg *setup) {
		cfg.DemoTokens, cfg.Now = time.Hour, func() time.Time { return now }
		cfg.Tokens.Issuer, cfg.Tokens.Audience = "login", "seckill"
	})
	users := map[int64]bool{}
	var token string
	for range 20 {
		w := do(t, a, request{
			Method: http.MethodPost, Target: "/demo/buyer", Header: map[string]string{"Authorization": ""},
		})
		var answer struct {
			Success bool
			Data    demoTokenJSON
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil ||
			w.Code != http.StatusCreated || !answer.Success {
			t.Fatalf("%d %s: %v", w.Code, w.Body, err)
		}
		got := answer.Data
		if got.UserID < firstDemoUser || got.UserID > voucher.FirstAccount || users[got.UserID] ||
			!got.ValidUntil.Equal(noon.Add(time.Hour)) {
			t.Errorf("%+v, want a new user, from %d on, until %s", got, firstDemoUser, noon.Add(time.Hour))
		}
		users[got.UserID] = true
		who, err := a.Verify(got.Token)
		if err != nil || who.UserID != got.UserID || who.Admin() || !who.Expires.Equal(got.ValidUntil.Time) {
			t.Errorf("their token is of %+v: %v", who, err)
		}
		token = got.Token
	}
	bearer := map[string]string{"Authorization": token}
	if w := do(t, a, request{Method: http.MethodGet, Target: "/order", Header: bearer}); w.Code != http.StatusOK {
		t.Errorf("as a buyer: %d %s", w.Code, w.Body)
	}
	wantProblem(t, do(t, a, request{Method: http.MethodGet, Target: "/admin/order", Header: bearer}),
		http.StatusForbidden, "FORBIDDEN")
	now = noon.Add(time.Hour)
	wantProblem(t, do(t, a, request{Method: http.MethodGet, Target: "/order", Header: bearer}),
		http.StatusUnauthorized, "UNAUTHENTICATED")
}

// TestManyDemoBuyers: a script that makes buyers is refused, and people are not for long.
func TestManyDemoBuyers(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	a := newAPI(t, func(cfg *setup) {
		cfg.DemoTokens, cfg.Now = time.Hour, func() time.Time { return noon.Add(time.Duration(ahead.Load())) }
	})
	ask := func() *httptest.ResponseRecorder {
		return do(t, a, request{
			Method: http.MethodPost, Target: "/demo/buyer", Header: map[string]string{"Authorization": ""},
		})
	}
	for i := range demoBuyersAtOnce {
		if w := ask(); w.Code != http.StatusCreated {
			t.Fatalf("buyer %d: %d %s", i, w.Code, w.Body)
		}
	}
	w := ask()
	wantProblem(t, w, http.StatusTooManyRequests, "RATE_LIMITED")
	if got := w.Header().Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q", got)
	}
	ahead.Store(int64(time.Second))
	if w := ask(); w.Code != http.StatusCreated {
		t.Errorf("a second later: %d %s", w.Code, w.Body)
	}
}

// TestNoDemo: a service that is not configured to gives out no tokens.
func TestNoDemo(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, path := range []string{"/demo/buyer", "/demo/admin"} {
		for _, header := range []string{"", "Bearer 1"} {
			w := do(t, a, request{
				Method: http.MethodPost, Target: path, Body: `{"code":""}`,
				Header: map[string]string{"Authorization": header},
			})
			wantProblem(t, w, http.StatusNotFound, "NOT_FOUND")
		}
	}
}

// TestDemoBuyerForOwnPages: buyers are made for the service's own pages and for programs, not for those of other sites,
// nor by a name that somebody had lead here.
func TestDemoBuyerForOwnPages(t *testing.T) {
	t.Parallel()
	const made, refused = http.StatusCreated, http.StatusForbidden
	page := func(origin, site string) map[string]string {
		return map[string]string{"Authorization": "", "Origin": origin, "Sec-Fetch-Site": site}
	}
	for name, c := range map[string]struct {
		allowed []string
		target  string
		header  map[string]string
		status  int
	}{
		"a program":        {nil, "http://127.0.0.1:8080", nil, made},
		"the own page":     {nil, "http://localhost:8080", page("http://localhost:8080", "same-origin"), made},
		"on the LAN":       {nil, "http://192.168.1.7", page("http://192.168.1.7", ""), made},
		"a known name":     {nil, "http://example.com", nil, made},
		"another site":     {nil, "http://localhost", page("https://evil.example", "cross-site"), refused},
		"an old browser":   {nil, "http://localhost", page("https://evil.example", ""), refused},
		"a sandboxed page": {nil, "http://localhost", page("null", "cross-site"), refused},
		"a foreign name":   {nil, "http://evil.example", page("http://evil.example", "same-origin"), refused},
		"an allowed page": {
			[]string{"https://shop.example"},
			"http://localhost", page("https://shop.example", "cross-site"),
			made,
		},
		"every page": {[]string{"*"}, "http://localhost", page("https://any.example", "cross-site"), made},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, func(cfg *setup) { cfg.DemoTokens, cfg.AllowedOrigins = time.Hour, c.allowed })
			w := do(t, a, request{Method: http.MethodPost, Target: c.target + "/demo/buyer", Header: c.header})
			if w.Code != c.status {
				t.Errorf("%d %s, want %d", w.Code, w.Body, c.status)
			}
		})
	}
}

// signInWith asks for an admin's token from an address.
func signInWith(t *testing.T, a *API, code, from string, header map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	return do(t, a, request{
		Method: http.MethodPost, Target: "/demo/admin", Body: `{"code":"` + code + `"}`, Header: header, From: from,
	})
}

// TestSignInLink: the code makes one admin of the first who gives it back, on this machine; many at once are one.
func TestSignInLink(t *testing.T) {
	t.Parallel()
	const here = "127.0.0.1:40000"
	a := newAPI(t, func(cfg *setup) { cfg.DemoTokens, cfg.SignInCode = time.Hour, "open-sesame" })
	for name, try := range map[string]struct {
		code, from string
		header     map[string]string
		status     int
		problem    string
	}{
		"another code":    {"open", here, nil, http.StatusUnauthorized, "UNAUTHENTICATED"},
		"no code":         {"", here, nil, http.StatusUnauthorized, "UNAUTHENTICATED"},
		"another machine": {"open-sesame", "192.0.2.7:40000", nil, http.StatusForbidden, "FORBIDDEN"},
		"an old proxy": {
			"open-sesame", here, map[string]string{"X-Forwarded-For": "192.0.2.7"}, http.StatusForbidden, "FORBIDDEN",
		},
		"a standard proxy": {
			"open-sesame", here, map[string]string{"Forwarded": "for=192.0.2.7"}, http.StatusForbidden, "FORBIDDEN",
		},
	} {
		w := signInWith(t, a, try.code, try.from, try.header)
		if w.Code != try.status {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
			continue
		}
		wantProblem(t, w, try.status, try.problem)
	}
	var admins atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			if w := signInWith(t, a, "open-sesame", "[::1]:40000", nil); w.Code == http.StatusCreated {
				admins.Add(1)
				var answer struct{ Data demoTokenJSON }
				if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
					t.Error(err)
				}
				if who, err := a.Verify(answer.Data.Token); err != nil || !who.Admin() ||
					who.UserID != demoAdminID {
					t.Errorf("their token is of %+v: %v", who, err)
				}
			}
		})
	}
	callers.Wait()
	if admins.Load() != 1 {
		t.Errorf("the link was used %d times, want once", admins.Load())
	}
	nobody := newAPI(t, func(cfg *setup) { cfg.DemoTokens = time.Hour })
	wantProblem(t, signInWith(t, nobody, "", here, nil), http.StatusUnauthorized, "UNAUTHENTICATED")
}
