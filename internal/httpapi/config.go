package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/authtoken"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/clientip"
	"seckill/internal/kit/idempotency"
	"seckill/internal/voucher/guards"
)

// Config says what an API is made of and how it behaves. Log, Tokens.Secret, FindKey, Streams and InFlight are
// required, and so is every limit, UserRate apart. internal/kit/config has the defaults, and checks what is set.
type Config struct {
	Log    *slog.Logger
	Tokens authtoken.Rules
	// FindKey returns nil for a request that has not been done, *idempotency.RepeatedError for one that has,
	// idempotency.ErrReused if its key was used for another one, or order.ErrUnavailable.
	FindKey func(ctx context.Context, k idempotency.Key) error

	// Void reports whether a token is void that was issued to a user at a time, zero if it does not say when; nil: none
	// is. It is asked with each token.
	Void func(userID int64, issued time.Time) bool

	// Routes and Rules are those of the shop and of features. Of several rules that match an error the first answers.
	Routes []httpkit.Route
	Rules  []httpkit.Rule
	// Gatekeeper stands before those routes of sales with guards that are [httpkit.Limited]; nil: no sale has guards.
	// GuardsOf, needed with it, returns the guards of a voucher's sale that is remembered, nil without any, and asks no
	// store.
	Gatekeeper httpkit.Gatekeeper
	GuardsOf   func(voucherID int64) *guards.Settings

	// DemoTokens is how long a token is valid that POST /demo/buyer gives to everybody who asks, and POST /demo/admin
	// once; 0: these routes do not exist. They are for a service that runs for trying out, and for no other.
	DemoTokens time.Duration
	// SignInCode is what POST /demo/admin gives an admin's token for, once, to a caller on this machine; "": to nobody.
	SignInCode string

	// OperationsHosts are the names by which the operations listener answers, and POST /demo/buyer, besides localhost
	// and every IP address; "*": every name.
	OperationsHosts []string

	// NoPage answers browsers that ask for an address at which there is nothing; nil: they are answered as programs.
	NoPage http.HandlerFunc

	// Checks are what /readyz runs. Without any the service is ready as long as it runs.
	Checks []Check
	// Observe is called after each answered request; nil: nothing is. The route is a pattern of this package, "" when
	// none matched; the code is one of the error table, "" for a success. The method is as the caller sent it.
	Observe func(method, route string, status int, code string, took time.Duration)
	// Now is the clock for token expiry and durations; nil: time.Now.
	Now func() time.Time
	// BodyLimit is the largest request body in bytes.
	BodyLimit int64
	// MaxWait is the longest that ?wait= may ask for. The listener's write timeout follows it.
	MaxWait time.Duration
	// InFlight is the bound of requests that this instance works on at once, which the classes of callers share. Health
	// checks and event streams are not among them.
	InFlight *bulkhead.Bulkhead
	// Apart are the bounds of routes that have their own. What they refuse counts as refused.
	Apart []*bulkhead.Bulkhead
	// UserRate is how many requests a second a user who is no admin may make in the long run, at most 1,000,000; 0: any
	// number. UserBurst is how many they may make at once.
	UserRate, UserBurst int
	// Streams are the streams of this instance, which features open too.
	Streams *httpkit.Streams
	// Addresses find out from which address a request comes; nil: no proxy is believed.
	Addresses *clientip.Addresses
	// AllowedOrigins are the origins, such as https://shop.example, whose pages may call from a browser, or "*" alone
	// for all; none without. Tokens travel in a header and never in a cookie, so "*" gives no page a user's session.
	AllowedOrigins []string
}
