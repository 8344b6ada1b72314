package main

import "seckill/internal/testkit/mutant"

// inSplitSales are those that tell a split sale wrongly to be sold out, or move what cannot be moved.
func inSplitSales() []mutant.Mutant {
	const split, redis, ledger, life = "./internal/order/split", "./internal/redisstore", "./internal/sqlstore", "./test/life"
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
		packageMutant("what a share gathers is carried off", "./internal/order/admission", "TestPullsGatherForOneBuyer$", "units are sold after",
			mutant.Change{File: "internal/order/split/pull.go", From: ` || l[share].Sellable+most < fewest && l.gathersBefore(share)`, To: ``},
		),
		packageMutant("units are given before they are taken", ledger, "TestMove$", "refused: stock",
			mutant.Change{
				File: "internal/sqlstore/moves.go", From: `		return s.appendOperations(tx, &giving, []operationRow{{Kind: order.Move, Delta: -units, Peer: &to, Actor: order.ByService}}, now)
`, To: `		if err := s.appendOperations(tx, &giving, []operationRow{{Kind: order.Move, Delta: -units, Peer: &to, Actor: order.ByService}}, now); err != nil {
			return err
		}
		getting, err := lockSale(tx, order.SaleID{VoucherID: from.VoucherID, Share: to})
		if err != nil {
			return err
		}
		return s.appendOperations(tx, &getting, []operationRow{{Kind: order.Move, Delta: units, Peer: &from.Share, Actor: order.ByService}}, now)
`,
			},
			mutant.Change{
				File: "internal/sqlstore/moves.go",
				From: `	c.moves[to] = append(c.moves[to], operationRow{Kind: order.Move, Delta: -op.Delta, Peer: &from, Actor: op.Actor})
`, To: `	_ = from
`,
			},
		),
		clusterMutant("a rebuilt share forgets what had moved", "F49-giving", "have left shares",
			mutant.Change{File: "internal/order/recovery/rebuild.go", From: `&order.Moved{Out: v.Sale.MovedOut, In: v.Sale.MovedIn}`, To: `&order.Moved{}`},
		),
		packageMutant("a key without its share", life, "TestSplitSale$", "",
			mutant.Change{File: "internal/redisstore/keys.go", From: `":sale:" + s.String()`, To: `":sale:" + strconv.FormatInt(s.VoucherID, 10)`},
		),
		packageMutant("a late payment for which no unit is moved", life, "TestLatePaymentOfSplitSale$", "want paid",
			mutant.Change{File: "internal/sqlstore/late_payments.go", From: `return len(others) == 0, nil`, To: `return false, nil`},
		),
	}
}
