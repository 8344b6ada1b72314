package webhook

import (
	"seckill/internal/sqlstore/sqlkit"
)

// Ledger keeps endpoints, events and the results of their delivery in the ledger's database. It is safe for concurrent
// use.
type Ledger struct {
	db     *sqlkit.DB
	orders sqlkit.Orders
	// subscribed are the shops with an endpoint.
	subscribed *subscribedShops
	// perShop is how many endpoints a merchant's shop may have; 0: any number.
	perShop int64
}

// NewLedger returns a ledger.
func NewLedger(db *sqlkit.DB, orders sqlkit.Orders) *Ledger {
	return &Ledger{db: db, orders: orders, subscribed: &subscribedShops{now: db.Clock}}
}

// Bound returns the ledger with a bound on the endpoints of a merchant's shop; 0: none.
func (l *Ledger) Bound(perShop int64) *Ledger {
	bound := *l
	bound.perShop = perShop
	return &bound
}
