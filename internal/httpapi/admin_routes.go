package httpapi

import (
	"math"
	"net/http"

	"github.com/gin-gonic/gin"
)

// findOrders answers GET /admin/order: anybody's recorded orders, newest first, in pages as GET /order.
func (a *API) findOrders(c *gin.Context, _ identity) (answer, error) {
	values, badQuery := query(c.Request)
	userID, badUser := idIn(values, "userId")
	f, badFilter := filter(values, recordedStatuses()...)
	n, badLimit := limit(values)
	cursor, badCursor := before(values)
	if err := invalid(append(badFilter, badQuery, badUser, badLimit, badCursor)...); err != nil {
		return answer{}, err
	}
	f.UserID = userID
	orders, err := a.cfg.Clerk.Find(c.Request.Context(), f, cursor, n+1) // one more tells whether there are more
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, envelope: orderPage(orders, n)}, nil
}

// findOrder answers GET /admin/order/:id: anybody's recorded order, with its history.
func (a *API) findOrder(c *gin.Context, _ identity) (answer, error) {
	id, badID := pathID(c, "id", math.MaxInt64)
	if err := invalid(badID); err != nil {
		return answer{}, err
	}
	ctx := c.Request.Context()
	o, err := a.cfg.Clerk.Order(ctx, id)
	if err != nil {
		return answer{}, err
	}
	view, err := a.withHistory(ctx, o)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, envelope: envelope{Data: view}}, nil
}
