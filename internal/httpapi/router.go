package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
)

// routes returns every route of the public listener. Routes for GET also answer HEAD.
func (a *API) routes() []httpkit.Route {
	own := []httpkit.Route{
		{Method: http.MethodGet, Path: healthzPath, Uncounted: true, Handle: a.healthz},
		{Method: http.MethodGet, Path: readyzPath, Uncounted: true, Handle: a.readyz},
	}
	if a.cfg.DemoTokens != 0 {
		own = append(own,
			httpkit.Public("POST /demo/buyer", a.demoBuyer),
			httpkit.Public("POST /demo/admin", a.demoAdmin, httpkit.Body))
	}
	return append(own, a.cfg.Routes...)
}

// newRouter returns an engine with every route, without Gin's defaults, which trust every proxy and log every request.
func (a *API) newRouter() (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.MaxMultipartMemory = a.cfg.BodyLimit
	if err := e.SetTrustedProxies(nil); err != nil { // Config.Addresses knows them
		return nil, fmt.Errorf("httpapi: trusted proxies: %w", err)
	}
	if len(a.cfg.AllowedOrigins) > 0 {
		e.Use(newCORS(a.cfg.AllowedOrigins, a.cfg.Gatekeeper.Headers()).handle)
	}
	e.NoRoute(a.noPage, a.serve(httpkit.Route{Uncounted: true, Handle: httpkit.Refuse(httpkit.ErrNoRoute)}))
	e.NoMethod(a.serve(httpkit.Route{Uncounted: true, Handle: httpkit.Refuse(errMethod)}))
	for _, r := range a.routes() {
		if r.Access == httpkit.ForMerchants && r.Owner == nil {
			return nil, fmt.Errorf("httpapi: %s %s is for merchants, and nobody says of which shop", r.Method, r.Path)
		}
		h := a.serve(r)
		e.Handle(r.Method, r.Path, h)
		if r.Method == http.MethodGet {
			e.Handle(http.MethodHead, r.Path, h) // net/http drops the body
		}
	}
	return e, nil
}

// noPage shows people at a browser a page for an unknown path, if the service has pages. Like all pages it is neither
// logged nor counted.
func (a *API) noPage(c *gin.Context) {
	reads := c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead
	if a.cfg.NoPage != nil && reads && strings.Contains(c.GetHeader("Accept"), "text/html") {
		a.cfg.NoPage(c.Writer, c.Request)
		c.Abort()
	}
}

// cors lets pages of chosen origins call the API from a browser. Credentials (cookies) are never allowed: the token is
// a header that the page itself must know.
type cors struct {
	all     bool
	origins []string
	headers string // of requests
}

func newCORS(origins, moreHeaders []string) *cors {
	headers := append([]string{
		"Authorization", "Content-Type", "Coupon-Code", "Idempotency-Key", "Last-Event-ID", "X-Request-Id",
	}, moreHeaders...)
	return &cors{
		all: slices.Equal(origins, []string{"*"}), origins: origins, headers: strings.Join(headers, ", "),
	}
}

// handle adds the CORS headers for an allowed origin and answers its preflight requests. Other origins get none, and
// their browsers keep the answer from the page.
func (p *cors) handle(c *gin.Context) {
	h := c.Writer.Header()
	if !p.all {
		h.Add("Vary", "Origin")
	}
	origin := c.GetHeader("Origin")
	switch {
	case origin == "":
		return
	case p.all:
		h.Set("Access-Control-Allow-Origin", "*")
	case slices.Contains(p.origins, origin):
		h.Set("Access-Control-Allow-Origin", origin)
	default:
		return
	}
	if c.Request.Method == http.MethodOptions && c.GetHeader("Access-Control-Request-Method") != "" {
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, PATCH, POST")
		h.Set("Access-Control-Allow-Headers", p.headers)
		h.Set("Access-Control-Max-Age", "600")
		c.AbortWithStatus(http.StatusNoContent)
		return
	}
	h.Set("Access-Control-Expose-Headers", "Location, Retry-After, X-Request-Id, X-Server-Time")
}
