package shop

import (
	"errors"
	"net/http"
	"strconv"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/words"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// alreadyBoughtMembers adds the user's order and its status; "stale" if the status is unknown.
func alreadyBoughtMembers(body []byte, _ words.Language, err error) []byte {
	e, _ := errors.AsType[*order.AlreadyBoughtError](err)
	body = append(body, `,"data":`...)
	body = appendOrderRef(body, e.OrderID, e.Quantity, e.Status)
	if body = append(body, '}'); e.Status == order.StatusUnknown {
		body = append(body, `,"stale":true`...)
	}
	return body
}

// orderFailedMembers adds the order that failed, and why.
func orderFailedMembers(body []byte, _ words.Language, err error) []byte {
	e, _ := errors.AsType[*OrderFailedError](err)
	body = append(body, `,"data":`...)
	body = appendOrderRef(body, e.Order.ID, e.Order.Quantity, order.Failed)
	body = append(body, `,"reason":`...)
	body = httpkit.AppendJSON(body, string(e.Order.Reason))
	return append(body, '}')
}

// orderStateMembers adds the order and its state.
func orderStateMembers(body []byte, _ words.Language, err error) []byte {
	e, _ := errors.AsType[*order.StateError](err)
	body = append(body, `,"data":`...)
	body = appendOrderRef(body, e.OrderID, order.OneUnit, e.Status)
	return append(body, '}')
}

// paymentStateMembers adds the payment and its state.
func paymentStateMembers(body []byte, _ words.Language, err error) []byte {
	e, _ := errors.AsType[*order.PaymentStateError](err)
	body = append(body, `,"data":{"paymentId":`...)
	body = httpkit.AppendJSON(body, e.PaymentID)
	body = append(body, `,"state":`...)
	body = httpkit.AppendJSON(body, e.State.String())
	return append(body, '}')
}

// notEnoughMembers adds how many units were left.
func notEnoughMembers(body []byte, _ words.Language, err error) []byte {
	e, _ := errors.AsType[*order.NotEnoughError](err)
	body = append(body, `,"data":{"left":`...)
	body = strconv.AppendInt(body, e.Left, 10)
	return append(body, '}')
}

// limitReached is the answer to a user who has as many of an ordinary voucher as it allows.
func limitReached() httpkit.Failure {
	return httpkit.Failure{
		Code: "LIMIT_REACHED", Status: http.StatusConflict, Title: "As many as one may have",
		Detail: "The user has as many live orders of this ordinary voucher as its perUser allows; data says how " +
			"many. Nothing was bought. A cancelled or refunded order does not count.",
		English: "You have as many of these as one person may buy.", Chinese: "您已达到每人限购数量",
		Members: limitMembers,
	}
}

// limitMembers adds how many live orders of the voucher a user may have.
func limitMembers(body []byte, _ words.Language, err error) []byte {
	e, _ := errors.AsType[*order.LimitError](err)
	body = append(body, `,"data":{"perUser":`...)
	body = strconv.AppendInt(body, e.PerUser, 10)
	return append(body, '}')
}

// insufficientStockMembers adds how many units are left.
func insufficientStockMembers(body []byte, _ words.Language, err error) []byte {
	e, _ := errors.AsType[*voucher.InsufficientStockError](err)
	body = append(body, `,"data":{"left":`...)
	body = strconv.AppendInt(body, e.Left, 10)
	return append(body, '}')
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
