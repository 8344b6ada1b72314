package redemption

import (
	"seckill/internal/sqlstore/sqlkit"
)

// Ledger keeps coupons in the ledger's database, and the keys of their codes. It is safe for concurrent use.
type Ledger struct {
	db     *sqlkit.DB
	orders sqlkit.Orders
	key    *codeKey // of new codes
}

var _ Coupons = (*Ledger)(nil)

// NewLedger returns a ledger that makes no codes until it has read the keys (CouponKeys).
func NewLedger(db *sqlkit.DB, orders sqlkit.Orders) *Ledger {
	return &Ledger{db: db, orders: orders, key: newCodeKey(db.Now)}
}
