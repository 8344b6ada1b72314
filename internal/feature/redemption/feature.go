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
		Name: "redemption", Rules: Rules(), Ledger: inLedger,
		Lock: lapserJob + ", which ends coupons whose date has passed",
		Commands: []feature.Command{{
			Name: "couponkey", Summary: "show or rotate the key for new codes of coupons", Run: couponKey,
		}},
	}
}

// inLedger adds the hook that makes codes in the transactions that pay for orders.
func inLedger(db *sqlkit.DB, orders sqlkit.Orders) feature.InLedger {
	ledger := NewLedger(db, orders)
	return feature.InLedger{
		Hook: ledger.Hook(),
		Open: func(core feature.Core) (feature.Parts, error) { return open(core, ledger), nil },
	}
}

func open(core feature.Core, ledger *Ledger) feature.Parts {
	m := NewMetrics()
	tills := NewTills(ledger, core.Notifier, m, uuid.NewString, time.Now)
	return feature.Parts{
		Start: []func(context.Context) error{ledger.begin},
		Routes: append(Routes(tills.Do, tills.CouponOf, Shop{core.Sales.Find, core.UserOrder}, core.Front),
			StaffRoutes(NewStaff(ledger, core.Notifier), core.Front)...),
		Jobs: []func(context.Context) error{
			lapser(ledger, core.TryLockFenced, core.Notifier, m, core.Log), loadKeys(ledger.CouponKeys, core.Log),
		},
		Metrics: m.Collectors(),
		Members: feature.Members{
			Coupon: ShownCoupon(tills.CouponOf), Coupons: ShownCoupons(ledger.Coupons),
			OrderOfCode: FoundOrder(ledger.OrderOfCode),
		},
	}
}
