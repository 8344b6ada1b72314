package redemption

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Shop has the functions of the core that the routes of coupons need.
type Shop struct {
	// Find returns a voucher, from memory as a rule. Errors: voucher.ErrNotFound, order.ErrUnavailable.
	Find func(ctx context.Context, id int64) (voucher.Voucher, error)
	// Order returns a user's own order, waiting at most wait for it to be no longer queued. Errors: order.ErrNotFound,
	// order.ErrUnavailable.
	Order func(ctx context.Context, userID, orderID int64, wait time.Duration) (order.Order, error)
}

// Routes returns the routes of coupons; do and couponOf are those of Tills.
func Routes(
	do func(ctx context.Context, cmd Command, text string) (Outcome, error),
	couponOf func(ctx context.Context, o order.Order) (Coupon, error), shop Shop, front httpkit.Front,
) []httpkit.Route {
	h := handlers{do, couponOf, shop, front}
	routes := []httpkit.Route{httpkit.Owning("GET /order/:id/qr", httpkit.ByID(h.picture))}
	for _, v := range []Verb{Validate, Reserve, Redeem, Release} {
		routes = append(routes, httpkit.Till("POST /till/"+string(v), h.command(v), httpkit.Body))
	}
	return routes
}

type handlers struct {
	do       func(ctx context.Context, cmd Command, text string) (Outcome, error)
	couponOf func(ctx context.Context, o order.Order) (Coupon, error)
	shop     Shop
	front    httpkit.Front
}

// command answers POST /till/ and the verb. Reserve and Redeem need an Idempotency-Key, so that they can be repeated.
func (h handlers) command(v Verb) httpkit.Handler {
	return func(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
		cmd := Command{Verb: v, Till: Till{ID: who.UserID, ShopID: who.Shop}}
		if v == Reserve || v == Redeem {
			key, badKey := param.RequiredIdempotencyKey(c.Request.Header)
			if err := invalid.Join(badKey); err != nil {
				return httpkit.Answer{}, err
			}
			cmd.Key = key
		}
		var code string
		fields := []jsonbody.Field{jsonbody.Required(jsonbody.Text("code", &code))}
		switch reservation := jsonbody.Text("reservationId", &cmd.Reservation); v {
		case Redeem:
			fields = append(fields, reservation)
		case Release:
			fields = append(fields, jsonbody.Required(reservation))
		default:
		}
		if err := h.front.Bodies.Read(c, fields...); err != nil {
			return httpkit.Answer{}, err
		}
		o, err := h.do(c.Request.Context(), cmd, code)
		if errors.Is(err, ErrMalformed) {
			err = badCode()
		}
		if err != nil {
			return httpkit.Answer{}, err
		}
		return httpkit.Data(http.StatusOK, h.view(c.Request.Context(), cmd.Till, o), nil)
	}
}

// couponCode describes a coupon's code.
var couponCode = invalid.NewAllowed("COUPON_CODE", "{length} letters and digits, with or without hyphens",
	"{length} 位字母或数字，连字符可省略")

// badCode is the error for a malformed code.
func badCode() error {
	return invalid.Join(invalid.New("code", invalid.NotText, couponCode, invalid.Data{"length": CodeLength}))
}

// view returns the JSON form of an outcome. The voucher's title and value usually come from memory; if they cannot be
// read, they are left out, because the coupon is redeemed all the same.
func (h handlers) view(ctx context.Context, till Till, o Outcome) tillCouponJSON {
	view := tillCouponJSON{
		OrderID: strconv.FormatInt(o.Coupon.OrderID, 10), VoucherID: o.Coupon.VoucherID, Currency: h.front.Currency,
		Status: o.Coupon.Status.String(), ValidUntil: httpkit.TimeView(o.Coupon.ValidUntil),
		RedeemTime: httpkit.TimeView(o.Coupon.RedeemedAt), Repeated: o.Repeated, ServerTime: httpkit.TimeView(o.At),
	}
	if o.Coupon.Quantity != order.OneUnit {
		view.Quantity = o.Coupon.Quantity.Units()
	}
	if r := o.Coupon.Reservation; o.Coupon.Reserved(o.At) && r.Till == till.ID {
		view.Reservation = &reservationJSON{ID: r.ID, Until: httpkit.TimeView(r.Until)}
	}
	if v, err := h.shop.Find(ctx, o.Coupon.VoucherID); err == nil {
		view.Title, view.ActualValue = v.Title, v.ActualValue
	}
	return view
}

// picture answers GET /order/:id/qr: the code of the user's own order as a picture.
func (h handlers) picture(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	o, err := h.shop.Order(c.Request.Context(), who.UserID, id, 0)
	if err != nil {
		return httpkit.Answer{}, err
	}
	coupon, err := h.couponOf(c.Request.Context(), o)
	if err != nil {
		return httpkit.Answer{}, err
	}
	picture, err := qrPicture(string(coupon.Code))
	return httpkit.Answer{Status: http.StatusOK, Body: picture, Media: "image/svg+xml"}, err
}
