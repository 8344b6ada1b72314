package httpkit

import (
	"math"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
)

// ReadStaffAct reads an act of staff on the order in the path: its reason, and the given fields. It requires an
// Idempotency-Key, because an act on money or a coupon must not happen twice.
func ReadStaffAct(c *gin.Context, who Identity, bodies Bodies, fields ...jsonbody.Field) (order.StaffAct, error) {
	id, badID := param.ID("id", c.Param("id"), math.MaxInt64)
	_, badKey := param.RequiredIdempotencyKey(c.Request.Header)
	if err := invalid.Join(badID, badKey); err != nil {
		return order.StaffAct{}, err
	}
	why, err := bodies.ReadWhy(c, fields...)
	return order.StaffAct{OrderID: id, By: Author(c, who), Why: why}, err
}
