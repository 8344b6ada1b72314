package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
)

// routes is every route of the public listener. What answers GET answers HEAD too.
func (a *API) routes() []httpkit.Route {
	return slices.Concat(a.forVisitors(), a.forBuyers(), a.forWaiting(),
		a.forAdmins(), a.cfg.Routes)
}

// when returns the routes if the part that they need is there.
func when(there bool, routes ...httpkit.Route) []httpkit.Route {
	if !there {
		return nil
	}
	return routes
}

// forVisitors are the routes that need no token.
func (a *API) forVisitors() []httpkit.Route {
	return slices.Concat(
		when(a.cfg.Listings != nil,
			httpkit.Public("GET /voucher/list/:shopId", a.listVouchers, httpkit.Query("limit", "before")),
			httpkit.Public("GET /voucher/:id", a.showVoucher)),
		when(a.cfg.Payments != nil && len(a.cfg.Callbacks) > 0,
			httpkit.Callback("POST /payment/callback", a.paymentCallback),
			httpkit.Callback("POST /payment/callback/:provider", a.paymentCallback)),
		when(a.cfg.DemoTokens != 0,
			httpkit.Public("POST /demo/buyer", a.demoBuyer),
			httpkit.Public("POST /demo/admin", a.demoAdmin, httpkit.Body)),
		[]httpkit.Route{
			{Method: http.MethodGet, Path: healthzPath, Uncounted: true, Handle: a.healthz},
			{Method: http.MethodGet, Path: readyzPath, Uncounted: true, Handle: a.readyz},
		})
}

// forBuyers are the routes of a purchase, and of what becomes of its order.
func (a *API) forBuyers() []httpkit.Route {
	quantityAndWait := httpkit.Query("quantity", "wait")
	return slices.Concat(
		[]httpkit.Route{
			httpkit.Buying("POST /voucher/seckill/:id", a.buy, httpkit.Limited, quantityAndWait, httpkit.Body),
			httpkit.Buying("POST /voucher-order/seckill/:id", a.buyPlainly, httpkit.Limited, quantityAndWait,
				httpkit.Plain),
			httpkit.Owning("GET /order", a.listOrders, httpkit.Query("voucherId", "status", "limit", "before")),
			httpkit.Owning("GET /order/:id", a.showOrder, httpkit.Query("wait")),
			httpkit.Owning("GET /order/:id/events", a.orderEvents, httpkit.QueryToken, httpkit.Uncounted),
		},
		when(a.cfg.BuyOrdinary != nil,
			httpkit.Buying("POST /voucher/buy/:id", a.buyOrdinary)),
		when(a.cfg.Payments != nil,
			httpkit.Buying("POST /order/:id/pay", a.pay),
			httpkit.Buying("POST /order/:id/refund", a.refund)),
		when(a.cfg.Orders != nil,
			httpkit.Buying("POST /order/:id/cancel", a.cancelOrder)))
}

// forWaiting are the routes of waiting lists.
func (a *API) forWaiting() []httpkit.Route {
	return when(a.cfg.Waitlists != nil,
		httpkit.Owning("POST /voucher/:id/waitlist", a.joinWaitlist, httpkit.Limited),
		httpkit.Owning("GET /voucher/:id/waitlist", a.showPlace),
		httpkit.Buying("POST /voucher/:id/waitlist/accept", a.acceptOffer),
		httpkit.Owning("POST /voucher/:id/waitlist/leave", a.leaveWaitlist),
		httpkit.Owning("GET /waitlist", a.listPlaces),
		httpkit.Admin("GET /admin/voucher/:id/waitlist", a.countPlaces))
}

// forAdmins are the routes of vouchers, orders, and what an installation has only once.
func (a *API) forAdmins() []httpkit.Route {
	return slices.Concat(
		[]httpkit.Route{
			httpkit.Admin("POST /voucher", a.createOrdinary, httpkit.Body),
			httpkit.Admin("POST /voucher/seckill", a.createSeckill, httpkit.Body),
			httpkit.Admin("GET /admin/voucher", a.findVouchers, httpkit.Query("shopId", "title", "limit", "before")),
		},
		when(a.cfg.VoucherChanges != nil,
			httpkit.Admin("PATCH /voucher/:id", a.changeVoucher, httpkit.Body),
			httpkit.Admin("POST /voucher/:id/stock", a.addStock, httpkit.Body),
			httpkit.Admin("POST /voucher/:id/pause", a.pauseSale),
			httpkit.Admin("POST /voucher/:id/resume", a.resumeSale)),
		when(a.cfg.Orders != nil,
			httpkit.Admin("GET /admin/order", a.findOrders,
				httpkit.Query("userId", "voucherId", "status", "limit", "before")),
			httpkit.Admin("GET /admin/order/:id", a.findOrder)),
		when(a.cfg.DeadLetters != nil && a.cfg.Audit != nil,
			httpkit.Admin("GET /admin/deadletter", a.listDeadLetters, httpkit.Query("after", "limit")),
			httpkit.Admin("POST /admin/deadletter/:id/replay", a.replayDeadLetter, httpkit.Body),
			httpkit.Admin("POST /admin/deadletter/:id/discard", a.discardDeadLetter, httpkit.Body)),
		when(a.cfg.SaleStats != nil,
			httpkit.Admin("GET /admin/voucher/:id/live", a.saleEvents, httpkit.Uncounted)),
		when(a.cfg.Check != nil, httpkit.Admin("GET /admin/check", a.check, httpkit.Query("voucherId"))),
		when(a.cfg.Partitions != nil, httpkit.Admin("GET /admin/partition", a.listPartitions)),
		when(a.cfg.Audit != nil, httpkit.Admin("GET /admin/audit", a.audit,
			httpkit.Query("voucherId", "adminId", "limit", "before"))))
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
		var headers []string
		if a.cfg.Gatekeeper != nil {
			headers = a.cfg.Gatekeeper.Headers()
		}
		e.Use(newCORS(a.cfg.AllowedOrigins, headers).handle)
	}
	e.NoRoute(a.serve(httpkit.Route{Uncounted: true, Handle: httpkit.Refuse(errNoRoute)}))
	e.NoMethod(a.serve(httpkit.Route{Uncounted: true, Handle: httpkit.Refuse(errMethod)}))
	for _, r := range a.routes() {
		h := a.serve(r)
		e.Handle(r.Method, r.Path, h)
		if r.Method == http.MethodGet {
			e.Handle(http.MethodHead, r.Path, h) // net/http drops the body
		}
	}
	return e, nil
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
		"Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "X-Request-Id",
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
