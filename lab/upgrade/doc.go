// Package upgrade runs the previous version beside today's, on the same Redis and database, through a sale, in every
// order in which deployments replace instances. It tests the promise of an upgrade without a pause: each version reads
// what the other one writes.
//
// SECKILL_TEST_UPGRADE_FROM names the previous version's commit, which is built from the clone's history. Without it
// the work tree runs beside itself. What stopped versions have left in their stores is read by TestReleased (package
// test).
//
// As in package test, the ledger is authoritative; the checker (internal/checker) compares it with the answers to
// buyers and with Redis. The two versions differ only in their binary: everything here uses HTTP, signals, metrics, the
// command line, and the stores, whose names are repeated here on purpose.
package upgrade
