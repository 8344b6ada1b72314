// Package installation is the part of the ledger that no order's transaction writes: which partitions there are, the
// key of order ids, how requests were answered minute by minute, notes about what admins do outside the ledger, refused
// notices of payment providers, and the currency.
package installation

import "seckill/internal/sqlstore/sqlkit"

// Tables is the part of the ledger that this package has. It is safe for concurrent use.
type Tables struct{ db *sqlkit.DB }

// New returns the tables of a database.
func New(db *sqlkit.DB) *Tables { return &Tables{db: db} }
