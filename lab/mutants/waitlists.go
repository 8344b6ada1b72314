package main

import "seckill/lab/mutant"

// inWaitlists returns the mutants of waiting lists.
func inWaitlists() []mutant.Mutant {
	const (
		feature, core = "./internal/feature/waitlist", "./internal/sqlstore"
		histories     = "TestHistories$/mysql"

		turn   = "internal/feature/waitlist/ledger_turn.go"
		invite = "internal/feature/waitlist/ledger_invite.go"
		answer = "internal/feature/waitlist/ledger_answer.go"
		routes = "internal/feature/waitlist/routes.go"
		ops    = "internal/sqlstore/operations.go"
		outbox = "internal/sqlstore/outbox.go"
	)
	return []mutant.Mutant{
		packageMutant("a kept unit is on sale, too", core, "TestUnitsAreKept$/mysql", "!= issued",
			mutant.Change{
				File: ops, From: `			ops[i].Kept, ops[i].Delta, kept = ops[i].Delta, 0, true`,
				To: `			ops[i].Kept, kept = ops[i].Delta, true`,
			},
		),
		packageMutant("an acceptance stays undecided for ever", core, "TestAcceptance$/mysql", "ck_seckill_kept",
			mutant.Change{File: outbox, From: `	c.accepted++
`, To: ``},
		),
		packageMutant("a unit is kept and of an order", core, "TestAcceptance$/mysql", "!= issued",
			mutant.Change{File: outbox, From: `	c.kept++
`, To: ``},
		),
		packageMutant("a refused acceptance becomes an order", core, "TestAcceptance$/mysql", "the sale has",
			mutant.Change{File: outbox, From: `	if !taken {
		return false, nil, nil
	}
	if c.sale.Kept`, To: `	if taken = true; !taken {
		return false, nil, nil
	}
	if c.sale.Kept`},
		),
		packageMutant("stock that somebody is promised is removed", core, "TestKeptStockIsRemoved", "the sale has",
			mutant.Change{File: outbox, From: `		spare -= promised
`, To: `		spare -= 0 * promised
`},
		),
		packageMutant("a rebuild takes an undecided acceptance for a lost order", core,
			"TestRebuildWithAcceptances$/mysql", "snapshot",
			mutant.Change{File: "internal/sqlstore/sales.go", From: `			snap.Dead[id] = true
`, To: ``},
		),
		packageMutant("a rebuild sells kept units", "./internal/order/recovery", "TestPlanOfARebuild$/kept_units",
			"Stock:",
			mutant.Change{
				File: "internal/order/recovery/plan.go", From: `Stock: max(0, v.Sale.Stock-promised)`,
				To: `Stock: max(0, v.Sale.Stock+v.Sale.Kept-promised)`,
			},
		),
		packageMutant("a sale retires with kept units", core, "TestOpenListKeepsTheSale$/mysql",
			"retired with an open list",
			mutant.Change{File: "internal/sqlstore/sales.go", From: ` || sale.ListOpen {`, To: ` {`},
		),
		packageMutant("the list opens while a unit is on its way to the public", feature, "TestOpening$/mysql",
			"on its way",
			mutant.Change{
				File: "internal/feature/waitlist/ledger_join.go", From: `	case s.LastOperation != applied:`,
				To: `	case s.LastOperation != applied && applied < 0:`,
			},
		),
		packageMutant("two are invited for one unit", feature, histories, "invited",
			mutant.Change{
				File: invite, From: `	free := sale.Kept - sale.Accepted - k.list.Invited`,
				To: `	free := sale.Kept - sale.Accepted`,
			},
		),
		packageMutant("an accepted unit is somebody else's, too", feature, histories, "places:",
			mutant.Change{
				File: invite, From: `	free := sale.Kept - sale.Accepted - k.list.Invited`,
				To: `	free := sale.Kept - k.list.Invited`,
			},
		),
		packageMutant("a head who has an order is invited", feature, "TestManyRefused$/mysql", "the first turn",
			mutant.Change{
				File: invite, From: `if live[rows[i].UserID] {`, To: `if live[rows[i].UserID] && n < 0 {`,
			},
		),
		packageMutant("a place that has missed keeps its turn", feature, histories, "places:",
			mutant.Change{File: invite, From: `Order("missed, position").Limit(n)`, To: `Order("position").Limit(n)`},
		),
		packageMutant("a standing yes is not heard", feature, histories, "places:",
			mutant.Change{
				File: invite, From: `		if !head.Standing {`, To: `		if head.Standing || !head.Standing {`,
			},
		),
		packageMutant("a third window", feature, "TestTurns$/mysql", "places:",
			mutant.Change{File: turn, From: `row.Missed < MaxMissed {`, To: `row.Missed <= MaxMissed {`},
		),
		packageMutant("an invitation can be accepted after its window", feature, "TestAcceptTooLate$/mysql",
			"accepted too late",
			mutant.Change{
				File: answer, From: `!k.now.Before(sqlkit.At(row.Deadline))`, To: `k.now.IsZero()`,
			},
		),
		packageMutant("who only waits may accept", feature, histories, "accepted",
			mutant.Change{
				File: answer, From: `		if row.State != Invited {
			return ErrNotInvited
		}
		if !k.now`, To: `		if row.State == Invited && !k.now`,
			},
		),
		packageMutant("an invitation can be accepted while the sale stands still", feature, histories, "the sale has",
			mutant.Change{File: turn, From: `	case k.paused():
		return gate.ErrPaused`, To: `	case k.paused() && false:
		return gate.ErrPaused`},
		),
		packageMutant("windows run while the sale stands still", feature, histories, "places:",
			mutant.Change{File: turn, From: `	if by <= 0 {`, To: `	if by >= 0 {`},
		),
		packageMutant("invited while the sale stands still", feature, histories, "places:",
			mutant.Change{File: turn, From: `	case !k.paused():
		if err := k.miss(pass)`, To: `	case k != nil:
		if err := k.miss(pass)`},
		),
		packageMutant("units go on sale while somebody waits", feature, histories, "the sale has",
			mutant.Change{File: turn, From: `	if err != nil || len(waiting) > 0 {`, To: `	if err != nil {`},
		),
		packageMutant("units go on sale while somebody is invited", feature, histories, "the sale has",
			mutant.Change{File: turn, From: `k.list.Invited > 0 || sale.Accepted > 0`, To: `sale.Accepted > 0`},
		),
		packageMutant("units that are promised to an acceptance go on sale", feature, histories, "ck_seckill_kept",
			mutant.Change{File: turn, From: `k.list.Invited > 0 || sale.Accepted > 0`, To: `k.list.Invited > 0`},
		),
		packageMutant("a pause moves deadlines again at each repeated leave", feature, "TestDeadlinesMoveOnce",
			"moved the deadline", mutant.Change{File: answer, From: `	case errors.Is(err, ErrNoPlace):
		return k.finish()`, To: `	case errors.Is(err, ErrNoPlace):
		return nil`},
		),
		packageMutant("places outlive their sale", feature, histories, "places:",
			mutant.Change{File: turn, From: `s.Retired || !k.now.Before(s.End) }`, To: `s.Retired }`},
		),
		packageMutant("Redis is not asked again after a rebuild", feature, histories, "still due",
			mutant.Change{File: turn, From: `	return k.ask(again, true)`, To: `	return k.ask(again[:0], true)`},
		),
		serverMutant("nobody asks Redis again after a rebuild", "F52", "an order for each acceptance",
			mutant.Change{File: turn, From: `	return k.ask(again, true)`, To: `	return k.ask(again[:0], true)`},
		),
		serverMutant("a turn writes no event", "F52", "never came",
			mutant.Change{
				File: turn, From: `	return k.sale.Turned(k.turns)`, To: `	return k.sale.Turned(k.turns[:0])`,
			},
		),
		packageMutant("guards do not stand before accepting", feature, "TestGuards$/accepting", `want "COOL_DOWN"`,
			mutant.Change{
				File: routes, From: `	v, err := h.enter(c, who)
	if err != nil {
		return httpkit.Answer{}, err
	}
	end, err := h.claim(c, who, v, func`, To: `	id, _ := param.ID("id", c.Param("id"), voucher.MaxID)
	v, err := h.find(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	end, err := h.claim(c, who, v, func`,
			},
		),
		packageMutant("accepting takes no share of the units", feature, "TestGuards$/accepting",
			"the gatekeeper is told",
			mutant.Change{
				File: routes, From: `	case err == nil && p.Claims:
		if e :=`, To: `	case err == nil && p.Claims && false:
		if e :=`,
			},
		),
		packageMutant("a yes beforehand takes no share of the units", feature, "TestGuards$/to_a_full_share",
			`want "SHARE_TAKEN"`,
			mutant.Change{File: routes, From: `	if standing {`, To: `	if standing && !standing {`},
		),
		historyMutant("a kept unit is sold, too", "./lab/life", "TestListIsLinearizable", "is not linearizable",
			mutant.Change{
				File: ops, From: `			ops[i].Kept, ops[i].Delta, kept = ops[i].Delta, 0, true`,
				To: `			ops[i].Kept, kept = ops[i].Delta, true`,
			},
		),
	}
}
