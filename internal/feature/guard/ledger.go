package guard

import "seckill/internal/sqlstore/sqlkit"

// Ledger is what the database has of guards: the salts of their keys, and whose orders expired unpaid.
type Ledger struct{ db *sqlkit.DB }

// NewLedger returns it.
func NewLedger(db *sqlkit.DB) *Ledger { return &Ledger{db} }
