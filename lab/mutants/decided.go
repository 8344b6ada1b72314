package main

import "seckill/lab/mutant"

// inDeciding are those that lose what people decided, or say of what is unknown that it was not done.
func inDeciding() []mutant.Mutant {
	const (
		kit, errs = "./internal/sqlstore/sqlkit", "internal/sqlstore/sqlkit/errors.go"
		recorder  = "./internal/order/recorder"
		service   = "./internal/order/service"
		store     = "./internal/sqlstore"
		evidence  = "internal/sqlstore/lost_decisions.go"
	)
	return []mutant.Mutant{
		packageMutant("nothing was done of what a lost COMMIT has done", kit, "TestCommitError$", "want unknown true",
			mutant.Change{
				File: errs, From: `	return fmt.Errorf("%w: %w", order.ErrUnknownChange, err)`, To: `	return err`,
			}),
		packageMutant("a lost COMMIT is also a database that is away", kit, "TestCommitError$", "want unknown true",
			mutant.Change{
				File: errs, From: "case IsAway(err) && !errors.Is(err, order.ErrUnknownChange):",
				To: "case IsAway(err):",
			}),
		packageMutant("a lost COMMIT at a till or on a list is 503", "./internal/order", "TestOrUnavailable$", "",
			mutant.Change{
				File: "internal/order/errors.go", From: "idempotency.ErrGone, ErrUnknownChange,",
				To: "idempotency.ErrGone,",
			}),
		packageMutant("a yes is refused whose COMMIT was not answered", "./internal/feature/waitlist", "TestGuards$",
			"the gatekeeper is told", mutant.Change{
				File: "internal/feature/waitlist/waitlists.go",
				From: "errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrUnknownChange)",
				To:   "errors.Is(err, order.ErrUnavailable)",
			}),
		packageMutant("an error that nobody has listed is a defect of the service", kit, "TestAwayByClass$",
			"want away",
			mutant.Change{
				File: errs, From: "		return !isStatements(my)", To: "		return my.Number == 1040",
			}),
		packageMutant("a missing table is waited for", kit, "TestAwayByClass$", "want away", mutant.Change{
			File: errs, From: `state == "42S02", `, To: ``,
		}),
		packageMutant("an unknown error holds up all orders behind it", recorder, "TestCommitterMeetsAnUnknownError$",
			"",
			mutant.Change{
				File: "internal/order/recorder/committer.go", From: "time.Now().After(a.blame) && c.commitsOthers(ctx)",
				To: "false",
			}),
		packageMutant("orders are blamed for an outage", recorder, "TestCommitterMeetsAnUnknownError$", "it took",
			mutant.Change{
				File: "internal/order/recorder/committer.go", From: "time.Now().After(a.blame) && c.commitsOthers(ctx)",
				To: "time.Now().After(a.blame)",
			}),
		packageMutant("staff are told that a queued order does not exist", service, "TestStaffMeetAQueuedOrder$",
			"staff see", mutant.Change{
				File: "internal/order/service/orders.go", From: "return s.lookup.anybodys(ctx, orderID)",
				To: "return s.lookup.reader.order(ctx, orderID)",
			}),
		packageMutant("a list that nobody read counts as fresh", "./internal/voucher/listing",
			"TestAStoreHangsAfterNobodyAsked$", "", mutant.Change{
				File: "internal/voucher/listing/snapshot.go", From: "if since.IsZero() || at.Before(since) {",
				To: "if since.IsZero() {",
			}),
		packageMutant("Redis is compared with what an earlier query read", "./internal/order/catalog",
			"TestReadSharesNothing$", "Read:", mutant.Change{
				File: "internal/order/catalog/catalog.go", From: "	e, err := c.load(ctx, id)\n",
				To: "	c.cache.Invalidate(id)\n	e, err := c.cache.Get(ctx, id, c.loader)\n",
			}),
		packageMutant("operations of one number are taken for the same", "./internal/order", "TestLostTail$", "",
			mutant.Change{
				File: "internal/order/lost_tail.go",
				From: "case v.Applied > t.Last.Number, v.LastApplied().Contradicts(t.Applied):",
				To:   "case v.Applied > t.Last.Number:",
			}),
		packageMutant("a lost cancellation pauses its sale", "./internal/order", "TestLostTail$", "", mutant.Change{
			File: "internal/order/lost_tail.go",
			From: "		return v.Decided != t.Decided", To: "		return true",
		}),
		packageMutant("numbers that Redis has applied are given again", store, "TestLostCancellations$", "",
			mutant.Change{
				File: evidence, From: "	if raised.Lost && seen.Applied > sale.LastOperation {", To: "	if false {",
			}),
		packageMutant("a sale whose pause was lost opens", store, "TestLostDecision$", "", mutant.Change{
			File: evidence, From: "	if !raised.Decision {", To: "	if true {",
		}),
		packageMutant("Redis takes another operation of that number for applied", "./internal/redisstore",
			"TestOnEveryServer$", "another of its number", mutant.Change{
				File: "scripts/apply.lua", From: "not same_identity(sale[19], op, identity_of(op))", To: "false",
			}),
		serverMutant("a lost decision is forgotten", "F58", "", mutant.Change{
			File: evidence, From: "	if !raised.Decision {", To: "	if true {",
		}),
		historyMutant("a history whose ledger goes back sells what was taken off", "./lab/life", "TestLedgerGoesBack$",
			"nobody has put it on sale again", mutant.Change{
				File: evidence, From: "	if !raised.Decision {", To: "	if true {",
			}),
		packageMutant("deadlines pass while the ledger is away", kit, "TestDeadlinesStop$", "want true", mutant.Change{
			File: "internal/sqlstore/sqlkit/deadlines.go", From: " || n.gap(now)", To: "",
		}),
		serverMutant("a window passes while the ledger is away", "F60", "", mutant.Change{
			File: "internal/sqlstore/sqlkit/deadlines.go",
			From: "	deadlineGap   = 5 * time.Second", To: "	deadlineGap   = time.Hour",
		}),
	}
}
