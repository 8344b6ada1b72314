package shop

import (
	"slices"

	"seckill/internal/httpapi/httpkit"
)

// Routes returns every route of the shop. What answers GET answers HEAD too.
func (a *API) Routes() []httpkit.Route {
	return slices.Concat(a.forVisitors(), a.forBuyers(), a.forAdmins())
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
			httpkit.Public("GET /voucher/:id", a.showVoucher, httpkit.Recognizes)),
		when(a.cfg.Payments != nil && len(a.cfg.Callbacks) > 0,
			httpkit.Callback("POST /payment/callback", a.paymentCallback),
			httpkit.Callback("POST /payment/callback/:provider", a.paymentCallback)))
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
			httpkit.Buying("POST /voucher/buy/:id", a.buyOrdinary, httpkit.Keyed(nil))),
		when(a.cfg.Payments != nil,
			httpkit.Buying("POST /order/:id/pay", a.pay),
			httpkit.Buying("POST /order/:id/refund", a.refund)),
		when(a.cfg.Orders != nil,
			httpkit.Buying("POST /order/:id/cancel", a.cancelOrder)))
}

// forAdmins are the routes of vouchers, orders, and what an installation has only once.
func (a *API) forAdmins() []httpkit.Route {
	return slices.Concat(
		[]httpkit.Route{
			httpkit.Admin("POST /voucher", a.createOrdinary, httpkit.Body, httpkit.Keyed(a.createdBefore)),
			httpkit.Admin("POST /voucher/seckill", a.createSeckill, httpkit.Body, httpkit.Keyed(a.createdBefore)),
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
