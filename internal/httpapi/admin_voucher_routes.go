package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/voucher"
)

// Shelf shows admins everything there is, on and off the shelf: *voucher.Service.
type Shelf interface {
	// All returns vouchers with an id below before, of one shop or with shopID 0 of all, newest first, at most limit, and
	// the server's time.
	All(ctx context.Context, shopID, before int64, limit int) ([]voucher.Shown, time.Time, error)
}

// findVouchers answers GET /admin/voucher: every shop's vouchers, newest first, in pages as GET /order.
func (a *API) findVouchers(c *gin.Context, _ identity) (answer, error) {
	values, badQuery := query(c.Request)
	shopID, badShop := idIn(values, "shopId")
	n, badLimit := limit(values)
	cursor, badCursor := before(values)
	if err := invalid(badQuery, badShop, badLimit, badCursor); err != nil {
		return answer{}, err
	}
	vs, now, err := a.cfg.Shelf.All(c.Request.Context(), shopID, cursor, n+1) // one more tells whether there are more
	if err != nil {
		return answer{}, err
	}
	next := ""
	if len(vs) > n {
		vs = vs[:n]
		next = strconv.FormatInt(vs[n-1].ID, 10)
	}
	views := make([]voucherJSON, len(vs))
	for i, v := range vs {
		views[i] = voucherView(v)
	}
	return answer{status: http.StatusOK, envelope: envelope{Data: views, Next: next, ServerTime: timeView(now)}}, nil
}
