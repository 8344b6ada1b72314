// Package operate has the commands with which operators work beside running instances: they check, reconcile, migrate,
// and take locks, dead letters and partitions in hand. Each says first which database it works on. Those that change
// something outside of the ledger note it in the audit trail before they do it.
package operate
