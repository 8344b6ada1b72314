// Package store keeps the guards' data that outlives a process or is shared by instances. The ledger's database has the
// salts of their keys, and the users whose orders expired unpaid, which the core counts. Redis has the counts of a sale
// and the spending of callers; it may lose all of it.
package store
