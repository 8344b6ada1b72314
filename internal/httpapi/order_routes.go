package httpapi

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Clerk keeps the recorded orders: *order.Clerk.
type Clerk interface {
	// Cancel cancels the user's unpaid order, waiting for the row of one that is queued; a cancelled one stays as it is.
	// order.ErrNotFound, *order.StateError, order.ErrUnavailable.
	Cancel(ctx context.Context, userID, orderID int64) (order.Order, error)
	// History returns what happened to the order, oldest first. order.ErrUnavailable.
	History(ctx context.Context, o order.Order) ([]order.Event, error)
	// Order returns anybody's recorded order. order.ErrNotFound, order.ErrUnavailable.
	Order(ctx context.Context, orderID int64) (order.Order, error)
	// Find returns recorded orders that the filter lets through, with an id below before, newest first, at most limit.
	// order.ErrUnavailable.
	Find(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, error)
}

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
	return answer{status: status, location: orderPath(o.ID), body: orderRef(o)}, nil
}

// orderRef is the body that names an order. It is made by hand, because this is what every winner of a sale gets.
func orderRef(o order.Order) []byte {
	body := make([]byte, 0, 96)
	body = append(body, `{"success":true,"data":`...)
	body = appendOrderRef(body, o.ID, o.Status)
	return append(body, `}}`...)
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
	view, err := a.withHistory(c.Request.Context(), o)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, envelope: envelope{Data: view}}, nil
}

// cancelOrder answers POST /order/:id/cancel. Cancelling a cancelled order changes nothing.
func (a *API) cancelOrder(c *gin.Context, who identity) (answer, error) {
	id, badID := pathID(c, "id", math.MaxInt64)
	if err := invalid(badID); err != nil {
		return answer{}, err
	}
	o, err := a.cfg.Clerk.Cancel(c.Request.Context(), who.userID, id)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, envelope: envelope{Data: orderView(o)}}, nil
}

// listOrders answers GET /order: newest first, in pages. next is there when there are more: the id before which the
// following page begins.
func (a *API) listOrders(c *gin.Context, who identity) (answer, error) {
	values, badQuery := query(c.Request)
	f, badFilter := filter(values, append([]order.Status{order.Queued}, recordedStatuses()...)...)
	n, badLimit := limit(values)
	cursor, badCursor := before(values)
	if err := invalid(append(badFilter, badQuery, badLimit, badCursor)...); err != nil {
		return answer{}, err
	}
	f.UserID = who.userID
	orders, total, err := a.cfg.Desk.Orders(c.Request.Context(), f, cursor, n+1) // one more tells whether there are more
	if err != nil {
		return answer{}, err
	}
	e := orderPage(orders, n)
	e.Total = &total
	return answer{status: http.StatusOK, envelope: e}, nil
}

// orderPage is a page of at most n orders, of which there may be one more to tell whether a page follows.
func orderPage(orders []order.Order, n int) envelope {
	var e envelope
	if len(orders) > n {
		orders = orders[:n]
		e.Next = strconv.FormatInt(orders[n-1].ID, 10)
	}
	views := make([]orderJSON, len(orders))
	for i, o := range orders {
		views[i] = orderView(o)
	}
	e.Data = views
	return e
}
