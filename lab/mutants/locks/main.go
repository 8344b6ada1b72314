package main

import (
	"fmt"
	"path"
	"time"

	"seckill/lab/mutant"
)

// pkg is the package that is broken, relative to the top of the clone.
const pkg = "./internal/lock"

func main() { conformance().Main(runnable()) }

// conformance returns the suite of the locks. Two mutants run at a time: one is built while one runs.
func conformance() mutant.Suite {
	return mutant.Suite{Package: pkg, Limit: 2 * time.Minute, Parallel: 2}
}

// runnable returns the mutants for the suite, with the changed files' names relative to the top of the clone, and the
// rows' tests.
func runnable() []mutant.Mutant {
	var all []mutant.Mutant
	for _, m := range mutants() {
		all = append(all, m.noticedBy(fmt.Sprintf("TestConformance$/%s$/row_%d_", m.kind, m.row)))
	}
	for test, m := range inClusters() {
		all = append(all, m.noticedBy(test))
	}
	return append(all, inIDs()...)
}

// noticedBy returns the mutant, which the test must notice.
func (m mutation) noticedBy(test string) mutant.Mutant {
	broken := mutant.Mutant{Name: m.name, Test: test}
	for _, c := range m.changes {
		broken.Changes = append(broken.Changes, mutant.Change{File: path.Join(pkg, c.file), From: c.from, To: c.to})
	}
	return broken
}
