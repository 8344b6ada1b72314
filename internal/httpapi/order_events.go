package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/param"
	"seckill/internal/invalid"
	"seckill/internal/order"
)

// errNothingNew: the caller reconnects and knows the order's final state already.
var errNothingNew = errors.New("nothing follows")

// orderEvents answers GET /order/:id/events with server-sent events (HTML Standard, section 9.2): the order at once and at
// every change, as an "order" event whose id is its status, and "bye" with the reason when the server ends the stream. A
// browser then reconnects; when the Last-Event-ID that it sends is a final state the answer is 204, which ends its
// attempts.
func (a *API) orderEvents(c *gin.Context, who identity) (answer, error) {
	id, badID := param.ID("id", c.Param("id"), math.MaxInt64)
	if err := invalid.Join(badID); err != nil {
		return answer{}, err
	}
	ctx, s, err := a.streams.open(c, who, a.headers.stream, a.cfg.Now())
	if err != nil {
		return answer{}, err
	}
	defer a.streams.close(s)
	if c.Request.Method == http.MethodHead {
		if _, err := a.cfg.Purchases.Order(ctx, who.userID, id, 0); err != nil {
			return answer{}, err
		}
		s.begin()
		return answer{}, nil
	}
	known := c.GetHeader("Last-Event-ID")
	err = a.cfg.Purchases.Watch(ctx, who.userID, id, func(o order.Order, changed bool) error {
		switch {
		case !s.begun() && o.Status.Final() && known == o.Status.String():
			return errNothingNew
		case changed || !s.begun():
			return s.order(o)
		default:
			return s.heartbeat()
		}
	})
	if errors.Is(err, errNothingNew) {
		return answer{status: http.StatusNoContent, body: []byte{}}, nil
	}
	return answer{}, s.end(whyEnded(ctx, err))
}

// order sends the order as it is now.
func (s *stream) order(o order.Order) error {
	data, err := json.Marshal(orderView(o))
	if err != nil {
		return fmt.Errorf("rendering an order: %w", err)
	}
	return s.send("event: order\nid: " + o.Status.String() + "\ndata: " + string(data) + "\n\n")
}

// end sends why the stream ends, if it can still be sent, and returns what went wrong. An error before the first event is
// answered like any other, except that the process stops: a browser does not reconnect after an error.
func (s *stream) end(err error) error {
	reason := "unavailable"
	switch {
	case err == nil:
		reason = "final"
	case errors.Is(err, errStreamOver):
		reason, err = "timeout", nil
	case errors.Is(err, order.ErrStopping):
		reason, err = "shutdown", nil
	case errors.Is(err, errStreamBroken), errors.Is(err, context.Canceled) && s.begun():
		return nil // the caller has gone, or does not read: no failure of the service
	case !s.begun():
		return err
	}
	_ = s.send("event: bye\ndata: {\"reason\":\"" + reason + "\"}\n\n") // the stream ends in any case
	return err
}
