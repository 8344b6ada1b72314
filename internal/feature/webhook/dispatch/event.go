package dispatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"seckill/internal/kit/moment"
	"seckill/internal/kit/trace"
	"seckill/internal/kit/words"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
)

// Type is the type of an event: order.<the order's new state>, payment.<news>, waitlist.<order.TurnKind>, and the
// constants here and beside the events of payments and of sales.
type Type string

// Test is the type of the event that an admin sends to try an endpoint. It has no subject.
const Test Type = "webhook.test"

// Types returns the types of events about orders, waiting lists and sales.
func Types() []Type {
	states := []order.Status{
		order.Unpaid, order.Paid, order.Redeemed, order.Cancelled, order.Refunding, order.Refunded,
		order.Failed, order.Lapsed,
	}
	types := make([]Type, 0, 2*len(states))
	for _, s := range states {
		types = append(types, typeOf(s))
	}
	types = append(types, OrderExtended, OrderRestored)
	for _, k := range []order.TurnKind{
		order.TurnInvited, order.TurnAccepted, order.TurnDeclined, order.TurnMissed, order.TurnEnded,
		order.TurnReleased,
	} {
		types = append(types, TypeOfTurn(k))
	}
	return append(types, SaleCreated, SaleChanged, SaleStarted, SaleSoldOut, SaleEnded, SaleCalledOff,
		PaymentReturned, PaymentDisputed, PaymentDisputeWon, PaymentDisputeLost, PaymentStuck, PaymentRetried,
		PaymentClosed, PaymentProcessing, PaymentFailed, PaymentCancelled, PaymentRefund, PaymentReceived)
}

func typeOf(s order.Status) Type { return Type("order." + s.String()) }

// Types of events by staff after which an order is in the state paid again, without a payment.
const (
	OrderExtended Type = "order.extended" // its coupon has a later date
	OrderRestored Type = "order.restored" // its redemption was undone
)

// typeOfChange returns the type of the event about a change.
func typeOfChange(c order.Change) Type {
	switch c.Action {
	case order.Extend, order.Reinstate:
		return OrderExtended
	case order.Unredeem:
		return OrderRestored
	default:
		return typeOf(c.Order.Status)
	}
}

// Event is one change of an order, on a waiting list, or of a sale, as endpoints receive it.
type Event struct {
	Number        int64 // its number among all events, in the order of their commits; 0: not numbered yet
	ShopID        int64 // 0: not known, for an order of a voucher that does not exist
	Subject       order.Subject
	SubjectNumber int64 // rising among the subject's events: order.Order.Number; for a sale, with gaps
	Type          Type
	Body          []byte // the body of every attempt, byte for byte
	At            time.Time
}

// Trace returns the traceparent of the request that caused the event, "" unless it is followed.
func (e Event) Trace() trace.Parent {
	if !bytes.Contains(e.Body, []byte(`"traceparent":"`)) {
		return ""
	}
	var p struct {
		Trace string `json:"traceparent"`
	}
	if err := json.Unmarshal(e.Body, &p); err != nil {
		return "" // a body of another version
	}
	return trace.Parse(p.Trace)
}

// ID returns the event's webhook-id, which is the same at every attempt, and unique to the event.
func (e Event) ID() string { return EventID{Subject: e.Subject, Number: e.SubjectNumber}.String() }

// payloadVersion changes when a receiver that was written for the previous version could misread a body. Members and
// types may be added without a new version.
const payloadVersion = 1

// payload is an event's body: the three members of Standard Webhooks, the version, and the event's subject and number.
type payload struct {
	Version   int          `json:"version"`
	Type      Type         `json:"type"`
	Timestamp moment.Time  `json:"timestamp"`
	Subject   *subjectJSON `json:"subject,omitempty"`
	Number    int64        `json:"number,omitempty"` // Event.SubjectNumber
	Trace     trace.Parent `json:"traceparent,omitempty"`
	Data      any          `json:"data"` // orderData, turnData, saleData or testData
}

// subjectJSON is an event's subject. Its id is a string, because JavaScript cannot represent an order's id exactly.
type subjectJSON struct {
	Kind order.SubjectKind `json:"kind"`
	ID   string            `json:"id"`
}

// maxBody is how long a body may be, in bytes. The column of MySQL holds 65,535.
const maxBody = 60_000

// shorter returns data without its payments or refunds.
func shorter(data any) any {
	switch d := data.(type) {
	case orderData:
		d.Payments, d.Omitted = nil, true
		return d
	case paymentData:
		d.Refunds, d.Omitted = nil, true
		return d
	default:
		return data
	}
}

// withBody returns the event with its body, which contains the data, and what caused it. It leaves out payments and
// refunds with which the body would be too long.
func (e Event) withBody(data any, by trace.Parent) (Event, error) {
	e, err := e.withWhole(data, by)
	if err != nil || len(e.Body) <= maxBody {
		return e, err
	}
	return e.withWhole(shorter(data), by)
}

// withWhole is withBody with all of the data.
func (e Event) withWhole(data any, by trace.Parent) (Event, error) {
	body, err := json.Marshal(payload{
		Version: payloadVersion, Type: e.Type, Timestamp: moment.Of(e.At),
		Subject: &subjectJSON{Kind: e.Subject.Kind(), ID: e.Subject.ID()}, Number: e.SubjectNumber,
		Trace: by, Data: data,
	})
	if err != nil {
		return Event{}, fmt.Errorf("event %s: %w", e.ID(), err)
	}
	e.Body = body
	return e, nil
}

// orderData is an order's whole state after the event, with the names that GET /order/:id uses.
type orderData struct {
	ID            string       `json:"id"`
	ShopID        int64        `json:"shopId,omitempty"`
	VoucherID     int64        `json:"voucherId"`
	UserID        int64        `json:"userId"`
	Quantity      int64        `json:"quantity"`
	Amount        int64        `json:"amount"` // in the currency's least unit
	Currency      string       `json:"currency"`
	Status        string       `json:"status"`
	Reason        string       `json:"reason,omitempty"` // the reason of a failure
	Why           string       `json:"why,omitempty"`    // in English
	WhyCode       reason.Why   `json:"whyCode,omitempty"`
	Until         string       `json:"until,omitempty"` // the coupon's date, if it was extended
	CreateTime    *moment.Time `json:"createTime,omitempty"`
	PayBefore     *moment.Time `json:"payBefore,omitempty"`
	Processing    bool         `json:"processing,omitempty"`
	PayTime       *moment.Time `json:"payTime,omitempty"`
	RedeemTime    *moment.Time `json:"redeemTime,omitempty"`
	CancelTime    *moment.Time `json:"cancelTime,omitempty"`
	RefundingTime *moment.Time `json:"refundingTime,omitempty"`
	RefundTime    *moment.Time `json:"refundTime,omitempty"`
	FailTime      *moment.Time `json:"failTime,omitempty"`
	LapseTime     *moment.Time `json:"lapseTime,omitempty"`
	// Payments are those of paymentsOf when the event is written, the oldest first.
	Payments []paymentData `json:"payments,omitempty"`
	// Omitted: Payments would make the body too long.
	Omitted bool `json:"paymentsOmitted,omitempty"`
}

// EventOf returns the event about a change of an order with the payments. Here and below, by is the traceparent of what
// caused it, if that is followed.
func EventOf(c order.Change, paid []payment.Account, by trace.Parent) (Event, error) {
	o, shopID, at, why := c.Order, c.Terms.ShopID, c.At, c.Why
	e := Event{
		ShopID: shopID, Subject: order.SubjectOfOrder(o.ID), SubjectNumber: o.Number(), Type: typeOfChange(c), At: at,
	}
	return e.withBody(orderData{
		ID: strconv.FormatInt(o.ID, 10), ShopID: shopID, VoucherID: o.VoucherID, UserID: o.UserID,
		Quantity: o.Quantity.Units(), Amount: o.Amount, Currency: c.Terms.Currency,
		Status: o.Status.String(), Reason: string(o.Reason),
		Why: why.In(words.English), WhyCode: why.Code(), Until: why.Until(),
		CreateTime: moment.OrNil(o.CreatedAt), PayBefore: moment.OrNil(o.PayBefore),
		PayTime: moment.OrNil(o.PaidAt), RedeemTime: moment.OrNil(o.RedeemedAt),
		CancelTime: moment.OrNil(o.CancelledAt), RefundingTime: moment.OrNil(o.RefundingAt),
		RefundTime: moment.OrNil(o.RefundedAt),
		FailTime:   moment.OrNil(o.FailedAt), LapseTime: moment.OrNil(o.LapsedAt), Processing: o.Processing,
		Payments: paymentsOf(paid, shopID, c.Terms.Currency),
	}, by)
}

// TypeOfTurn returns the type of the event about a kind of change on a waiting list.
func TypeOfTurn(k order.TurnKind) Type { return Type("waitlist." + k) }

// turnData is a place after the event, with the names that GET /voucher/:id/waitlist uses. An event about the whole
// list leaves out the members of a place.
type turnData struct {
	ShopID       int64        `json:"shopId"`
	VoucherID    int64        `json:"voucherId"`
	UserID       int64        `json:"userId,omitempty"`
	OrderID      string       `json:"orderId,omitempty"` // the order that accepting makes
	Missed       int64        `json:"missed,omitempty"`
	Units        int64        `json:"units,omitempty"` // the units that were released
	JoinTime     *moment.Time `json:"joinTime,omitempty"`
	InviteTime   *moment.Time `json:"inviteTime,omitempty"`
	AcceptBefore *moment.Time `json:"acceptBefore,omitempty"`
	EndTime      *moment.Time `json:"endTime,omitempty"`
}

// EventOfTurn returns the event about a change on a waiting list.
func EventOfTurn(t order.Turn, shopID int64, by trace.Parent) (Event, error) {
	e := Event{ShopID: shopID, Subject: t.Subject(), SubjectNumber: t.Number, Type: TypeOfTurn(t.Kind), At: t.At}
	d := turnData{
		ShopID: shopID, VoucherID: t.ID.VoucherID, UserID: t.UserID, Missed: t.Missed, Units: t.Units,
		JoinTime: moment.OrNil(t.Joined), InviteTime: moment.OrNil(t.Invited), AcceptBefore: moment.OrNil(t.Deadline),
		EndTime: moment.OrNil(t.Ended),
	}
	if t.OrderID != 0 {
		d.OrderID = strconv.FormatInt(t.OrderID, 10)
	}
	return e.withBody(d, by)
}
