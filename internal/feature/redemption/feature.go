package redemption

import (
	"context"
	"time"

	"github.com/google/uuid"

	"seckill/internal/feature"
	"seckill/internal/sqlstore/sqlkit"
)

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{
		Name: "redemption", Rules: Rules(), Open: open,
		Lock: lapserJob + ", which ends coupons whose date has passed",
		Commands: []feature.Command{{
			Name: "couponkey", Summary: "show or rotate the key for new codes of coupons", Run: couponKey,
		}},
	}
}

func open(core feature.Core) (feature.Parts, error) {
	ledger, m := NewLedger(core.DB, core.Orders), NewMetrics()
	tills := NewTills(ledger, core.Notifier, m, uuid.NewString, time.Now)
	return feature.Parts{
		Hooks: []sqlkit.Hook{ledger.Hook()},
		Start: []func(context.Context) error{ledger.begin},
		Routes: append(Routes(tills.Do, tills.CouponOf, Shop{core.Sales.Find, core.Sales.Order}, core.Front),
			StaffRoutes(NewStaff(ledger, core.Notifier), core.Front)...),
		Jobs: []func(context.Context) error{
			lapser(ledger, core.TryLock, core.Notifier, m, core.Log), loadKeys(ledger.CouponKeys, core.Log),
		},
		Metrics: m.Collectors(),
		Members: feature.Members{"coupon": {
			Order: ShownCoupon(tills.CouponOf), Orders: ShownCoupons(ledger.Coupons),
			Find: FoundOrder(ledger.OrderOfCode),
		}},
	}, nil
}
