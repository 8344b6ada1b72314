package main

import (
	"time"

	"seckill/lab/mutant"
)

func main() { faults().Main(mutants()) }

// faults returns the suite of fault scenarios, which most mutants use. One mutant runs at a time, as a scenario starts
// stores and three instances.
func faults() mutant.Suite {
	return mutant.Suite{
		Package:    "./lab/faults",
		Program:    "./cmd/server",
		ProgramEnv: "SECKILL_TEST_SERVER",
		Env:        []string{"SECKILL_TEST_FAULTS=all", "SECKILL_TEST_CLUSTER=all", "SECKILL_TEST_HISTORIES=40"},
		Limit:      5 * time.Minute, // most wait in vain for everything to be settled
		Parallel:   1,
	}
}

// serverMutant returns a mutant that a scenario must notice, and fail with the words of sign.
func serverMutant(name, scenario, sign string, changes ...mutant.Change) mutant.Mutant {
	return mutant.Mutant{Name: name, Changes: changes, Test: "TestFaults$/" + scenario + "$", Sign: sign}
}

// clusterMutant returns a mutant that a scenario on clusters must notice, and fail with the words of sign.
func clusterMutant(name, scenario, sign string, changes ...mutant.Change) mutant.Mutant {
	return mutant.Mutant{Name: name, Changes: changes, Test: "TestCluster$/" + scenario + "$", Sign: sign}
}

// packageMutant returns a mutant that a test of a package must notice; the mutant is built into that package.
func packageMutant(name, pkg, test, sign string, changes ...mutant.Change) mutant.Mutant {
	return mutant.Mutant{Name: name, Changes: changes, Package: pkg, Test: test, Sign: sign}
}

// historyMutant returns a mutant that random histories must notice. They leave no file of the failed history, which the
// next run would repeat.
func historyMutant(name, pkg, test, sign string, changes ...mutant.Change) mutant.Mutant {
	m := packageMutant(name, pkg, test, sign, changes...)
	m.Args = []string{"-rapid.nofailfile", "-rapid.shrinktime=5s", "-rapid.checks=2000"}
	return m
}
