package redisstore

import (
	"fmt"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/voucher"
)

// resultOf reads the answer of seckill.lua to one request: a code, the number of units left if they are not enough, or
// the order that the user already has. Anything else becomes an outcome (Unreadable) and not an error, so that the
// batch's other requests get their answers.
func resultOf(r *rediskit.Reply) gate.Result {
	switch v := r.Next().(type) {
	case int64:
		if v < 0 && v > -voucher.MaxPerUser {
			return gate.Result{Outcome: gate.NotEnough, Left: -v}
		}
		return gate.Result{Outcome: gate.ScriptOutcome(v)}
	case string:
		held := parseHeld(v)
		if held.OrderID == 0 {
			return gate.Result{Outcome: gate.Unreadable}
		}
		return gate.Result{Outcome: gate.AlreadyBought, OrderID: held.OrderID, Quantity: held.Quantity}
	default:
		r.Wrong("neither a number nor text")
		return gate.Result{}
	}
}

// viewOf reads mode, epoch, sequence, stock, buyers, begin and end.
func viewOf(r *rediskit.Reply) order.SaleView {
	v := order.SaleView{Mode: modeOf(r.Text())}
	v.Mark = order.Mark{Epoch: r.Number(), Sequence: r.Number()}
	v.Stock, v.Buyers = r.Number(), r.Number()
	if v.Mode == order.SaleMissing {
		r.Number()
		r.Number()
		return v
	}
	v.Begin, v.End = r.Time(), r.Time()
	return v
}

// modes are the modes by their words.
var modes = map[string]order.SaleMode{
	modeOpen: order.SaleOpen, modePaused: order.SalePaused, modeOff: order.SaleOffShelf,
	modeOver: order.SaleCalledOff, modeRebuild: order.SaleRebuilding,
}

// modeOf returns the mode for a sale's mode word; an unknown word means that the sale must be rebuilt (SaleMissing).
func modeOf(word string) order.SaleMode { return modes[word] }

// wordOf returns the word for a mode with which a sale can be published.
func wordOf(mode order.SaleMode) (string, error) {
	for word, of := range modes {
		if of == mode && mode != order.SaleRebuilding {
			return word, nil
		}
	}
	return "", fmt.Errorf("a sale cannot be published in mode %d", mode)
}
