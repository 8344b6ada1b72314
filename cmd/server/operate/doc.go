// Package operate has the commands with which operators work beside running instances: they check, reconcile and
// migrate, and handle locks, dead letters and partitions. Each first prints which database it works on. Commands that
// change something outside of the ledger note it in the audit trail before they do it.
package operate
