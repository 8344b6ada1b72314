package main

import (
	"context"

	"seckill/internal/feature/report"
	"seckill/internal/httpapi"
	"seckill/internal/order/redemption"
)

// reportMembers returns what reports show of waiting lists, guards and coupons.
func reportMembers(s *stores) report.Members {
	return report.Members{
		Waitlist: func(ctx context.Context, voucherID int64) (report.Waitlist, error) {
			sums, err := s.ledger.PlaceSums(ctx, voucherID)
			return report.Waitlist(sums), err
		},
		Guards: httpapi.GuardFigures(s.redis.GuardFigures),
		Coupons: func(ctx context.Context, orderIDs []int64, whole bool) (map[int64]report.Coupon, error) {
			found, err := s.ledger.Coupons(ctx, orderIDs)
			return shownCoupons(found, whole), err
		},
	}
}

// shownCoupons returns the coupons as a report shows them, with their codes masked or whole.
func shownCoupons(found map[int64]redemption.Coupon, whole bool) map[int64]report.Coupon {
	show := redemption.Code.Masked
	if whole {
		show = redemption.Code.Shown
	}
	shown := make(map[int64]report.Coupon, len(found))
	for id, c := range found {
		shown[id] = report.Coupon{Code: show(c.Code), ValidUntil: c.ValidUntil}
	}
	return shown
}
