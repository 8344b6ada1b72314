package main

import "seckill/internal/testkit/mutant"

// inSplitSales are those that tell a split sale wrongly to be sold out, or move what cannot be moved.
func inSplitSales() []mutant.Mutant {
	const split, redis = "./internal/order/split", "./internal/redisstore"
	return []mutant.Mutant{
		packageMutant("one look instead of two", split, "TestHistoriesThatNeedEachComparison$", "SoldOut says so",
			mutant.Change{File: "internal/order/split/look.go", From: `!s.gainedNothingSince(first[i])`, To: `!first[i].gainedNothingSince(first[i])`},
		),
		packageMutant("units on their way between shares are forgotten", split, "TestHistoriesThatNeedEachComparison$", "SoldOut says so",
			mutant.Change{File: "internal/order/split/look.go", From: `return units, out == in`, To: `return units, true`},
		),
		packageMutant("a move takes returned units before their time", redis, "TestOnEveryServer$/miniredis$/moves_only_what_sells$", "-want +got",
			mutant.Change{File: "scripts/apply.lua", From: `if kept or stock < -units or`, To: `if kept or stock + returned < -units or`},
		),
		packageMutant("what a share was given is pulled away at once", redis, "TestOnEveryServer$/miniredis$/moves$", "-want +got",
			mutant.Change{File: "scripts/apply.lua", From: `if kept or stock < -units or`, To: `if stock < -units or`},
		),
	}
}
