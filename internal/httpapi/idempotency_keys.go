package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/invalid"
)

// Keys finds idempotency keys of requests that have been done: *sqlstore.Store.
type Keys interface {
	// FindKey returns nil for a request that has not been done, *idempotency.RepeatedError for one that has,
	// idempotency.ErrReused if its key was used for another one, or order.ErrUnavailable.
	FindKey(ctx context.Context, k idempotency.Key) error
}

// readKey gives the request of a keyed route its key, if it has one. Its body has been read before.
func (a *API) readKey(r *httpkit.Route, c *gin.Context, who httpkit.Identity) error {
	if !r.Keyed {
		return nil
	}
	name, bad := param.IdempotencyKey(c.Request.Header)
	if err := invalid.Join(bad); err != nil || name == "" {
		return err
	}
	body, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return fmt.Errorf("reading a body again: %w", err)
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
	httpkit.SetKey(c, idempotency.Key{
		Caller: who.UserID, Name: name, Route: r.Method + " " + c.Request.URL.Path, Body: idempotency.Digest(body),
	})
	return nil
}

// handle calls the route's handler, unless the request repeats one that has been done. It checks that first, because
// the handler may now refuse what it accepted the first time: the sale has begun, or the rehearsal runs.
func (a *API) handle(r *httpkit.Route, c *gin.Context, who httpkit.Identity) (ans httpkit.Answer, err error) {
	if r.Again == nil {
		return r.Handle(c, who)
	}
	if k := httpkit.KeyOf(c); k.Given() {
		err = a.cfg.Keys.FindKey(c.Request.Context(), k)
	}
	if err == nil {
		ans, err = r.Handle(c, who)
	}
	if before, done := errors.AsType[*idempotency.RepeatedError](err); done {
		return r.Again(c, who, before.Made)
	}
	return ans, err
}
