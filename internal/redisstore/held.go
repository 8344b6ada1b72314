package redisstore

import (
	"strconv"
	"strings"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// In the hash of holders, in the stream and in recovery reports, an order with its units is one text: the order's id,
// and, for more than one unit, a colon and their number, as 123:3.

// heldText returns the text of an order with its units.
func heldText(h order.Held) string {
	id := strconv.FormatInt(h.OrderID, 10)
	if h.Quantity.Extra() == 0 {
		return id
	}
	return id + ":" + h.Quantity.String()
}

// heldArgument returns heldText as an argument of a script, and a plain id as a number.
func heldArgument(h order.Held) any {
	if h.Quantity.Extra() == 0 {
		return h.OrderID
	}
	return heldText(h)
}

// parseHeld reads an order with its units as this package writes it; it returns order 0 for anything else.
func parseHeld(text string) order.Held {
	text, units, several := strings.Cut(text, ":")
	id := identifier(text)
	if !several || id == 0 {
		return order.Held{OrderID: id}
	}
	n := identifier(units)
	if n < 2 || n > voucher.MaxPerUser {
		return order.Held{}
	}
	return order.Held{OrderID: id, Quantity: order.QuantityOf(n)}
}
