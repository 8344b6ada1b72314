package main

import "seckill/lab/mutant"

// inCallingOff are those that let a sale that was called off go on, or leave something of it undone or untold.
func inCallingOff() []mutant.Mutant {
	const (
		store, redis, redemption = "internal/sqlstore/", "internal/redisstore/", "internal/feature/redemption/"
		ledger, redisTests       = "./internal/sqlstore", "./internal/redisstore"

		callOff, mode = store + "call_off.go", "internal/order/sale.go"
	)
	mutants := []mutant.Mutant{
		packageMutant("a voucher is read without its call-off", ledger, "TestCallOff$", "unset:",
			mutant.Change{File: store + "transaction.go", From: "s.list_open, s.called_off", To: "s.list_open"}),
		packageMutant("calling off twice is two", ledger, "TestCallOff$", "told 2 times",
			mutant.Change{File: callOff, From: `case rows.sale.CalledOff != nil:`, To: `case rows.row.ID == 0:`}),
		packageMutant("a retired sale is called off", ledger, "TestCallOffRefused$", "retired:",
			mutant.Change{File: callOff, From: `case rows.sale.Retired:`, To: `case rows.row.ID == 0:`}),
		packageMutant("calling off leaves the window", ledger, "TestCallOff", "alled off:",
			mutant.Change{File: callOff, From: `		c.sale.EndTime = now
`, To: ``}),
		packageMutant("a change opens a sale that was called off", ledger, "TestCallOff$", "opens the sale",
			mutant.Change{
				File: mode, From: "case sale.IsCalledOff():", To: "case sale.IsCalledOff() && sale.Retired:",
			}),
		packageMutant("a sale that was called off gets more stock", ledger, "TestCallOff$", "more stock",
			mutant.Change{
				File: store + "changes.go", From: "case sale.CalledOff != nil:",
				To: "case sale.CalledOff != nil && sale.Retired:",
			}),
		packageMutant("a rebuild opens a sale that was called off", "./internal/order/recovery", "TestPlanOfARebuild",
			"plan (-want +got)", mutant.Change{
				File: mode, From: "case sale.IsCalledOff():", To: "case sale.IsCalledOff() && sale.Retired:",
			}),
		packageMutant("a sale is retired within a day of being called off", "./internal/order/recovery",
			"TestSweepRetires$/within_a_day_of_being_called_off", "retired (-want +got)", mutant.Change{
				File: "internal/order/recovery/retire.go", From: "		end = v.Sale.CalledOff\n", To: "",
			}),
		packageMutant("late money takes a unit of a sale that was called off", ledger,
			"TestLatePaymentAfterCallingOff", "a late payment is late", mutant.Change{
				File: store + "payment_notice.go", From: "case sale.CalledOff != nil:",
				To: "case sale.CalledOff != nil && sale.Retired:",
			}),
		packageMutant("buyers hear that it is off the shelf", redisTests, "TestOnEveryServer$/miniredis/modes", `13`,
			mutant.Change{File: "scripts/seckill.lua", From: "refusal = CALLED_OFF", To: "refusal = OFF_SHELF"}),
		packageMutant("the state of a sale is not that it was called off", redisTests, "TestStateOf$",
			"called off, off the shelf", mutant.Change{
				File: redis + "sales.go", From: `	case view.Mode == order.SaleCalledOff:
		return voucher.StateCalledOff
`, To: ``,
			}),
		packageMutant("a retired sale is said to have ended by itself", "./internal/order/service",
			"TestBuyAfterRetirement$", "want ErrCalledOff", mutant.Change{
				File: "internal/order/admission/admission.go", From: "order.ErrNotFound) && sale.IsCalledOff():",
				To: "order.ErrNotFound) && !sale.Retired:",
			}),
		historyMutant("the call-off is not told", "./lab/life", "TestLife$", "webhooks are told 0 times",
			mutant.Change{
				File: "internal/feature/webhook/ledger_hook.go",
				From: `CalledOff: about(dispatch.SaleCalledOff), Restored`, To: `Restored`,
			}),
		packageMutant("a till redeems what was called off", "./internal/feature/redemption", "TestCalledOffAtTills",
			"redeem:", mutant.Change{
				File: redemption + "coupon.go", From: "case c.Status != order.Paid, c.CalledOff, c.Returned:",
				To: "case c.Status != order.Paid, c.Returned:",
			}),
		packageMutant("a reservation outlives the call-off", "./internal/feature/redemption", "TestCalledOffAtTills",
			"what was reserved is", mutant.Change{
				File: redemption + "ledger.go", From: "c.By == order.ByUnwinder", To: "c.By == order.ByExpirer",
			}),
		packageMutant("an order is unwound and its money stays", ledger, "TestUnwind", "a payment is received",
			mutant.Change{
				File: callOff, From: `map[string]any{"state": payment.Refunding`,
				To: `map[string]any{"state": payment.Received`,
			}),
		packageMutant("unpaid orders stay", ledger, "TestUnwind$", "orders are unwound, want 5",
			mutant.Change{File: callOff, From: `			unpaid = append(unpaid, *row)
`, To: ``}),
		packageMutant("an unwinder that was superseded goes on", ledger, "TestUnwind$", "superseded:",
			mutant.Change{
				File: callOff, From: `sqlkit.RaiseFence(tx.DB, order.UnwinderJob, token)`,
				To: `sqlkit.RaiseFence(tx.DB, order.UnwinderJob, max(token, 1))`,
			}),
		packageMutant("sales that were not called off are unwound", ledger, "TestUnwind$", "to unwind before",
			mutant.Change{
				File: callOff, From: `"retired = ? AND called_off IS NOT NULL", false`, To: `"retired = ?", false`,
			}),
		packageMutant("what is redeemed is not left to staff", ledger, "TestUnwind$", "left [",
			mutant.Change{
				File: callOff, From: `"AND o.id < @before AND (o.status IN (@redeemed, @lapsed) OR `,
				To: `"AND o.id < @before AND (`,
			}),
	}
	return append(mutants, aroundUnwinding()...)
}

// aroundUnwinding are those of the unwinder, and of waiting lists whose sale was called off.
func aroundUnwinding() []mutant.Mutant {
	const (
		service, lists = "./internal/order/service", "./internal/feature/waitlist"

		unwinder = "internal/order/service/unwinder.go"
		turn     = "internal/feature/waitlist/ledger_turn.go"
	)
	return []mutant.Mutant{
		packageMutant("the unwinder looks at each order once", service, "TestUnwinder$", "is left after a rest",
			mutant.Change{
				File: unwinder, From: `next := pass{above: last}`, To: `next := pass{above: max(last, above)}`,
			}),
		packageMutant("the unwinder never rests", service, "TestUnwinder$", "looked",
			mutant.Change{
				File: unwinder, From: `		next.rests = time.Now().Add(unwindRest * time.Since(start))
`, To: `		_ = start
`,
			}),
		packageMutant("the money is not sent at once", service, "TestUnwinder$", "refunds asked for 0 times",
			mutant.Change{File: unwinder, From: `	u.Refunds()
`, To: ``}),
		packageMutant("an invitation is taken to be too late, not called off", lists, "TestCalledOff$",
			"accepted after that", mutant.Change{
				File: turn, From: `	case s.IsCalledOff():`, To: `	case s.IsCalledOff() && s.Retired:`,
			}),
		packageMutant("places end as if the sale had ended by itself", lists, "TestCalledOff$", "12 over",
			mutant.Change{File: turn, From: `		as = CalledOff
`, To: `		as = Over
`}),
		packageMutant("withdrawn units are told as on sale", lists, "TestCalledOff$", "released",
			mutant.Change{
				File: turn, From: `!s.IsCalledOff() { // units of a sale that was called off`,
				To: `!s.Retired { // units of a sale that was called off`,
			}),
		packageMutant("the shelf makes a list due that was called off", lists, "TestCalledOff$", "still due",
			mutant.Change{
				File: "internal/feature/waitlist/ledger_read.go", From: `"OR s.called_off IS NULL AND "+stands`,
				To: `"OR "+stands`,
			}),
		packageMutant("each of a user's simultaneous requests claims a unit", lists, "TestOneCallClaims$",
			"calls claim a unit", mutant.Change{
				File: "internal/feature/waitlist/ledger_join.go",
				From: `place.Claims = place.Claimed && !claimed`, To: `place.Claims = place.Claimed; _ = claimed`,
			}),
		packageMutant("accepting claims what a yes has claimed", lists, "TestOneCallClaims$", "calls claim a unit",
			mutant.Change{
				File: "internal/feature/waitlist/ledger_answer.go", From: `place.Claims = !claimed`,
				To: `place.Claims = claimed || !claimed`,
			}),
		packageMutant("all calls of a transaction claim a unit", lists, "TestSharedJoinsClaimOnce$", "claims in",
			mutant.Change{
				File: "internal/feature/waitlist/waitlists.go",
				From: `p.Claims && it.Request.yes() && !claimed[user]`, To: `p.Claims && it.Request.yes()`,
			}),
	}
}
