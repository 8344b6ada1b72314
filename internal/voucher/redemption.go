package voucher

import (
	"fmt"
	"time"
)

// MaxValidDays is how many days a coupon may be valid after its payment.
const MaxValidDays = 3650

// Redemption says how paid orders of a voucher are redeemed. It is fixed when the voucher is created: buyers have paid for
// it. The zero value is a voucher whose orders have no code and are not redeemed here.
type Redemption struct {
	ByCode bool // a paid order gets a code, which tills of the voucher's shop redeem
	// ValidUntil or ValidDays ends the time in which a coupon may be redeemed; without either it never ends.
	ValidUntil time.Time // exclusive
	ValidDays  int64     // times 24 hours, from the payment
}

// Until returns until when the coupon of an order that was paid then is valid, exclusive; zero for ever.
func (r Redemption) Until(paid time.Time) time.Time {
	if r.ValidDays > 0 {
		return paid.AddDate(0, 0, int(r.ValidDays))
	}
	return r.ValidUntil
}

// redemption returns it as it is stored, checked at the time now.
func (r *fieldRules) redemption(d Redemption, now time.Time) Redemption {
	if !d.ValidUntil.IsZero() {
		d.ValidUntil = instant(d.ValidUntil)
	}
	switch {
	case !d.ByCode:
		if !d.ValidUntil.IsZero() {
			r.bad("validUntil", "is of a coupon, and this voucher is not redeemable", `leave it out, or "redeemable": true`)
		}
		if d.ValidDays != 0 {
			r.bad("validDays", "is of a coupon, and this voucher is not redeemable", `leave it out, or "redeemable": true`)
		}
		return d
	case !d.ValidUntil.IsZero() && d.ValidDays != 0:
		r.bad("validDays", "is given beside validUntil", "one of the two")
	case !d.ValidUntil.IsZero() && (!d.ValidUntil.After(now) || d.ValidUntil.Year() > 9999):
		r.bad("validUntil", "is in the past or out of range", "a time after "+now.UTC().Format(time.RFC3339)+", before the year 10000")
	}
	if d.ValidDays != 0 {
		r.number("validDays", d.ValidDays, 1, MaxValidDays)
	}
	return d
}

// usable checks that coupons can still be used when the sale ends.
func (r *fieldRules) usable(d Redemption, end time.Time) {
	if !d.ValidUntil.IsZero() && !d.ValidUntil.After(end) {
		r.bad("endTime", "is not before validUntil: the last ones sold could not be used", fmt.Sprintf("a time before %s", d.ValidUntil.Format(time.RFC3339)))
	}
}
