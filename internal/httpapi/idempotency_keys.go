package httpapi

import (
	"bytes"
	"fmt"
	"io"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/invalid"
)

// readKey sets the key of a request on a keyed route, if it has one. The body has been read before.
func (a *API) readKey(r *httpkit.Route, c *gin.Context, who httpkit.Identity) error {
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
