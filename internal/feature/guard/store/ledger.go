package store

import "seckill/internal/sqlstore/sqlkit"

// Ledger is the guards' part of the database: the salts of their keys, and the users whose orders expired unpaid.
type Ledger struct{ db *sqlkit.DB }

// NewLedger returns the guards' part of a database.
func NewLedger(db *sqlkit.DB) *Ledger { return &Ledger{db} }
