package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
)

// errNothingNew: the caller has reconnected and already knows the order's final state.
var errNothingNew = errors.New("nothing follows")

// orderEvents answers GET /order/:id/events with server-sent events (HTML Standard, section 9.2): the order at once
// and at every change, as an "order" event whose id is its status, and "bye" with the reason when the server ends the
// stream. A browser then reconnects. If it sends a final state as Last-Event-ID, the answer is 204, which ends its
// attempts.
func (a *API) orderEvents(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), math.MaxInt64)
	if err := invalid.Join(badID); err != nil {
		return httpkit.Answer{}, err
	}
	ctx, s, err := a.cfg.Streams.Open(c, who, a.headers.stream, a.cfg.Now())
	if err != nil {
		return httpkit.Answer{}, err
	}
	defer a.cfg.Streams.Close(s)
	if c.Request.Method == http.MethodHead {
		if _, err := a.cfg.Purchases.Order(ctx, who.UserID, id, 0); err != nil {
			return httpkit.Answer{}, err
		}
		s.Begin()
		return httpkit.Answer{}, nil
	}
	known := c.GetHeader("Last-Event-ID")
	err = a.cfg.Purchases.Watch(ctx, who.UserID, id, func(o order.Order, changed bool) error {
		switch {
		case !s.Begun() && o.Status.Final() && known == o.Status.String():
			return errNothingNew
		case changed || !s.Begun():
			return sendOrder(s, o, a.cfg.Currency)
		default:
			return s.Heartbeat()
		}
	})
	if errors.Is(err, errNothingNew) {
		return httpkit.Answer{Status: http.StatusNoContent, Body: []byte{}}, nil
	}
	return httpkit.Answer{}, s.Finish(whyEnded(ctx, err))
}

// sendOrder sends the order as it is now.
func sendOrder(s *httpkit.Stream, o order.Order, currency string) error {
	data, err := json.Marshal(orderView(o, currency))
	if err != nil {
		return fmt.Errorf("rendering an order: %w", err)
	}
	return s.Send("event: order\nid: " + o.Status.String() + "\ndata: " + string(data) + "\n\n")
}

// whyEnded returns why a stream's handler ended: the cause of its context if the service ended that, else err.
func whyEnded(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, order.ErrStopping) || errors.Is(cause, httpkit.ErrStreamOver) {
		return cause
	}
	return err
}
