package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"seckill/internal/voucher"
)

// A verified token is cached, but not used beyond its exp.
func TestCachedTokenExpires(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64 // nanoseconds that the clock has moved on
	auth, err := newAuthenticator(TokenRules{Secret: secret}, func() time.Time {
		return noon.Add(time.Duration(ahead.Load()))
	})
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{"Authorization": {token(t, buyerID, RoleAdmin)}} // valid for an hour
	for _, step := range []struct {
		at      time.Duration
		allowed bool
	}{{0, true}, {time.Hour - time.Nanosecond, true}, {time.Hour, false}, {2 * time.Hour, false}, {time.Minute, true}} {
		ahead.Store(int64(step.at))
		who, err := auth.identify(h)
		if step.allowed && (err != nil || who != identity{userID: buyerID, admin: true}) {
			t.Errorf("after %s: %+v, %v", step.at, who, err)
		}
		if !step.allowed && (!errors.Is(err, errBadToken) || who != identity{}) {
			t.Errorf("after %s: %+v, %v, want errBadToken", step.at, who, err)
		}
	}
}

// Forged tokens must not push verified ones out of the cache, nor fill it.
func TestForgedTokensAreNotCached(t *testing.T) {
	t.Parallel()
	auth, err := newAuthenticator(TokenRules{Secret: secret}, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		forged := strings.Repeat("x", 40)
		if _, err := auth.identify(http.Header{"Authorization": {forged}}); !errors.Is(err, errBadToken) {
			t.Fatalf("error is %v", err)
		}
	}
	if n := auth.seen.EstimatedSize(); n != 0 {
		t.Errorf("%d forged tokens cached", n)
	}
}

func TestSeveralAuthorizationHeaders(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	good := token(t, buyerID, "")
	if _, err := a.auth.identify(http.Header{"Authorization": {good, good}}); !errors.Is(err, errBadToken) {
		t.Errorf("error is %v, want errBadToken", err)
	}
}

func TestSignTokenRefuses(t *testing.T) {
	t.Parallel()
	for name, sign := range map[string]func() (string, error){
		"short secret": func() (string, error) { return SignToken(secret[:31], 1, "", time.Hour, "", "", noon) },
		"user 0":       func() (string, error) { return SignToken(secret, 0, "", time.Hour, "", "", noon) },
		"user 2^53":    func() (string, error) { return SignToken(secret, voucher.MaxID+1, "", time.Hour, "", "", noon) },
		"role":         func() (string, error) { return SignToken(secret, 1, "root", time.Hour, "", "", noon) },
		"no time":      func() (string, error) { return SignToken(secret, 1, "", 0, "", "", noon) },
	} {
		if s, err := sign(); err == nil || s != "" {
			t.Errorf("%s: %q, %v", name, s, err)
		}
	}
}

func TestSignedTokenIsAccepted(t *testing.T) {
	t.Parallel()
	rules := TokenRules{Secret: secret, Issuer: "login", Audience: "seckill"}
	auth, err := newAuthenticator(rules, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	s, err := SignToken(secret, voucher.MaxID, RoleAdmin, time.Second, rules.Issuer, rules.Audience, noon)
	if err != nil {
		t.Fatal(err)
	}
	who, err := auth.identify(http.Header{"Authorization": {s}})
	if err != nil || who != (identity{userID: voucher.MaxID, admin: true}) {
		t.Errorf("%+v, %v", who, err)
	}
}

// Roles other than admin are a buyer's.
func TestUnknownRoleIsABuyer(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, role := range []string{"Admin", "ADMIN", "admin ", "root", "administrator"} {
		s, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"sub": "42", "role": role, "exp": noon.Add(time.Hour).Unix(),
		}).SignedString(secret)
		if err != nil {
			t.Fatal(err)
		}
		who, err := a.auth.identify(http.Header{"Authorization": {s}})
		if err != nil || who.admin {
			t.Errorf("role %q: %+v, %v", role, who, err)
		}
	}
}

func TestNewRefusesBadConfiguration(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"weak secret":    func(c *Config) { c.Tokens.Secret = secret[:31] },
		"no secret":      func(c *Config) { c.Tokens.Secret = nil },
		"no purchases":   func(c *Config) { c.Purchases = nil },
		"no vouchers":    func(c *Config) { c.Vouchers = nil },
		"no log":         func(c *Config) { c.Log = nil },
		"no zone":        func(c *Config) { c.Zone = nil },
		"no limit":       func(c *Config) { c.BodyLimit = 0 },
		"negative limit": func(c *Config) { c.BodyLimit = -1 },
		"no wait":        func(c *Config) { c.MaxWait = 0 },
		"negative wait":  func(c *Config) { c.MaxWait = -1 },
		"negative demo":  func(c *Config) { c.DemoBuyers = -1 },
		"no load":        func(c *Config) { c.MaxInFlight = 0 },
		"negative load":  func(c *Config) { c.MaxInFlight = -1 },
		"negative rate":  func(c *Config) { c.UserRate = -1 },
		"no burst":       func(c *Config) { c.UserBurst = 0 },
		"negative burst": func(c *Config) { c.UserBurst = -1 },
		"endless rate":   func(c *Config) { c.UserRate = maxUserRate + 1 },
		"streams":        func(c *Config) { c.MaxStreams = 0 },
		"own streams":    func(c *Config) { c.UserStreams = 0 },
		"proxy":          func(c *Config) { c.TrustedProxies = []string{"nonsense"} },
		"origin path":    func(c *Config) { c.AllowedOrigins = []string{"https://a.example/"} },
		"origin scheme":  func(c *Config) { c.AllowedOrigins = []string{"a.example"} },
		"* and others":   func(c *Config) { c.AllowedOrigins = []string{"*", "https://a.example"} },
	} {
		cfg := testConfig()
		if _, err := New(cfg); err != nil {
			t.Fatalf("good configuration: %v", err)
		}
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestDemoBuyer: each request makes another user, who is a buyer and no admin, for the configured time.
func TestDemoBuyer(t *testing.T) {
	t.Parallel()
	now := noon
	a := newAPI(t, func(cfg *Config) {
		cfg.DemoBuyers, cfg.Now = time.Hour, func() time.Time { return now }
		cfg.Tokens.Issuer, cfg.Tokens.Audience = "login", "seckill"
	})
	users := map[int64]bool{}
	var token string
	for range 20 {
		w := do(t, a, request{method: http.MethodPost, target: "/demo/buyer", header: map[string]string{"Authorization": ""}})
		var answer struct {
			Success bool
			Data    demoBuyerJSON
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusCreated || !answer.Success {
			t.Fatalf("%d %s: %v", w.Code, w.Body, err)
		}
		got := answer.Data
		if got.UserID < firstDemoUser || got.UserID > voucher.MaxID || users[got.UserID] || !got.Expires.Equal(noon.Add(time.Hour)) {
			t.Errorf("%+v, want a new user, from %d on, until %s", got, firstDemoUser, noon.Add(time.Hour))
		}
		users[got.UserID] = true
		who, err := a.auth.verifyCached(got.Token)
		if err != nil || who != (identity{userID: got.UserID}) {
			t.Errorf("their token is of %+v: %v", who, err)
		}
		token = got.Token
	}
	bearer := map[string]string{"Authorization": token}
	if w := do(t, a, request{method: http.MethodGet, target: "/order", header: bearer}); w.Code != http.StatusOK {
		t.Errorf("as a buyer: %d %s", w.Code, w.Body)
	}
	wantProblem(t, do(t, a, request{method: http.MethodGet, target: "/admin/order", header: bearer}), http.StatusForbidden, "FORBIDDEN")
	now = noon.Add(time.Hour)
	wantProblem(t, do(t, a, request{method: http.MethodGet, target: "/order", header: bearer}), http.StatusUnauthorized, "UNAUTHENTICATED")
}

// TestNoDemoBuyer: a service that is not configured to makes no demo buyers.
func TestNoDemoBuyer(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, header := range []string{"", "Bearer " + strconv.Itoa(1)} {
		w := do(t, a, request{method: http.MethodPost, target: "/demo/buyer", header: map[string]string{"Authorization": header}})
		wantProblem(t, w, http.StatusNotFound, "NOT_FOUND")
	}
}
