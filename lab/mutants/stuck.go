package main

import "seckill/lab/mutant"

// inStuckRefunds are those that ask a provider that has refused for good, forget that it has, or lose a cent or a unit
// of what staff decide then; and those that count money on another day than that on which it moved.
func inStuckRefunds() []mutant.Mutant {
	const (
		store, service, report = "internal/sqlstore/", "internal/order/service/", "internal/feature/report/"
		ledger, bank           = "./internal/sqlstore", "./test/provider"
	)
	return []mutant.Mutant{
		packageMutant("a final no is asked for again", "./internal/order/service", "TestFinalNo$", "refused",
			mutant.Change{
				File: service + "refunds.go", From: "err = p.getsStuck(ctx, attempt, r, refused)",
				To: "_ = refused",
			}),
		packageMutant("a refund that is over by its turn is asked for", "./internal/order/service",
			"TestRefundsThatHaveWaited", "asked for", mutant.Change{
				File: service + "refunds.go", From: "if err == nil && !due {",
				To: "if err == nil && !due && attempt.AllGone() {",
			}),
		packageMutant("a disputed payment is asked for", "./internal/order/service", "TestRefundsThatHaveWaited",
			"disputed", mutant.Change{
				File: "internal/order/payment/flow.go",
				From: "return p.State == Refunding && p.Dispute != DisputeOpen",
				To:   "return p.State == Refunding",
			}),
		packageMutant("what has gone back meanwhile is sent again", "./internal/order/service",
			"TestRefundsThatHaveWaited", "cents", mutant.Change{
				File: service + "refunds.go", From: "		err = p.sendBack(ctx, attempt, r)\n",
				To: "		r.Amount = attempt.Amount\n		err = p.sendBack(ctx, attempt, r)\n",
			}),
		packageMutant("the job asks for stuck refunds", ledger, "TestStuckRefund$", "due", mutant.Change{
			File: store + "payments/lists.go", From: `Where("state = ? AND dispute <> ?", payment.Refunding,`,
			To: `Where("state IN (?, 6) AND dispute <> ?", payment.Refunding,`,
		}),
		packageMutant("a payment gets stuck that nobody asked back", ledger, "TestStuckOnly", "nobody asked",
			mutant.Change{
				File: store + "payment_refund.go", From: "p.State != payment.Refunding ||",
				To: "p.State == payment.Refunded ||",
			}),
		packageMutant("a disputed payment gets stuck", ledger, "TestDisputeOfAStuckRefund",
			"refused while it is disputed", mutant.Change{
				File: store + "payment_refund.go",
				From: "p.State != payment.Refunding || p.Dispute == payment.DisputeOpen ||",
				To:   "p.State != payment.Refunding ||",
			}),
		packageMutant("a disputed payment is retried and closed", ledger, "TestDisputeOfAStuckRefund", "retried:",
			mutant.Change{
				File: store + "payment_refund.go", From: "case p.Dispute == payment.DisputeOpen:",
				To: "case p.Dispute > payment.DisputeLost:",
			}),
		packageMutant("what is not stuck is closed", ledger, "TestStuckOnly", "closed:", mutant.Change{
			File: store + "payment_refund.go", From: "case before != payment.Stuck && !unseen:",
			To: "case before > payment.Closed && !unseen:",
		}),
		packageMutant("an act on a payment is done once for each answer", ledger, "TestStuckRefund$", "a lost reply",
			mutant.Change{
				File: store + "payments.go", From: "tx.claimKey(key, id)",
				To: "tx.claimKey(idempotency.Key{}, id)",
			}),
		packageMutant("closing leaves the order refunding", ledger, "TestStuckRefund$", "closed:", mutant.Change{
			File: store + "payment_refund.go", From: "return tx.refundEnds(p, rows, c)",
			To: "return writeHistory(tx, rows, c)",
		}),
		packageMutant("closing counts as money that went back", bank, "TestStatement", "at the bank", mutant.Change{
			File: store + "payment_refund.go", From: "p.State, p.CloseTime = payment.Closed, &c.at",
			To: "p.State, p.CloseTime, a.Returned = payment.Closed, &c.at, p.Amount",
		}),
		packageMutant("closing is not told", ledger, "TestStuckRefund$", "told", mutant.Change{
			File: store + "payment_refund.go",
			From: "tx.store(a, &rows[0], payment.NewsClosed, payment.Refund{}, c.at)",
			To:   `tx.store(a, &rows[0], "", payment.Refund{}, c.at)`,
		}),
		packageMutant("money that goes back late leaves the refund stuck", ledger, "TestLateNewsOfAStuckRefund", "all:",
			mutant.Change{
				File: store + "payment_notice.go",
				From: "[]payment.State{payment.Received, payment.Stuck, payment.Closed}",
				To:   "[]payment.State{payment.Received}",
			}),
		packageMutant("a refund that was taken all the same is an error", ledger, "TestLateNewsOfAStuckRefund",
			"taken all the same", mutant.Change{
				File: store + "payment_refund.go",
				From: "case payment.Refunding, payment.Stuck, payment.Closed:",
				To:   "case payment.Refunding, payment.Closed:",
			}, mutant.Change{
				File: store + "payment_refund.go",
				From: "case payment.Open, payment.Received, payment.Late:",
				To:   "case payment.Open, payment.Received, payment.Late, payment.Stuck:",
			}),
		packageMutant("a stuck refund keeps a sale from being unwound", ledger, "TestUnwoundButForStuckRefunds",
			"unwinding", mutant.Change{
				File: store + "call_off.go",
				From: `"WHEN o.status = @refunding AND " + stuck + " AND NOT " + onItsWay + " THEN 'stuck' " +`,
				To:   `"" +`,
			}),
		packageMutant("a second payment that is stuck hides that money is on its way", ledger,
			"TestStuckMoneyOfOrdersThatEnded", "is on its way", mutant.Change{
				File: store + "call_off.go", From: ` + " AND NOT " + onItsWay + " THEN`, To: ` + " THEN`,
			}),
		packageMutant("money that is stuck counts a unit twice", ledger, "TestStuckMoneyOfOrdersThatEnded", "units",
			mutant.Change{
				File: store + "call_off.go", From: `"WHEN o.status = @refunding AND " + stuck`,
				To: `"WHEN " + stuck`,
			}),
		packageMutant("money that went back once its refund was closed is not told", ledger,
			"TestLateNewsOfAStuckRefund", "told", mutant.Change{
				File: store + "payment_refund.go",
				From: "news := payment.NewsReturned\n", To: "var news payment.News\n",
			}),
		packageMutant("a stuck refund is not left to staff", ledger, "TestUnwoundButForStuckRefunds", "left",
			mutant.Change{
				File: store + "call_off.go", From: `OR o.status NOT IN (@unpaid, @paid) AND "+stuck+"`, To: `"+"`,
			}),
		packageMutant("a report has what was closed twice", "./internal/feature/report", "TestReportSums",
			"with payments", mutant.Change{
				File: report + "ledger.go", From: "SUM(CASE WHEN state = @closed THEN amount - \"+gone+\"",
				To: "SUM(CASE WHEN state = @closed THEN 2 * amount - \"+gone+\"",
			}),
		packageMutant("what went back yesterday counts today", "./internal/feature/report", "TestTakenInParts",
			"the rest", mutant.Change{
				File: store + "payments/account.go", From: "r.GoneBefore = before.Gone()", To: "r.GoneBefore = 0",
			}),
		packageMutant("a part that went back does not count", "./internal/feature/report", "TestTakenInParts",
			"two parts", mutant.Change{
				File: store + "payment_notice.go", From: "		a.Moved(now, tx.db.Midnight(now))\n", To: "",
			}),
		packageMutant("paying looks the order up first", "./internal/order/service", "TestPayLooksUpNothing", "",
			mutant.Change{
				File: service + "payments.go",
				From: "	begun, err := begin()\n	if errors.Is(err, order.ErrNotFound) {",
				To: "	begun, err := payment.Beginning{}, order.ErrNotFound\n" +
					"	if errors.Is(err, order.ErrNotFound) {",
			}),
	}
}
