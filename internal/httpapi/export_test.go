package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"seckill/internal/httpapi/httpkit"
)

// What tests from outside of the package need of its inside.
const (
	CheckTimeout         = checkTimeout
	DemoAdminID          = demoAdminID
	DemoBuyersAtOnce     = demoBuyersAtOnce
	FailedTokensAtOnce   = failedTokensAtOnce
	FailureLogsPerSecond = failureLogsPerSecond
	FirstDemoUser        = firstDemoUser
	HealthzBody          = healthzBody
	HealthzPath          = healthzPath
	ReadyzPath           = readyzPath
	ReportAge            = reportAge
)

type DemoTokenJSON = demoTokenJSON

var (
	ErrBadToken      = errBadToken
	NewAuthenticator = newAuthenticator
	Rules            = rules
	RushRules        = rushRules
)

func (a *API) Router() *gin.Engine                   { return a.router }
func (a *API) AllRoutes() []httpkit.Route            { return a.routes() }
func (a *API) Serve(r httpkit.Route) gin.HandlerFunc { return a.serve(r) }
func (a *API) DemoBuyers() *rate.Limiter             { return a.demoBuyers }

func (a *API) Identify(h http.Header) (httpkit.Identity, error) {
	return a.auth.identify(h, a.cfg.Now())
}

func (a *API) Verify(token string) (httpkit.Identity, error) {
	return a.auth.verify(token, a.cfg.Now())
}

func (a *authenticator) Identify(h http.Header, now time.Time) (httpkit.Identity, error) {
	return a.identify(h, now)
}
