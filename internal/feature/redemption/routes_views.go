package redemption

import (
	"errors"
	"fmt"
	"strconv"

	"rsc.io/qr"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
)

// tillCouponJSON is the JSON form of a coupon for a till of its shop.
type tillCouponJSON struct {
	OrderID     string           `json:"orderId"`
	VoucherID   int64            `json:"voucherId"`
	Title       string           `json:"title,omitempty"`       // the voucher's; absent: it cannot be read now
	ActualValue int64            `json:"actualValue,omitempty"` // one unit's, in cents; absent: it cannot be read now
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

// refusedCouponJSON is the JSON form of a coupon about which a till was refused.
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

// couponJSON is the JSON form of an order's coupon for its owner; for admins the code is masked.
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

// quiet is how many light modules stand around a QR code, at least (ISO/IEC 18004, 5.3.8).
const quiet = 4

// qrPicture returns a text as a QR code in SVG: one path of dark modules on white, whatever the page's colours are.
// It has the error correction Q, for screens with scratches.
func qrPicture(text string) ([]byte, error) {
	code, err := qr.Encode(text, qr.Q)
	if err != nil {
		return nil, fmt.Errorf("drawing a QR code: %w", err)
	}
	side := strconv.Itoa(code.Size + 2*quiet)
	svg := []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ` + side + ` ` + side +
		`" shape-rendering="crispEdges">` +
		`<path fill="#fff" d="M0 0h` + side + `v` + side + `H0z"/><path d="`)
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			from := x
			for code.Black(x, y) { // Black is false beyond the code's edge
				x++
			}
			if x > from {
				svg = fmt.Appendf(svg, "M%d %dh%dv1h-%dz", from+quiet, y+quiet, x-from, x-from)
			}
		}
	}
	return append(svg, `"/></svg>`...), nil
}
