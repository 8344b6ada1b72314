package httpapi_test

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/voucher"
)

// A token is valid until its exp, however often it was used before.
func TestTokenExpires(t *testing.T) {
	t.Parallel()
	auth, err := newAuthenticator(authtoken.Rules{Secret: secret}, func(int64, time.Time) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{"Authorization": {token(t, buyerID, authtoken.RoleAdmin)}} // valid for an hour
	for _, step := range []struct {
		at      time.Duration
		allowed bool
	}{{0, true}, {time.Hour - time.Nanosecond, true}, {time.Hour, false}, {2 * time.Hour, false}, {time.Minute, true}} {
		who, err := auth.Identify(h, noon.Add(step.at))
		if step.allowed && (err != nil || who.UserID != buyerID || who.Role != authtoken.RoleAdmin ||
			!who.Expires.Equal(noon.Add(time.Hour))) {
			t.Errorf("after %s: %+v, %v", step.at, who, err)
		}
		if !step.allowed && (!errors.Is(err, errBadToken) || who != httpkit.Identity{}) {
			t.Errorf("after %s: %+v, %v, want errBadToken", step.at, who, err)
		}
	}
}

// A sign-out covers the tokens of signers whose clocks are up to a minute ahead; those of clocks further ahead are not
// valid at all. This service's own sessions need no such room: a session that is signed a second later is valid.
func TestSignOutCoversClocksAhead(t *testing.T) {
	t.Parallel()
	signedOut := noon
	auth, err := newAuthenticator(authtoken.Rules{Secret: secret, Accounts: true},
		func(_ int64, issued time.Time) bool { return !issued.After(signedOut) })
	if err != nil {
		t.Fatal(err)
	}
	for _, ahead := range []time.Duration{
		-time.Hour, -time.Minute, -time.Second, 0, time.Second, 30 * time.Second, time.Minute,
		time.Minute + time.Second, time.Hour,
	} {
		for name, claims := range map[string]jwt.MapClaims{
			"direct": {"sub": "42"}, "merchant": {"sub": "42", "role": "merchant", "shop": 1},
			"session": {"sub": strconv.FormatInt(voucher.FirstAccount, 10), "via": "session"},
		} {
			claims["iat"], claims["exp"] = noon.Add(ahead).Unix(), noon.Add(2*time.Hour).Unix()
			signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(secret)
			if err != nil {
				t.Fatal(err)
			}
			_, err = auth.Identify(http.Header{"Authorization": {signed}}, noon)
			valid := name == "session" && ahead > 0 && ahead <= time.Minute
			if (err == nil) != valid {
				t.Errorf("%s, %s ahead: %v, want valid %t", name, ahead, err, valid)
			}
		}
	}
}

func TestSeveralAuthorizationHeaders(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	good := token(t, buyerID, "")
	if _, err := a.Identify(http.Header{"Authorization": {good, good}}); !errors.Is(err, errBadToken) {
		t.Errorf("error is %v, want errBadToken", err)
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
		who, err := a.Identify(http.Header{"Authorization": {s}})
		if err != nil || who.Role != "" {
			t.Errorf("role %q: %+v, %v", role, who, err)
		}
	}
}

func TestNewRefusesBadConfiguration(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*setup){
		"weak secret":   func(c *setup) { c.Tokens.Secret = secret[:31] },
		"no secret":     func(c *setup) { c.Tokens.Secret = nil },
		"no purchases":  func(c *setup) { c.Purchases = nil },
		"no vouchers":   func(c *setup) { c.Vouchers = nil },
		"no log":        func(c *setup) { c.Log = nil },
		"no zone":       func(c *setup) { c.Zone = nil },
		"no wait":       func(c *setup) { c.MaxWait = 0 },
		"no load":       func(c *setup) { c.MaxInFlight = 0 },
		"no streams":    func(c *setup) { c.Streams = nil },
		"origin path":   func(c *setup) { c.AllowedOrigins = []string{"https://a.example/"} },
		"origin scheme": func(c *setup) { c.AllowedOrigins = []string{"a.example"} },
	} {
		cfg := testSetup()
		if _, err := cfg.Open(); err != nil {
			t.Fatalf("good configuration: %v", err)
		}
		change(&cfg)
		if _, err := cfg.Open(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
