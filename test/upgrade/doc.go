// Package upgrade runs the version before beside today's: on the same Redis and database, through a sale, in every
// order in which deployments replace instances. It is what an upgrade without a pause promises: what one version writes,
// the other one reads.
//
// TestUpgrade (make test-upgrade) builds the version before from git history: the commit in the file FROM, unless
// SECKILL_TEST_UPGRADE_FROM names another one. It needs a full clone. TestFixtures needs no history and runs in CI: it
// loads what an old version wrote (testdata/<commit>) into a Redis and a database and lets today's server go on from
// there. TestUpgrade also checks that the version before writes what the fixtures say, and writes them with -update.
//
// As in package test, the ledger is authoritative; the checker (internal/checker) compares with it what buyers were told
// and what Redis holds. The version before is told apart by nothing but its binary: everything here goes over HTTP,
// signals, metrics, the command line, and the stores, whose names are written out once more on purpose.
package upgrade
