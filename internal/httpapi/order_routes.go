package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// orderFailedError says that a purchase which was accepted and waited for could not be recorded.
type orderFailedError struct{ order order.Order }

func (e *orderFailedError) Error() string {
	return fmt.Sprintf("order %d failed: %s", e.order.ID, e.order.Reason)
}

// purchase is what both buying routes do. An order that failed while the caller waited is an error.
func (a *API) purchase(c *gin.Context, who identity) (order.Order, error) {
	id, badID := pathID(c, "id", voucher.MaxID)
	values, badQuery := query(c.Request)
	wait, badWait := a.wait(values)
	if err := invalid(badID, badQuery, badWait); err != nil {
		return order.Order{}, err
	}
	o, err := a.cfg.Desk.Buy(c.Request.Context(), who.userID, id, wait)
	if err == nil && o.Status == order.Failed {
		return order.Order{}, &orderFailedError{o}
	}
	return o, err
}

// buy answers POST /voucher/seckill/:id: 202 while the order is queued, 201 once it is recorded.
func (a *API) buy(c *gin.Context, who identity) (answer, error) {
	o, err := a.purchase(c, who)
	if err != nil {
		return answer{}, err
	}
	status := http.StatusCreated
	if o.Status == order.Queued || o.Status == order.StatusUnknown {
		status = http.StatusAccepted
	}
	// By hand, because this is what every winner of a sale gets.
	body := make([]byte, 0, 96)
	body = append(body, `{"success":true,"data":`...)
	body = appendOrderRef(body, o.ID, o.Status)
	body = append(body, `}}`...)
	return answer{status: status, location: orderPath(o.ID), body: body}, nil
}

// buyPlainly answers POST /voucher-order/seckill/:id, the tutorial's route: the order id alone.
func (a *API) buyPlainly(c *gin.Context, who identity) (answer, error) {
	o, err := a.purchase(c, who)
	if err != nil {
		return answer{}, err
	}
	body := make([]byte, 0, 64)
	body = append(body, `{"success":true,"data":"`...)
	body = strconv.AppendInt(body, o.ID, 10)
	body = append(body, `"}`...)
	return answer{status: http.StatusOK, location: orderPath(o.ID), body: body}, nil
}

func orderPath(id int64) string {
	const prefix = "/order/"
	path := make([]byte, 0, len(prefix)+20)
	return string(strconv.AppendInt(append(path, prefix...), id, 10))
}

// showOrder answers GET /order/:id. Somebody else's order does not exist.
func (a *API) showOrder(c *gin.Context, who identity) (answer, error) {
	id, badID := pathID(c, "id", math.MaxInt64)
	values, badQuery := query(c.Request)
	wait, badWait := a.wait(values)
	if err := invalid(badID, badQuery, badWait); err != nil {
		return answer{}, err
	}
	o, err := a.cfg.Desk.Order(c.Request.Context(), who.userID, id, wait)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, envelope: envelope{Data: orderView(o)}}, nil
}

// listOrders answers GET /order: newest first, in pages. next is there when there are more: the id before which the
// following page begins.
func (a *API) listOrders(c *gin.Context, who identity) (answer, error) {
	values, badQuery := query(c.Request)
	n, badLimit := limit(values)
	cursor, badCursor := before(values)
	if err := invalid(badQuery, badLimit, badCursor); err != nil {
		return answer{}, err
	}
	orders, total, err := a.cfg.Desk.Orders(c.Request.Context(), order.Filter{UserID: who.userID}, cursor, n+1) // one more tells whether there are more
	if err != nil {
		return answer{}, err
	}
	e := envelope{Total: &total}
	if len(orders) > n {
		orders = orders[:n]
		e.Next = strconv.FormatInt(orders[n-1].ID, 10)
	}
	views := make([]orderJSON, len(orders))
	for i, o := range orders {
		views[i] = orderView(o)
	}
	e.Data = views
	return answer{status: http.StatusOK, envelope: e}, nil
}

// orderJSON is an order as its owner reads it. What has not happened is absent; so is the amount of an order without
// a row, which is copied from the voucher when the row is written.
type orderJSON struct {
	ID            string     `json:"id"` // a string, because ids go beyond what JavaScript counts exactly
	VoucherID     int64      `json:"voucherId"`
	UserID        int64      `json:"userId"`
	Status        string     `json:"status"`
	Amount        *int64     `json:"amount,omitempty"` // cents
	Reason        string     `json:"reason,omitempty"` // why it failed
	CreateTime    *time.Time `json:"createTime,omitempty"`
	PayTime       *time.Time `json:"payTime,omitempty"`
	RedeemTime    *time.Time `json:"redeemTime,omitempty"`
	CancelTime    *time.Time `json:"cancelTime,omitempty"`
	RefundingTime *time.Time `json:"refundingTime,omitempty"`
	RefundTime    *time.Time `json:"refundTime,omitempty"`
	FailTime      *time.Time `json:"failTime,omitempty"`
}

func orderView(o order.Order) orderJSON {
	v := orderJSON{
		ID: strconv.FormatInt(o.ID, 10), VoucherID: o.VoucherID, UserID: o.UserID,
		Status: o.Status.String(), Reason: string(o.Reason),
		CreateTime: timeView(o.CreatedAt), PayTime: timeView(o.PaidAt), RedeemTime: timeView(o.RedeemedAt),
		CancelTime: timeView(o.CancelledAt), RefundingTime: timeView(o.RefundingAt), RefundTime: timeView(o.RefundedAt),
		FailTime: timeView(o.FailedAt),
	}
	if o.Status != order.Queued && o.Status != order.Failed && o.Status != order.StatusUnknown {
		v.Amount = &o.Amount
	}
	return v
}

// timeView is a time as it is shown, or nil for one that has not come.
func timeView(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = shownTime(t)
	return &t
}

// shownTime is a time as it is shown, RFC 3339 in UTC. None is finer than milliseconds, which is what the ledger keeps
// and JavaScript knows; the clock that serverTime comes from is finer.
func shownTime(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
