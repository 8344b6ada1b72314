// Package faults lets faults happen to a running sale and checks that the service keeps its promises: make -C lab
// faults runs all scenarios and writes lab/notes/faults.md.
//
// A scenario is a row of the table in faults_test.go: a fault, the invariants that it threatens, and a function. Its
// run (run_test.go) has its own stores and instances, with a proxy between each instance and each store:
//
//	open          stores, instances, a sale
//	load          buyers come
//	the fault     a kill, a lost answer, a lock, …; if it matters, at a certain request on the wire (wire_test.go)
//	faultEnded    the recovery time starts
//	finish        everything is done in time, the checker compares record, ledger and Redis, the rest is sold
//
// TestCluster runs some of the same scenarios on a Redis Cluster and a Galera cluster that they share (stack_test.go).
//
// A seed, which is printed, makes every choice that a scenario leaves to chance; the quick ones always use the same. A
// scenario whose fault does not hit fails: there must be purchases before the fault, and units left after it.
package faults
