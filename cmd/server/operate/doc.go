// Package operate has the commands with which operators work beside running instances: they check, reconcile and
// migrate, and handle locks, dead letters and partitions. Each first prints the database that it works on. A command
// that changes something outside of the ledger adds an entry to the audit trail before the change.
package operate
