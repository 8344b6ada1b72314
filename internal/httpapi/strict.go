package httpapi

import (
	"bytes"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
)

// sendsBody reports whether a request has a body that must be read. Most purchases declare none.
func sendsBody(r *httpkit.Route, req *http.Request) bool {
	return req.ContentLength != 0 && r.Method != http.MethodGet && r.Strict()
}

// strict refuses a body that is too large and, on a strict route, every name that the route does not know. It reads the
// body of a strict route, whether or not the handler uses it.
func (a *API) strict(r *httpkit.Route, c *gin.Context) error {
	switch {
	case a.declaresTooMuch(r, c.Request):
		return httpkit.ErrTooLarge
	case !r.Strict():
		return nil
	}
	if c.Request.URL.RawQuery != "" {
		if err := invalid.Join(param.Unknown(c.Request.URL.RawQuery, r.Query...)...); err != nil {
			return err
		}
	}
	if sendsBody(r, c.Request) {
		return a.readStrictly(r, c)
	}
	return nil
}

// readStrictly reads a body. It refuses one with members if the route reads none.
func (a *API) readStrictly(r *httpkit.Route, c *gin.Context) error {
	body, err := jsonbody.Bytes(httpkit.RawWriter(c), c.Request, a.cfg.BodyLimit)
	if err != nil {
		return httpkit.SizeError(err)
	}
	if text := bytes.TrimSpace(body); len(text) == 0 || string(text) == "null" { // some clients write nothing so
		body = nil
	}
	c.Request.Body, c.Request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if r.Body || body == nil {
		return nil
	}
	return a.bodies.Read(c) // no member is known
}
