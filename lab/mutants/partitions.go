package main

import "seckill/lab/mutant"

// inPartitions returns the mutants of work in several partitions.
func inPartitions() []mutant.Mutant {
	const partition, telemetry = "./internal/order/partition", "./internal/telemetry"
	const recovery, recorder = "./internal/order/recovery", "./internal/order/recorder"
	return []mutant.Mutant{
		clusterMutant("a recorder in partition 0 alone", "F45-partition", "orders being recorded",
			mutant.Change{
				File: "cmd/server/wiring/shop.go",
				From: `func(ctx context.Context, partition int) error { return s.recorderOf(partition).Run(ctx) })`,
				To: `func(ctx context.Context, partition int) error {
		if partition > 0 {
			return nil
		}
		return s.recorderOf(partition).Run(ctx)
	})`,
			},
		),
		packageMutant("an instance that misses a partition is not shown", partition, "TestWatcher$", "missing:",
			mutant.Change{
				File: "internal/order/partition/watcher.go", From: `>= missingAfter {`, To: `>= 1000*missingAfter {`,
			},
		),
		packageMutant("a sale is assigned where an instance does not work", partition, "TestPlace$", "chose partition",
			mutant.Change{
				File: "internal/order/partition/placer.go", From: `len(names) > 0 {`, To: `len(names) > 99 {`,
			},
		),
		packageMutant("a sale is assigned to a closed partition", partition, "TestPlace$", "chose partition",
			mutant.Change{
				File: "internal/order/partition/placer.go", From: `q.State == Open`, To: `q.State != Removed`,
			},
		),
		packageMutant("the sum of backlogs forgets a partition", telemetry, "TestBacklogOfPartitions$", "entries are",
			mutant.Change{
				File: "internal/telemetry/partitions.go", From: `entries, dead = entries+float64(b.Entries), `,
				To: `entries, dead = float64(b.Entries), `,
			},
		),
		packageMutant("dead letters of the first partition only are counted", recorder, "TestDeadLettersOfPartitions$",
			"in all", mutant.Change{
				File: "internal/order/recorder/dead_letters.go", From: `total+there`, To: `max(total, there)`,
			},
		),
		packageMutant("a partition that does not answer stops the sweep", recovery, "TestSweepOfPartitions$",
			"has found", mutant.Change{
				File: "internal/order/recovery/inspect.go", From: `if len(failed) == len(byPartition) {`,
				To: `if len(failed) > 0 {`,
			},
		),
	}
}
