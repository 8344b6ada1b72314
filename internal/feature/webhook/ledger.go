package webhook

import (
	"seckill/internal/sqlstore/sqlkit"
)

// Ledger keeps endpoints and events in the ledger's database, and what came of them. It is safe for concurrent use.
type Ledger struct {
	db     *sqlkit.DB
	orders sqlkit.Orders
	// subscribed are the shops with an endpoint.
	subscribed *subscribedShops
}

// NewLedger returns a ledger.
func NewLedger(db *sqlkit.DB, orders sqlkit.Orders) *Ledger {
	return &Ledger{db: db, orders: orders, subscribed: &subscribedShops{now: db.Now}}
}
