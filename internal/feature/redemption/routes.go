package redemption

import (
	"context"
	"errors"
	"math"
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

// Service redeems coupons: *Tills. Methods for tills return errors of this package or order.ErrUnavailable; after the
// latter, repeating the same request shows what happened.
type Service interface {
	// Validate checks whether the till could redeem the code now.
	Validate(ctx context.Context, till Till, code string) (Outcome, error)
	// Reserve reserves the code for two minutes, once for each key.
	Reserve(ctx context.Context, till Till, code, key string) (Outcome, error)
	// Redeem redeems the code, once; reservation is "" for none.
	Redeem(ctx context.Context, till Till, code, reservation, key string) (Outcome, error)
	// Release ends a reservation.
	Release(ctx context.Context, till Till, code, reservation string) (Outcome, error)
	// CouponOf returns the coupon of an order, or ErrNotFound if it has none. Error: order.ErrUnavailable.
	CouponOf(ctx context.Context, o order.Order) (Coupon, error)
}

// Vouchers finds vouchers: feature.Sales.
type Vouchers interface {
	// Find returns a voucher, from memory as a rule. Errors: voucher.ErrNotFound, order.ErrUnavailable.
	Find(ctx context.Context, id int64) (voucher.Voucher, error)
}

// Purchases are the orders of users: feature.Purchases.
type Purchases interface {
	// Order returns a user's own order, waiting at most wait for it to be no longer queued. Errors: order.ErrNotFound,
	// order.ErrUnavailable.
	Order(ctx context.Context, userID, orderID int64, wait time.Duration) (order.Order, error)
}

// Routes are the routes of coupons.
func Routes(service Service, vouchers Vouchers, purchases Purchases, front httpkit.Front) []httpkit.Route {
	h := handlers{service, vouchers, purchases, front}
	return []httpkit.Route{
		httpkit.Owning("GET /order/:id/qr", h.picture),
		httpkit.Till("POST /till/validate", h.validate, httpkit.Body),
		httpkit.Till("POST /till/reserve", h.reserve, httpkit.Body),
		httpkit.Till("POST /till/redeem", h.redeem, httpkit.Body),
		httpkit.Till("POST /till/release", h.release, httpkit.Body),
	}
}

type handlers struct {
	service   Service
	vouchers  Vouchers
	purchases Purchases
	front     httpkit.Front
}

// validate answers POST /till/validate.
func (h handlers) validate(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	var code string
	if err := h.front.Bodies.Read(c, jsonbody.Required(jsonbody.Text("code", &code))); err != nil {
		return httpkit.Answer{}, err
	}
	return h.answer(c, who)(h.service.Validate(c.Request.Context(), tillOf(who), code))
}

// reserve answers POST /till/reserve.
func (h handlers) reserve(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	key, badKey := param.RequiredIdempotencyKey(c.Request.Header)
	if err := invalid.Join(badKey); err != nil {
		return httpkit.Answer{}, err
	}
	var code string
	if err := h.front.Bodies.Read(c, jsonbody.Required(jsonbody.Text("code", &code))); err != nil {
		return httpkit.Answer{}, err
	}
	return h.answer(c, who)(h.service.Reserve(c.Request.Context(), tillOf(who), code, key))
}

// redeem answers POST /till/redeem.
func (h handlers) redeem(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	key, badKey := param.RequiredIdempotencyKey(c.Request.Header)
	if err := invalid.Join(badKey); err != nil {
		return httpkit.Answer{}, err
	}
	var code, reservation string
	err := h.front.Bodies.Read(c, jsonbody.Required(jsonbody.Text("code", &code)),
		jsonbody.Text("reservationId", &reservation))
	if err != nil {
		return httpkit.Answer{}, err
	}
	return h.answer(c, who)(h.service.Redeem(c.Request.Context(), tillOf(who), code, reservation, key))
}

// release answers POST /till/release.
func (h handlers) release(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	var code, reservation string
	err := h.front.Bodies.Read(c, jsonbody.Required(jsonbody.Text("code", &code)),
		jsonbody.Required(jsonbody.Text("reservationId", &reservation)))
	if err != nil {
		return httpkit.Answer{}, err
	}
	return h.answer(c, who)(h.service.Release(c.Request.Context(), tillOf(who), code, reservation))
}

// answer returns a function that answers with the outcome of a till's request. It adds the voucher, usually from
// memory, if that can be read.
func (h handlers) answer(c *gin.Context, who httpkit.Identity) func(Outcome, error) (httpkit.Answer, error) {
	return func(o Outcome, err error) (httpkit.Answer, error) {
		if errors.Is(err, ErrMalformed) {
			return httpkit.Answer{}, invalid.Join(invalid.New("code", invalid.NotText, invalid.CouponCode,
				invalid.Data{"length": CodeLength}))
		}
		if err != nil {
			return httpkit.Answer{}, err
		}
		view := tillCouponJSON{
			OrderID: strconv.FormatInt(o.Coupon.OrderID, 10), VoucherID: o.Coupon.VoucherID, Currency: h.front.Currency,
			Status: o.Coupon.Status.String(), ValidUntil: httpkit.TimeView(o.Coupon.ValidUntil),
			RedeemTime: httpkit.TimeView(o.Coupon.RedeemedAt), Repeated: o.Repeated, ServerTime: httpkit.TimeView(o.At),
		}
		if o.Coupon.Quantity != order.OneUnit {
			view.Quantity = o.Coupon.Quantity.Units()
		}
		if r := o.Coupon.Reservation; o.Coupon.Reserved(o.At) && r.Till == who.UserID {
			view.Reservation = &reservationJSON{ID: r.ID, Until: httpkit.TimeView(r.Until)}
		}
		if v, err := h.vouchers.Find(c.Request.Context(), o.Coupon.VoucherID); err == nil {
			view.Title, view.ActualValue = v.Title, v.ActualValue
		}
		return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: view}}, nil
	}
}

// picture answers GET /order/:id/qr: the code of the user's own order as a picture.
func (h handlers) picture(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), math.MaxInt64)
	if err := invalid.Join(badID); err != nil {
		return httpkit.Answer{}, err
	}
	o, err := h.purchases.Order(c.Request.Context(), who.UserID, id, 0)
	if err != nil {
		return httpkit.Answer{}, err
	}
	coupon, err := h.service.CouponOf(c.Request.Context(), o)
	if err != nil {
		return httpkit.Answer{}, err
	}
	picture, err := qrPicture(string(coupon.Code))
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Body: picture, Media: "image/svg+xml"}, nil
}

// tillOf returns the till that calls.
func tillOf(who httpkit.Identity) Till {
	return Till{ID: who.UserID, ShopID: who.Shop}
}
