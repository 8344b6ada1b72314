package shop

import (
	"slices"

	"seckill/internal/httpapi/httpkit"
)

// Routes returns every route of the shop. Routes for GET answer HEAD, too.
func (a *API) Routes() []httpkit.Route {
	return slices.Concat(a.forVisitors(), a.forBuyers(), a.forStaff())
}

// when returns the routes if the part that they need is configured.
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

// forBuyers are the routes of purchases, orders and payments.
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

// forStaff are the routes for staff: merchants use those of vouchers and orders for their shop; those of the whole
// installation are for admins.
func (a *API) forStaff() []httpkit.Route {
	own := httpkit.OwnVoucher(a.cfg.ShopOf)
	return slices.Concat(
		[]httpkit.Route{
			httpkit.Staff("POST /voucher", a.createOrdinary, httpkit.ByHandler, httpkit.Body,
				httpkit.Keyed(a.createdBefore)),
			httpkit.Staff("POST /voucher/seckill", a.createSeckill, httpkit.ByHandler, httpkit.Body,
				httpkit.Keyed(a.createdBefore)),
			httpkit.Staff("GET /admin/voucher", a.findVouchers, httpkit.ByHandler,
				httpkit.Query("shopId", "title", "archived", "limit", "before")),
		},
		when(a.cfg.VoucherChanges != nil,
			httpkit.Staff("PATCH /voucher/:id", a.changeVoucher, own, httpkit.Body),
			httpkit.Staff("POST /voucher/:id/stock", a.addStock, own, httpkit.Body),
			httpkit.Staff("POST /voucher/:id/pause", a.pauseSale, own),
			httpkit.Staff("POST /voucher/:id/resume", a.resumeSale, own),
			httpkit.Staff("POST /voucher/:id/archive", a.archive, own),
			httpkit.Staff("POST /voucher/:id/restore", a.restore, own)),
		when(a.cfg.VoucherChanges != nil && a.cfg.Unwindings != nil,
			httpkit.Staff("POST /admin/voucher/:id/call-off", a.callOff, own, httpkit.Body,
				httpkit.Keyed(a.calledOffBefore)),
			httpkit.Staff("GET /admin/voucher/:id/call-off", a.unwinding, own, httpkit.Query("limit", "before"))),
		when(a.cfg.Orders != nil,
			httpkit.Staff("GET /admin/order", a.findOrders, httpkit.ByHandler,
				httpkit.Query("userId", "voucherId", "shopId", "payment", "from", "to", "status", "limit",
					"before")),
			httpkit.Staff("GET /admin/order/:id", a.findOrder, a.ownOrder),
			httpkit.Staff("POST /admin/order/:id/cancel", a.cancelForStaff, a.ownOrder, httpkit.Body,
				httpkit.Keyed(a.actedBefore))),
		when(a.cfg.Orders != nil && a.cfg.Payments != nil,
			httpkit.Staff("POST /admin/order/:id/refund", a.refundForStaff, a.ownOrder, httpkit.Body,
				httpkit.Keyed(a.actedBefore))),
		when(a.cfg.PaymentList != nil,
			httpkit.Staff("GET /admin/payment", a.findPayments, httpkit.ByHandler, httpkit.PaymentQuery,
				httpkit.Query("limit", "before")),
			httpkit.Staff("GET /admin/payment/:id", a.findPayment, a.ownPayment)),
		when(a.cfg.PaymentList != nil && a.cfg.StuckRefunds != nil,
			httpkit.Staff("POST /admin/payment/:id/retry", a.retryRefund, a.ownPayment, httpkit.Body,
				httpkit.Keyed(a.paymentBefore)),
			httpkit.Staff("POST /admin/payment/:id/close", a.closeRefund, a.ownPayment, httpkit.Body,
				httpkit.Keyed(a.paymentBefore))),
		when(a.cfg.DeadLetters != nil && a.cfg.Audit != nil,
			httpkit.Admin("GET /admin/deadletter", a.listDeadLetters, httpkit.Query("after", "limit")),
			httpkit.Admin("POST /admin/deadletter/:id/replay", a.replayDeadLetter, httpkit.Body),
			httpkit.Admin("POST /admin/deadletter/:id/discard", a.discardDeadLetter, httpkit.Body)),
		when(a.cfg.SaleStats != nil,
			httpkit.Staff("GET /admin/voucher/:id/live", a.saleEvents, own, httpkit.Uncounted)),
		when(a.cfg.Check != nil, httpkit.Staff("GET /admin/check", a.check, a.ownCheck, httpkit.Query("voucherId"))),
		when(a.cfg.Partitions != nil, httpkit.Admin("GET /admin/partition", a.listPartitions)),
		when(a.cfg.Audit != nil, httpkit.Staff("GET /admin/audit", a.audit, httpkit.ByHandler,
			httpkit.Query("voucherId", "adminId", "limit", "before"))))
}
