package redemption

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
)

// StaffService does for staff what they may do with coupons: *Staff. Its errors are those of StaffLedger.
type StaffService interface {
	// Extend gives the coupon of an order a later date.
	Extend(ctx context.Context, act order.StaffAct, until time.Time) (Coupon, error)
	// Unredeem undoes a redemption.
	Unredeem(ctx context.Context, act order.StaffAct) (Coupon, error)
	// Coupon returns the coupon of anybody's order.
	Coupon(ctx context.Context, orderID int64) (Coupon, error)
}

// StaffRoutes returns the routes by which staff change coupons.
func StaffRoutes(staff StaffService, front httpkit.Front) []httpkit.Route {
	h, own := staffHandlers{staff, front}, httpkit.OwnOrder(front.Order, front.ShopOf)
	return []httpkit.Route{
		httpkit.Staff("POST /admin/order/:id/extend", h.extend, own, httpkit.Body, httpkit.Keyed(h.before)),
		httpkit.Staff("POST /admin/order/:id/unredeem", h.unredeem, own, httpkit.Body, httpkit.Keyed(h.before)),
	}
}

type staffHandlers struct {
	staff StaffService
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

// before answers an act that was done before, with the coupon as it is now.
func (h staffHandlers) before(c *gin.Context, _ httpkit.Identity, made string) (httpkit.Answer, error) {
	id, err := strconv.ParseInt(made, 10, 64)
	if err != nil {
		return httpkit.Answer{}, fmt.Errorf("an act on order %q: %w", made, err)
	}
	return staffAnswer(h.staff.Coupon(c.Request.Context(), id))
}

// staffCouponJSON is a coupon as admins read it, with its order.
type staffCouponJSON struct {
	OrderID   string      `json:"orderId"`
	VoucherID int64       `json:"voucherId"`
	Status    string      `json:"status"`
	Coupon    *couponJSON `json:"coupon"`
}

func staffAnswer(c Coupon, err error) (httpkit.Answer, error) {
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: staffCouponJSON{
		OrderID: strconv.FormatInt(c.OrderID, 10), VoucherID: c.VoucherID, Status: c.Status.String(),
		Coupon: couponView(c, Code.Masked),
	}}}, nil
}
