package redemption

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
)

// StaffRoutes returns the routes by which staff change coupons.
func StaffRoutes(staff *Staff, front httpkit.Front) []httpkit.Route {
	h, own := staffHandlers{staff, front}, httpkit.OwnOrder(front.Order, front.ShopOf)
	return []httpkit.Route{
		httpkit.Staff("POST /admin/order/:id/extend", h.extend, own, httpkit.Body, httpkit.KeyedByID(h.before)),
		httpkit.Staff("POST /admin/order/:id/unredeem", h.unredeem, own, httpkit.Body, httpkit.KeyedByID(h.before)),
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
	coupon, err := h.staff.Extend(c.Request.Context(), act, until)
	return staffAnswer(coupon, h.unlessQueued(c, act.OrderID, order.Extend, err))
}

// unredeem answers POST /admin/order/:id/unredeem.
func (h staffHandlers) unredeem(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	act, err := httpkit.ReadStaffAct(c, who, h.front.Bodies)
	if err != nil {
		return httpkit.Answer{}, err
	}
	coupon, err := h.staff.Unredeem(c.Request.Context(), act)
	return staffAnswer(coupon, h.unlessQueued(c, act.OrderID, order.Unredeem, err))
}

// unlessQueued returns err, unless it says that there is no order while the order has no row yet: then it returns that
// the action is impossible in this state.
func (h staffHandlers) unlessQueued(c *gin.Context, orderID int64, action order.Action, err error) error {
	if !errors.Is(err, order.ErrNotFound) {
		return err
	}
	o, err := h.front.Order(c.Request.Context(), orderID)
	if err != nil {
		return err
	}
	return &order.StateError{OrderID: orderID, Status: o.Status, Action: action}
}

// before answers a repeated request, with the coupon as it is now.
func (h staffHandlers) before(c *gin.Context, _ httpkit.Identity, id int64) (httpkit.Answer, error) {
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
