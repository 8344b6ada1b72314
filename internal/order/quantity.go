package order

import (
	"fmt"
	"math"

	"seckill/internal/voucher"
)

// Quantity is how many units an order has, 1 to voucher.MaxPerUser. It is stored as the number of units beyond the
// first: the zero value is one unit, as is the default in every stored format.
type Quantity int8

// OneUnit is the quantity of most orders.
const OneUnit Quantity = 0

// QuantityOf returns the quantity for a number of units; fewer than one count as one.
func QuantityOf(units int64) Quantity {
	return Quantity(max(1, min(units, math.MaxInt8)) - 1)
}

// Units returns the number of units.
func (q Quantity) Units() int64 { return q.Extra() + 1 }

// Extra returns the number of units beyond the first.
func (q Quantity) Extra() int64 { return int64(q) }

// String returns the number of units.
func (q Quantity) String() string { return fmt.Sprint(q.Units()) }

// Amount returns the price of all units in cents, given the price of one. It returns ErrRejected for a price that would
// overflow; only somebody who writes into the ledger by hand can set one.
func (q Quantity) Amount(price int64) (int64, error) {
	if price > math.MaxInt64/voucher.MaxPerUser {
		return 0, fmt.Errorf("%w: %s units at a price of %d cents", ErrRejected, q, price)
	}
	return price * q.Units(), nil
}

// Held is an order with its units: what makes a user a holder.
type Held struct {
	OrderID  int64
	Quantity Quantity
}
