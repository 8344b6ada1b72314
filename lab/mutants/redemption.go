package main

import "seckill/lab/mutant"

// inRedemption are those that cost a buyer a coupon or a shop its money.
func inRedemption() []mutant.Mutant {
	return []mutant.Mutant{
		serverMutant("a repeated redeem is called another one's", "F57", "0 have got the coupon",
			mutant.Change{
				File: "internal/feature/redemption/coupon.go", From: `	case cmd.Verb == Redeem && c.redeemedBy(cmd):
		return true, nil
`, To: ``,
			},
			mutant.Change{
				File: "internal/feature/redemption/coupon.go",
				From: `// redeemedBy reports whether the same request has redeemed the coupon.
func (c *Coupon) redeemedBy(cmd Command) bool {
	return c.Status == order.Redeemed && c.RedeemedBy == cmd.Till.ID && c.RedeemKey == cmd.Key
}

`, To: ``,
			},
		),
		serverMutant("a reservation does not bar the refund", "F57", "the code ORDER_STATE",
			mutant.Change{File: "internal/feature/redemption/ledger.go", From: `	case c.Reserved(asked.At):
		return &order.NotNowError{Why: ErrReserved}
`, To: ``},
			mutant.Change{
				File: "internal/feature/redemption/coupon.go",
				From: `	case cmd.Reservation != "" && (!held || !c.holds(cmd)):
		return ErrReservationOver
`, To: ``,
			},
			mutant.Change{
				File: "internal/feature/redemption/coupon.go",
				From: `	case c.Status != order.Paid, c.CalledOff, c.Returned:
		return false, ErrVoid
`, To: ``,
			},
		),
		packageMutant("a spoilt key keeps payments waiting", "./internal/feature/redemption",
			"TestSpoiltKeyStopsNothing", "no codes are made", mutant.Change{
				File: "internal/feature/redemption/ledger.go", From: `!errors.Is(err, ErrKeySpoilt) { // codes`,
				To: `!errors.Is(err, nil) { // codes`,
			},
		),
	}
}
