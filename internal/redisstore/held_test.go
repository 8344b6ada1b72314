package redisstore

import (
	"math"
	"testing"

	"seckill/internal/order"
)

func TestHeldText(t *testing.T) {
	t.Parallel()
	for text, h := range map[string]order.Held{
		"1":                      {OrderID: 1},
		"123:3":                  {OrderID: 123, Quantity: order.QuantityOf(3)},
		"9223372036854775807:20": {OrderID: math.MaxInt64, Quantity: order.QuantityOf(20)},
	} {
		equal(t, text, heldText(h))
		equal(t, h, parseHeld(text))
	}
	for _, text := range []string{
		"", ":", "0", "-1", "01", "1:", ":2", "1:0", "1:1", "1:-2", "1:21", "1:02", "1:2:3", "1: 2", "x:2", "0:2",
		"1:99999999999999999999",
	} {
		equal(t, order.Held{}, parseHeld(text))
	}
}
