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
	"seckill/internal/voucher"
)

// Type is the type of an event: order.<the order's new state>, payment.<news>, waitlist.<order.TurnKind>, and the
// constants below.
type Type string

// Test is the type of the event that an admin sends to try an endpoint. It has no subject.
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
	SubjectNumber int64 // rising among the subject's events: order.Order.Number; for a sale, its operation
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

// withBody returns the event with its body, which contains the data, and what caused it.
func (e Event) withBody(data any, by trace.Parent) (Event, error) {
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
}

// EventOf returns the event about a change. Here and below, by is the traceparent of what caused it, if that is
// followed.
func EventOf(c order.Change, by trace.Parent) (Event, error) {
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
	}, by)
}

// Types of events about payments: notices by their provider, and acts of staff.
const (
	PaymentReturned    Type = "payment.returned" // a part of the money has gone back, or all
	PaymentDisputed    Type = "payment.disputed"
	PaymentDisputeWon  Type = "payment.dispute_won"  // by the shop
	PaymentDisputeLost Type = "payment.dispute_lost" // by the shop: the money has gone back
	PaymentStuck       Type = "payment.stuck"        // the provider refuses for good to send the money back
	PaymentRetried     Type = "payment.retried"      // staff have the provider asked again
	PaymentClosed      Type = "payment.closed"       // staff have closed the refund
	PaymentProcessing  Type = "payment.processing"   // its money is under way
	PaymentFailed      Type = "payment.failed"       // it has failed
	PaymentCancelled   Type = "payment.cancelled"    // it has ended without money
	PaymentRefund      Type = "payment.refund"       // a refund of it is asked for, on its way, or has failed
)

// ofPayments returns the types of events about payments.
func ofPayments() []Type {
	return []Type{
		PaymentReturned, PaymentDisputed, PaymentDisputeWon, PaymentDisputeLost, PaymentStuck, PaymentRetried,
		PaymentClosed, PaymentProcessing, PaymentFailed, PaymentCancelled, PaymentRefund,
	}
}

// typeOfNews returns the type of the event about news of a payment.
func typeOfNews(n payment.News) Type { return Type("payment." + string(n)) }

// paymentData is a payment's whole state after the event, with the names that GET /admin/payment uses.
type paymentData struct {
	ID            string       `json:"id"`
	OrderID       string       `json:"orderId"` // a string, because JavaScript cannot represent such large ids exactly
	ShopID        int64        `json:"shopId,omitempty"`
	VoucherID     int64        `json:"voucherId"`
	UserID        int64        `json:"userId"`
	Amount        int64        `json:"amount"` // in the currency's least unit
	Currency      string       `json:"currency"`
	State         string       `json:"state"`
	Provider      string       `json:"provider,omitempty"`
	Reference     string       `json:"reference,omitempty"`
	Received      int64        `json:"receivedAmount"`   // in the currency's least unit
	Returned      int64        `json:"returnedAmount"`   // in the currency's least unit
	Kept          int64        `json:"keptAmount"`       // in the currency's least unit
	Refunded      int64        `json:"refundedAmount"`   // in the currency's least unit
	Lost          int64        `json:"lostAmount"`       // in the currency's least unit
	Refund        *refundData  `json:"refund,omitempty"` // that the event is about
	Dispute       string       `json:"dispute"`
	Disputed      int64        `json:"disputedAmount,omitempty"` // in the currency's least unit
	Refusal       string       `json:"refusal,omitempty"`
	CreateTime    *moment.Time `json:"createTime,omitempty"`
	ReceiveTime   *moment.Time `json:"receiveTime,omitempty"`
	RefundingTime *moment.Time `json:"refundingTime,omitempty"`
	RefundTime    *moment.Time `json:"refundTime,omitempty"`
	DisputeTime   *moment.Time `json:"disputeTime,omitempty"`
	StuckTime     *moment.Time `json:"stuckTime,omitempty"`
	CloseTime     *moment.Time `json:"closeTime,omitempty"`
	Progress      string       `json:"progress,omitempty"`
	Failure       string       `json:"progressReason,omitempty"`
	ProgressTime  *moment.Time `json:"progressTime,omitempty"`
	ProgressUntil *moment.Time `json:"progressUntil,omitempty"`
}

// refundData is one refund after the event.
type refundData struct {
	ID        string `json:"id"`
	Amount    int64  `json:"amount"` // cents
	State     string `json:"state"`
	Reference string `json:"reference,omitempty"`
	Refusal   string `json:"refusal,omitempty"`
}

// EventOfPayment returns the event about a change of a payment. Its subject is the payment's order.
func EventOfPayment(c order.PaymentChange, by trace.Parent) (Event, error) {
	p := c.Payment
	e := Event{
		ShopID: c.Terms.ShopID, Subject: order.SubjectOfOrder(c.Order.ID), SubjectNumber: c.Order.Number(),
		Type: typeOfNews(c.News), At: c.At,
	}
	var refund *refundData
	if r := c.Refund; r.ID != "" {
		refund = &refundData{
			ID: r.ID, Amount: r.Amount, State: r.State.String(), Reference: r.Reference, Refusal: r.Failure,
		}
	}
	return e.withBody(paymentData{
		Refunded: p.RefundedAmount(), Lost: p.LostAmount(), Refund: refund,
		ID: p.ID, OrderID: strconv.FormatInt(p.OrderID, 10), ShopID: e.ShopID,
		VoucherID: p.VoucherID, UserID: p.UserID, Amount: p.Amount, Currency: c.Terms.Currency,
		State: p.State.String(), Provider: p.Provider, Reference: p.Reference, Received: p.Received(),
		Returned: p.Returned, Kept: p.Kept(), Refusal: p.Refusal,
		Dispute: p.Dispute.String(), Disputed: p.Disputed, CreateTime: moment.OrNil(p.CreatedAt),
		ReceiveTime: moment.OrNil(p.ReceivedAt), RefundingTime: moment.OrNil(p.RefundingAt),
		RefundTime: moment.OrNil(p.RefundedAt), DisputeTime: moment.OrNil(p.DisputedAt),
		StuckTime: moment.OrNil(p.StuckAt), CloseTime: moment.OrNil(p.ClosedAt),
		Progress: p.Said(), Failure: p.Failure, ProgressTime: moment.OrNil(p.ProgressAt),
		ProgressUntil: moment.OrNil(p.ProgressUntil),
	}, by)
}

// ofWaitlists returns the kinds of changes on a waiting list; an event's type is "waitlist." and the kind.
func ofWaitlists() []order.TurnKind {
	return []order.TurnKind{
		order.TurnInvited, order.TurnAccepted, order.TurnDeclined, order.TurnMissed, order.TurnEnded,
		order.TurnReleased,
	}
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

// saleData is a sale after the event.
type saleData struct {
	VoucherID int64        `json:"voucherId"`
	ShopID    int64        `json:"shopId"`
	CalledOff *moment.Time `json:"callOffTime"`
	EndTime   *moment.Time `json:"endTime"`
	Issued    int64        `json:"issued"` // units
}

// EventOfCallOff returns the event that a voucher's sale was called off. Its number is the number of the sale's
// operation.
func EventOfCallOff(v voucher.Voucher, by trace.Parent) (Event, error) {
	s := v.Sale
	e := Event{
		ShopID: v.ShopID, Subject: order.SubjectOfSale(v.ID), SubjectNumber: s.LastOperation, Type: SaleCalledOff,
		At: s.CalledOff,
	}
	return e.withBody(saleData{
		VoucherID: v.ID, ShopID: v.ShopID, CalledOff: moment.OrNil(s.CalledOff), EndTime: moment.OrNil(s.End),
		Issued: s.Issued,
	}, by)
}
