package shop

import (
	"errors"
	"strconv"

	"seckill/internal/kit/words"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/reason"
)

// alreadyBoughtMembers adds the user's order and its status; "stale" if the status is unknown.
func alreadyBoughtMembers(body []byte, _ words.Language, err error) []byte {
	e, _ := errors.AsType[*gate.AlreadyBoughtError](err)
	body = append(body, `,"data":`...)
	body = appendOrderRef(body, e.OrderID, e.Quantity, e.Status)
	if body = append(body, '}'); e.Status == order.StatusUnknown {
		body = append(body, `,"stale":true`...)
	}
	return body
}

// notEnoughMembers adds how many units were left.
func notEnoughMembers(body []byte, _ words.Language, err error) []byte {
	e, _ := errors.AsType[*gate.NotEnoughError](err)
	body = append(body, `,"data":{"left":`...)
	body = strconv.AppendInt(body, e.Left, 10)
	return append(body, '}')
}

// orderRefJSON names an order, and why it failed.
type orderRefJSON struct {
	OrderID  string          `json:"orderId"`
	Status   string          `json:"status,omitempty"`   // absent when it is not known just now
	Quantity int64           `json:"quantity,omitempty"` // units; absent: one
	Reason   *reason.Failure `json:"reason,omitempty"`
}

// appendOrderRef appends {"orderId":"…","status":"…" without the closing brace. A status that is not known is left out.
func appendOrderRef(body []byte, id int64, q order.Quantity, s order.Status) []byte {
	body = append(body, `{"orderId":"`...)
	body = strconv.AppendInt(body, id, 10)
	body = append(body, '"')
	if s != order.StatusUnknown {
		body = append(body, `,"status":"`...)
		body = append(body, s.String()...)
		body = append(body, '"')
	}
	if q != order.OneUnit {
		body = append(body, `,"quantity":`...)
		body = strconv.AppendInt(body, q.Units(), 10)
	}
	return body
}

// paymentRefJSON names a payment whose state allows something no more.
type paymentRefJSON struct {
	PaymentID string `json:"paymentId"`
	State     string `json:"state"`
}

// leftAmountJSON says how much of a payment is left.
type leftAmountJSON struct {
	Left     int64  `json:"leftAmount"` // cents
	Currency string `json:"currency,omitempty"`
}
