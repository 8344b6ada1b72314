package apitest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/httpkit"
)

// Callers and times of the tests.
const (
	BuyerID = 42
	AdminID = 7
	TillID  = 70
	ShopID  = 9

	MerchantID  = 80
	OtherShopID = 4711
)

// Secret signs the tokens of tests.
const Secret = "0123456789abcdef0123456789abcdef"

// Noon is the time at which tests of routes take place.
func Noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

// BrokenOff is a body that ends before it is complete.
const BrokenOff = "\x00broken off"

// Request is a request with a buyer's token, unless Header says otherwise.
type Request struct {
	Method, Target, Body string
	Header               map[string]string // "" removes a header
	From                 string            // the caller's address and port; "": some other machine
}

// HTTP returns the request.
func (req Request) HTTP(tb testing.TB, ctx context.Context) *http.Request {
	tb.Helper()
	var body io.Reader
	switch req.Body {
	case "":
	case BrokenOff:
		body = brokenBody{}
	default:
		body = strings.NewReader(req.Body)
	}
	r := httptest.NewRequestWithContext(ctx, req.Method, req.Target, body)
	r.Header.Set("Authorization", Token(tb, BuyerID, ""))
	if req.Body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range req.Header {
		if value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, value)
		}
	}
	if req.From != "" {
		r.RemoteAddr = req.From
	}
	return r
}

// Token returns a token of a user with a role.
func Token(tb testing.TB, userID int64, role string) string {
	tb.Helper()
	return signed(tb, authtoken.Account{User: userID, Role: role})
}

// TillToken returns the token of a till.
func TillToken(tb testing.TB) string {
	tb.Helper()
	return signed(tb, authtoken.Account{User: TillID, Role: authtoken.RoleTill, Shop: ShopID})
}

// MerchantToken returns the token of a merchant of a shop.
func MerchantToken(tb testing.TB, shopID int64) string {
	tb.Helper()
	return signed(tb, authtoken.Account{User: MerchantID, Role: authtoken.RoleMerchant, Shop: shopID})
}

func signed(tb testing.TB, of authtoken.Account) string {
	tb.Helper()
	s, err := authtoken.Sign(authtoken.Rules{Secret: []byte(Secret)}, of, time.Hour, Noon())
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// tokenFor returns a token that may use the route. TestAccess of httpapi tests which tokens may.
func tokenFor(tb testing.TB, access httpkit.Access) string {
	tb.Helper()
	switch access {
	case httpkit.ForAdmins, httpkit.ForMerchants, httpkit.ForCrowds:
		return Token(tb, AdminID, authtoken.RoleAdmin)
	case httpkit.ForTills:
		return TillToken(tb)
	case httpkit.ForUsers, httpkit.ForBuyers, httpkit.ForAll:
	}
	return Token(tb, BuyerID, "")
}

// brokenBody is a request body whose connection breaks.
type brokenBody struct{}

// Read fails.
func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("broken off") }

// Close closes nothing.
func (brokenBody) Close() error { return nil }
