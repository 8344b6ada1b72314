package shop

import (
	"fmt"
	"strconv"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
)

// cancelForStaff answers POST /admin/order/:id/cancel.
func (a *API) cancelForStaff(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	act, err := httpkit.ReadStaffAct(c, who, a.cfg.Bodies)
	if err != nil {
		return httpkit.Answer{}, err
	}
	o, err := a.cfg.Orders.CancelForStaff(c.Request.Context(), act)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return a.wholeOrder(c, o)
}

// refundForStaff answers POST /admin/order/:id/refund.
func (a *API) refundForStaff(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	act, err := httpkit.ReadStaffAct(c, who, a.cfg.Bodies)
	if err != nil {
		return httpkit.Answer{}, err
	}
	o, err := a.cfg.Payments.RefundForStaff(c.Request.Context(), act)
	if err != nil {
		return httpkit.Answer{}, err
	}
	ans, err := a.wholeOrder(c, o)
	ans.Status = refundStatus(o)
	return ans, err
}

// actedBefore answers an act of staff that was done before, with its order as it is now.
func (a *API) actedBefore(c *gin.Context, _ httpkit.Identity, made string) (httpkit.Answer, error) {
	id, err := strconv.ParseInt(made, 10, 64)
	if err != nil {
		return httpkit.Answer{}, fmt.Errorf("an act on order %q: %w", made, err)
	}
	o, err := a.cfg.Orders.Order(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	ans, err := a.wholeOrder(c, o)
	ans.Status = refundStatus(o)
	return ans, err
}
