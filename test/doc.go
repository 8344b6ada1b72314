// Package test holds the black-box tests: they build the real server, start it as processes of its own against real
// stores, use it as clients do, end it in every way in which processes end, and then ask the ledger what is true.
//
// Authoritative in every test is the ledger (the rows in SQL). Against it stands the record: every answer that a client
// was given, or that he was given none. The checker (internal/checker) compares the two, with Redis as the third
// witness, and names every invariant that does not hold. A test passes when the checker finds nothing, never because
// a count happens to look right; and the checker itself is tested against evidence that was tampered with.
//
// The fault scenarios (faults_test.go) are a table: a fault, what it aims at, and a function that lets it strike a
// deployment with stores of its own (drill_test.go) while buyers come. Each choice that is left to chance comes from a
// seed that is printed. make test-faults runs them.
//
// The other tests run on three kinds of site (site_test.go): the embedded mode, one instance on real stores, and three
// instances that share them.
//
// What can go wrong here and not in the service: a port taken between its choice and the server's start (the start is
// tried again on others), and a machine so slow that a sale ends before its buyers have come (the tests then say so).
package test
