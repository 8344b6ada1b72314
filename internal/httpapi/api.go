package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/voucher/guards"
)

// API answers HTTP requests. It is safe for concurrent use.
type API struct {
	cfg         Config
	router      *gin.Engine
	auth        *authenticator
	languages   *httpkit.Languages
	errors      *renderedErrors
	ready       *readiness
	users       *rateLimit[int64] // nil: users may ask as often as they like
	failed      *failedTokens
	bodies      httpkit.Bodies
	log         *slog.Logger
	failureLogs *rate.Limiter
	traceLogs   *rate.Limiter
	demoBuyers  *rate.Limiter
	signIn      *signInCode
	origins     *http.CrossOriginProtection
	headers     fixedHeaders
}

// fixedHeaders are header values that are the same in every answer, allocated once. Nobody changes them.
type fixedHeaders struct{ json, problem, nosniff, noStore, closing, byLanguage []string }

// New returns the API, or an error for a configuration that lacks something. It starts nothing.
func New(cfg Config) (*API, error) {
	if cfg.Log == nil || cfg.FindKey == nil || cfg.Streams == nil || cfg.InFlight == nil {
		return nil, errors.New("httpapi: Log, FindKey, Streams and InFlight are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Gatekeeper == nil {
		cfg.Gatekeeper, cfg.GuardsOf = httpkit.NoGuards{}, func(int64) *guards.Settings { return nil }
	}
	if cfg.Void == nil {
		cfg.Void = func(int64, time.Time) bool { return false }
	}
	auth, err := newAuthenticator(cfg.Tokens, cfg.Void)
	if err != nil {
		return nil, err
	}
	languages, err := httpkit.NewLanguages()
	if err != nil {
		return nil, err
	}
	a := &API{
		cfg: cfg, auth: auth, languages: languages, errors: renderErrors(rules(cfg.Rules)), log: cfg.Log,
		bodies:      httpkit.Bodies{Limit: cfg.BodyLimit},
		ready:       newReadiness(cfg.Checks, cfg.Now),
		users:       newUserLimit(cfg.UserRate, cfg.UserBurst, cfg.Now()),
		failed:      newFailedTokens(cfg.Now()),
		failureLogs: rate.NewLimiter(failureLogsPerSecond, failureLogsPerSecond),
		traceLogs:   rate.NewLimiter(tracesPerSecond, tracesPerSecond),
		demoBuyers:  rate.NewLimiter(demoBuyersPerSecond, demoBuyersAtOnce),
		signIn:      newSignInCode(cfg.SignInCode),
		headers: fixedHeaders{
			json:       []string{"application/json"},
			problem:    []string{"application/problem+json"},
			nosniff:    []string{"nosniff"},
			noStore:    []string{"no-store"},
			closing:    []string{"close"},
			byLanguage: []string{"Accept-Language"},
		},
	}
	if a.origins, err = newOrigins(cfg.AllowedOrigins); err != nil {
		return nil, err
	}
	if a.router, err = a.newRouter(); err != nil {
		return nil, err
	}
	return a, nil
}

// Handler returns the public listener's handler.
func (a *API) Handler() http.Handler { return a.router }

// Drain makes /readyz answer 503 from now on, so that load balancers send no new callers here. Requests are still
// answered.
func (a *API) Drain() { a.ready.drain() }

// Load is how much work an API has.
type Load struct {
	InFlight int64           // requests, without admins'
	Streams  int64           // event streams that are open
	Refused  int64           // requests since the start, because too many were in flight
	Requests []bulkhead.Load // in flight, by class
}

// Load returns how much there is to do now.
func (a *API) Load() Load {
	l := Load{Streams: int64(a.cfg.Streams.Count()), Requests: a.cfg.InFlight.Loads()}
	for _, class := range l.Requests {
		if class.Class != bulkhead.Admin {
			l.InFlight += int64(class.InUse)
		}
		l.Refused += class.Shed
	}
	for _, apart := range a.cfg.Apart {
		for _, class := range apart.Loads() {
			l.Refused += class.Shed
		}
	}
	return l
}
