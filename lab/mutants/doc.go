// Command mutants breaks the service on purpose, one way after the other, and fails when the fault scenario, or
// the package's test, that should notice does not.
//
//	go run ./mutants [name ...]
//
// With names, only the mutants whose names contain one of them. A mutant is noticed when its scenario fails with the
// words that it should fail with, so that a scenario which failed for another reason does not count.
package main
