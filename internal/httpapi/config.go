package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/clientip"
	"seckill/internal/kit/idempotency"
	"seckill/internal/voucher/guards"
)

// Config says what an API is made of and how it behaves. Log, Tokens.Secret, FindKey, Streams and InFlight are
// required, and so is every limit, UserRate apart. internal/config has the defaults, and checks what is set.
type Config struct {
	Log    *slog.Logger
	Tokens authtoken.Rules
	// FindKey returns nil for a request that has not been done, *idempotency.RepeatedError for one that has,
	// idempotency.ErrReused if its key was used for another one, or order.ErrUnavailable.
	FindKey func(ctx context.Context, k idempotency.Key) error

	// Void reports whether a user's token that was issued at a time has been revoked; the time is zero if the token
	// does not say. It is called for each token. nil: no token is ever revoked.
	Void func(userID int64, issued time.Time) bool

	// Routes and Rules are those of the shop and of features. If several rules match an error, the first decides.
	Routes []httpkit.Route
	Rules  []httpkit.Rule
	// Gatekeeper runs the guards of sales before routes that are [httpkit.Limited]; nil: no sale has guards. GuardsOf,
	// required with it, returns the guards of a voucher's sale from memory, or nil if it has none or is not in memory.
	Gatekeeper httpkit.Gatekeeper
	GuardsOf   func(voucherID int64) *guards.Settings

	// Refused is told of requests to buy in a sale that were refused; nil: nobody is told.
	Refused httpkit.Refused

	// DemoTokens is how long tokens for trying out are valid; 0: their routes do not exist. POST /demo/buyer gives one
	// to everybody who asks, and POST /demo/admin gives one once. Never set it for a service in production.
	DemoTokens time.Duration
	// SignInCode is the code for which POST /demo/admin gives an admin's token, once, to a caller on this machine; "":
	// it gives none.
	SignInCode string

	// OperationsHosts are the host names, besides localhost and IP addresses, for which the operations listener and
	// POST /demo/buyer answer; "*": every name.
	OperationsHosts []string

	// NoPage answers browsers that ask for an address at which there is nothing; nil: they are answered as programs.
	NoPage http.HandlerFunc

	// Checks are the checks that /readyz runs. Without any, the service is ready as long as it runs.
	Checks []Check
	// Observe is called after each answered request, unless it is nil. route is a pattern of this package, "" if none
	// matched; code is one of the error table, "" for a success; method is as the caller sent it.
	Observe func(method, route string, status int, code string, took time.Duration)
	// Traces has requests followed whose traceparent is sampled (package trace): they are logged.
	Traces bool
	// Now is the clock for token expiry and durations; nil: time.Now.
	Now func() time.Time
	// BodyLimit is the largest request body in bytes.
	BodyLimit int64
	// InFlight bounds how many requests this instance works on at once; the classes of callers share it. Health checks
	// and event streams do not count.
	InFlight *bulkhead.Bulkhead
	// Apart are the bounds of routes that have their own. Requests that they refuse count in Load.Refused.
	Apart []*bulkhead.Bulkhead
	// UserRate is how many requests per second a user who is not an admin may make on average, at most 1,000,000; 0:
	// any number. UserBurst is how many they may make at once.
	UserRate, UserBurst int
	// Streams are the streams of this instance, which features open too.
	Streams *httpkit.Streams
	// Addresses finds a request's client address; nil: it trusts no proxy.
	Addresses *clientip.Addresses
	// AllowedOrigins are the origins, such as https://shop.example, whose pages may call from a browser; "*" alone:
	// all. Tokens are sent in a header and never in a cookie, so "*" gives no page a user's session.
	AllowedOrigins []string
}
