// Package mutant checks that tests notice bugs: it breaks the code on purpose, one mutant after the other, and reports
// every mutant with which the tests still pass. Nothing in the checkout is changed: the broken files are an overlay of
// the build (go build -overlay).
//
// A command brings the table of its mutants and its Suite. Check is for a test of that table, because running the
// mutants takes long: it finds each mutant whose text no longer stands in the code.
package mutant
