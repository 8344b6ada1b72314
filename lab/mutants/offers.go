package main

import "seckill/lab/mutant"

// inOffers are those that short histories of a sale with a waiting list notice.
func inOffers() []mutant.Mutant {
	const life, test, sign = "./lab/life", "TestListIsLinearizable", "is not linearizable"
	const offers = "internal/sqlstore/offers.go"
	return []mutant.Mutant{
		packageMutant("who only waits accepts", life, test, sign,
			mutant.Change{
				File: offers, From: `row.State != waitlist.Offered || !now.Before(sqlkit.At(row.Deadline)) ||`,
				To: `row.State == waitlist.Offered && !now.Before(sqlkit.At(row.Deadline)) ||`,
			},
		),
		packageMutant("an offered unit is sold too", life, test, sign,
			mutant.Change{File: offers, From: `			ops[i].Delta -= ops[i].Offered
`, To: ``},
		),
	}
}
