package shop

import (
	"slices"

	"seckill/internal/httpapi/httpkit"
)

// Routes returns every route of the shop. Routes for GET answer HEAD, too.
func (a *API) Routes() []httpkit.Route {
	return slices.Concat(a.forVisitors(), a.forBuyers(), a.forStaff())
}

// forVisitors are the routes that need no token.
func (a *API) forVisitors() []httpkit.Route {
	routes := []httpkit.Route{
		httpkit.Public("GET /voucher/list/:shopId", a.listVouchers, httpkit.Query("limit", "before")),
		httpkit.Public("GET /voucher/:id", httpkit.ByVoucher(a.showVoucher), httpkit.Recognizes),
	}
	if len(a.cfg.Callbacks) > 0 {
		routes = append(routes,
			httpkit.Callback("POST /payment/callback", a.paymentCallback),
			httpkit.Callback("POST /payment/callback/:provider", a.paymentCallback))
	}
	return routes
}

// forBuyers are the routes of purchases, orders and payments.
func (a *API) forBuyers() []httpkit.Route {
	quantityAndWait := httpkit.Query("quantity", "wait")
	return []httpkit.Route{
		httpkit.Buying("POST /voucher/seckill/:id", a.buy, httpkit.Limited, httpkit.Sells, quantityAndWait,
			httpkit.Body),
		httpkit.Buying("POST /voucher-order/seckill/:id", a.buyPlainly, httpkit.Limited, httpkit.Sells,
			quantityAndWait, httpkit.Plain),
		httpkit.Buying("POST /voucher/buy/:id", a.buyOrdinary, httpkit.Keyed(nil)),
		httpkit.Owning("GET /order", a.listOrders, httpkit.Query("voucherId", "status", "limit", "before")),
		httpkit.Owning("GET /order/events", a.allOrderEvents, httpkit.QueryToken, httpkit.Uncounted),
		httpkit.Owning("GET /order/:id", a.showOrder, httpkit.Query("wait")),
		httpkit.Owning("GET /order/:id/events", httpkit.ByID(a.orderEvents), httpkit.QueryToken,
			httpkit.Uncounted),
		httpkit.Buying("POST /order/:id/pay", httpkit.ByID(a.pay)),
		httpkit.Buying("POST /order/:id/refund", httpkit.ByID(a.refund)),
		httpkit.Buying("POST /order/:id/cancel", httpkit.ByID(a.cancelOrder)),
	}
}

// forStaff are the routes for staff: merchants use those of vouchers and orders for their shop; those of the whole
// installation are for admins.
func (a *API) forStaff() []httpkit.Route {
	own := httpkit.OwnVoucher(a.cfg.ShopOf)
	return []httpkit.Route{
		httpkit.Staff("POST /voucher", a.createOrdinary, httpkit.ByHandler, httpkit.Body,
			httpkit.KeyedByID(a.createdBefore)),
		httpkit.Staff("POST /voucher/seckill", a.createSeckill, httpkit.ByHandler, httpkit.Body,
			httpkit.KeyedByID(a.createdBefore)),
		httpkit.Staff("GET /admin/voucher", a.findVouchers, httpkit.ByHandler,
			httpkit.Query("shopId", "title", "archived", "limit", "before")),
		httpkit.Staff("PATCH /voucher/:id", httpkit.ByVoucher(a.changeVoucher), own, httpkit.Body),
		httpkit.Staff("POST /voucher/:id/stock", a.addStock, own, httpkit.Body),
		httpkit.Staff("POST /voucher/:id/pause", a.act(VoucherChanges.Pause), own),
		httpkit.Staff("POST /voucher/:id/resume", a.act(VoucherChanges.Resume), own),
		httpkit.Staff("POST /voucher/:id/archive", a.archive(true), own),
		httpkit.Staff("POST /voucher/:id/restore", a.archive(false), own),
		httpkit.Staff("POST /admin/voucher/:id/call-off", a.callOff, own, httpkit.Body,
			httpkit.KeyedByID(a.calledOffBefore)),
		httpkit.Staff("GET /admin/voucher/:id/call-off", a.unwinding, own, httpkit.Query("limit", "before")),
		httpkit.Staff("GET /admin/voucher/:id/live", httpkit.ByVoucher(a.saleEvents), own,
			httpkit.Uncounted),

		httpkit.Staff("GET /admin/order", a.findOrders, httpkit.ByHandler,
			httpkit.Query("userId", "voucherId", "shopId", "payment", "from", "to", "status", "limit", "before")),
		httpkit.Staff("GET /admin/order/:id", httpkit.ByID(a.findOrder), a.ownOrder),
		httpkit.Staff("POST /admin/order/:id/cancel", a.cancelForStaff, a.ownOrder, httpkit.Body,
			httpkit.KeyedByID(a.actedBefore)),
		httpkit.Staff("POST /admin/order/:id/refund", a.refundForStaff, a.ownOrder, httpkit.Body,
			httpkit.KeyedByID(a.actedBefore)),
		httpkit.Staff("GET /admin/payment", a.findPayments, httpkit.ByHandler, httpkit.PaymentQuery,
			httpkit.Query("limit", "before")),
		httpkit.Staff("GET /admin/payment/:id", a.findPayment, a.ownPayment),
		httpkit.Staff("POST /admin/payment/:id/refund", a.refundPart, a.ownPayment, httpkit.Body,
			httpkit.Keyed(a.refundedBefore)),
		httpkit.Staff("POST /admin/payment/:id/retry", a.actOnPayment(Payments.RetryRefund), a.ownPayment, httpkit.Body,
			httpkit.Keyed(a.paymentBefore)),
		httpkit.Staff("POST /admin/payment/:id/close", a.actOnPayment(Payments.CloseRefund), a.ownPayment, httpkit.Body,
			httpkit.Keyed(a.paymentBefore)),
		httpkit.Staff("GET /admin/audit", a.audit, httpkit.ByHandler,
			httpkit.Query("voucherId", "adminId", "limit", "before")),

		httpkit.Admin("GET /admin/deadletter", a.listDeadLetters, httpkit.Query("after", "limit")),
		httpkit.Admin("POST /admin/deadletter/:id/replay", a.replayDeadLetter, httpkit.Body),
		httpkit.Admin("POST /admin/deadletter/:id/discard", a.discardDeadLetter, httpkit.Body),
		httpkit.Admin("GET /admin/partition", a.listPartitions),
		httpkit.Admin("GET /admin/notice", a.refusedNotices),
		httpkit.Admin("GET /admin/provider", a.listProviders),
	}
}
