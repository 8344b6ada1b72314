package dispatch

import (
	"slices"
	"strconv"

	"seckill/internal/kit/moment"
	"seckill/internal/kit/trace"
	"seckill/internal/order"
	"seckill/internal/order/payment"
)

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
	PaymentReceived    Type = "payment.received"     // its money came in, and did not pay for the order
)

// paymentData is a payment's whole state when the event is written, with the names that GET /admin/payment uses.
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
	Refunds       []refundData `json:"refunds,omitempty"` // the newest maxShown, the oldest first
	// Omitted: Refunds would make the body too long.
	Omitted bool `json:"paymentsOmitted,omitempty"`
}

// maxShown is how many payments of an order, and how many refunds of a payment, an event shows.
const maxShown = 20

// newest returns the last maxShown of some.
func newest[T any](all []T) []T { return all[max(0, len(all)-maxShown):] }

// refundData is one refund when the event is written.
type refundData struct {
	ID         string       `json:"id"`
	Amount     int64        `json:"amount"` // cents
	State      string       `json:"state"`
	Origin     string       `json:"origin"`
	Reference  string       `json:"reference,omitempty"`
	Refusal    string       `json:"refusal,omitempty"`
	CreateTime *moment.Time `json:"createTime,omitempty"`
	RefundTime *moment.Time `json:"refundTime,omitempty"`
	FailTime   *moment.Time `json:"failTime,omitempty"`
	CloseTime  *moment.Time `json:"closeTime,omitempty"`
}

// EventOfPayment returns the event about a change of a payment with the refunds. Its subject is the payment's order.
func EventOfPayment(c order.PaymentChange, refunds []payment.Refund, by trace.Parent) (Event, error) {
	e := Event{
		ShopID: c.Terms.ShopID, Subject: order.SubjectOfOrder(c.Order.ID), SubjectNumber: c.Order.Number(),
		Type: Type("payment." + string(c.News)), At: c.At,
	}
	data := paymentOf(payment.Account{Payment: c.Payment, Refunds: refunds}, e.ShopID, c.Terms.Currency)
	if r := c.Refund; r.ID != "" {
		about := refundOf(r)
		data.Refund = &about
	}
	return e.withBody(data, by)
}

// paymentsOf returns the data of an order's payments: of the newest, and of open ones only as far as others leave room.
// It leaves out those that have ended without money.
func paymentsOf(paid []payment.Account, shopID int64, currency string) (all []paymentData) {
	open := 0 // of those that are left
	paid = slices.DeleteFunc(slices.Clone(paid), func(a payment.Account) bool {
		fails := a.State == payment.Open && a.Progress.Ended() && a.Flow == payment.Flow{}
		if a.State == payment.Open && !fails {
			open++
		}
		return fails
	})
	extra := min(len(paid)-maxShown, open) // that many of the oldest open ones go
	paid = slices.DeleteFunc(paid, func(a payment.Account) bool {
		if a.State != payment.Open || extra <= 0 {
			return false
		}
		extra--
		return true
	})
	for _, a := range newest(paid) {
		all = append(all, paymentOf(a, shopID, currency))
	}
	return all
}

func paymentOf(a payment.Account, shopID int64, currency string) paymentData {
	p := a.Payment
	data := paymentData{
		ID: p.ID, OrderID: strconv.FormatInt(p.OrderID, 10), ShopID: shopID,
		VoucherID: p.VoucherID, UserID: p.UserID, Amount: p.Amount, Currency: currency,
		State: p.State.String(), Provider: p.Provider, Reference: p.Reference, Received: p.Received(),
		Returned: p.Returned, Kept: p.Kept(), Refunded: p.RefundedAmount(), Lost: p.LostAmount(), Refusal: p.Refusal,
		Dispute: p.Dispute.String(), Disputed: p.Disputed, CreateTime: moment.OrNil(p.CreatedAt),
		ReceiveTime: moment.OrNil(p.ReceivedAt), RefundingTime: moment.OrNil(p.RefundingAt),
		RefundTime: moment.OrNil(p.RefundedAt), DisputeTime: moment.OrNil(p.DisputedAt),
		StuckTime: moment.OrNil(p.StuckAt), CloseTime: moment.OrNil(p.ClosedAt),
		Progress: p.Said(), Failure: p.Failure, ProgressTime: moment.OrNil(p.ProgressAt),
		ProgressUntil: moment.OrNil(p.ProgressUntil),
	}
	for _, r := range newest(a.Refunds) {
		data.Refunds = append(data.Refunds, refundOf(r))
	}
	return data
}

func refundOf(r payment.Refund) refundData {
	return refundData{
		ID: r.ID, Amount: r.Amount, State: r.State.String(), Origin: r.Origin.String(), Reference: r.Reference,
		Refusal: r.Failure, CreateTime: moment.OrNil(r.CreatedAt), RefundTime: moment.OrNil(r.DoneAt),
		FailTime: moment.OrNil(r.FailedAt), CloseTime: moment.OrNil(r.ClosedAt),
	}
}
