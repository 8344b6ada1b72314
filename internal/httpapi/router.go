package httpapi

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"seckill/internal/bulkhead"
)

// routes is every route of the public listener. What answers GET answers HEAD too.
func (a *API) routes() []route {
	cfg := a.cfg
	noDeadLetters, noCallbacks := cfg.DeadLetters == nil || cfg.Audit == nil, cfg.Payments == nil || len(cfg.Callbacks) == 0
	all := []route{
		{method: http.MethodPost, path: "/voucher", class: bulkhead.Admin, access: forAdmins, handle: a.createOrdinary},
		{method: http.MethodPost, path: "/voucher/seckill", class: bulkhead.Admin, access: forAdmins, handle: a.createSeckill},
		{method: http.MethodGet, path: "/voucher/list/:shopId", class: bulkhead.PublicRead, handle: a.listVouchers, off: cfg.Listings == nil},
		{method: http.MethodGet, path: "/voucher/:id", class: bulkhead.PublicRead, handle: a.showVoucher, off: cfg.Listings == nil},
		{method: http.MethodPost, path: "/voucher/seckill/:id", class: bulkhead.Purchase, access: forBuyers, limited: true, handle: a.buy},
		{method: http.MethodPost, path: "/voucher/seckill/:id/ticket", class: bulkhead.OwnRead, access: forBuyers, limited: true, handle: a.giveTicket, off: cfg.Tickets == nil},
		{method: http.MethodPost, path: "/voucher-order/seckill/:id", class: bulkhead.Purchase, access: forBuyers, format: plainEnvelope, limited: true, handle: a.buyPlainly},
		{method: http.MethodPost, path: "/voucher/buy/:id", class: bulkhead.Purchase, access: forBuyers, handle: a.buyOrdinary, off: cfg.BuyOrdinary == nil},
		{method: http.MethodPatch, path: "/voucher/:id", class: bulkhead.Admin, access: forAdmins, handle: a.changeVoucher, off: cfg.VoucherChanges == nil},
		{method: http.MethodPost, path: "/voucher/:id/stock", class: bulkhead.Admin, access: forAdmins, handle: a.addStock, off: cfg.VoucherChanges == nil},
		{method: http.MethodPost, path: "/voucher/:id/pause", class: bulkhead.Admin, access: forAdmins, handle: a.pauseSale, off: cfg.VoucherChanges == nil},
		{method: http.MethodPost, path: "/voucher/:id/resume", class: bulkhead.Admin, access: forAdmins, handle: a.resumeSale, off: cfg.VoucherChanges == nil},
		{method: http.MethodGet, path: "/order", class: bulkhead.OwnRead, access: forBuyers, handle: a.listOrders},
		{method: http.MethodGet, path: "/order/:id", class: bulkhead.OwnRead, access: forBuyers, handle: a.showOrder},
		{method: http.MethodGet, path: "/order/:id/events", class: bulkhead.OwnRead, access: forBuyers, queryToken: true, uncounted: true, handle: a.orderEvents},
		{method: http.MethodPost, path: "/order/:id/pay", class: bulkhead.Purchase, access: forBuyers, handle: a.pay, off: cfg.Payments == nil},
		{method: http.MethodPost, path: "/order/:id/cancel", class: bulkhead.Purchase, access: forBuyers, handle: a.cancelOrder, off: cfg.Orders == nil},
		{method: http.MethodPost, path: "/order/:id/refund", class: bulkhead.Purchase, access: forBuyers, handle: a.refund, off: cfg.Payments == nil},
		{method: http.MethodGet, path: "/order/:id/qr", class: bulkhead.OwnRead, access: forBuyers, handle: a.couponQR, off: cfg.Tills == nil},
		{method: http.MethodPost, path: "/voucher/:id/waitlist", class: bulkhead.OwnRead, access: forBuyers, limited: true, handle: a.joinWaitlist, off: cfg.Waitlists == nil},
		{method: http.MethodGet, path: "/voucher/:id/waitlist", class: bulkhead.OwnRead, access: forBuyers, handle: a.showPlace, off: cfg.Waitlists == nil},
		{method: http.MethodPost, path: "/voucher/:id/waitlist/accept", class: bulkhead.Purchase, access: forBuyers, handle: a.acceptOffer, off: cfg.Waitlists == nil},
		{method: http.MethodPost, path: "/voucher/:id/waitlist/leave", class: bulkhead.OwnRead, access: forBuyers, handle: a.leaveWaitlist, off: cfg.Waitlists == nil},
		{method: http.MethodGet, path: "/waitlist", class: bulkhead.OwnRead, access: forBuyers, handle: a.listPlaces, off: cfg.Waitlists == nil},
		{method: http.MethodGet, path: "/admin/voucher/:id/waitlist", class: bulkhead.Admin, access: forAdmins, handle: a.countPlaces, off: cfg.Waitlists == nil},
		{method: http.MethodPost, path: "/till/validate", class: bulkhead.Purchase, access: forTills, handle: a.validateCoupon, off: cfg.Tills == nil},
		{method: http.MethodPost, path: "/till/reserve", class: bulkhead.Purchase, access: forTills, handle: a.reserveCoupon, off: cfg.Tills == nil},
		{method: http.MethodPost, path: "/till/redeem", class: bulkhead.Purchase, access: forTills, handle: a.redeemCoupon, off: cfg.Tills == nil},
		{method: http.MethodPost, path: "/till/release", class: bulkhead.Purchase, access: forTills, handle: a.releaseCoupon, off: cfg.Tills == nil},
		{method: http.MethodGet, path: "/admin/order", class: bulkhead.Admin, access: forAdmins, handle: a.findOrders, off: cfg.Orders == nil},
		{method: http.MethodGet, path: "/admin/order/:id", class: bulkhead.Admin, access: forAdmins, handle: a.findOrder, off: cfg.Orders == nil},
		{method: http.MethodGet, path: "/admin/voucher", class: bulkhead.Admin, access: forAdmins, handle: a.findVouchers},
		{method: http.MethodGet, path: "/admin/voucher/:id/live", class: bulkhead.Admin, access: forAdmins, uncounted: true, handle: a.saleEvents, off: cfg.SaleStats == nil},
		{method: http.MethodGet, path: "/admin/voucher/:id/report", class: bulkhead.Admin, access: forAdmins, handle: a.showReport, off: cfg.Reports == nil},
		{method: http.MethodGet, path: "/admin/voucher/:id/report.csv", class: bulkhead.Admin, access: forAdmins, uncounted: true, handle: a.reportCSV, off: cfg.Reports == nil},
		{method: http.MethodGet, path: "/admin/voucher/:id/timeline.csv", class: bulkhead.Admin, access: forAdmins, uncounted: true, handle: a.timelineCSV, off: cfg.Reports == nil},
		{method: http.MethodGet, path: "/admin/voucher/:id/orders.csv", class: bulkhead.Admin, access: forAdmins, uncounted: true, handle: a.ordersCSV, off: cfg.Reports == nil || cfg.Audit == nil},
		{method: http.MethodGet, path: "/admin/sale", class: bulkhead.Admin, access: forAdmins, handle: a.listSales, off: cfg.Reports == nil},
		{method: http.MethodGet, path: "/admin/deadletter", class: bulkhead.Admin, access: forAdmins, handle: a.listDeadLetters, off: noDeadLetters},
		{method: http.MethodPost, path: "/admin/deadletter/:id/replay", class: bulkhead.Admin, access: forAdmins, handle: a.replayDeadLetter, off: noDeadLetters},
		{method: http.MethodPost, path: "/admin/deadletter/:id/discard", class: bulkhead.Admin, access: forAdmins, handle: a.discardDeadLetter, off: noDeadLetters},
		{method: http.MethodGet, path: "/admin/check", class: bulkhead.Admin, access: forAdmins, handle: a.check, off: cfg.Check == nil},
		{method: http.MethodGet, path: "/admin/partition", class: bulkhead.Admin, access: forAdmins, handle: a.listPartitions, off: cfg.Partitions == nil},
		{method: http.MethodGet, path: "/admin/voucher/:id/rehearsal", class: bulkhead.Admin, access: forAdmins, handle: a.listRehearsals, off: cfg.Rehearsals == nil},
		{method: http.MethodPost, path: "/admin/voucher/:id/rehearsal", class: bulkhead.Admin, access: forAdmins, handle: a.startRehearsal, off: cfg.Rehearsals == nil},
		{method: http.MethodPost, path: "/admin/rehearsal/:id/end", class: bulkhead.Admin, access: forAdmins, handle: a.endRehearsal, off: cfg.Rehearsals == nil},
		{method: http.MethodGet, path: "/rehearsal/:id/order", class: bulkhead.OwnRead, access: forCrowds, handle: a.rehearsalOrders, off: cfg.Crowds == nil || cfg.Orders == nil},
		{method: http.MethodPost, path: "/rehearsal/:id/report", class: bulkhead.OwnRead, access: forCrowds, handle: a.reportRehearsal, off: cfg.Crowds == nil},
		{method: http.MethodGet, path: "/admin/template", class: bulkhead.Admin, access: forAdmins, handle: a.listTemplates, off: cfg.Templates == nil},
		{method: http.MethodPost, path: "/admin/template", class: bulkhead.Admin, access: forAdmins, handle: a.saveTemplate, off: cfg.Templates == nil},
		{method: http.MethodPatch, path: "/admin/template/:id", class: bulkhead.Admin, access: forAdmins, handle: a.renameTemplate, off: cfg.Templates == nil},
		{method: http.MethodPost, path: "/admin/template/:id/delete", class: bulkhead.Admin, access: forAdmins, handle: a.deleteTemplate, off: cfg.Templates == nil},
		{method: http.MethodGet, path: "/admin/webhook", class: bulkhead.Admin, access: forAdmins, handle: a.listWebhooks, off: cfg.Webhooks == nil},
		{method: http.MethodPost, path: "/admin/webhook", class: bulkhead.Admin, access: forAdmins, handle: a.createWebhook, off: cfg.Webhooks == nil},
		{method: http.MethodPatch, path: "/admin/webhook/:id", class: bulkhead.Admin, access: forAdmins, handle: a.changeWebhook, off: cfg.Webhooks == nil},
		{method: http.MethodPost, path: "/admin/webhook/:id/rotate", class: bulkhead.Admin, access: forAdmins, handle: a.rotateWebhook, off: cfg.Webhooks == nil},
		{method: http.MethodPost, path: "/admin/webhook/:id/delete", class: bulkhead.Admin, access: forAdmins, handle: a.deleteWebhook, off: cfg.Webhooks == nil},
		{method: http.MethodPost, path: "/admin/webhook/:id/test", class: bulkhead.Admin, access: forAdmins, handle: a.testWebhook, off: cfg.Webhooks == nil},
		{method: http.MethodGet, path: "/admin/webhook/:id/delivery", class: bulkhead.Admin, access: forAdmins, handle: a.listDeliveries, off: cfg.Webhooks == nil},
		{method: http.MethodGet, path: "/admin/webhook/:id/deadletter", class: bulkhead.Admin, access: forAdmins, handle: a.listWebhookDeadLetters, off: cfg.Webhooks == nil},
		{method: http.MethodPost, path: "/admin/webhook/:id/replay", class: bulkhead.Admin, access: forAdmins, handle: a.replayWebhook, off: cfg.Webhooks == nil},
		{method: http.MethodGet, path: "/admin/audit", class: bulkhead.Admin, access: forAdmins, handle: a.audit, off: cfg.Audit == nil},
		{method: http.MethodPost, path: "/payment/callback", class: bulkhead.Purchase, uncounted: true, handle: a.paymentCallback, off: noCallbacks},
		{method: http.MethodPost, path: "/payment/callback/:provider", class: bulkhead.Purchase, uncounted: true, handle: a.paymentCallback, off: noCallbacks},
		{method: http.MethodPost, path: "/demo/buyer", class: bulkhead.PublicRead, handle: a.demoBuyer, off: cfg.DemoTokens == 0},
		{method: http.MethodPost, path: "/demo/admin", class: bulkhead.PublicRead, handle: a.demoAdmin, off: cfg.DemoTokens == 0},
		{method: http.MethodGet, path: healthzPath, uncounted: true, handle: a.healthz},
		{method: http.MethodGet, path: readyzPath, uncounted: true, handle: a.readyz},
	}
	return slices.DeleteFunc(all, func(r route) bool { return r.off })
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
	e.NoRoute(a.serve(route{uncounted: true, handle: refuse(errNoRoute)}))
	e.NoMethod(a.serve(route{uncounted: true, handle: refuse(errMethod)}))
	for _, r := range a.routes() {
		h := a.serve(r)
		e.Handle(r.method, r.path, h)
		if r.method == http.MethodGet {
			e.Handle(http.MethodHead, r.path, h) // net/http drops the body
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
