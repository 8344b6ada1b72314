package remotepay

import (
	"net/url"
	"time"

	"seckill/internal/order/payment"
)

// The calls.
const (
	beginCall  = "payment.begin"
	cancelCall = "payment.cancel"
	refundCall = "refund.create"
	readCall   = "refund.read"
)

// Calls returns the types of all calls.
func Calls() []string { return []string{beginCall, cancelCall, refundCall, readCall} }

// message is the body of a call, and of a notice.
type message[T any] struct {
	Type string    `json:"type"`
	At   time.Time `json:"timestamp"`
	Data T         `json:"data"`
}

// beginning is the data of payment.begin.
type beginning struct {
	ID        string     `json:"id"`
	OrderID   int64      `json:"orderId,string"`
	ShopID    int64      `json:"shopId"`
	Amount    int64      `json:"amount"` // in the currency's least unit, like all amounts
	Currency  string     `json:"currency"`
	Quantity  int64      `json:"quantity"`
	Title     string     `json:"title,omitempty"`
	Language  string     `json:"language,omitempty"`
	PayBefore *time.Time `json:"payBefore,omitempty"`
	ReturnURL string     `json:"returnUrl,omitempty"`
}

// attempt is the data of payment.cancel.
type attempt struct {
	ID        string `json:"id"`
	Reference string `json:"reference,omitempty"`
}

// refund is the data of refund.create and refund.read.
type refund struct {
	RefundID        string `json:"refundId"`
	ID              string `json:"id"`
	Reference       string `json:"reference,omitempty"`       // the payment's
	RefundReference string `json:"refundReference,omitempty"` // the refund's own, once it is known
	Amount          int64  `json:"amount"`
}

// answer is the body of an answer to any call.
type answer struct {
	ID        string `json:"id"`       // of the payment; may be absent
	RefundID  string `json:"refundId"` // may be absent
	URL       string `json:"url"`
	Reference string `json:"reference"` // of what was asked for: the payment, or the refund
	State     string `json:"state"`
	Reason    string `json:"reason"`
}

// The states of an answer.
const (
	stateDone    = "done"
	statePending = "pending"
	stateRefused = "refused"
)

// told is the data of a notice.
type told struct {
	ID              string     `json:"id"` // the payment's
	Amount          int64      `json:"amount"`
	Reference       string     `json:"reference"`
	Until           *time.Time `json:"until"`
	Reason          string     `json:"reason"`
	RefundID        string     `json:"refundId"`        // ours, if the service has asked for the refund
	RefundReference string     `json:"refundReference"` // the provider's own
	State           string     `json:"state"`           // of the refund
}

// noticeKinds maps the types of notices to their kinds.
var noticeKinds = map[string]payment.NoticeKind{
	"paid": payment.NoticePaid, "processing": payment.NoticeProcessing, "failed": payment.NoticeFailed,
	"cancelled": payment.NoticeCancelled, "refund": payment.NoticeRefund, "disputed": payment.NoticeDisputed,
	"dispute_won": payment.NoticeDisputeWon, "dispute_lost": payment.NoticeDisputeLost,
}

// refundStates are the words for the states of a refund in notices.
var refundStates = map[string]payment.RefundState{
	statePending: payment.RefundPending, stateDone: payment.RefundDone, "failed": payment.RefundFailed,
}

// maxURL is the longest address of a page where buyers pay.
const maxURL = 4096

// payable reports whether buyers may be sent to an address: by https; by http only if the provider is reached so, too,
// which is for trying out.
func payable(text string, plain bool) bool {
	u, err := url.Parse(text)
	return err == nil && len(text) <= maxURL && u.Host != "" && u.User == nil &&
		(u.Scheme == "https" || plain && u.Scheme == "http")
}
