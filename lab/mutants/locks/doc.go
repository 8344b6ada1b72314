// Command mutants breaks the package lock on purpose, in one way after the other, and fails when the row of its
// conformance suite that should notice that does not. It does not change the checkout: the broken files are an overlay
// of the build.
//
//	go run ./mutants/locks [name ...]
//
// With names, it runs only the mutants whose names contain one of them.
package main
