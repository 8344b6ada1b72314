package redemption

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/kit/invalid"
)

// StaffRoutes returns the routes by which staff change coupons.
func StaffRoutes(staff *Staff, front httpkit.Front) []httpkit.Route {
	h, own := staffHandlers{staff, front}, httpkit.OwnOrder(front.Order, front.ShopOf)
	return []httpkit.Route{
		httpkit.Staff("POST /admin/order/:id/extend", h.extend, own, httpkit.Body, httpkit.Keyed(h.before)),
		httpkit.Staff("POST /admin/order/:id/unredeem", h.unredeem, own, httpkit.Body, httpkit.Keyed(h.before)),
	}
}

type staffHandlers struct {
	staff *Staff
	front httpkit.Front
}

// extend answers POST /admin/order/:id/extend.
func (h staffHandlers) extend(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	var until time.Time
	act, err := httpkit.ReadStaffAct(c, who, h.front.Bodies,
		jsonbody.Required(jsonbody.Time("validUntil", &until, h.front.Zone)))
	if err != nil {
		return httpkit.Answer{}, err
	}
	if until.UTC().Year() > 9999 {
		return httpkit.Answer{}, invalid.Join(invalid.New("validUntil", invalid.YearOutOfRange, invalid.AfterTime,
			invalid.Data{"after": h.front.Now().UTC().Format(time.RFC3339)}))
	}
	return staffAnswer(h.staff.Extend(c.Request.Context(), act, until))
}

// unredeem answers POST /admin/order/:id/unredeem.
func (h staffHandlers) unredeem(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	act, err := httpkit.ReadStaffAct(c, who, h.front.Bodies)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return staffAnswer(h.staff.Unredeem(c.Request.Context(), act))
}

// before answers a repeated request, with the coupon as it is now.
func (h staffHandlers) before(c *gin.Context, _ httpkit.Identity, made string) (httpkit.Answer, error) {
	id, err := strconv.ParseInt(made, 10, 64)
	if err != nil {
		return httpkit.Answer{}, fmt.Errorf("an act on order %q: %w", made, err)
	}
	return staffAnswer(h.staff.Coupon(c.Request.Context(), id))
}

// staffCouponJSON is the JSON form of a coupon for admins, with its order.
type staffCouponJSON struct {
	OrderID   string      `json:"orderId"`
	VoucherID int64       `json:"voucherId"`
	Status    string      `json:"status"`
	Coupon    *couponJSON `json:"coupon"`
}

func staffAnswer(c Coupon, err error) (httpkit.Answer, error) {
	return httpkit.Data(http.StatusOK, staffCouponJSON{
		OrderID: strconv.FormatInt(c.OrderID, 10), VoucherID: c.VoucherID, Status: c.Status.String(),
		Coupon: couponView(c, Code.Masked),
	}, err)
}
