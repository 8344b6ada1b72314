package main

import "seckill/lab/mutant"

// inShares are those of how many units go to an address and a network.
func inShares() []mutant.Mutant {
	const (
		guard   = "./internal/feature/guard"
		budgets = "./internal/feature/guard/budget"
		units   = "internal/feature/guard/budget/units.go"
		unknown = "internal/feature/guard/units_unknown.go"
	)
	return []mutant.Mutant{
		packageMutant("units that are asked for do not count", budgets, "TestSharesAreNeverExceeded$",
			"were kept, want",
			mutant.Change{File: units, From: `	defer h.mu.Unlock()
	for i, one`, To: `	defer h.mu.Unlock()
	defer func() { t.end(h, r, false) }()
	for i, one`},
		),
		packageMutant("units that nobody got stay taken", guard, "TestShareOfASale$", "SHARE_BUSY",
			mutant.Change{File: unknown, From: `	u.limits.End(r, accepted)
`, To: `	if accepted {
		u.limits.End(r, accepted)
	}
`},
		),
		packageMutant("a second reservation adds to the first", budgets, "TestPurchasesOfOneUser$",
			"are free to the address",
			mutant.Change{File: units, From: `			return int64(n)
`, To: `			return int64(n) * int64(w.asks[n])
`},
		),
		packageMutant("won by the user's earlier order", guard, "TestUnknownUnits$/bought_before", "is free: false",
			mutant.Change{
				File: unknown, From: `	case bought && (e.ID == own.OrderID || e.ID == 0):`, To: `	case bought:`,
			},
		),
		packageMutant("a reserved unit answers SHARE_TAKEN", guard, "TestShareAfterAnUnknownOutcome$", "SHARE_TAKEN",
			mutant.Change{
				File: "internal/feature/guard/rules.go", From: `	return is && share.Busy`,
				To: `	return is && share.Busy && false`,
			},
		),
		packageMutant("a reservation is kept after a panic", "./internal/httpapi/shop",
			"TestOutcomeOfReservedUnits$/panic", "was told, want",
			mutant.Change{
				File: "internal/httpapi/shop/purchases.go", From: `defer func() { finish(bought.ID, outcome) }()
`, To: `defer func() {
			if outcome != order.ErrUnknownOutcome {
				finish(bought.ID, outcome)
			}
		}()
`,
			},
		),
		serverMutant("what was won does not count in the share", "F62", "units counted, want",
			mutant.Change{File: unknown, From: `	u.limits.End(r, accepted)
`, To: `	u.limits.End(r, false)
`},
		),
		packageMutant("a remembered buyer reserves units", guard, "TestRememberedBuyers$", "ALREADY_BOUGHT",
			mutant.Change{
				File: "internal/feature/guard/entry.go", From: `e.holds(s.ID, c.UserID) {`, To: `e.holds(s.ID, -1) {`,
			},
		),
		packageMutant("a network has no share", budgets, "TestShareOfEach$/its_network", "-want",
			mutant.Change{File: units, From: `	if !a.IsValid() {
		ofNetwork`, To: `	if ofNetwork.size.most > 0 {
		ofNetwork`},
		),
		packageMutant("where the network refuses the address has paid", budgets, "TestNetworkRefusesWhole$",
			"the share of the address is taken",
			mutant.Change{File: units, From: `			t.end(h, r, false)
			if`, To: `			if`},
		),
		packageMutant("shared addresses have a share", budgets, "TestShareOfEach$/shared", "-want",
			mutant.Change{File: units, From: `if u.IsShared(a.Unmap()) {`, To: `if u.IsShared(a.Unmap()) && false {`},
		),
		packageMutant("what was won elsewhere does not count", budgets, "TestInstancesShareShares$", "won elsewhere",
			mutant.Change{File: units, From: `t.units().tell(s.key, s.size, r.Units, t.spending)`, To: `_ = s`},
		),
		packageMutant("an unknown outcome frees the units", guard, "TestShareAfterAnUnknownOutcome$", "202",
			mutant.Change{
				File: unknown, From: `	if !u.add(one) {`, To: `	if true {`,
			},
		),
		packageMutant("an unknown outcome keeps the units for good", guard, "TestUnknownUnits$/not_bought",
			"is free: false",
			mutant.Change{File: unknown, From: `		e.Outcome = guards.Refused
`, To: ``},
		),
		packageMutant("a Redis that does not say frees the units", guard, "TestUnknownUnits$/not_known", "it was asked",
			mutant.Change{File: unknown, From: `			failing[one.saleID] = true
			u.keep(one)
`, To: `			failing[one.saleID] = true
			u.limits.End(one.reservation, false)
`},
		),
		packageMutant("who has no share left hears nothing of their order", guard, "TestShareOfASale$",
			"409 ALREADY_BOUGHT",
			mutant.Change{
				File: "internal/feature/guard/entry.go", From: `	return r, e.answer(ctx, s, c, err)`,
				To: `	return r, err`,
			},
		),
		packageMutant("a unit comes back within the hour", budgets, "TestShareIsRaised$", "came back",
			mutant.Change{File: units, From: `const unitTime = 24 * time.Hour`, To: `const unitTime = time.Hour`},
		),
	}
}
