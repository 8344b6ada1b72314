package httpapi

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"seckill/internal/bulkhead"
	"seckill/internal/httpapi/httpkit"
)

// routes is every route of the public listener. What answers GET answers HEAD too.
func (a *API) routes() []httpkit.Route {
	cfg := a.cfg
	noDeadLetters, noCallbacks := cfg.DeadLetters == nil || cfg.Audit == nil, cfg.Payments == nil || len(cfg.Callbacks) == 0
	all := []httpkit.Route{
		{Method: http.MethodPost, Path: "/voucher", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.createOrdinary},
		{Method: http.MethodPost, Path: "/voucher/seckill", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.createSeckill},
		{Method: http.MethodGet, Path: "/voucher/list/:shopId", Class: bulkhead.PublicRead, Handle: a.listVouchers, Off: cfg.Listings == nil},
		{Method: http.MethodGet, Path: "/voucher/:id", Class: bulkhead.PublicRead, Handle: a.showVoucher, Off: cfg.Listings == nil},
		{Method: http.MethodPost, Path: "/voucher/seckill/:id", Class: bulkhead.Purchase, Access: httpkit.ForBuyers, Limited: true, Handle: a.buy},
		{Method: http.MethodPost, Path: "/voucher/seckill/:id/ticket", Class: bulkhead.OwnRead, Access: httpkit.ForBuyers, Limited: true, Handle: a.giveTicket, Off: cfg.Tickets == nil},
		{Method: http.MethodPost, Path: "/voucher-order/seckill/:id", Class: bulkhead.Purchase, Access: httpkit.ForBuyers, Format: httpkit.PlainEnvelope, Limited: true, Handle: a.buyPlainly},
		{Method: http.MethodPost, Path: "/voucher/buy/:id", Class: bulkhead.Purchase, Access: httpkit.ForBuyers, Handle: a.buyOrdinary, Off: cfg.BuyOrdinary == nil},
		{Method: http.MethodPatch, Path: "/voucher/:id", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.changeVoucher, Off: cfg.VoucherChanges == nil},
		{Method: http.MethodPost, Path: "/voucher/:id/stock", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.addStock, Off: cfg.VoucherChanges == nil},
		{Method: http.MethodPost, Path: "/voucher/:id/pause", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.pauseSale, Off: cfg.VoucherChanges == nil},
		{Method: http.MethodPost, Path: "/voucher/:id/resume", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.resumeSale, Off: cfg.VoucherChanges == nil},
		{Method: http.MethodGet, Path: "/order", Class: bulkhead.OwnRead, Access: httpkit.ForBuyers, Handle: a.listOrders},
		{Method: http.MethodGet, Path: "/order/:id", Class: bulkhead.OwnRead, Access: httpkit.ForBuyers, Handle: a.showOrder},
		{Method: http.MethodGet, Path: "/order/:id/events", Class: bulkhead.OwnRead, Access: httpkit.ForBuyers, QueryToken: true, Uncounted: true, Handle: a.orderEvents},
		{Method: http.MethodPost, Path: "/order/:id/pay", Class: bulkhead.Purchase, Access: httpkit.ForBuyers, Handle: a.pay, Off: cfg.Payments == nil},
		{Method: http.MethodPost, Path: "/order/:id/cancel", Class: bulkhead.Purchase, Access: httpkit.ForBuyers, Handle: a.cancelOrder, Off: cfg.Orders == nil},
		{Method: http.MethodPost, Path: "/order/:id/refund", Class: bulkhead.Purchase, Access: httpkit.ForBuyers, Handle: a.refund, Off: cfg.Payments == nil},
		{Method: http.MethodGet, Path: "/order/:id/qr", Class: bulkhead.OwnRead, Access: httpkit.ForBuyers, Handle: a.couponQR, Off: cfg.Tills == nil},
		{Method: http.MethodPost, Path: "/voucher/:id/waitlist", Class: bulkhead.OwnRead, Access: httpkit.ForBuyers, Limited: true, Handle: a.joinWaitlist, Off: cfg.Waitlists == nil},
		{Method: http.MethodGet, Path: "/voucher/:id/waitlist", Class: bulkhead.OwnRead, Access: httpkit.ForBuyers, Handle: a.showPlace, Off: cfg.Waitlists == nil},
		{Method: http.MethodPost, Path: "/voucher/:id/waitlist/accept", Class: bulkhead.Purchase, Access: httpkit.ForBuyers, Handle: a.acceptOffer, Off: cfg.Waitlists == nil},
		{Method: http.MethodPost, Path: "/voucher/:id/waitlist/leave", Class: bulkhead.OwnRead, Access: httpkit.ForBuyers, Handle: a.leaveWaitlist, Off: cfg.Waitlists == nil},
		{Method: http.MethodGet, Path: "/waitlist", Class: bulkhead.OwnRead, Access: httpkit.ForBuyers, Handle: a.listPlaces, Off: cfg.Waitlists == nil},
		{Method: http.MethodGet, Path: "/admin/voucher/:id/waitlist", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.countPlaces, Off: cfg.Waitlists == nil},
		{Method: http.MethodPost, Path: "/till/validate", Class: bulkhead.Purchase, Access: httpkit.ForTills, Handle: a.validateCoupon, Off: cfg.Tills == nil},
		{Method: http.MethodPost, Path: "/till/reserve", Class: bulkhead.Purchase, Access: httpkit.ForTills, Handle: a.reserveCoupon, Off: cfg.Tills == nil},
		{Method: http.MethodPost, Path: "/till/redeem", Class: bulkhead.Purchase, Access: httpkit.ForTills, Handle: a.redeemCoupon, Off: cfg.Tills == nil},
		{Method: http.MethodPost, Path: "/till/release", Class: bulkhead.Purchase, Access: httpkit.ForTills, Handle: a.releaseCoupon, Off: cfg.Tills == nil},
		{Method: http.MethodGet, Path: "/admin/order", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.findOrders, Off: cfg.Orders == nil},
		{Method: http.MethodGet, Path: "/admin/order/:id", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.findOrder, Off: cfg.Orders == nil},
		{Method: http.MethodGet, Path: "/admin/voucher", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.findVouchers},
		{Method: http.MethodGet, Path: "/admin/voucher/:id/live", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Uncounted: true, Handle: a.saleEvents, Off: cfg.SaleStats == nil},
		{Method: http.MethodGet, Path: "/admin/voucher/:id/report", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.showReport, Off: cfg.Reports == nil},
		{Method: http.MethodGet, Path: "/admin/voucher/:id/report.csv", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Uncounted: true, Handle: a.reportCSV, Off: cfg.Reports == nil},
		{Method: http.MethodGet, Path: "/admin/voucher/:id/timeline.csv", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Uncounted: true, Handle: a.timelineCSV, Off: cfg.Reports == nil},
		{Method: http.MethodGet, Path: "/admin/voucher/:id/orders.csv", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Uncounted: true, Handle: a.ordersCSV, Off: cfg.Reports == nil || cfg.Audit == nil},
		{Method: http.MethodGet, Path: "/admin/sale", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.listSales, Off: cfg.Reports == nil},
		{Method: http.MethodGet, Path: "/admin/deadletter", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.listDeadLetters, Off: noDeadLetters},
		{Method: http.MethodPost, Path: "/admin/deadletter/:id/replay", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.replayDeadLetter, Off: noDeadLetters},
		{Method: http.MethodPost, Path: "/admin/deadletter/:id/discard", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.discardDeadLetter, Off: noDeadLetters},
		{Method: http.MethodGet, Path: "/admin/check", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.check, Off: cfg.Check == nil},
		{Method: http.MethodGet, Path: "/admin/partition", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.listPartitions, Off: cfg.Partitions == nil},
		{Method: http.MethodGet, Path: "/admin/voucher/:id/rehearsal", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.listRehearsals, Off: cfg.Rehearsals == nil},
		{Method: http.MethodPost, Path: "/admin/voucher/:id/rehearsal", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.startRehearsal, Off: cfg.Rehearsals == nil},
		{Method: http.MethodPost, Path: "/admin/rehearsal/:id/end", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.endRehearsal, Off: cfg.Rehearsals == nil},
		{Method: http.MethodGet, Path: "/rehearsal/:id/order", Class: bulkhead.OwnRead, Access: httpkit.ForCrowds, Handle: a.rehearsalOrders, Off: cfg.Crowds == nil || cfg.Orders == nil},
		{Method: http.MethodPost, Path: "/rehearsal/:id/report", Class: bulkhead.OwnRead, Access: httpkit.ForCrowds, Handle: a.reportRehearsal, Off: cfg.Crowds == nil},
		{Method: http.MethodGet, Path: "/admin/template", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.listTemplates, Off: cfg.Templates == nil},
		{Method: http.MethodPost, Path: "/admin/template", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.saveTemplate, Off: cfg.Templates == nil},
		{Method: http.MethodPatch, Path: "/admin/template/:id", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.renameTemplate, Off: cfg.Templates == nil},
		{Method: http.MethodPost, Path: "/admin/template/:id/delete", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.deleteTemplate, Off: cfg.Templates == nil},
		{Method: http.MethodGet, Path: "/admin/webhook", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.listWebhooks, Off: cfg.Webhooks == nil},
		{Method: http.MethodPost, Path: "/admin/webhook", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.createWebhook, Off: cfg.Webhooks == nil},
		{Method: http.MethodPatch, Path: "/admin/webhook/:id", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.changeWebhook, Off: cfg.Webhooks == nil},
		{Method: http.MethodPost, Path: "/admin/webhook/:id/rotate", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.rotateWebhook, Off: cfg.Webhooks == nil},
		{Method: http.MethodPost, Path: "/admin/webhook/:id/delete", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.deleteWebhook, Off: cfg.Webhooks == nil},
		{Method: http.MethodPost, Path: "/admin/webhook/:id/test", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.testWebhook, Off: cfg.Webhooks == nil},
		{Method: http.MethodGet, Path: "/admin/webhook/:id/delivery", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.listDeliveries, Off: cfg.Webhooks == nil},
		{Method: http.MethodGet, Path: "/admin/webhook/:id/deadletter", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.listWebhookDeadLetters, Off: cfg.Webhooks == nil},
		{Method: http.MethodPost, Path: "/admin/webhook/:id/replay", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.replayWebhook, Off: cfg.Webhooks == nil},
		{Method: http.MethodGet, Path: "/admin/audit", Class: bulkhead.Admin, Access: httpkit.ForAdmins, Handle: a.audit, Off: cfg.Audit == nil},
		{Method: http.MethodPost, Path: "/payment/callback", Class: bulkhead.Purchase, Uncounted: true, Handle: a.paymentCallback, Off: noCallbacks},
		{Method: http.MethodPost, Path: "/payment/callback/:provider", Class: bulkhead.Purchase, Uncounted: true, Handle: a.paymentCallback, Off: noCallbacks},
		{Method: http.MethodPost, Path: "/demo/buyer", Class: bulkhead.PublicRead, Handle: a.demoBuyer, Off: cfg.DemoTokens == 0},
		{Method: http.MethodPost, Path: "/demo/admin", Class: bulkhead.PublicRead, Handle: a.demoAdmin, Off: cfg.DemoTokens == 0},
		{Method: http.MethodGet, Path: healthzPath, Uncounted: true, Handle: a.healthz},
		{Method: http.MethodGet, Path: readyzPath, Uncounted: true, Handle: a.readyz},
	}
	return slices.DeleteFunc(all, func(r httpkit.Route) bool { return r.Off })
}

// newRouter returns an engine with every route, without Gin's defaults, which trust every proxy and log every request.
func (a *API) newRouter() (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.MaxMultipartMemory = a.cfg.BodyLimit
	e.RemoteIPHeaders = []string{"X-Forwarded-For"} // not X-Real-IP, which proxies pass on as callers send it
	if err := e.SetTrustedProxies(a.cfg.TrustedProxies); err != nil {
		return nil, fmt.Errorf("httpapi: trusted proxies: %w", err)
	}
	if len(a.cfg.AllowedOrigins) > 0 {
		e.Use(newCORS(a.cfg.AllowedOrigins).handle)
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
}

func newCORS(origins []string) *cors {
	return &cors{all: slices.Equal(origins, []string{"*"}), origins: origins}
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
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id, "+ticketHeader+", "+solutionHeader)
		h.Set("Access-Control-Max-Age", "600")
		c.AbortWithStatus(http.StatusNoContent)
		return
	}
	h.Set("Access-Control-Expose-Headers", "Location, Retry-After, X-Request-Id, X-Server-Time")
}
