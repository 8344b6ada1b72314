package main

import "seckill/lab/mutant"

// inPacking returns the mutants of entries of several orders.
func inPacking() []mutant.Mutant {
	const redis, recorder = "./internal/redisstore", "./internal/order/recorder"
	return []mutant.Mutant{
		packageMutant("an entry is acknowledged before all of its orders are settled", recorder, "TestDone$",
			"one of several is not settled", mutant.Change{
				File: "internal/order/recorder/batch.go", From: `return settled[key] < 0`,
				To: `return settled[key] < 0 && key == ""`,
			},
		),
		packageMutant("the backlog counts an entry as one order", redis, "TestPackedBacklog$", "orders wait of 2048",
			mutant.Change{File: "scripts/seckill.lua", From: `(MAX_PACKED - 1) * math.min(entries, few)`, To: `0`},
		),
		packageMutant("the audit counts an entry as one order", redis, "TestPackedEntries$", "-want +got",
			mutant.Change{File: "scripts/inventory.lua", From: `math.max(1, math.floor(words / 2))`, To: `1`},
		),
		historyMutant("a packed entry leaves out its last order", redis, "TestModel", "stream: model",
			mutant.Change{
				File: "scripts/seckill.lua", From: `table.concat(added, ' ', 2 * from - 1, 2 * to)`,
				To: `table.concat(added, ' ', 2 * from - 1, 2 * to - 2)`,
			},
		),
	}
}
