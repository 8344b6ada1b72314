package payment

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Payment is one attempt to pay for an order. This service makes its id, which is also the idempotency key for the
// provider: a request that is sent twice takes effect once.
type Payment struct {
	ID        string // "pay_" and a uuid
	Number    int64  // its position in lists, which are paged by it
	OrderID   int64
	UserID    int64
	VoucherID int64
	ShopID    int64 // the voucher's
	Amount    int64 // cents, the order's
	// Title is the voucher's, for the payment page; it is not stored, and empty when it is not needed or not known.
	Title string
	State State
	// Provider moves the money. It is "" if the order costs nothing, and for payments from before there were several.
	Provider    string
	Reference   string // the provider's own id of the payment; "" until it is known
	CreatedAt   time.Time
	ReceivedAt  time.Time // when the provider confirmed the money; zero until then
	RefundingAt time.Time // when it was decided that the money goes back; zero until then
	RefundedAt  time.Time // when all of the money had gone back; zero until then
	StuckAt     time.Time // when the provider finally refused to send the money back; zero: it has not
	Refusal     string    // why it refused, in the provider's words, as CheckedRefusal returns them; may be empty
	ClosedAt    time.Time // when staff closed its refund; zero: they have not
	Flow
}

// State is the state of a payment. Its numbers are the ones stored.
type State int8

// The states of a payment. In Open and Refunded the buyer has the money; in Stuck and Closed
// the provider still has it.
//
//	open → received                    the order was unpaid and is paid now
//	open → late → received             the order was cancelled; a unit was taken again
//	open → late → refunding            the order was cancelled; no unit was left
//	open → refunding                   there was nothing left to pay for, or another payment had paid for it
//	received → refunding → refunded    the owner or staff want it, or all money went back at the provider
//	refunding → stuck                  the provider finally refused to send it back
//	stuck → refunding                  staff ask the provider again
//	stuck → closed                     staff closed it: the provider is not asked again
//	stuck, closed → refunding          all money went back at the provider after all
const (
	Open      State = 1
	Received  State = 2
	Late      State = 3
	Refunding State = 4
	Refunded  State = 5
	Stuck     State = 6
	Closed    State = 7
)

var stateNames = [...]string{"open", "received", "late", "refunding", "refunded", "stuck", "closed"}

// States returns all states of payments.
func States() []State {
	return []State{
		Open, Received, Late, Refunding, Refunded, Stuck, Closed,
	}
}

// String returns the state's name as shown to people and clients.
func (s State) String() string {
	if s < Open || int(s) > len(stateNames) {
		return "unknown"
	}
	return stateNames[s-1]
}

// NoticeKind is what a provider's notice is about.
type NoticeKind int8

// The kinds of notices, and what the amount of each means.
const (
	NoticePaid        NoticeKind = iota // the provider has the money; the whole amount
	NoticeReturned                      // money has gone back as refunds; the total until now
	NoticeDisputed                      // the buyer disputes the payment; the disputed part
	NoticeDisputeWon                    // the dispute was decided for the shop; the part that was disputed
	NoticeDisputeLost                   // the dispute was decided for the buyer; the part that has gone back by it
)

// Notice is a provider's message about a payment. Its signature has been checked.
type Notice struct {
	Kind      NoticeKind
	PaymentID string
	Amount    int64  // cents; see the kinds
	Provider  string // whose signature it has
	Reference string // the provider's own id of the payment, of NoticePaid; "" when it has none
}

// Check returns ErrBadNotice, wrapped, for a notice whose id cannot be a payment's: ids are 1 to 64 visible characters
// of ASCII, references up to 128. For other ids the ledger would fail at each retry, or ignore a blank at the end of
// the id and find a payment.
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

// CheckReference returns ErrBadNotice, wrapped, for a text that cannot be stored as a provider's reference.
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

// Errors of payments, besides those of orders.
var (
	// ErrNoProvider: no payment provider is configured.
	ErrNoProvider = errors.New("no payment provider is configured")
	// ErrNotFound: there is no payment with this id.
	ErrNotFound = errors.New("payment not found")
	// ErrWrongAmount: the provider reports a payment of another amount than requested, or a returned or disputed
	// amount that is not positive or exceeds the payment's. Nothing was changed.
	ErrWrongAmount = errors.New("amount differs from the payment's")
	// ErrDisputed: the buyer disputes the payment, so its money must not be sent back now: it could go back twice.
	ErrDisputed = errors.New("the payment is disputed")
	// ErrBadNotice: a message that claims to be the provider's is not, or cannot be read.
	ErrBadNotice = errors.New("not a notice of the payment provider")
)
