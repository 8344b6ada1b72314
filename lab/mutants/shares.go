package main

import "seckill/lab/mutant"

// inShares are those of how many units go to an address and a network.
func inShares() []mutant.Mutant {
	const (
		guard   = "./internal/feature/guard"
		budgets = "./internal/feature/guard/budget"
		units   = "internal/feature/guard/budget/units.go"
		unknown = "internal/feature/guard/units_unknown.go"
		gate    = "internal/feature/guard/routes_gate.go"
	)
	return []mutant.Mutant{
		packageMutant("units that are asked for do not count", budgets, "TestSharesAreNeverExceeded$",
			"were kept, want",
			mutant.Change{File: units, From: `	r := Reservation{Units: units}
`, To: `	r := Reservation{Units: units}
	defer func() { t.Return(r) }()
`},
		),
		packageMutant("units that nobody got stay taken", guard, "TestShareOfASale$", "SHARE_TAKEN",
			mutant.Change{File: gate, From: `			g.guards.limits.Return(r)
`, To: ``},
		),
		packageMutant("a network has no share", budgets, "TestShareOfEach$/its_network", "-want",
			mutant.Change{File: units, From: `	if !a.IsValid() {
		ofNetwork`, To: `	if ofNetwork.size.most > 0 {
		ofNetwork`},
		),
		packageMutant("where the network refuses the address has paid", budgets, "TestNetworkRefusesWhole$",
			"the address has its share",
			mutant.Change{File: units, From: `			t.Return(r)
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
				File: gate, From: `			g.unknown.add(v.ID, caller, r)`,
				To: `			g.guards.limits.Return(r)`,
			},
		),
		packageMutant("an unknown outcome keeps the units for good", guard, "TestUnknownUnits$/not_bought",
			"is free: false",
			mutant.Change{File: unknown, From: `			u.limits.Return(one.reservation)
`, To: ``},
		),
		packageMutant("a Redis that does not say frees the units", guard, "TestUnknownUnits$/not_known", "it was asked",
			mutant.Change{File: unknown, From: `			u.putBack(due[i:])
`, To: `			_ = i
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
