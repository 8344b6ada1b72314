package shop

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
)

// errNothingNew: nothing will change, or the caller has reconnected and already knows the order's final state.
var errNothingNew = errors.New("nothing follows")

// orderEvents answers GET /order/:id/events with server-sent events (HTML Standard, section 9.2): the order at once
// and at every change, as an "order" event whose id is its status, and "bye" with the reason when the server ends the
// stream. A browser then reconnects. If it sends a final state as Last-Event-ID, the answer is 204, which ends its
// attempts.
func (a *API) orderEvents(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	if c.Request.Method == http.MethodHead {
		if _, err := a.cfg.Purchases.Order(c.Request.Context(), who.UserID, id, 0); err != nil {
			return httpkit.Answer{}, err
		}
	}
	known := c.GetHeader("Last-Event-ID")
	return a.stream(c, who, func(ctx context.Context, s *httpkit.Stream) error {
		return a.cfg.Purchases.Watch(ctx, who.UserID, id, func(o order.Order, changed bool) error {
			switch {
			case !s.Begun() && o.Status.Final() && known == o.Status.String():
				return errNothingNew
			case changed || !s.Begun():
				return s.Event("order", o.Status.String(), orderView(o, a.cfg.Currency))
			default:
				return s.Heartbeat()
			}
		})
	})
}

// allOrderEvents answers GET /order/events with server-sent events like those of orderEvents, for all of the caller's
// orders that may change without them, as one browser has only six connections to a host. The answer is 204 if there
// are none.
func (a *API) allOrderEvents(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	return a.stream(c, who, func(ctx context.Context, s *httpkit.Stream) error {
		err := a.cfg.Purchases.WatchAll(ctx, who.UserID, func(o order.Order, changed bool) error {
			if !changed {
				return s.Heartbeat()
			}
			return s.Event("order", "", orderView(o, a.cfg.Currency))
		})
		if err == nil && !s.Begun() {
			return errNothingNew
		}
		return err
	})
}

// stream answers with server-sent events, which send sends until they end. A HEAD request gets the header alone, and
// errNothingNew is answered with 204.
func (a *API) stream(
	c *gin.Context, who httpkit.Identity, send func(ctx context.Context, s *httpkit.Stream) error,
) (httpkit.Answer, error) {
	ctx, s, err := a.cfg.Streams.Open(c, who, []string{"text/event-stream"}, a.cfg.Now())
	if err != nil {
		return httpkit.Answer{}, err
	}
	defer a.cfg.Streams.Close(s)
	if c.Request.Method == http.MethodHead {
		s.Begin()
		return httpkit.Answer{}, nil
	}
	err = send(ctx, s)
	if errors.Is(err, errNothingNew) {
		return httpkit.Answer{Status: http.StatusNoContent, Body: []byte{}}, nil
	}
	return httpkit.Answer{}, s.Finish(whyEnded(ctx, err))
}

// whyEnded returns why a stream's handler ended: the cause of its context if the service ended the context, else err.
func whyEnded(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, order.ErrStopping) || errors.Is(cause, httpkit.ErrStreamOver) {
		return cause
	}
	return err
}
