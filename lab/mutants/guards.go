package main

import "seckill/lab/mutant"

// inGuards returns the mutants of guards against bots.
func inGuards() []mutant.Mutant {
	const (
		ledger, guard  = "./internal/sqlstore", "./internal/feature/guard"
		budget, ticket = "internal/feature/guard/budget/", "internal/feature/guard/ticket/ticket.go"
		budgets        = "./internal/feature/guard/budget"
		tickets        = "./internal/feature/guard/ticket"
	)
	return []mutant.Mutant{
		packageMutant("orders of sales without a cool-down count too", ledger, "TestUnpaidIsCounted$", "counted",
			mutant.Change{
				File: "internal/sqlstore/unpaid/unpaid.go",
				From: `s != nil && s.CoolDown != nil`, To: `s == nil || s != nil`,
			},
			mutant.Change{File: "internal/sqlstore/unpaid/unpaid.go", From: ` AND guards <> ''`, To: ``},
		),
		packageMutant("a count never begins anew", ledger, "TestUnpaidIsForgotten$", "want [",
			mutant.Change{
				File: "internal/sqlstore/unpaid/unpaid.go", From: `"CASE WHEN tb_unpaid.last_time < ?`,
				To: `"CASE WHEN NOT tb_unpaid.last_time < ? AND FALSE`,
			},
		),
		packageMutant("each instance has budgets of its own", budgets,
			"TestInstancesShareBudgets$", "one instance lets in",
			mutant.Change{
				File: budget + "exchange.go", From: `		e.limits.spentElsewhere(elsewhere)
`, To: `		e.limits.spentElsewhere(elsewhere[:0])
`,
			},
		),
		packageMutant("of who asks each instance at just the rate nothing is told", budgets,
			"TestInstancesSharePacedBudgets$/users", "were let in of each", mutant.Change{
				File: budget + "cells.go", From: `	if tell != nil {`,
				To: `	if tell != nil && (full-at)*tellFrom >= z.token*time.Duration(z.most) {`,
			},
		),
		packageMutant("what was spent elsewhere never comes back", budgets, "TestSpentElsewhere$", "want 8",
			mutant.Change{File: budget + "spending.go", From: `now.Add(-max(0, s.Ago))`, To: `now`},
		),
		packageMutant("an instance hears itself", guard+"/store", "TestRedis$/miniredis/spending$",
			"7:user:1=5", mutant.Change{
				File: "scripts/exchange_spending.lua", From: `string.sub(told[i], 1, #own) ~= own`, To: `true`,
			},
		),
		packageMutant("a ticket is good for every user", tickets, "TestCheck$/another_user",
			"<nil>, want the ticket is not valid",
			mutant.Change{File: ticket, From: `range signed {`, To: `range signed[:1] {`},
		),
		packageMutant("a ticket is good in every sale", tickets, "TestCheck$/another_sale",
			"<nil>, want the ticket is not valid", mutant.Change{
				File: ticket, From: `t.keys.Current(keys.Ticket, signed[0])`, To: `t.keys.Current(keys.Ticket, 0)`,
			},
			mutant.Change{File: ticket, From: `t.keys.Find(keys.Ticket, signed[0],`, To: `t.keys.Find(keys.Ticket, 0,`},
			mutant.Change{File: ticket, From: `range signed {`, To: `range signed[1:] {`},
		),
		packageMutant("a ticket never expires", tickets, "TestCheck$/expired", "<nil>, want the ticket is not valid",
			mutant.Change{File: ticket, From: `>= expiry(raw)`, To: `>= expiry(raw) && false`},
		),
		// Either alone changes nothing: there is one type, and keys are derived for each purpose.
		packageMutant("a ticket's type is neither looked at nor signed", tickets, "TestBadTickets$", "one bit altered",
			mutant.Change{File: ticket, From: ` || raw[0] != kind`, To: ``},
			mutant.Change{File: ticket, From: `, begin...)`, To: `, begin[1:]...)`},
		),
		packageMutant("one key for all purposes", guard+"/keys", "TestKeysDiffer$", "has the key of",
			mutant.Change{
				File: "internal/feature/guard/keys/keys.go", From: `"seckill guard 1 " + string(purpose) + " "`,
				To: `"seckill guard 1 "`,
			},
		),
		packageMutant("a ticket is usable before its moment", guard, "TestBadTickets$",
			"early, the 0th: 202", mutant.Change{
				File: "internal/feature/guard/checks.go", From: `	return g.Tickets.Usable(r.Sale.ID, ` +
					`r.Caller.UserID, r.Sale.Begin, r.Sale.Settings.Tickets.Longest(), r.Now)`, To: `	return nil`,
			},
		),
		packageMutant("guards stand before rule 2", guard, "TestGuardsStandBehindRule2$",
			"a_winner_who_may_not_enter",
			mutant.Change{File: "internal/feature/guard/entry.go", From: `
	own := e.ownOrder(ctx, s.ID, c.UserID)
`, To: `
	own := gate.ErrBarred
`},
		),
		packageMutant("a ledger that fails makes the cool-down forget", guard+"/cooldown",
			"TestLoader$", "the ledger is away",
			mutant.Change{File: "internal/feature/guard/cooldown/loader.go", From: `	if err != nil {
		return false, err
	}
	l.users`, To: `	if err != nil {
		l.users.ForgetAll()
		return false, err
	}
	l.users`},
		),
	}
}
