// Command mutants breaks the service on purpose, in one way after the other, and fails when the fault scenario, or the
// package's test, that should notice that does not.
//
//	go run ./mutants [name ...]
//
// With names, it runs only the mutants whose names contain one of them. A mutant is noticed when its scenario fails
// with the expected words, so that a failure for another reason does not count.
package main
