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
	Number    int64  // where a page of a list begins
	OrderID   int64
	UserID    int64
	VoucherID int64
	ShopID    int64 // the voucher's
	Amount    int64 // cents, the order's
	// Of the voucher, for the page where it is paid; not stored, and empty where it is not needed or not known.
	Title string
	State PaymentState
	// Who moves the money; "" for what costs nothing, and for payments of versions that knew one provider only.
	Provider    string
	Reference   string // the provider's own id of it; "" until the provider has told one
	CreatedAt   time.Time
	ReceivedAt  time.Time // when the provider confirmed the money; zero until then
	RefundingAt time.Time // since when the money is to go back; zero until then
	RefundedAt  time.Time // when all of the money had gone back; zero until then
	StuckAt     time.Time // since when its provider refuses for good to send the money back; zero: it does not
	Refusal     string    // why, in the provider's words, as CheckedRefusal returns them; may be empty
	ClosedAt    time.Time // when staff closed its refund; zero: they have not
	Flow
}

// PaymentState is where a payment is. Its numbers are the ones stored.
type PaymentState int8

// The states of a payment. The buyer has the money in PaymentOpen and PaymentRefunded. In PaymentStuck and
// PaymentClosed its provider has it still.
//
//	open → received                    the order was unpaid and is paid now
//	open → late → received             the order was cancelled; a unit was taken again
//	open → late → refunding            the order was cancelled; there was no unit any more
//	open → refunding                   there was nothing to pay for any more, or it had been paid for otherwise
//	received → refunding → refunded    the owner or staff want it, or all money went back at the provider
//	refunding → stuck                  the provider refuses for good to send it back
//	stuck → refunding                  staff have it asked again
//	stuck → closed                     staff have ended it: nothing more is asked of the provider
//	stuck, closed → refunding          all money went back at the provider after all
const (
	PaymentOpen      PaymentState = 1
	PaymentReceived  PaymentState = 2
	PaymentLate      PaymentState = 3
	PaymentRefunding PaymentState = 4
	PaymentRefunded  PaymentState = 5
	PaymentStuck     PaymentState = 6
	PaymentClosed    PaymentState = 7
)

var paymentStateNames = [...]string{"open", "received", "late", "refunding", "refunded", "stuck", "closed"}

// PaymentStates returns all states of payments.
func PaymentStates() []PaymentState {
	return []PaymentState{
		PaymentOpen, PaymentReceived, PaymentLate, PaymentRefunding, PaymentRefunded, PaymentStuck, PaymentClosed,
	}
}

// String returns the state's name as shown to people and clients.
func (s PaymentState) String() string {
	if s < PaymentOpen || int(s) > len(paymentStateNames) {
		return "unknown"
	}
	return paymentStateNames[s-1]
}

// NoticeKind is what a provider's notice is about.
type NoticeKind int8

// The kinds of notices, with what the amount of each is.
const (
	NoticePaid        NoticeKind = iota // the provider has the money: all of it
	NoticeReturned                      // money has gone back as refunds: so much in all, until now
	NoticeDisputed                      // the buyer disputes the payment: so much of it
	NoticeDisputeWon                    // the dispute was decided for the shop: so much was disputed
	NoticeDisputeLost                   // the dispute was decided for the buyer: so much has gone back by it
)

// Notice is what a provider tells of a payment. Its signature has been checked.
type Notice struct {
	Kind      NoticeKind
	PaymentID string
	Amount    int64  // cents; see the kinds
	Provider  string // whose signature it has
	Reference string // the provider's own id of the payment, of NoticePaid; "" when it has none
}

// Check returns ErrBadNotice, wrapped, for a notice whose id cannot be a payment's: ids are 1 to 64 visible
// characters of ASCII, references up to 128. The ledger would fail on others for ever, or find a payment by an id
// with a blank at its end.
func (n Notice) Check() error {
	const longest = 64 // as wide as the column
	if n.PaymentID == "" || len(n.PaymentID) > longest || !visible(n.PaymentID) {
		return fmt.Errorf("%w: %.80q is not a payment's id", ErrBadNotice, n.PaymentID)
	}
	if n.Kind < NoticePaid || n.Kind > NoticeDisputeLost {
		return fmt.Errorf("%w: there is no kind %d", ErrBadNotice, n.Kind)
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
	// ErrWrongAmount: the provider reports another amount than was asked for, or none or more of what has gone back
	// or is disputed. Nothing was changed.
	ErrWrongAmount = errors.New("amount differs from the payment's")
	// ErrDisputed: the buyer disputes the payment, so its money cannot be sent back now: it could go back twice.
	ErrDisputed = errors.New("the payment is disputed")
	// ErrBadNotice: a message that claims to be the provider's is not, or cannot be read.
	ErrBadNotice = errors.New("not a notice of the payment provider")
)
