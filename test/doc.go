// Package test holds the black-box tests: they start the built server as processes of its own on real stores (package
// box), use it as clients do, stop it in every way in which processes stop, and then check the result against the
// ledger.
//
// Authoritative in every test is the ledger, the rows in SQL. The record of all answers that the clients got, and
// Redis, must agree with it: the checker (internal/checker) compares the three and names every invariant that does
// not hold. A test passes when the checker finds nothing, not because a count happens to be right; the checker itself
// is tested against evidence that was tampered with.
//
// Most tests run on three kinds of site: the embedded mode, one instance on real stores, and three instances that share
// them. The fault scenarios are a package of their own (faults).
//
// Failures that are not the service's: a port that is taken between its choice and the server's start (the start is
// retried on others), and a machine so slow that a sale ends before its buyers have come (the tests report it).
package test
