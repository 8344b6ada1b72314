package httpapi

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
)

// cors lets pages of chosen origins call the API from a browser. Credentials (cookies) are never allowed: the token is
// a header that the page itself must know.
type cors struct {
	all     bool
	origins []string
}

func newCORS(origins []string) *cors {
	return &cors{all: slices.Equal(origins, []string{"*"}), origins: origins}
}

// handle adds the CORS headers for an allowed origin and answers its preflight requests. Other origins get none, and
// their browsers keep the answer from the page.
func (p *cors) handle(c *gin.Context) {
	h := c.Writer.Header()
	if !p.all {
		h.Add("Vary", "Origin")
	}
	origin := c.GetHeader("Origin")
	switch {
	case origin == "":
		return
	case p.all:
		h.Set("Access-Control-Allow-Origin", "*")
	case slices.Contains(p.origins, origin):
		h.Set("Access-Control-Allow-Origin", origin)
	default:
		return
	}
	if c.Request.Method == http.MethodOptions && c.GetHeader("Access-Control-Request-Method") != "" {
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, PATCH, POST")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id")
		h.Set("Access-Control-Max-Age", "600")
		c.AbortWithStatus(http.StatusNoContent)
		return
	}
	h.Set("Access-Control-Expose-Headers", "Location, Retry-After, X-Request-Id")
}
