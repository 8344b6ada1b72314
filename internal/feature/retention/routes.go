package retention

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
)

// Service has the functions behind the routes.
type Service struct {
	// Forget is the function Forget. Error besides its own: order.ErrUpgrading.
	Forget func(ctx context.Context, user int64, by Trail) (Forgotten, error)
	// Export returns what is stored about a person. Errors: order.ErrUnavailable, order.ErrUnknownChange.
	Export func(ctx context.Context, user int64, by Trail) (Export, error)
}

// Routes returns the routes about people.
func Routes(s Service, bodies httpkit.Bodies) []httpkit.Route {
	h := handlers{s, bodies}
	return []httpkit.Route{
		httpkit.Admin("POST /admin/user/:id/forget", httpkit.ByVoucher(h.forget), httpkit.Body),
		httpkit.Admin("GET /admin/user/:id/export", httpkit.ByVoucher(h.export)),
	}
}

type handlers struct {
	Service

	bodies httpkit.Bodies
}

// forget answers POST /admin/user/:id/forget.
func (h handlers) forget(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	why, err := h.bodies.ReadWhy(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	f, err := h.Forget(c.Request.Context(), id, Trail{Author: httpkit.Author(c, who), Why: why})
	return httpkit.Data(http.StatusOK, f, err)
}

// export answers GET /admin/user/:id/export.
func (h handlers) export(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	e, err := h.Export(c.Request.Context(), id, Trail{Author: httpkit.Author(c, who)})
	return httpkit.Data(http.StatusOK, e, err)
}
