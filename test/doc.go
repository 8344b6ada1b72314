// Package test holds the black-box tests: they start the built server as separate processes on real stores (package
// box), use it as clients do, stop it in every way in which processes stop, and then check the result against the
// ledger.
//
// The ledger, the rows in SQL, is authoritative in every test. The record of all answers to the clients, and Redis,
// must agree with it: the checker (internal/checker) compares the three and names every violated invariant. A test
// passes because the checker finds nothing, not because a count happens to be right; the checker itself is tested with
// tampered evidence.
//
// Most tests run on three kinds of site: the embedded mode, one instance on real stores, and three instances that share
// stores. The fault scenarios are in lab/faults.
//
// Failures that are not the service's fault: a port is taken between its choice and the server's start (the start is
// retried on other ports), and a machine is so slow that a sale ends before its buyers have come (the tests report
// that).
package test
