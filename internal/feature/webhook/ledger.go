package webhook

import "seckill/internal/sqlstore/sqlkit"

// Ledger keeps endpoints, events and the results of their delivery in the ledger's database. It is safe for concurrent
// use.
type Ledger struct {
	db     *sqlkit.DB
	orders sqlkit.Orders
	// subscribed are the shops whose events are written.
	subscribed *subscribedShops
	// perShop is how many endpoints a merchant's shop may have; 0: any number.
	perShop int64
}

// NewLedger returns a ledger that bounds no merchant, and writes events of shops with an endpoint alone.
func NewLedger(db *sqlkit.DB, orders sqlkit.Orders) *Ledger {
	return &Ledger{db: db, orders: orders, subscribed: &subscribedShops{now: db.Clock}}
}
