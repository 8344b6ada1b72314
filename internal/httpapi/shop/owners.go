package shop

import (
	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
)

// ownOrder returns order.ErrNotFound unless the order in the path belongs to the shop.
func (a *API) ownOrder(c *gin.Context, shop int64) error {
	return httpkit.OwnOrder(a.cfg.Orders.Order, a.cfg.ShopOf)(c, shop)
}

// ownCheck returns voucher.ErrNotFound unless the checklist's voucher belongs to the shop. Without a voucher it
// refuses, because that checklist is about the whole installation.
func (a *API) ownCheck(c *gin.Context, shop int64) error {
	values, badQuery := param.ParseQuery(c.Request)
	id, bad := values.ID("voucherId", voucher.MaxID)
	if err := invalid.Join(badQuery, bad); err != nil {
		return err
	}
	return httpkit.Owns(c.Request.Context(), a.cfg.ShopOf, shop, id)
}
