package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/order"
)

// Watcher tells of every change of an order: *order.Desk.
type Watcher interface {
	// Watch yields the user's order at once and after each change, and with changed false every 15 seconds. It returns nil
	// after a final state, else yield's error, ctx's, order.ErrDismissed when the process stops, order.ErrNotFound or
	// order.ErrUnavailable.
	Watch(ctx context.Context, userID, orderID int64, yield func(o order.Order, changed bool) error) error
}

// errNothingNew: the caller, who comes back, knows the order's final state.
var errNothingNew = errors.New("nothing follows")

// orderEvents answers GET /order/:id/events with server-sent events (HTML Standard, section 9.2): the order at once and at
// every change, as an "order" event whose id is its status, and "bye" with the reason when the stream ends in order. A
// browser comes back after that; when the Last-Event-ID that it sends is a final state it is answered 204, which keeps it
// from coming again.
func (a *API) orderEvents(c *gin.Context, who identity) (answer, error) {
	id, badID := pathID(c, "id", math.MaxInt64)
	if err := invalid(badID); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithCancelCause(c.Request.Context())
	defer cancel(nil)
	s, err := a.streams.open(c, who, a.headers.stream, cancel)
	if err != nil {
		return answer{}, err
	}
	defer a.streams.close(s)
	if c.Request.Method == http.MethodHead {
		if _, err := a.cfg.Desk.Order(ctx, who.userID, id, 0); err != nil {
			return answer{}, err
		}
		s.begin()
		return answer{}, nil
	}
	known := c.GetHeader("Last-Event-ID")
	err = a.cfg.Watcher.Watch(ctx, who.userID, id, func(o order.Order, changed bool) error {
		switch {
		case !s.begun() && o.Status.Final() && known == o.Status.String():
			return errNothingNew
		case changed || !s.begun():
			return s.order(o)
		default:
			return s.beat()
		}
	})
	if errors.Is(err, errNothingNew) {
		return answer{status: http.StatusNoContent, body: []byte{}}, nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, order.ErrDismissed) {
		err = cause
	}
	return answer{}, s.end(err)
}

// order sends the order as it is now.
func (s *stream) order(o order.Order) error {
	data, err := json.Marshal(orderView(o))
	if err != nil {
		return fmt.Errorf("rendering an order: %w", err)
	}
	return s.send("event: order\nid: " + o.Status.String() + "\ndata: " + string(data) + "\n\n")
}

// end says why the stream ends, as far as anybody hears it, and returns what went wrong. What keeps it from beginning is
// told like any error, except that the process stops: a browser does not come back after an error.
func (s *stream) end(err error) error {
	reason := "unavailable"
	switch {
	case err == nil:
		reason = "final"
	case errors.Is(err, errStreamOver):
		reason, err = "timeout", nil
	case errors.Is(err, order.ErrDismissed):
		reason, err = "shutdown", nil
	case errors.Is(err, errStreamBroken), errors.Is(err, context.Canceled) && s.begun():
		return nil // the caller has gone, or does not read: no failure of ours
	case !s.begun():
		return err
	}
	_ = s.send("event: bye\ndata: {\"reason\":\"" + reason + "\"}\n\n") // it ends, whether it is heard or not
	return err
}
