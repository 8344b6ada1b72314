package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"time"
)

// Defaults of Config.
const (
	DefaultBodyLimit   int64 = 64 << 10         // bytes
	DefaultMaxWait           = 30 * time.Second // for ?wait=
	DefaultTokenCache        = 100_000          // verified tokens
	DefaultMaxInFlight       = 20_000           // requests worked on at once
	DefaultUserBurst         = 30               // requests at once, where there is a UserRate
	DefaultMaxStreams        = 20_000           // event streams at once
	DefaultUserStreams       = 10               // event streams of one user at once
)

// maxUserRate is the largest UserRate: a request each microsecond.
const maxUserRate = 1_000_000

// Config says what an API is made of and how it behaves. Vouchers, Desk, Log and Tokens.Secret are required.
type Config struct {
	Vouchers Vouchers
	Desk     Desk
	Log      *slog.Logger
	Tokens   TokenRules

	// The routes of a part that is nil do not exist.
	VoucherChanges VoucherChanges
	Shelf          Shelf
	Audit          Audit
	Monitor        Monitor
	// DeadLetters need the Audit, too.
	DeadLetters DeadLetters
	Clerk       Clerk
	Cashier     Cashier
	Storefront  Storefront
	Watcher     Watcher
	// Notices reads what the payment provider calls back with. Its route is there only with the Cashier, too.
	Notices Notices

	// DemoBuyers is how long the token is valid that POST /demo/buyer gives to anybody who asks; 0: the route does not
	// exist. It is for a service that runs for trying out, and for no other.
	DemoBuyers time.Duration

	// Checks are what /readyz runs. Without any the service is ready as long as it runs.
	Checks []Check
	// Observe is told of every request that was answered; nil: nobody is. The route is a pattern of this package, "" when
	// none matched; the code is one of the error table, "" for a success. The method is the caller's word.
	Observe func(method, route string, status int, code string, took time.Duration)
	// Now is the clock for token expiry and durations; default time.Now.
	Now func() time.Time
	// Zone is the time zone in which times without one are read; default UTC.
	Zone *time.Location
	// BodyLimit is the largest request body in bytes; default DefaultBodyLimit.
	BodyLimit int64
	// MaxWait is the longest that ?wait= may ask for; default DefaultMaxWait. The listener's write timeout follows it.
	MaxWait time.Duration
	// MaxInFlight is how many requests this instance works on at once; default DefaultMaxInFlight. Health checks, admins'
	// requests and event streams are not among them. Above half of it no answer waits for ?wait=.
	MaxInFlight int
	// UserRate is how many requests a second a user who is no admin may make in the long run, at most 1,000,000; 0: any
	// number. UserBurst is how many he may make at once; default DefaultUserBurst.
	UserRate, UserBurst int
	// MaxStreams is how many event streams may be open at once on this instance; default DefaultMaxStreams (some 36 KB
	// each). UserStreams is how many of them one user may have; default DefaultUserStreams.
	MaxStreams, UserStreams int
	// TrustedProxies are the addresses or networks whose X-Forwarded-For is believed; default none.
	TrustedProxies []string
	// AllowedOrigins are the origins, such as https://shop.example, whose pages may call from a browser, or "*" alone
	// for all; default none. Tokens travel in a header and never in a cookie, so "*" gives no page a user's session.
	AllowedOrigins []string
}

// TokenRules say which tokens are believed.
type TokenRules struct {
	// Secret is the HS256 key, MinSecret bytes or more.
	Secret []byte
	// Issuer and Audience are checked when set.
	Issuer, Audience string
	// CacheSize is how many verified tokens are remembered; default DefaultTokenCache (some 30 MB when full).
	CacheSize int
}

// filled returns the configuration with its defaults, or everything that is wrong with it.
func (cfg Config) filled() (Config, error) {
	var errs []error
	if cfg.Vouchers == nil || cfg.Desk == nil || cfg.Log == nil {
		errs = append(errs, errors.New("httpapi: Vouchers, Desk and Log are required"))
	}
	if len(cfg.Tokens.Secret) < MinSecret {
		errs = append(errs, ErrWeakSecret)
	}
	if min(cfg.BodyLimit, int64(cfg.MaxWait), int64(cfg.DemoBuyers)) < 0 ||
		min(cfg.Tokens.CacheSize, cfg.MaxInFlight, cfg.UserRate, cfg.UserBurst, cfg.MaxStreams, cfg.UserStreams) < 0 {
		errs = append(errs, errors.New("httpapi: limits cannot be negative"))
	}
	if cfg.UserRate > maxUserRate {
		errs = append(errs, fmt.Errorf("httpapi: UserRate cannot be more than %d", maxUserRate))
	}
	for _, origin := range cfg.AllowedOrigins {
		if err := checkOrigin(origin, len(cfg.AllowedOrigins)); err != nil {
			errs = append(errs, err)
		}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	cfg.BodyLimit = cmp.Or(cfg.BodyLimit, DefaultBodyLimit)
	cfg.MaxWait = cmp.Or(cfg.MaxWait, DefaultMaxWait)
	cfg.MaxInFlight = cmp.Or(cfg.MaxInFlight, DefaultMaxInFlight)
	cfg.UserBurst = cmp.Or(cfg.UserBurst, DefaultUserBurst)
	cfg.MaxStreams = cmp.Or(cfg.MaxStreams, DefaultMaxStreams)
	cfg.UserStreams = cmp.Or(cfg.UserStreams, DefaultUserStreams)
	cfg.Tokens.CacheSize = cmp.Or(cfg.Tokens.CacheSize, DefaultTokenCache)
	cfg.Tokens.Secret = slices.Clone(cfg.Tokens.Secret)
	return cfg, errors.Join(errs...)
}

// checkOrigin accepts "*" when it stands alone among n origins, and scheme://host[:port] as browsers send it.
func checkOrigin(origin string, n int) error {
	if origin == "*" {
		if n > 1 {
			return errors.New(`httpapi: the allowed origin "*" must stand alone`)
		}
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != origin {
		return fmt.Errorf("httpapi: %q is not an origin (allowed: scheme://host or scheme://host:port, or *)", origin)
	}
	return nil
}
