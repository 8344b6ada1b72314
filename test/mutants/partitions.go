package main

import "seckill/internal/testkit/mutant"

// inPartitions are those in what instances do in several partitions.
func inPartitions() []mutant.Mutant {
	const partition, telemetry = "./internal/order/partition", "./internal/telemetry"
	const recovery, recorder = "./internal/order/recovery", "./internal/order/recorder"
	return []mutant.Mutant{
		packageMutant("a sale is placed where an instance does not work", partition, "TestPlace$", "placed in",
			mutant.Change{File: "internal/order/partition/placer.go", From: `if !slices.Contains(here.names, name) {`, To: `if false {`},
		),
		packageMutant("a sale is placed in a closed partition", partition, "TestPlace$", "placed in",
			mutant.Change{File: "internal/order/partition/placer.go", From: `q.State == Open`, To: `q.State != Removed`},
		),
		packageMutant("the sum of backlogs forgets a partition", telemetry, "TestBacklogOfPartitions$", "entries are",
			mutant.Change{File: "internal/telemetry/partitions.go", From: `entries, dead = entries+float64(b.Entries), `, To: `entries, dead = float64(b.Entries), `},
		),
		packageMutant("dead letters of the first partition only are counted", recorder, "TestDeadLettersOfPartitions$", "in all",
			mutant.Change{File: "internal/order/recorder/dead_letter_list.go", From: `total+there`, To: `max(total, there)`},
		),
		packageMutant("a partition that does not answer stops the sweep", recovery, "TestSweepOfPartitions$", "has found",
			mutant.Change{File: "internal/order/recovery/inspect.go", From: `if len(failed) == len(byPartition) {`, To: `if len(failed) > 0 {`},
		),
	}
}
