package dispatch

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"seckill/internal/kit/moment"
	"seckill/internal/kit/words"
	"seckill/internal/order"
)

// Type is what happened: order.<state that the order has come to>, waitlist.<what happened there>, or Test.
type Type string

// Test is the type of the event that an admin sends to try an endpoint. It concerns nothing.
const Test Type = "webhook.test"

// SaleCalledOff is the type of the event that a sale was called off. The sale's orders get events of their own, as they
// are cancelled and refunded.
const SaleCalledOff Type = "sale.called_off"

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
	for _, k := range ofWaitlists() {
		types = append(types, TypeOfTurn(k))
	}
	return append(append(types, SaleCalledOff), ofPayments()...)
}

func typeOf(s order.Status) Type { return Type("order." + s.String()) }

// Types of events of acts of staff after which an order is paid, although nobody has paid.
const (
	OrderExtended Type = "order.extended" // its coupon has a later date
	OrderRestored Type = "order.restored" // its redemption was undone
)

// typeOfChange returns the type of the event that tells of a change.
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
	Number        int64 // among all events, in the order of their commits; 0: not given yet
	ShopID        int64 // 0: not known, for an order of a voucher that does not exist
	Subject       order.Subject
	SubjectNumber int64 // among those of the subject, rising: order.Order.Number; of a sale, its operation's
	Type          Type
	Body          []byte // what is sent, byte for byte, at every attempt
	At            time.Time
}

// ID returns the event's webhook-id, which is the same at every attempt, and of no other event.
func (e Event) ID() string { return EventID{Subject: e.Subject, Number: e.SubjectNumber}.String() }

// payloadVersion changes when a receiver that was written for the one before could misread a body. Members and types
// may be added without.
const payloadVersion = 1

// payload is an event's body: the three members of Standard Webhooks, and what the event is about.
type payload struct {
	Version   int          `json:"version"`
	Type      Type         `json:"type"`
	Timestamp moment.Time  `json:"timestamp"`
	Subject   *subjectJSON `json:"subject,omitempty"`
	Number    int64        `json:"number,omitempty"` // Event.SubjectNumber
	Data      any          `json:"data"`             // orderData, turnData, saleData or testData
}

// subjectJSON is an event's subject. Its id is a string, because JavaScript cannot represent an order's exactly.
type subjectJSON struct {
	Kind order.SubjectKind `json:"kind"`
	ID   string            `json:"id"`
}

// withBody returns the event with its body, which has the data.
func (e Event) withBody(data any) (Event, error) {
	body, err := json.Marshal(payload{
		Version: payloadVersion, Type: e.Type, Timestamp: moment.Of(e.At),
		Subject: &subjectJSON{Kind: e.Subject.Kind(), ID: e.Subject.ID()}, Number: e.SubjectNumber, Data: data,
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
	Amount        int64        `json:"amount"` // cents
	Currency      string       `json:"currency"`
	Status        string       `json:"status"`
	Reason        string       `json:"reason,omitempty"` // why it failed
	Why           string       `json:"why,omitempty"`    // in English
	WhyCode       order.Why    `json:"whyCode,omitempty"`
	Until         string       `json:"until,omitempty"` // the coupon's date, where that was extended
	CreateTime    *moment.Time `json:"createTime,omitempty"`
	PayBefore     *moment.Time `json:"payBefore,omitempty"`
	PayTime       *moment.Time `json:"payTime,omitempty"`
	RedeemTime    *moment.Time `json:"redeemTime,omitempty"`
	CancelTime    *moment.Time `json:"cancelTime,omitempty"`
	RefundingTime *moment.Time `json:"refundingTime,omitempty"`
	RefundTime    *moment.Time `json:"refundTime,omitempty"`
	FailTime      *moment.Time `json:"failTime,omitempty"`
	LapseTime     *moment.Time `json:"lapseTime,omitempty"`
}

// EventOf returns the event that tells of a change.
func EventOf(c order.Change) (Event, error) {
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
		FailTime:   moment.OrNil(o.FailedAt), LapseTime: moment.OrNil(o.LapsedAt),
	})
}
