package voucher

import (
	"time"

	"seckill/internal/kit/invalid"
)

// MaxValidDays is how many days a coupon may be valid after its payment.
const MaxValidDays = 3650

// Redemption says how paid orders of a voucher are redeemed. It is fixed when the voucher is created, since buyers pay
// for it. With the zero value orders have no code and cannot be redeemed here.
type Redemption struct {
	ByCode bool // a paid order gets a code, which tills of the voucher's shop redeem
	// ValidUntil or ValidDays limits the time in which a coupon may be redeemed; without either there is no limit.
	ValidUntil time.Time // exclusive
	ValidDays  int64     // times 24 hours, from the payment
}

// Until returns when the coupon of an order that was paid then expires, exclusive; zero: never.
func (r Redemption) Until(paid time.Time) time.Time {
	if r.ValidDays > 0 {
		return paid.AddDate(0, 0, int(r.ValidDays))
	}
	return r.ValidUntil
}

// Over reports whether the coupon of an order that is paid now would be past its date at once.
func (r Redemption) Over(now time.Time) bool {
	until := r.Until(now)
	return !until.IsZero() && !until.After(now)
}

// redemption checks a Redemption at the time now and returns it as it is stored.
func (r *fieldRules) redemption(d Redemption, now time.Time) Redemption {
	if !d.ValidUntil.IsZero() {
		d.ValidUntil = instant(d.ValidUntil)
	}
	switch {
	case !d.ByCode:
		if !d.ValidUntil.IsZero() {
			r.Bad("validUntil", needsCoupon, omitOrRedeemable, nil)
		}
		if d.ValidDays != 0 {
			r.Bad("validDays", needsCoupon, omitOrRedeemable, nil)
		}
		return d
	case !d.ValidUntil.IsZero() && d.ValidDays != 0:
		r.Bad("validDays", invalid.BesideOther, invalid.OneOfTwo, invalid.Data{"other": "validUntil"})
	case d.ValidUntil.Year() > 9999:
		r.Bad("validUntil", invalid.YearOutOfRange, invalid.AfterTime, invalid.Data{"after": second(now)})
	case !d.ValidUntil.IsZero() && !d.ValidUntil.After(now):
		r.Bad("validUntil", inThePast, invalid.AfterTime, invalid.Data{"after": second(now)})
	}
	if d.ValidDays != 0 {
		r.Number("validDays", d.ValidDays, 1, MaxValidDays)
	}
	return d
}

// usable checks that coupons can still be used when the sale ends.
func (r *fieldRules) usable(d Redemption, end time.Time) {
	if !d.ValidUntil.IsZero() && !d.ValidUntil.After(end) {
		r.Bad("endTime", notBeforeExpiry, beforeTime,
			invalid.Data{"other": "validUntil", "before": second(d.ValidUntil)})
	}
}
