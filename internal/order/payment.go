package order

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Payment is one attempt to pay for an order. Its id is ours and is the provider's idempotency key: a request that is
// sent twice takes effect once.
type Payment struct {
	ID        string // "pay_" and a uuid
	OrderID   int64
	UserID    int64
	VoucherID int64
	Amount    int64 // cents, the order's
	// Of the voucher, for the page where it is paid; not stored, and empty where it is not needed or not known.
	Title string
	State PaymentState
	// Who moves the money; "" for what costs nothing, and for payments of versions that knew one provider only.
	Provider   string
	Reference  string // the provider's own id of it; "" until the provider has told one
	CreatedAt  time.Time
	ReceivedAt time.Time // when the provider confirmed the money; zero until then
	RefundedAt time.Time // when the money had gone back; zero until then
}

// PaymentState is where a payment is. Its numbers are the ones stored.
type PaymentState int8

// The states of a payment. The buyer has the money in PaymentOpen and PaymentRefunded.
//
//	open → received                    the order was unpaid and is paid now
//	open → late → received             the order was cancelled; a unit was taken again
//	open → late → refunding            the order was cancelled; there was no unit any more
//	open → refunding                   there was nothing to pay for any more, or it had been paid for otherwise
//	received → refunding → refunded    the owner asked for a refund
const (
	PaymentOpen      PaymentState = 1
	PaymentReceived  PaymentState = 2
	PaymentLate      PaymentState = 3
	PaymentRefunding PaymentState = 4
	PaymentRefunded  PaymentState = 5
)

var paymentStateNames = [...]string{"open", "received", "late", "refunding", "refunded"}

// String returns the state's name as shown to people and clients.
func (s PaymentState) String() string {
	if s < PaymentOpen || int(s) > len(paymentStateNames) {
		return "unknown"
	}
	return paymentStateNames[s-1]
}

// Notice is a provider's confirmation that it has the money for a payment. Its signature has been checked.
type Notice struct {
	PaymentID string
	Amount    int64  // cents
	Provider  string // whose signature it has
	Reference string // the provider's own id of the payment; "" when it has none
}

// Check returns ErrBadNotice, wrapped, for a notice whose id cannot be a payment's: ids are 1 to 64 visible
// characters of ASCII, references up to 128. The ledger would fail on others for ever, or find a payment by an id
// with a blank at its end.
func (n Notice) Check() error {
	const longest = 64 // as wide as the column
	if n.PaymentID == "" || len(n.PaymentID) > longest || !visible(n.PaymentID) {
		return fmt.Errorf("%w: %.80q is not a payment's id", ErrBadNotice, n.PaymentID)
	}
	return CheckReference(n.Reference)
}

// MaxReference is how many characters a provider's reference may have: as wide as the column.
const MaxReference = 128

// CheckReference returns ErrBadNotice, wrapped, for what cannot be stored as a provider's reference.
func CheckReference(reference string) error {
	if len(reference) > MaxReference || !visible(reference) {
		return fmt.Errorf("%w: %.150q is not a reference", ErrBadNotice, reference)
	}
	return nil
}

// visible reports whether all of a text is visible ASCII.
func visible(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Errors of payments, besides ErrNotFound and *StateError.
var (
	// ErrNoProvider: no payment provider is configured.
	ErrNoProvider = errors.New("no payment provider is configured")
	// ErrNoPayment: there is no payment with this id.
	ErrNoPayment = errors.New("payment not found")
	// ErrWrongAmount: the provider reports another amount than was asked for. Nothing was changed.
	ErrWrongAmount = errors.New("amount differs from the payment's")
	// ErrBadNotice: a message that claims to be the provider's is not, or cannot be read.
	ErrBadNotice = errors.New("not a notice of the payment provider")
)
