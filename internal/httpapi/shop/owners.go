package shop

import (
	"errors"
	"math"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// ownOrder returns order.ErrNotFound unless the order in the path is of the shop.
func (a *API) ownOrder(c *gin.Context, shop int64) error {
	id, bad := param.ID("id", c.Param("id"), math.MaxInt64)
	if err := invalid.Join(bad); err != nil {
		return err
	}
	o, err := a.cfg.Orders.Order(c.Request.Context(), id)
	if err != nil {
		return err
	}
	theirs, err := a.cfg.ShopOf(c.Request.Context(), o.VoucherID)
	if errors.Is(err, voucher.ErrNotFound) || err == nil && theirs != shop {
		return order.ErrNotFound
	}
	return err
}

// ownCheck returns voucher.ErrNotFound unless the checklist's voucher is of the shop. Without a voucher it refuses:
// that checklist is about the whole installation.
func (a *API) ownCheck(c *gin.Context, shop int64) error {
	values, badQuery := param.ParseQuery(c.Request)
	id, bad := values.ID("voucherId", voucher.MaxID)
	if err := invalid.Join(badQuery, bad); err != nil {
		return err
	}
	return httpkit.Owns(c.Request.Context(), a.cfg.ShopOf, shop, id)
}
