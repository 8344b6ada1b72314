package shop

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/voucher"
)

// Orders keeps the recorded orders: *service.Orders.
type Orders interface {
	// Cancel cancels the user's unpaid order. If the order is queued, Cancel first waits for its row. A cancelled order
	// stays as it is. Errors: order.ErrNotFound, *order.StateError, order.ErrUnavailable.
	Cancel(ctx context.Context, userID, orderID int64) (order.Order, error)
	// CancelForStaff cancels anybody's recorded order, once for each key of the act's author; a cancelled one stays as
	// it is. Errors: order.ErrNotFound, *order.StateError, *order.NotNowError, order.ErrUnavailable,
	// *idempotency.RepeatedError, idempotency.ErrReused.
	CancelForStaff(ctx context.Context, act order.StaffAct) (order.Order, error)
	// History returns what happened to the order, oldest first. Error: order.ErrUnavailable.
	History(ctx context.Context, o order.Order) ([]order.Event, error)
	// Order returns any user's recorded order. Errors: order.ErrNotFound, order.ErrUnavailable.
	Order(ctx context.Context, orderID int64) (order.Order, error)
	// Find returns recorded orders that the filter selects and whose ids are lower than before, newest first, at most
	// limit. Error: order.ErrUnavailable.
	Find(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, error)
}

// showOrder answers GET /order/:id. Another user's order is answered as unknown.
func (a *API) showOrder(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), math.MaxInt64)
	values, badQuery := param.ParseQuery(c.Request)
	wait, badWait := values.Duration("wait", a.cfg.MaxWait)
	if err := invalid.Join(badID, badQuery, badWait); err != nil {
		return httpkit.Answer{}, err
	}
	o, err := a.cfg.Purchases.Order(c.Request.Context(), who.UserID, id, a.wait(wait, who))
	return a.orderAnswer(c, o, true, err)
}

// cancelOrder answers POST /order/:id/cancel. Cancelling a cancelled order changes nothing.
func (a *API) cancelOrder(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	o, err := a.cfg.Orders.Cancel(c.Request.Context(), who.UserID, id)
	return httpkit.Data(http.StatusOK, orderView(o, a.cfg.Currency), err)
}

// listOrders answers GET /order: newest first, in pages. next, if there are more, is the value of before for the
// following page.
func (a *API) listOrders(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	f, badFilter := filter(values, append([]order.Status{order.Queued}, recordedStatuses()...)...)
	n, badLimit := values.Limit()
	cursor, badCursor := values.Before()
	if err := invalid.Join(append(badFilter, badQuery, badLimit, badCursor)...); err != nil {
		return httpkit.Answer{}, err
	}
	f.UserID = who.UserID
	page, err := a.cfg.Purchases.Orders(c.Request.Context(), f, cursor, n+1) // one more shows whether a page follows
	if err != nil {
		return httpkit.Answer{}, err
	}
	e := orderPage(page.Orders, n, a.cfg.Currency)
	e.Stale, err = a.addRefunds(c.Request.Context(), e, page.Orders)
	if err != nil {
		return httpkit.Answer{}, err
	}
	if e.Total = &page.Total; page.Stale { // there may be more than these
		e.Total, e.Next, e.Stale = nil, "", true
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: e}, nil
}

// filter returns the filter in the query, by voucher and status; statuses are the allowed ones.
func filter(values param.Query, statuses ...order.Status) (order.Filter, []*invalid.Problem) {
	voucherID, badVoucher := values.ID("voucherId", voucher.MaxID)
	f := order.Filter{VoucherID: voucherID}
	i, badStatus := httpkit.OneOf(values, "status", statuses)
	if i >= 0 {
		f.Status, f.Waiting = statuses[i], statuses[i] == order.Queued
	}
	return f, []*invalid.Problem{badVoucher, badStatus}
}

// recordedStatuses are the states of orders that have a row.
func recordedStatuses() []order.Status {
	return []order.Status{
		order.Unpaid, order.Paid, order.Redeemed, order.Cancelled, order.Refunding, order.Refunded,
		order.Failed, order.Lapsed,
	}
}

// orderPage is a page of at most n orders. A list with more than n orders has a following page.
func orderPage(orders []order.Order, n int, currency string) httpkit.Envelope {
	orders, next := httpkit.Page(orders, n, func(o order.Order) string { return strconv.FormatInt(o.ID, 10) })
	views := make([]orderJSON, len(orders))
	for i, o := range orders {
		views[i] = orderView(o, currency)
	}
	return httpkit.Envelope{Data: views, Next: next}
}

// orderJSON is an order as its owner reads it. It leaves out what has not happened. It leaves out the amount of an
// order without a row, as the amount is copied from the voucher when the row is written.
type orderJSON struct {
	ID            string        `json:"id"` // a string, because JavaScript cannot represent such large ids exactly
	VoucherID     int64         `json:"voucherId"`
	UserID        int64         `json:"userId"`
	Quantity      int64         `json:"quantity,omitempty"` // units; absent: one
	Status        string        `json:"status,omitempty"`   // absent when it is not known just now
	Amount        *int64        `json:"amount,omitempty"`   // in the currency's least unit
	Currency      string        `json:"currency"`
	Reason        string        `json:"reason,omitempty"` // why it failed
	CreateTime    *httpkit.Time `json:"createTime,omitempty"`
	PayBefore     *httpkit.Time `json:"payBefore,omitempty"`  // when the order expires if it is still unpaid
	Processing    bool          `json:"processing,omitempty"` // money for it is under way
	PayTime       *httpkit.Time `json:"payTime,omitempty"`
	RedeemTime    *httpkit.Time `json:"redeemTime,omitempty"`
	CancelTime    *httpkit.Time `json:"cancelTime,omitempty"`
	RefundingTime *httpkit.Time `json:"refundingTime,omitempty"`
	RefundTime    *httpkit.Time `json:"refundTime,omitempty"`
	FailTime      *httpkit.Time `json:"failTime,omitempty"`
	LapseTime     *httpkit.Time `json:"lapseTime,omitempty"`
	// Number is that of its last event, only in lists for staff.
	Number int64 `json:"number,omitempty"`
	// Title, ShopID and ShopName are the voucher's, only for staff, and absent if they cannot be read now.
	Title    string `json:"title,omitempty"`
	ShopID   int64  `json:"shopId,omitempty"`
	ShopName string `json:"shopName,omitempty"` // absent also of a shop without a name
	// Coupon is only in the answer about a single order, if it has a code.
	Coupon any `json:"coupon,omitempty"`
	// Refunds are those of its payments, the oldest first, without those that staff have seen to in another way.
	Refunds []ownRefundJSON `json:"refunds,omitempty"`
	// History is only in the answer about a single order.
	History []eventJSON `json:"history,omitempty"`
}

// eventJSON is one entry of an order's history.
type eventJSON struct {
	Status  string       `json:"status"` // the order's status from then on
	At      httpkit.Time `json:"at"`
	By      order.Actor  `json:"by"`
	Why     string       `json:"why,omitempty"` // in the caller's language
	WhyCode reason.Why   `json:"whyCode,omitempty"`
	Until   string       `json:"until,omitempty"` // of a reservation
}

func orderView(o order.Order, currency string) orderJSON {
	v := orderJSON{
		ID: strconv.FormatInt(o.ID, 10), VoucherID: o.VoucherID, UserID: o.UserID,
		Currency: currency, Status: shownStatus(o.Status), Reason: string(o.Reason),
		CreateTime: httpkit.TimeView(o.CreatedAt), PayBefore: httpkit.TimeView(o.PayBefore),
		PayTime: httpkit.TimeView(o.PaidAt), RedeemTime: httpkit.TimeView(o.RedeemedAt),
		CancelTime: httpkit.TimeView(o.CancelledAt), RefundingTime: httpkit.TimeView(o.RefundingAt),
		RefundTime: httpkit.TimeView(o.RefundedAt),
		FailTime:   httpkit.TimeView(o.FailedAt), LapseTime: httpkit.TimeView(o.LapsedAt), Processing: o.Processing,
	}
	if o.Quantity != order.OneUnit {
		v.Quantity = o.Quantity.Units()
	}
	if o.Status != order.Queued && o.Status != order.Failed && o.Status != order.StatusUnknown {
		v.Amount = &o.Amount
	}
	return v
}

// shownStatus returns a status as it is shown: "" if it is unknown.
func shownStatus(s order.Status) string {
	if s == order.StatusUnknown {
		return ""
	}
	return s.String()
}

// leftOut reports whether a part that an answer can do without cannot be read now. It returns any other error.
func leftOut(parts ...error) (stale bool, err error) {
	for _, err := range parts {
		if err != nil && !errors.Is(err, order.ErrUnavailable) {
			return false, err
		}
		stale = stale || err != nil
	}
	return stale, nil
}

// orderAnswer returns the answer with one order, unless err is set. It adds the coupon, with the whole code only for
// the owner, the refunds and the history, if they can be read soon.
func (a *API) orderAnswer(c *gin.Context, o order.Order, forOwner bool, err error) (httpkit.Answer, error) {
	if err != nil {
		return httpkit.Answer{}, err
	}
	ctx := c.Request.Context()
	v := orderView(o, a.cfg.Currency)
	coupon, errCoupon := a.cfg.Members.Of("coupon").Order(ctx, o, forOwner)
	refunds, errRefunds := a.ownRefunds(ctx, o)
	events, errEvents := a.cfg.Orders.History(ctx, o)
	stale, err := leftOut(errCoupon, errRefunds, errEvents)
	if err != nil {
		return httpkit.Answer{}, err
	}
	v.Coupon, v.Refunds = coupon, refunds
	return httpkit.Answer{
		Status: http.StatusOK, Envelope: httpkit.Envelope{Stale: stale},
		Speak: func(in words.Language) any {
			for _, e := range events {
				v.History = append(v.History, eventJSON{
					Status: e.Status.String(), At: httpkit.ShownTime(e.At), By: e.By, Why: e.Why.In(in),
					WhyCode: e.Why.Code(), Until: e.Why.Until(),
				})
			}
			return v
		},
	}, nil
}
