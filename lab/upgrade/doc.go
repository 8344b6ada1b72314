// Package upgrade runs the version before beside today's: on the same Redis and database, through a sale, in every
// order in which deployments replace instances. It is what an upgrade without a pause promises: what one version
// writes, the other one reads.
//
// Until 1.0 nothing promises that two versions share their stores, and the work tree runs beside itself. From then on
// SECKILL_TEST_UPGRADE_FROM names the commit of the version before, which is built from the clone's history.
//
// As in package test, the ledger is authoritative; the checker (internal/checker) compares with it what buyers were
// told and what Redis holds. The version before is told apart by nothing but its binary: everything here goes over
// HTTP, signals, metrics, the command line, and the stores, whose names are written out once more on purpose.
package upgrade
