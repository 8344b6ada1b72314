package httpapi

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
	"seckill/internal/order/redemption"
)

// Tills redeems coupons: *redemption.Tills. What tills ask for ends in redemption's errors or order.ErrUnavailable,
// after which the same request, repeated, tells what happened.
type Tills interface {
	// Validate tells whether the till could redeem the code now.
	Validate(ctx context.Context, till redemption.Till, code string) (redemption.Outcome, error)
	// Reserve reserves the code for two minutes, once for each key.
	Reserve(ctx context.Context, till redemption.Till, code, key string) (redemption.Outcome, error)
	// Redeem redeems the code, once; reservation is "" for none.
	Redeem(ctx context.Context, till redemption.Till, code, reservation, key string) (redemption.Outcome, error)
	// Release ends a reservation.
	Release(ctx context.Context, till redemption.Till, code, reservation string) (redemption.Outcome, error)
	// CouponOf returns the coupon of an order, or redemption.ErrNotFound if it has none. order.ErrUnavailable.
	CouponOf(ctx context.Context, o order.Order) (redemption.Coupon, error)
}

// validateCoupon answers POST /till/validate.
func (a *API) validateCoupon(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	var code string
	if err := a.bodies.Read(c, jsonbody.Required(jsonbody.Text("code", &code))); err != nil {
		return httpkit.Answer{}, err
	}
	return a.tillAnswer(c, who)(a.cfg.Tills.Validate(c.Request.Context(), tillOf(who), code))
}

// reserveCoupon answers POST /till/reserve.
func (a *API) reserveCoupon(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	key, badKey := param.RequiredIdempotencyKey(c.Request.Header)
	if err := invalid.Join(badKey); err != nil {
		return httpkit.Answer{}, err
	}
	var code string
	if err := a.bodies.Read(c, jsonbody.Required(jsonbody.Text("code", &code))); err != nil {
		return httpkit.Answer{}, err
	}
	return a.tillAnswer(c, who)(a.cfg.Tills.Reserve(c.Request.Context(), tillOf(who), code, key))
}

// redeemCoupon answers POST /till/redeem.
func (a *API) redeemCoupon(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	key, badKey := param.RequiredIdempotencyKey(c.Request.Header)
	if err := invalid.Join(badKey); err != nil {
		return httpkit.Answer{}, err
	}
	var code, reservation string
	err := a.bodies.Read(c, jsonbody.Required(jsonbody.Text("code", &code)), jsonbody.Text("reservation", &reservation))
	if err != nil {
		return httpkit.Answer{}, err
	}
	return a.tillAnswer(c, who)(a.cfg.Tills.Redeem(c.Request.Context(), tillOf(who), code, reservation, key))
}

// releaseCoupon answers POST /till/release.
func (a *API) releaseCoupon(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	var code, reservation string
	err := a.bodies.Read(c, jsonbody.Required(jsonbody.Text("code", &code)),
		jsonbody.Required(jsonbody.Text("reservation", &reservation)))
	if err != nil {
		return httpkit.Answer{}, err
	}
	return a.tillAnswer(c, who)(a.cfg.Tills.Release(c.Request.Context(), tillOf(who), code, reservation))
}

// tillCouponJSON is a coupon as a till of its shop reads it.
type tillCouponJSON struct {
	OrderID     string           `json:"orderId"`
	VoucherID   int64            `json:"voucherId"`
	Title       string           `json:"title,omitempty"`       // the voucher's, unless it cannot be read now
	ActualValue int64            `json:"actualValue,omitempty"` // cents, of one unit; likewise
	Quantity    int64            `json:"quantity,omitempty"`    // units, all redeemed at once; absent: one
	Status      string           `json:"status"`
	ValidUntil  *time.Time       `json:"validUntil,omitempty"`
	RedeemTime  *time.Time       `json:"redeemTime,omitempty"`
	Reservation *reservationJSON `json:"reservation,omitempty"`
	Repeated    bool             `json:"repeated"` // the same request was served before
	ServerTime  *time.Time       `json:"serverTime"`
}

// reservationJSON is the till's own reservation.
type reservationJSON struct {
	ID    string     `json:"id"`
	Until *time.Time `json:"until"`
}

// tillAnswer answers what became of a till's request. What the voucher is comes from memory as a rule; a redeemed
// coupon is redeemed whether that can be read or not.
func (a *API) tillAnswer(c *gin.Context, who httpkit.Identity) func(redemption.Outcome, error) (httpkit.Answer, error) {
	return func(o redemption.Outcome, err error) (httpkit.Answer, error) {
		if errors.Is(err, redemption.ErrMalformed) {
			return httpkit.Answer{}, invalid.Join(invalid.New("code", invalid.NotText, invalid.CouponCode,
				invalid.Data{"length": redemption.CodeLength}))
		}
		if err != nil {
			return httpkit.Answer{}, err
		}
		view := tillCouponJSON{
			OrderID: strconv.FormatInt(o.Coupon.OrderID, 10), VoucherID: o.Coupon.VoucherID,
			Status: o.Coupon.Status.String(), ValidUntil: httpkit.TimeView(o.Coupon.ValidUntil),
			RedeemTime: httpkit.TimeView(o.Coupon.RedeemedAt), Repeated: o.Repeated, ServerTime: httpkit.TimeView(o.At),
		}
		if o.Coupon.Quantity != order.OneUnit {
			view.Quantity = o.Coupon.Quantity.Units()
		}
		if r := o.Coupon.Reservation; o.Coupon.Reserved(o.At) && r.Till == who.UserID {
			view.Reservation = &reservationJSON{ID: r.ID, Until: httpkit.TimeView(r.Until)}
		}
		if v, err := a.cfg.FindVoucher(c.Request.Context(), o.Coupon.VoucherID); err == nil {
			view.Title, view.ActualValue = v.Title, v.ActualValue
		}
		return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: view}}, nil
	}
}

// refusedCouponJSON is a coupon that a till was refused.
type refusedCouponJSON struct {
	OrderID       string     `json:"orderId"`
	Status        string     `json:"status"`
	RedeemTime    *time.Time `json:"redeemTime,omitempty"`
	ValidUntil    *time.Time `json:"validUntil,omitempty"`
	ReservedUntil *time.Time `json:"reservedUntil,omitempty"`
	ByThisTill    bool       `json:"byThisTill"` // it has redeemed or reserved it
}

func refusedView(e *redemption.RefusalError) refusedCouponJSON {
	c := e.Coupon
	v := refusedCouponJSON{
		OrderID: strconv.FormatInt(c.OrderID, 10), Status: c.Status.String(),
		RedeemTime: httpkit.TimeView(c.RedeemedAt), ValidUntil: httpkit.TimeView(c.ValidUntil),
		ByThisTill: c.RedeemedBy == e.Till.ID,
	}
	if errors.Is(e.Reason, redemption.ErrReserved) {
		v.ReservedUntil, v.ByThisTill = httpkit.TimeView(c.Reservation.Until), c.Reservation.Till == e.Till.ID
	}
	return v
}

// couponJSON is the coupon of an order as its owner reads it; for admins the code is masked.
type couponJSON struct {
	Code       string     `json:"code"`
	ValidUntil *time.Time `json:"validUntil,omitempty"`
	RedeemedBy string     `json:"redeemedBy,omitempty"` // the till
}

func couponView(c redemption.Coupon, show func(redemption.Code) string) *couponJSON {
	v := &couponJSON{Code: show(c.Code), ValidUntil: httpkit.TimeView(c.ValidUntil)}
	if c.Status == order.Redeemed {
		v.RedeemedBy = string(redemption.Till{ID: c.RedeemedBy}.Actor())
	}
	return v
}

// couponQR answers GET /order/:id/qr: the code of the user's own order as a picture.
func (a *API) couponQR(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), math.MaxInt64)
	if err := invalid.Join(badID); err != nil {
		return httpkit.Answer{}, err
	}
	o, err := a.cfg.Purchases.Order(c.Request.Context(), who.UserID, id, 0)
	if err != nil {
		return httpkit.Answer{}, err
	}
	coupon, err := a.cfg.Tills.CouponOf(c.Request.Context(), o)
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
func tillOf(who httpkit.Identity) redemption.Till {
	return redemption.Till{ID: who.UserID, ShopID: who.Shop}
}
