package redisstore

import (
	"fmt"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// reply reads a script's flat array from left to right. The first element that is not what it should be is kept as err;
// what is read after it is zero.
type reply struct {
	elements []any
	at       int
	err      error
}

func newReply(raw any) *reply {
	elements, ok := raw.([]any)
	if !ok {
		return &reply{err: fmt.Errorf("redis: a script answered with %T, not an array", raw)}
	}
	return &reply{elements: elements}
}

func (r *reply) next() any {
	if r.err != nil {
		return nil
	}
	if r.at >= len(r.elements) {
		r.err = fmt.Errorf("redis: a script answered with only %d elements", len(r.elements))
		return nil
	}
	r.at++
	return r.elements[r.at-1]
}

func (r *reply) number() int64 {
	n, ok := r.next().(int64)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("redis: element %d of a script's answer is not a number", r.at)
	}
	return n
}

func (r *reply) text() string {
	s, ok := r.next().(string)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("redis: element %d of a script's answer is not text", r.at)
	}
	return s
}

func (r *reply) time() time.Time { return time.UnixMilli(r.number()).UTC() }

// result reads what seckill.lua answers for one request: a code, how many units are left where they are not enough,
// or the order that the user has already. An element that is none of them concerns no other request of the batch, so
// it is an outcome and no error.
func (r *reply) result() order.Result {
	switch v := r.next().(type) {
	case int64:
		if v < 0 && v > -voucher.MaxPerUser {
			return order.Result{Outcome: order.NotEnough, Left: -v}
		}
		return order.Result{Outcome: order.ScriptOutcome(v)}
	case string:
		held := parseHeld(v)
		if held.OrderID == 0 {
			return order.Result{Outcome: order.Unreadable}
		}
		return order.Result{Outcome: order.AlreadyBought, OrderID: held.OrderID, Quantity: held.Quantity}
	default:
		if r.err == nil {
			r.err = fmt.Errorf("redis: element %d of a script's answer is neither a number nor text", r.at)
		}
		return order.Result{}
	}
}

// view reads mode, epoch, sequence, stock, buyers, begin and end.
func (r *reply) view() order.SaleView {
	v := order.SaleView{Mode: modeOf(r.text())}
	v.Mark = order.Mark{Epoch: r.number(), Sequence: r.number()}
	v.Stock, v.Buyers = r.number(), r.number()
	if v.Mode == order.SaleMissing {
		r.number()
		r.number()
		return v
	}
	v.Begin, v.End = r.time(), r.time()
	return v
}

// modeOf reads a sale's mode word; an unknown one means that the sale must be rebuilt.
func modeOf(word string) order.SaleMode {
	switch word {
	case modeOpen:
		return order.SaleOpen
	case modePaused:
		return order.SalePaused
	case modeOff:
		return order.SaleOffShelf
	case modeRebuild:
		return order.SaleRebuilding
	default:
		return order.SaleMissing
	}
}

// wordOf is the word for a mode that a sale can be published in.
func wordOf(mode order.SaleMode) (string, error) {
	switch mode {
	case order.SaleOpen:
		return modeOpen, nil
	case order.SalePaused:
		return modePaused, nil
	case order.SaleOffShelf:
		return modeOff, nil
	default:
		return "", fmt.Errorf("a sale cannot be published in mode %d", mode)
	}
}
