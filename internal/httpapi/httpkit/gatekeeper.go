package httpkit

import (
	"github.com/gin-gonic/gin"

	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// Gatekeeper keeps bots from taking sales that have guards. It is asked of no other sale, and stands before the
// routes of a sale, which are those with [Limited], and before a purchase and a place in its waiting list. What it
// refuses with are errors of its own, which have their rules.
type Gatekeeper interface {
	// Limits refuses a caller who asks for units of the voucher's sale too often, or whose address or network does. It
	// asks no store.
	Limits(c *gin.Context, who Identity, voucherID int64, s *guards.Settings) error
	// Enter returns nil if the user may enter the voucher's sale. One who may not hears of an order that they have
	// there, as *order.AlreadyBoughtError; of a sale that the public does not see yet, voucher.ErrNotFound.
	Enter(c *gin.Context, who Identity, v voucher.Voucher) error
	// Won counts units that the user got in the voucher's sale.
	Won(c *gin.Context, who Identity, voucherID, units int64)
	// Headers are the headers of requests that it reads. Pages of other origins may send them.
	Headers() []string
	// Lacks returns the setting without which there is no such guard here; "" if there is.
	Lacks(n guards.Name) (setting string)
}
