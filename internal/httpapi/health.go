package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/bulkhead"
)

const (
	healthzPath = "/healthz"
	readyzPath  = "/readyz"
	// checkTimeout is how long /readyz waits for its checks.
	checkTimeout = 2 * time.Second
	// reportAge is how long a report is reused: anybody may call /readyz, and that should not load the stores.
	reportAge = 500 * time.Millisecond
)

// Check is one thing that /readyz checks.
type Check struct {
	Name string
	// Required: the service cannot work without it, and /readyz answers 503. When a check that is not required fails,
	// the service is degraded, but still ready.
	Required bool
	// Run returns an error if the check fails. It must end with its context. Everybody can read the error's text, so it
	// must not contain an address with a password.
	Run func(context.Context) error
}

// readyReport is the body of /readyz.
type readyReport struct {
	Status string        `json:"status"` // ready, degraded, unready or draining; starting is Starting's
	Checks []checkResult `json:"checks"`
}

// checkResult is the result of one check.
type checkResult struct {
	Name     string `json:"name"`
	Required bool   `json:"required"`
	OK       bool   `json:"ok"`
	Detail   string `json:"detail,omitempty"`
}

// readiness runs the checks for both listeners.
type readiness struct {
	checks   []Check
	now      func() time.Time
	draining atomic.Bool

	mu     sync.Mutex // held while the checks run, so that many callers cost one run
	last   readyReport
	lastAt time.Time
}

func newReadiness(checks []Check, now func() time.Time) *readiness {
	return &readiness{checks: checks, now: now}
}

func (r *readiness) drain() { r.draining.Store(true) }

// answer returns the status and body of /readyz.
func (r *readiness) answer(ctx context.Context) (int, []byte, error) {
	rep := readyReport{Status: "draining", Checks: []checkResult{}}
	if !r.draining.Load() {
		rep = r.fresh(ctx)
	}
	body, err := json.Marshal(rep)
	if err != nil {
		return 0, nil, fmt.Errorf("rendering the readiness report: %w", err)
	}
	if rep.Status == "ready" || rep.Status == "degraded" {
		return http.StatusOK, body, nil
	}
	return http.StatusServiceUnavailable, body, nil
}

// fresh returns a report that was made at most reportAge ago. Making one takes as long as its slowest check.
func (r *readiness) fresh(ctx context.Context) readyReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lastAt.IsZero() && r.now().Sub(r.lastAt) < reportAge {
		return r.last
	}
	// The report is for all callers who wait, not only for this one, who may hang up.
	ctx = bulkhead.With(context.WithoutCancel(ctx), bulkhead.Admin) // also when asked at the operations listener
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	r.last = r.check(ctx)
	r.lastAt = r.now()
	return r.last
}

// check runs all checks at once and waits for them until ctx ends.
func (r *readiness) check(ctx context.Context) readyReport {
	rep := readyReport{Status: "ready", Checks: make([]checkResult, len(r.checks))}
	found := make([]chan error, len(r.checks))
	for i, check := range r.checks {
		ch := make(chan error, 1) // buffered, so that a late check can end although nobody receives
		found[i] = ch
		go func() { ch <- safely(ctx, check) }()
	}
	for i, check := range r.checks {
		res := checkResult{Name: check.Name, Required: check.Required, OK: true}
		if err := await(ctx, found[i]); err != nil {
			res.OK, res.Detail = false, err.Error()
		}
		rep.Checks[i] = res
		switch {
		case res.OK:
		case check.Required:
			rep.Status = "unready"
		case rep.Status == "ready":
			rep.Status = "degraded"
		}
	}
	return rep
}

// await returns a check's result, or an error if it takes too long.
func await(ctx context.Context, found <-chan error) error {
	select {
	case err := <-found:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-found: // it ended at the same time
		return err
	default:
		return fmt.Errorf("no answer within %s", checkTimeout)
	}
}

// safely runs a check. A panic fails the check, and the process goes on.
func safely(ctx context.Context, check Check) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the check panicked: %v", p)
		}
	}()
	return check.Run(ctx)
}

// healthz answers GET /healthz: the process runs.
func (a *API) healthz(*gin.Context, httpkit.Identity) (httpkit.Answer, error) {
	return httpkit.Answer{Status: http.StatusOK, Body: []byte(healthzBody)}, nil
}

const healthzBody = `{"status":"ok"}`

// readyz answers GET /readyz: whether callers should be sent here.
func (a *API) readyz(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	status, body, err := a.ready.answer(c.Request.Context())
	return httpkit.Answer{Status: status, Body: body}, err
}
