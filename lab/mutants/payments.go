package main

import "seckill/lab/mutant"

// inPayments are those that lose a cent, send one back twice, or hand something out for disputed money.
func inPayments() []mutant.Mutant {
	const (
		store, domain, redemption = "internal/sqlstore/", "internal/order/payment/", "internal/feature/redemption/"
		report, bank              = "internal/feature/report/", "./test/provider"
	)
	return []mutant.Mutant{
		packageMutant("an older total of what has gone back counts", "./internal/order/payment", "TestFlow", "",
			mutant.Change{
				File: domain + "flow.go", From: "f.Returned = max(f.Returned, n.Amount)",
				To: "f.Returned = n.Amount",
			}),
		packageMutant("what has gone back is added up", "./internal/order/payment", "TestFlow", "", mutant.Change{
			File: domain + "flow.go", From: "f.Returned = max(f.Returned, n.Amount)",
			To: "f.Returned = f.Returned + n.Amount",
		}),
		packageMutant("a dispute that was decided is opened again", "./internal/order/payment", "TestFlow", "",
			mutant.Change{
				File: domain + "flow.go", From: "case d > f.Dispute:", To: "case d != f.Dispute:",
			}),
		packageMutant("a lost dispute costs nothing", "./internal/order/payment", "TestFlow", "", mutant.Change{
			File: domain + "flow.go", From: "return f.Returned + f.Lost()", To: "return f.Returned",
		}),
		packageMutant("more goes back than was paid", "./internal/order/payment", "TestFlow", "cents:", mutant.Change{
			File: domain + "flow.go", From: "n.Amount < 1 || n.Amount > amount", To: "n.Amount < 1",
		}),
		packageMutant("an order stays paid whose money has gone back", "./internal/sqlstore", "TestTakeNotice", "all:",
			mutant.Change{
				File: store + "payment_notice.go", From: "if ends && p.AcceptTime != nil && rows[0].Status",
				To: "if ends && p.AcceptTime == nil && rows[0].Status",
			}),
		packageMutant("a repeated notice is an event of its own", "./internal/sqlstore", "TestTakeNotice",
			"a repetition has taken", mutant.Change{
				File: store + "payment_notice.go", From: "if err != nil || after == before {", To: "if err != nil {",
			}),
		packageMutant("a disputed payment is refunded", "./internal/sqlstore", "TestDisputedIsNotRefunded",
			"a refund of a disputed payment", mutant.Change{
				File: store + "payment_refund.go", From: "p != nil && p.Dispute == payment.DisputeOpen",
				To: "p != nil && p.Dispute > payment.DisputeLost",
			}),
		packageMutant("the job sends disputed money back", "./internal/sqlstore", "TestNoticesInAnyOrder",
			"is to go back while it is disputed", mutant.Change{
				File: store + "payments/lists.go",
				From: `Where("state = ? AND dispute <> ?", payment.Refunding, payment.DisputeOpen)`,
				To:   `Where("state = ? AND dispute <> ?", payment.Refunding, -1)`,
			}),
		packageMutant("late money that has gone back keeps its order", "./internal/sqlstore",
			"TestLateMoneyThatHasGone", "the order is paid", mutant.Change{
				File: store + "outbox.go", From: "if left := p.Payment(); left.AllGone() {",
				To: "if left := p.Payment(); left.AllGone() && !left.AllGone() {",
			}),
		packageMutant("a till redeems what is disputed", "./internal/feature/redemption", "TestDisputedAtTills",
			"redeem:", mutant.Change{
				File: redemption + "coupon.go", From: "	case c.Disputed:\n",
				To: "	case c.Disputed && c.CalledOff:\n",
			}),
		packageMutant("a till redeems what was lost in a dispute", "./internal/feature/redemption",
			"TestDisputedAtTills", "lost:", mutant.Change{
				File: redemption + "ledger_commands.go",
				From: "payment.BarringDisputes()).",
				To:   "[]payment.Dispute{payment.DisputeOpen}).",
			}),
		packageMutant("a refund sends all of a payment, also what has gone back", bank, "TestStatement", "",
			mutant.Change{
				File: "test/provider/bank_test.go", From: `"amount": r.Amount}, nil)`, To: `"amount": p.Amount}, nil)`,
			}),
		packageMutant("what a refund sent back is not noted", bank, "TestStatement", "did not hold", mutant.Change{
			File: store + "payments/account.go", From: "a.Row.Returned = slices.Clone(a.Refunds), a.Returned",
			To: "a.Row.Returned = slices.Clone(a.Refunds), a.Row.Returned",
		}),
		packageMutant("a page of payments reads the ones before it", "./internal/sqlstore",
			"TestPagesOfPaymentsAreLinear", "index entries were read", mutant.Change{
				File: store + "sqlkit/rows.go", From: `" FORCE INDEX ("`, To: `" IGNORE INDEX ("`,
			}),
		packageMutant("a full page of a shop's orders is of its newest vouchers alone",
			"./internal/sqlstore", "TestMergedOrdersArePagedByID", "orders (-want +got)", mutant.Change{
				File: store + "orders.go", From: "return l.ID < f.FirstID", To: "return l.ID < ids[0]",
			}),
		packageMutant("a shop's orders in a state are looked for among all", "./internal/sqlstore",
			"TestPagesOfMergedOrdersReadFew", "of a rare state page has", mutant.Change{
				File: store + "orders.go",
				From: `		return "idx_order_state"`, To: `		return "idx_order_voucher"`,
			}),
		packageMutant("a merchant's lists take admins' permits", "./internal/httpapi", "TestMerchantsReadsYield",
			"in flight", mutant.Change{
				File: "internal/httpapi/route.go", From: "r.Class == bulkhead.Admin && who.Only() != 0",
				To: "r.Class == bulkhead.Admin && who.Only() < 0",
			}),
		packageMutant("a merchant finds another shop's payments", "./internal/sqlstore", "TestFindPayments",
			"another shop", mutant.Change{
				File: store + "payments/pages.go", From: `"shop_id": f.ShopID,`, To: `"shop_id": 0,`,
			}),
		packageMutant("a report takes payments that never came", "./internal/feature/report", "TestReportSums",
			"with payments", mutant.Change{
				File: report + "ledger.go", From: `"WHERE voucher_id = @voucher AND receive_time IS NOT NULL `,
				To: `"WHERE voucher_id = @voucher `,
			}),
	}
}
