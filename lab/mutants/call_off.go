package main

import "seckill/lab/mutant"

// inCallingOff are those that let a sale that was called off go on.
func inCallingOff() []mutant.Mutant {
	const store, redemption = "internal/sqlstore/", "internal/feature/redemption/"
	return []mutant.Mutant{
		packageMutant("a voucher is read without its call-off", "./internal/sqlstore", "TestCallOff$", "unset:",
			mutant.Change{File: store + "vouchers.go", From: "s.list_open, s.called_off", To: "s.list_open"}),
		packageMutant("a change opens a sale that was called off", "./internal/sqlstore", "TestCallOff$",
			"opens the sale", mutant.Change{
				File: store + "changes.go", From: "case calledOff:", To: "case calledOff && paused && !paused:",
			}),
		packageMutant("a rebuild opens a sale that was called off", "./internal/order/recovery", "TestPlanOfARebuild",
			"plan (-want +got)", mutant.Change{
				File: "internal/order/recovery/plan.go", From: "case v.Sale.IsCalledOff():",
				To: "case v.Sale.IsCalledOff() && v.Sale.Retired:",
			}),
		packageMutant("late money takes a unit of a sale that was called off", "./internal/sqlstore",
			"TestLatePaymentAfterCallingOff", "a late payment is late", mutant.Change{
				File: store + "payment_receive.go", From: "case sale.CalledOff != nil:",
				To: "case sale.CalledOff != nil && sale.Retired:",
			}),
		packageMutant("an order is unwound and its money stays", "./internal/sqlstore", "TestUnwind",
			"a payment is received", mutant.Change{
				File: store + "unwind.go", From: `map[string]any{"state": order.PaymentRefunding`,
				To: `map[string]any{"state": order.PaymentReceived`,
			}),
		packageMutant("a till redeems what was called off", "./internal/feature/redemption", "TestCalledOffAtTills",
			"redeem:", mutant.Change{
				File: redemption + "coupon.go", From: "case c.Status != order.Paid, c.CalledOff:",
				To: "case c.Status != order.Paid:",
			}),
		packageMutant("a reservation outlives the call-off", "./internal/feature/redemption", "TestCalledOffAtTills",
			"what was reserved is", mutant.Change{
				File: redemption + "ledger.go", From: "c.By == order.ByUnwinder", To: "c.By == order.ByExpirer",
			}),
	}
}
