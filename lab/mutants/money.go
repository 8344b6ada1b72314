package main

import "seckill/lab/mutant"

// inRefunds are those that send money back twice or not at all, count it twice, or hold a unit for money that will not
// come.
func inRefunds() []mutant.Mutant {
	const (
		store, service, domain = "internal/sqlstore/", "internal/order/service/", "internal/order/payment/"
		ledger, rules          = "./internal/sqlstore", "./internal/order/payment"
		account                = "TestAccountAgreesWithTheProvider"
	)
	return []mutant.Mutant{
		packageMutant("what is on its way may be asked for again", rules, account, "", mutant.Change{
			File: domain + "account.go", From: "a.Amount-a.Lost()-a.Sum(RefundAsked, RefundPending, RefundDone))",
			To: "a.Amount-a.Lost()-a.Sum(RefundAsked, RefundDone))",
		}),
		packageMutant("a refund goes back to an earlier state", rules, account, "", mutant.Change{
			File: domain + "account.go", From: "if o.State <= r.State {", To: "if o.State == r.State {",
		}),
		packageMutant("a refund that is told by name and in a total counts twice", rules, account, "", mutant.Change{
			File: domain + "account.go", From: "		a.replace(*r)\n", To: "",
		}),
		packageMutant("a refund that is told before its answer counts twice", rules, account, "", mutant.Change{
			File: domain + "account.go", From: "	joined := a.join(id, o.Reference)\n", To: "	joined := false\n",
		}),
		packageMutant("a refund that was given up stays so, although its provider had taken it", rules, account, "",
			mutant.Change{File: domain + "account.go", From: "	found(r, o.State)\n", To: ""}),
		packageMutant("a refund is asked for with another amount", rules, account, "", mutant.Change{
			File: domain + "account.go", From: "case !alone && r.Origin == OriginAll && room > 0:",
			To: "case r.Origin == OriginAll && room > 0:",
		}),
		packageMutant("a failed refund counts as money that is gone", rules, account, "", mutant.Change{
			File: domain + "account.go", From: "func (a *Account) count() { a.Returned = a.Sum(RefundDone) }",
			To: "func (a *Account) count() { a.Returned = max(a.Returned, a.Sum(RefundDone)) }",
		}),
		packageMutant("parts are sent back beside version 1.0", ledger, "TestRefundPart", "beside", mutant.Change{
			File: store + "payment_parts.go", From: "	if alone, err := tx.alone(); err != nil || !alone {\n" +
				"		return cmp.Or(err, order.ErrUpgrading)\n	}\n	asked, err",
			To: "	asked, err",
		}),
		packageMutant("the job asks for what is on its way", ledger, "TestRefundPart", "asked again", mutant.Change{
			File: store + "payments/lists.go", From: `{payment.RefundAsked, payment.RefundPending})).`,
			To: `{99})).`,
		}),
		packageMutant("a pending refund is taken for done", "./internal/order/service", "TestPendingRefund", "",
			mutant.Change{
				File: service + "refunds.go",
				From: "case outcome.State == payment.RefundDone && r.Origin != payment.OriginPart:",
				To:   "case r.Origin != payment.OriginPart:",
			}),
		packageMutant("a deadline moves as often as money is under way", ledger, "TestTakeProgress", "",
			mutant.Change{
				File: store + "payment_notice.go",
				From: "case p.Progress == payment.ProgressProcessing && row.Processing == 0:",
				To:   "case p.Progress == payment.ProgressProcessing:",
			}, mutant.Change{
				File: store + "payment_notice.go",
				From: "	case p.Progress == payment.ProgressProcessing: // it moves once\n" +
					"		row.Processing = isProcessing\n",
				To: "",
			}),
		packageMutant("a deadline moves as far as a provider says", rules, "TestWait", "", mutant.Change{
			File: domain + "progress.go",
			From: "[]time.Time{until, latest}", To: "[]time.Time{until}",
		}, mutant.Change{
			File: domain + "progress.go",
			From: "	latest := w.Deadline.Add(w.Within)\n	if w.Until.IsZero() {\n		return latest\n",
			To:   "	if w.Until.IsZero() {\n		return w.Deadline.Add(w.Within)\n",
		}),
		packageMutant("a payment that has failed is begun again", ledger, "TestTakeProgress", "", mutant.Change{
			File: store + "payments.go", From: "[]payment.Progress{payment.ProgressNone, payment.ProgressProcessing})",
			To: "payment.States())",
		}),
		packageMutant("an order that was paid leaves its other payments open", ledger, "TestPaymentsToCancel",
			"to cancel", mutant.Change{
				File: store + "payment_notice.go",
				From: "payments.CancelOpen(r.tx.DB, r.tx.now, []int64{r.rows[0].ID}, r.payment.ID)",
				To:   "payments.CancelOpen(r.tx.DB, r.tx.now, nil, r.payment.ID)",
			}),
		packageMutant("a lost dispute is a refund in reports", "./internal/feature/report", "TestOneMeaningForEachSum",
			"", mutant.Change{
				File: "internal/feature/report/ledger.go", From: `"SUM("+lost+") AS lost, `, To: `"SUM(0) AS lost, `,
			}),
		packageMutant("an order says that money is under way which will not come", ledger, "TestTakeProgress", "failed",
			mutant.Change{
				File: store + "payment_notice.go", From: "row.Processing, deadline = wasProcessing,",
				To: "row.Processing, deadline = isProcessing,",
			}),
		packageMutant("a refund whose answer was lost is asked for under another id", "./test/provider", "TestDay", "",
			mutant.Change{
				File: service + "refunds.go",
				From: "		if outcome, err = provider.Refund(call, attempt, r); err != nil {\n",
				To: "		r.ID += fmt.Sprint(time.Now().UnixNano())\n" +
					"		if outcome, err = provider.Refund(call, attempt, r); err != nil {\n",
			}),
	}
}
