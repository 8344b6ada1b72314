package main

import "seckill/lab/mutant"

// inWaitlists returns the mutants of waiting lists.
func inWaitlists() []mutant.Mutant {
	const life, ledger, recovery = "./lab/life", "./internal/sqlstore", "./internal/order/recovery"
	const offers = "internal/sqlstore/offers.go"
	return []mutant.Mutant{
		packageMutant("an offer also raises the stock", ledger, "TestReturnedUnitsAreOffered", "!= issued",
			mutant.Change{File: offers, From: `			ops[i].Delta -= ops[i].Offered
`, To: ``},
		),
		historyMutant("an offer raises the stock besides", life, "TestLife", "offered",
			mutant.Change{File: offers, From: `			ops[i].Delta -= ops[i].Offered
`, To: ``},
		),
		historyMutant("who only waits may accept", life, "TestLife", "offers are open",
			mutant.Change{
				File: offers, From: `		if row.State != waitlist.Offered || !now.Before(sqlkit.At(row.Deadline))`,
				To: `		if row.State != waitlist.Waiting && row.State != waitlist.Offered`,
			},
		),
		historyMutant("one unit is offered to two", life, "TestLife", "offers are open",
			mutant.Change{
				File: offers, From: `	kept, err := s.offer(tx, sale, make([]int64, min(units, maxOffers)), now)
	if err != nil {
		return err
	}
`, To: `	kept, err := s.offer(tx, sale, make([]int64, 2*min(units, maxOffers)), now)
	if err != nil {
		return err
	}
	kept = min(kept, units)
`,
			},
		),
		historyMutant("a missed offer is passed on, and can still be accepted", life, "TestLife", "offers are open",
			mutant.Change{
				File: "internal/sqlstore/see_to_offers.go",
				From: `	if err := endPlaces(tx, sale.VoucherID, places, state, now); err != nil {
		return err
	}
	ended`, To: `	if state != waitlist.Missed {
		if err := endPlaces(tx, sale.VoucherID, places, state, now); err != nil {
			return err
		}
	}
	ended`,
			},
		),
		serverMutant("Redis is not asked again after a rebuild", "F53", "an order for each accepted offer",
			mutant.Change{
				File: "internal/sqlstore/see_to_offers.go", From: `		err = s.askForAll(tx, sale, asked, now)`,
				To: `		err = s.askForAll(tx, sale, asked[:0], now)`,
			},
		),
		packageMutant("an offer becomes an order though Redis refused", ledger, "TestAcceptRefused", "places: bought",
			mutant.Change{File: offers, From: `	if taken && lacking == nil {
		lacking, err = c.buy(row, op)`, To: `	if taken = true; taken {
		lacking, err = c.buy(row, op)`},
		),
		packageMutant("a unit is offered to the next, and on sale too", ledger, "TestOffersPassOn", "units are offered",
			mutant.Change{File: offers, From: `	units := int64(len(places)) - kept
`, To: `	units := int64(len(places)) + 0*kept
`},
		),
		packageMutant("the last who joined is served first", ledger, "TestReturnedUnitsAreOffered", "places:",
			mutant.Change{
				File: offers, From: `		Order("position").Limit(n).Find(&rows)`,
				To: `		Order("position DESC").Limit(n).Find(&rows)`,
			},
		),
		packageMutant("a rebuild sells offered units", recovery, "TestPlanOfARebuild$/offered_units", "Stock:",
			mutant.Change{
				File: "internal/order/recovery/plan.go", From: `Stock: max(0, v.Sale.Stock-promised)`,
				To: `Stock: max(0, v.Sale.Stock+v.Sale.Offered-promised)`,
			},
		),
		packageMutant("a rebuild takes an undecided acceptance for a lost order", ledger,
			"TestRebuildWithOffers", "snapshot",
			mutant.Change{File: "internal/sqlstore/places.go", From: `			snap.Dead[*row.OrderID] = true
`, To: ``},
		),
	}
}
