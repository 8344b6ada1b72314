// Package mutant checks that tests notice bugs: it breaks the code on purpose, one mutant after the other, and reports
// every mutant with which the tests still pass. It does not change the checkout: the broken files are an overlay of the
// build (go build -overlay).
//
// A command has a table of mutants and a Suite. Running them takes long, so a test of the table calls Check, which
// finds mutants whose text is no longer in the code.
package mutant
