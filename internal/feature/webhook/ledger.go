package webhook

import (
	"seckill/internal/sqlstore/sqlkit"
)

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

// OfAllShops has this process write events of all shops, as it is set to keep them. Call it before the ledger is used.
func (l *Ledger) OfAllShops(all bool) *Ledger {
	l.subscribed.all = all
	return l
}
