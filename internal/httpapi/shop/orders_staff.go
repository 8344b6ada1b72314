package shop

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/idworker"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// findOrder answers GET /admin/order/:id: any user's recorded order, with its history.
func (a *API) findOrder(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	o, err := a.cfg.Orders.Order(c.Request.Context(), id)
	return a.wholeOrder(c, who, o, err)
}

// traceURL returns where the logs and traces of an order are shown; "" for who is no admin.
func (a *API) traceURL(who httpkit.Identity, id int64) string {
	if !who.Admin() {
		return ""
	}
	return strings.ReplaceAll(a.cfg.TraceURL, "{order}", strconv.FormatInt(id, 10))
}

// wholeOrder answers staff with an order, its history and its payments, unless err is set.
func (a *API) wholeOrder(
	c *gin.Context, who httpkit.Identity, o order.Order, err error,
) (httpkit.Answer, error) {
	ans, err := a.orderAnswer(c, o, false, err)
	if err != nil {
		return ans, err
	}
	payments, errPayments := a.cfg.PaymentsOf(c.Request.Context(), o.ID)
	views, errRefunds := a.paymentViews(c.Request.Context(), payments)
	stale, err := leftOut(errPayments, errRefunds)
	if err != nil {
		return httpkit.Answer{}, err
	}
	describe := a.describer(c.Request.Context(), []orderJSON{{VoucherID: o.VoucherID}})
	speak := ans.Speak
	ans.Speak = func(in words.Language) any {
		shown := speak(in).(orderJSON) //nolint:forcetypeassert // orderAnswer's
		describe(&shown)
		return adminOrderJSON{orderJSON: shown, Payments: views, TraceURL: a.traceURL(who, o.ID)}
	}
	ans.Envelope.Stale = ans.Envelope.Stale || stale
	return ans, nil
}

// ownOrder returns order.ErrNotFound unless the order in the path belongs to the shop.
func (a *API) ownOrder(c *gin.Context, shop int64) error {
	return httpkit.OwnOrder(a.cfg.Orders.Order, a.cfg.ShopOf)(c, shop)
}

// cancelForStaff answers POST /admin/order/:id/cancel.
func (a *API) cancelForStaff(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	act, err := httpkit.ReadStaffAct(c, who, a.cfg.Bodies)
	if err != nil {
		return httpkit.Answer{}, err
	}
	o, err := a.cfg.Orders.CancelForStaff(c.Request.Context(), act)
	return a.wholeOrder(c, who, o, err)
}

// actedBefore answers an act of staff that was done before, with its order as it is now.
func (a *API) actedBefore(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	o, err := a.cfg.Orders.Order(c.Request.Context(), id)
	ans, err := a.wholeOrder(c, who, o, err)
	ans.Status = refundStatus(o)
	return ans, err
}

// findOrders answers GET /admin/order: any user's recorded orders, newest first, in pages like GET /order. A merchant
// sees only their own shop's orders.
func (a *API) findOrders(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	userID, badUser := values.ID("userId", voucher.MaxID)
	f, badFilter := filter(values, recordedStatuses()...)
	shopID, badShop := values.ID("shopId", voucher.MaxID)
	payment, badPayment := httpkit.PaymentName(values)
	code, badCode := param.CouponCode(c.Request.Header)
	from, to, badTimes := a.window(values)
	n, badLimit := values.Limit()
	cursor, badCursor := values.Before()
	err := invalid.Join(append(append(badFilter, badTimes...), badQuery, badUser, badShop, badPayment, badCode,
		badLimit, badCursor)...)
	if err != nil {
		return httpkit.Answer{}, err
	}
	f.UserID, f.Payment, f.FirstID, cursor = userID, payment, from, min(cursor, to)
	if f.ShopID, err = who.Within(shopID); err != nil {
		return httpkit.Answer{}, err
	}
	if code != "" {
		f.OrderID, err = a.cfg.Members.Of("coupon").Find(c.Request.Context(), code)
		if err != nil {
			return httpkit.Answer{}, err
		}
		if f.OrderID == 0 {
			return httpkit.Answer{Status: http.StatusOK, Envelope: orderPage(nil, n, a.cfg.Currency)}, nil
		}
	}
	page, err := OrderPages(a.cfg.Orders, a.cfg.Currency)(c.Request.Context(), f, cursor, n)
	if err != nil {
		return httpkit.Answer{}, err
	}
	views := page.Data.([]orderJSON) //nolint:forcetypeassert // orderPage's
	describe := a.describer(c.Request.Context(), views)
	for i := range views {
		describe(&views[i])
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: page}, nil
}

// describer returns a function that gives an order among these its voucher's title and shop.
func (a *API) describer(ctx context.Context, views []orderJSON) func(*orderJSON) {
	find := a.vouchers(ctx)
	names := httpkit.ShopNames(ctx, a.cfg.Members, views, func(o orderJSON) int64 { return find(o.VoucherID).ShopID })
	return func(o *orderJSON) {
		v := find(o.VoucherID)
		o.Title, o.ShopID, o.ShopName = v.Title, v.ShopID, names[v.ShopID]
	}
}

// vouchers returns a function that returns a voucher, usually from memory, each once; the zero value if it cannot be
// read now. Once the ledger has not answered, it is not asked for another one.
func (a *API) vouchers(ctx context.Context) func(voucherID int64) voucher.Voucher {
	away, known := false, map[int64]voucher.Voucher{}
	return func(voucherID int64) voucher.Voucher {
		v, found := known[voucherID]
		if found || away || voucherID == 0 {
			return v
		}
		v, err := a.cfg.FindVoucher(ctx, voucherID)
		away = errors.Is(err, order.ErrUnavailable)
		known[voucherID] = v
		return v
	}
}

// window returns the range [from, to) of ids of the orders that were accepted at the times in the query. An order id
// contains the second of its making, so the primary key finds the orders.
func (a *API) window(values param.Query) (from, to int64, problems []*invalid.Problem) {
	begin, badBegin := values.Time("from", a.cfg.Zone)
	end, badEnd := values.Time("to", a.cfg.Zone)
	from, to = 0, math.MaxInt64
	if !begin.IsZero() {
		from = idworker.FirstAt(begin)
	}
	if !end.IsZero() {
		to = idworker.FirstAt(end)
	}
	problems = []*invalid.Problem{badBegin, badEnd}
	if badBegin == nil && badEnd == nil && !end.IsZero() && !begin.Before(end) {
		problems = append(problems, invalid.New("from", invalid.NotBeforeOther, invalid.BeforeOther,
			invalid.Data{"other": "to"}))
	}
	return from, to, problems
}

// OrderPages returns a function whose result has the form of GET /admin/order's answer: at most n of the recorded
// orders that the filter selects and whose ids are lower than the argument before, newest first.
func OrderPages(
	orders Orders, currency string,
) func(ctx context.Context, f order.Filter, before int64, n int) (httpkit.Envelope, error) {
	return func(ctx context.Context, f order.Filter, before int64, n int) (httpkit.Envelope, error) {
		found, err := orders.Find(ctx, f, before, n+1) // one more shows whether a page follows
		if err != nil {
			return httpkit.Envelope{}, err
		}
		page := orderPage(found, n, currency)
		for i, views := 0, page.Data.([]orderJSON); i < len(views); i++ { //nolint:forcetypeassert // orderPage's
			views[i].Number = found[i].Number()
		}
		return page, nil
	}
}
