package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// voucherActions is what the patterns of voucher actions begin with; the action follows.
const voucherActions = "/voucher/:id/"

// router finds a request's route. It consists of two engines because of what Gin does where a method has a parameter
// (/voucher/:id/stock) and a fixed segment (/voucher/seckill/:id) at the same place: each request for the latter allocates
// twice, to come back to the parameter if need be. The routes that everybody takes at once are kept free of that.
type router struct {
	most    *gin.Engine
	actions *gin.Engine     // what is done to a voucher
	names   map[string]bool // of the actions
}

func (a *API) newRouter() (*router, error) {
	r := &router{names: map[string]bool{}}
	var err error
	if r.most, err = a.newEngine(); err != nil {
		return nil, err
	}
	if r.actions, err = a.newEngine(); err != nil {
		return nil, err
	}
	for _, route := range a.routes() {
		engine := r.most
		if name, isAction := strings.CutPrefix(route.path, voucherActions); isAction {
			engine = r.actions
			r.names[name] = true
		}
		h := a.serve(route)
		engine.Handle(route.method, route.path, h)
		if route.method == http.MethodGet {
			engine.Handle(http.MethodHead, route.path, h) // net/http keeps the body back
		}
	}
	return r, nil
}

// newEngine returns Gin without its defaults, which trust every proxy and log every request.
func (a *API) newEngine() (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.MaxMultipartMemory = a.cfg.BodyLimit
	if err := e.SetTrustedProxies(a.cfg.TrustedProxies); err != nil {
		return nil, fmt.Errorf("httpapi: trusted proxies: %w", err)
	}
	if len(a.cfg.AllowedOrigins) > 0 {
		e.Use(newCORS(a.cfg.AllowedOrigins).handle)
	}
	e.NoRoute(a.serve(route{uncounted: true, handle: refuse(errNoRoute)}))
	e.NoMethod(a.serve(route{uncounted: true, handle: refuse(errMethod)}))
	return e, nil
}

// ServeHTTP implements http.Handler.
func (r *router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if rest, ofVoucher := strings.CutPrefix(req.URL.Path, "/voucher/"); ofVoucher {
		if _, name, _ := strings.Cut(rest, "/"); r.names[name] {
			r.actions.ServeHTTP(w, req)
			return
		}
	}
	r.most.ServeHTTP(w, req)
}
