package dispatch

import (
	"strconv"
	"time"

	"seckill/internal/order"
)

// Types of events about payments whose money was received: what their provider has told since, and staff have done.
const (
	PaymentReturned    Type = "payment.returned" // a part of the money has gone back, or all
	PaymentDisputed    Type = "payment.disputed"
	PaymentDisputeWon  Type = "payment.dispute_won"  // by the shop
	PaymentDisputeLost Type = "payment.dispute_lost" // by the shop: the money has gone back
	PaymentStuck       Type = "payment.stuck"        // the provider refuses for good to send the money back
	PaymentRetried     Type = "payment.retried"      // staff have it asked again
	PaymentClosed      Type = "payment.closed"       // staff have closed the refund
)

// ofPayments returns the types of events about payments.
func ofPayments() []Type {
	return []Type{
		PaymentReturned, PaymentDisputed, PaymentDisputeWon, PaymentDisputeLost, PaymentStuck, PaymentRetried,
		PaymentClosed,
	}
}

// typeOfNews returns the type of the event that tells of news.
func typeOfNews(n order.PaymentNews) Type { return Type("payment." + string(n)) }

// paymentData is a payment's whole state after the event, with the names that GET /admin/payment uses.
type paymentData struct {
	PaymentID   string     `json:"paymentId"`
	OrderID     string     `json:"orderId"` // a string, because JavaScript cannot represent such large ids exactly
	ShopID      int64      `json:"shopId,omitempty"`
	VoucherID   int64      `json:"voucherId"`
	UserID      int64      `json:"userId"`
	Amount      int64      `json:"amount"` // cents
	Currency    string     `json:"currency"`
	State       string     `json:"state"`
	Provider    string     `json:"provider,omitempty"`
	Reference   string     `json:"reference,omitempty"`
	Returned    int64      `json:"returned"` // cents
	Kept        int64      `json:"kept"`     // cents
	Dispute     string     `json:"dispute"`
	Disputed    int64      `json:"disputed,omitempty"` // cents
	CreateTime  *time.Time `json:"createTime,omitempty"`
	ReceiveTime *time.Time `json:"receiveTime,omitempty"`
	DisputeTime *time.Time `json:"disputeTime,omitempty"`
	StuckTime   *time.Time `json:"stuckTime,omitempty"`
	Refusal     string     `json:"refusal,omitempty"`
	CloseTime   *time.Time `json:"closeTime,omitempty"`
}

// EventOfPayment returns the event that tells of a change of a payment. It is one of its order's events.
func EventOfPayment(c order.PaymentChange) (Event, error) {
	p := c.Payment
	e := Event{
		ShopID: c.Terms.ShopID, Subject: order.SubjectOfOrder(c.Order.ID), SubjectNumber: c.Order.Number(),
		Type: typeOfNews(c.News), At: c.At,
	}
	return e.withBody(paymentData{
		PaymentID: p.ID, OrderID: strconv.FormatInt(p.OrderID, 10), ShopID: e.ShopID,
		VoucherID: p.VoucherID, UserID: p.UserID, Amount: p.Amount, Currency: c.Terms.Currency,
		State: p.State.String(), Provider: p.Provider, Reference: p.Reference, Returned: p.Returned, Kept: p.Kept(),
		Dispute: p.Dispute.String(), Disputed: p.Disputed, CreateTime: shown(p.CreatedAt),
		ReceiveTime: shown(p.ReceivedAt), DisputeTime: shown(p.DisputedAt),
		StuckTime: shown(p.StuckAt), Refusal: p.Refusal, CloseTime: shown(p.ClosedAt),
	})
}
