package redemption

import (
	"errors"
	"strconv"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
)

// tillCouponJSON is a coupon as a till of its shop reads it.
type tillCouponJSON struct {
	OrderID     string           `json:"orderId"`
	VoucherID   int64            `json:"voucherId"`
	Title       string           `json:"title,omitempty"`       // the voucher's, unless it cannot be read now
	ActualValue int64            `json:"actualValue,omitempty"` // cents, of one unit; likewise
	Currency    string           `json:"currency"`
	Quantity    int64            `json:"quantity,omitempty"` // units, all redeemed at once; absent: one
	Status      string           `json:"status"`
	ValidUntil  *httpkit.Time    `json:"validUntil,omitempty"`
	RedeemTime  *httpkit.Time    `json:"redeemTime,omitempty"`
	Reservation *reservationJSON `json:"reservation,omitempty"`
	Repeated    bool             `json:"repeated"` // the same request had been served before
	ServerTime  *httpkit.Time    `json:"serverTime"`
}

// reservationJSON is the till's own reservation.
type reservationJSON struct {
	ID    string        `json:"id"`
	Until *httpkit.Time `json:"until"`
}

// refusedCouponJSON is a coupon that a till was refused.
type refusedCouponJSON struct {
	OrderID       string        `json:"orderId"`
	Status        string        `json:"status"`
	RedeemTime    *httpkit.Time `json:"redeemTime,omitempty"`
	ValidUntil    *httpkit.Time `json:"validUntil,omitempty"`
	ReservedUntil *httpkit.Time `json:"reservedUntil,omitempty"`
	ByThisTill    bool          `json:"byThisTill"` // the calling till has redeemed or reserved it
}

func refusedView(e *RefusalError) refusedCouponJSON {
	c := e.Coupon
	v := refusedCouponJSON{
		OrderID: strconv.FormatInt(c.OrderID, 10), Status: c.Status.String(),
		RedeemTime: httpkit.TimeView(c.RedeemedAt), ValidUntil: httpkit.TimeView(c.ValidUntil),
		ByThisTill: c.RedeemedBy == e.Till.ID,
	}
	if errors.Is(e.Reason, ErrReserved) {
		v.ReservedUntil, v.ByThisTill = httpkit.TimeView(c.Reservation.Until), c.Reservation.Till == e.Till.ID
	}
	return v
}

// couponJSON is the coupon of an order as its owner reads it; for admins the code is masked.
type couponJSON struct {
	Code       string        `json:"code"`
	ValidUntil *httpkit.Time `json:"validUntil,omitempty"`
	RedeemedBy string        `json:"redeemedBy,omitempty"` // the till
}

func couponView(c Coupon, show func(Code) string) *couponJSON {
	v := &couponJSON{Code: show(c.Code), ValidUntil: httpkit.TimeView(c.ValidUntil)}
	if c.Status == order.Redeemed {
		v.RedeemedBy = string(Till{ID: c.RedeemedBy}.Actor())
	}
	return v
}
