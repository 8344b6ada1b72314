// Command mutants breaks the package lock on purpose, one way after the other, and fails when a row of its conformance
// suite that should notice does not. Nothing in the checkout is changed: the broken files are an overlay of the build.
//
//	go run ./mutants/locks [name ...]
//
// With names, only the mutants whose names contain one of them.
package main
