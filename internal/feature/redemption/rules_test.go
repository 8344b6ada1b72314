package redemption_test

import (
	"fmt"
	"testing"

	"seckill/internal/feature/redemption"
	"seckill/internal/order"
)

// Every refusal has one rule, whether it comes with its coupon, as why an owner has to wait, or alone.
func TestRules(t *testing.T) {
	t.Parallel()
	for want, refusal := range map[string]error{
		"COUPON_NOT_FOUND": redemption.ErrNotFound, "COUPON_REDEEMED": redemption.ErrRedeemed,
		"COUPON_RESERVED": redemption.ErrReserved, "RESERVATION_OVER": redemption.ErrReservationOver,
		"COUPON_LAPSED": redemption.ErrLapsed, "COUPON_VOID": redemption.ErrVoid,
		"COUPON_DISPUTED":      redemption.ErrDisputed,
		"TOO_MANY_WRONG_CODES": redemption.ErrWrongCodes,
	} {
		for _, err := range []error{
			refusal, fmt.Errorf("of a till: %w", &redemption.RefusalError{Reason: refusal}),
			fmt.Errorf("of an owner: %w", &order.NotNowError{Why: refusal}),
		} {
			var got []string
			for _, r := range redemption.Rules() {
				if r.Matches(err) {
					got = append(got, r.Failure.Code)
				}
			}
			if len(got) != 1 || got[0] != want {
				t.Errorf("%v is answered %v, want %s", err, got, want)
			}
		}
	}
}
