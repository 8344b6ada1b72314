package main

import (
	"fmt"
	"path"
	"time"

	"seckill/internal/testkit/mutant"
)

// pkg is what is broken, as seen from the module's root.
const pkg = "./internal/lock"

func main() { conformance().Main(runnable(mutants())) }

// conformance is the suite of the locks. Two mutants at a time: one is built while one runs.
func conformance() mutant.Suite {
	return mutant.Suite{Package: pkg, Limit: 2 * time.Minute, Parallel: 2}
}

// runnable returns the mutants for the suite: the changes by their files' names from the module's root, the rows by
// their tests.
func runnable(mutants []mutation) []mutant.Mutant {
	all := make([]mutant.Mutant, len(mutants))
	for i, m := range mutants {
		all[i] = mutant.Mutant{Name: m.name, Test: fmt.Sprintf("TestConformance$/%s$/row_%d_", m.kind, m.row)}
		for _, c := range m.changes {
			all[i].Changes = append(all[i].Changes, mutant.Change{File: path.Join(pkg, c.file), From: c.from, To: c.to})
		}
	}
	return all
}
