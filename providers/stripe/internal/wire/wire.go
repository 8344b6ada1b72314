// Package wire is the protocol between the service and a payment provider over HTTP (web/provider.yaml): calls of the
// service come in, notices go out, both signed as Standard Webhooks says.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// The calls of the service.
const (
	Begin      = "payment.begin"
	Cancel     = "payment.cancel"
	Refund     = "refund.create"
	ReadRefund = "refund.read"
)

// The notices to the service.
const (
	Paid        = "paid"
	Processing  = "processing"
	Failed      = "failed"
	Cancelled   = "cancelled"
	Refunded    = "refund"
	Disputed    = "disputed"
	DisputeWon  = "dispute_won"
	DisputeLost = "dispute_lost"
	// Check is of no kind that the service knows: it checks the signature, and ignores it.
	Check = "check"
)

// The states of an answer, and of a refund's notice, where refused is failed.
const (
	Done    = "done"
	Pending = "pending"
	Refused = "refused"
)

const maxCall = 64 << 10 // bytes of a call's body

// Data is the data of any call. Amounts are in the currency's least unit by ISO 4217.
type Data struct {
	ID              string     `json:"id"` // the payment's
	OrderID         string     `json:"orderId"`
	ShopID          int64      `json:"shopId"`
	Amount          int64      `json:"amount"`
	Currency        string     `json:"currency"`
	Quantity        int64      `json:"quantity"`
	Title           string     `json:"title"`
	Language        string     `json:"language"`
	PayBefore       *time.Time `json:"payBefore"`
	ReturnURL       string     `json:"returnUrl"`
	Reference       string     `json:"reference"` // the payment's at Stripe
	RefundID        string     `json:"refundId"`
	RefundReference string     `json:"refundReference"` // the refund's at Stripe
}

// Call is a call of the service.
type Call struct {
	Type string `json:"type"`
	Data Data   `json:"data"`
}

// Answer is the answer to a call.
type Answer struct {
	ID        string `json:"id,omitempty"`
	RefundID  string `json:"refundId,omitempty"`
	URL       string `json:"url,omitempty"`
	Reference string `json:"reference,omitempty"`
	State     string `json:"state,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// Notice is what the service is told. ID is the same for each repetition.
type Notice struct {
	ID   string
	Type string
	Data NoticeData
}

// NoticeData is the data of any notice.
type NoticeData struct {
	ID              string     `json:"id"` // the payment's
	Amount          int64      `json:"amount,omitempty"`
	Reference       string     `json:"reference,omitempty"`
	Until           *time.Time `json:"until,omitempty"`
	Reason          string     `json:"reason,omitempty"`
	RefundID        string     `json:"refundId,omitempty"`
	RefundReference string     `json:"refundReference,omitempty"`
	State           string     `json:"state,omitempty"`
}

// ErrUnsigned means that a call is not signed by the service, or more than five minutes ago.
var ErrUnsigned = errors.New("the service has not signed this call")

// ErrUnreadable means that a signed call is no message of the protocol.
var ErrUnreadable = errors.New("this is no call of the service")

// Reader reads calls that are signed with one secret.
type Reader struct{ key *standardwebhooks.Webhook }

// NewReader returns the reader for a secret, which the settings have checked.
func NewReader(secret string) (*Reader, error) {
	key, err := standardwebhooks.NewWebhook(secret)
	return &Reader{key}, err
}

// Read returns the call of a request, or ErrUnsigned or ErrUnreadable, wrapped. Members that it does not know are left
// to later versions.
func (r *Reader) Read(w http.ResponseWriter, req *http.Request) (Call, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxCall))
	if err != nil {
		return Call{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if err := r.key.Verify(body, req.Header); err != nil {
		return Call{}, fmt.Errorf("%w: %w", ErrUnsigned, err)
	}
	var c Call
	if err := json.Unmarshal(body, &c); err != nil {
		return Call{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if c.Data.ID == "" || c.Data.RefundID == "" && (c.Type == Refund || c.Type == ReadRefund) {
		return Call{}, fmt.Errorf("%w: it names no payment, or no refund", ErrUnreadable)
	}
	return c, nil
}
