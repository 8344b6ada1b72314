package retention

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
)

// Service has the functions behind the routes.
type Service struct {
	// Forget makes a person's rows those of nobody. Errors: *OwedError, order.ErrUpgrading, order.ErrUnavailable,
	// order.ErrUnknownChange.
	Forget func(ctx context.Context, user int64, by Trail) (Forgotten, error)
	// Export returns what is stored about a person. Errors: order.ErrUnavailable, order.ErrUnknownChange.
	Export func(ctx context.Context, user int64, by Trail) (Export, error)
}

// Routes returns the routes about people.
func Routes(s Service, bodies httpkit.Bodies) []httpkit.Route {
	h := handlers{s, bodies}
	return []httpkit.Route{
		httpkit.Admin("POST /admin/user/:id/forget", h.forget, httpkit.Body),
		httpkit.Admin("GET /admin/user/:id/export", h.export),
	}
}

type handlers struct {
	Service

	bodies httpkit.Bodies
}

// userID returns the user in the path.
func userID(c *gin.Context) (int64, error) {
	id, bad := param.ID("id", c.Param("id"), voucher.MaxID)
	return id, invalid.Join(bad)
}

// forget answers POST /admin/user/:id/forget.
func (h handlers) forget(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := userID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	why, err := h.bodies.ReadWhy(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	f, err := h.Forget(c.Request.Context(), id, Trail{Author: httpkit.Author(c, who), Why: why})
	return httpkit.Data(http.StatusOK, f, err)
}

// exportJSON is what is stored about one person.
type exportJSON struct {
	UserID int64                       `json:"userId"`
	At     httpkit.Time                `json:"at"`
	Tables map[string][]map[string]any `json:"tables"`
}

// export answers GET /admin/user/:id/export.
func (h handlers) export(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := userID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	e, err := h.Export(c.Request.Context(), id, Trail{Author: httpkit.Author(c, who)})
	return httpkit.Data(http.StatusOK, exportJSON{id, httpkit.ShownTime(e.At), e.Tables}, err)
}
