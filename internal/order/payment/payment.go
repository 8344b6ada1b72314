package payment

import (
	"errors"
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
	State     State
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
	// Progress is what the provider has said while the payment is open, at ProgressAt: that its money is under way,
	// perhaps with when it will know (ProgressUntil), or that it has ended without money, perhaps with why (Failure).
	Progress      Progress
	ProgressAt    time.Time
	ProgressUntil time.Time
	Failure       string // in the provider's words, as CheckedRefusal returns them
	Flow
}

// Beginning describes a payment to its provider when a buyer begins to pay.
type Beginning struct {
	Payment
	Currency  string    // a code of ISO 4217
	Quantity  int64     // units of the order
	PayBefore time.Time // when the order expires: the provider should take no money later
	Title     string    // the voucher's; "" if it cannot be read
	Visit
}

// Visit is how a buyer comes to a provider.
type Visit struct {
	Language  string // a tag of BCP 47, such as "en" and "zh"; "" if it is not known
	ReturnURL string // where the buyer goes on afterwards; "" if it is not known
}

// UnderWay reports whether the payment's money is on its way to the provider.
func (p Payment) UnderWay() bool { return p.State == Open && p.Progress == ProgressProcessing }

// Said returns the word for what the provider says of an open payment; "" for any other.
func (p Payment) Said() string {
	if p.State != Open {
		return ""
	}
	return p.Progress.String()
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
//	open                               its money is under way, or it has failed: Progress says so
//	received → refunding → refunded    the owner or staff want it, or all money went back at the provider
//	refunding → stuck                  the provider finally refused to send it back
//	refunded → stuck                   what had gone back came back, such as from the buyer's bank
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
func States() []State { return []State{Open, Received, Late, Refunding, Refunded, Stuck, Closed} }

// String returns the state's name as shown to people and clients.
func (s State) String() string { return word(stateNames[:], s, Open) }

// word returns the word for one of the states that follow the first one.
func word[S ~int8](words []string, s, first S) string {
	if s < first || int(s-first) >= len(words) {
		return "unknown"
	}
	return words[s-first]
}

// Errors of payments, besides those of orders.
var (
	// ErrNoProvider: no payment provider is configured.
	ErrNoProvider = errors.New("no payment provider is configured")
	// ErrNoCheckout: the provider did not answer, or named no page where the buyer pays.
	ErrNoCheckout = errors.New("the payment provider gave no page to pay on")
	// ErrNotFound: there is no payment with this id.
	ErrNotFound = errors.New("payment not found")
	// ErrWrongAmount: the provider reports a payment of another amount than requested, or a returned or disputed
	// amount that is not positive or exceeds the payment's. Nothing was changed.
	ErrWrongAmount = errors.New("amount differs from the payment's")
	// ErrDisputed: the buyer disputes the payment, so its money must not be sent back now: it could go back twice.
	ErrDisputed = errors.New("the payment is disputed")
)
