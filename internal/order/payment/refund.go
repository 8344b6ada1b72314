package payment

import (
	"fmt"
	"time"
)

// Refund is one sending back of a payment's money, or of a part of it. This service makes its id, which is the
// idempotency key for the provider; its amount never changes once the provider was asked.
type Refund struct {
	ID        string // the payment's, or that with a hyphen and a number
	Number    int64  // in the order in which they were stored; 0: not stored yet
	PaymentID string
	Amount    int64 // cents
	State     RefundState
	Origin    Origin
	Reference string // the provider's own id of it; "" until it is known
	Actor     string // who asked for it, as histories name them
	Why       string // in their words; may be empty
	Failure   string // why it failed, in the provider's words, as CheckedRefusal returns them; may be empty
	CreatedAt time.Time
	SentAt    time.Time // when the provider was first asked; zero: not yet, or by a version that did not note it
	DoneAt    time.Time // when the money had gone back; it stays if the refund fails after that
	FailedAt  time.Time
	ClosedAt  time.Time // when staff had seen to its failure
}

// RefundState is the state of a refund. Its numbers are the ones stored. It only goes up, since notices may come in any
// order; a refund that is done may still fail, when the buyer's bank sends the money back.
type RefundState int8

// The states of a refund.
const (
	RefundAsked   RefundState = 1 // the provider is to be asked, or was and has not answered
	RefundPending RefundState = 2 // the provider has taken it, and the money is on its way
	RefundDone    RefundState = 3 // the money has gone back
	RefundFailed  RefundState = 4 // the provider, or the buyer's bank, has refused it; final
)

var refundNames = [...]string{"asked", "pending", "done", "failed"}

// RefundStates returns all states of refunds.
func RefundStates() []RefundState {
	return []RefundState{RefundAsked, RefundPending, RefundDone, RefundFailed}
}

// String returns the state's name as shown to people and clients.
func (s RefundState) String() string { return word(refundNames[:], s, RefundAsked) }

// Origin is what a refund is of. Its numbers are the ones stored.
type Origin int8

// The origins of refunds.
const (
	OriginAll      Origin = 1 // of all that was left, when the order was refunded
	OriginPart     Origin = 2 // of a part, for staff
	OriginProvider Origin = 3 // begun at the provider, which has told of it by its own id
	OriginUnnamed  Origin = 4 // known by a total only, which the provider has told
	OriginEarlier  Origin = 5 // by a version without refunds, which stored a total only
)

var originNames = [...]string{"all", "part", "provider", "unnamed", "earlier"}

// String returns the origin's name as shown to clients.
func (o Origin) String() string { return word(originNames[:], o, OriginAll) }

// unnamed reports whether nothing but its amount is known of the refund.
func (r Refund) unnamed() bool { return r.Origin == OriginUnnamed || r.Origin == OriginEarlier }

// NeedsStaff reports whether the refund has failed and nobody has seen to it.
func (r Refund) NeedsStaff() bool { return r.State == RefundFailed && r.ClosedAt.IsZero() }

// Outcome is what a provider answers about a refund: RefundPending, RefundDone or RefundFailed, which is its final no.
type Outcome struct {
	State     RefundState
	Reference string // the provider's own id of the refund; "" if it has none
	Reason    string // of RefundFailed, in the provider's words, for staff; may be empty
}

// LeftError says that not so much of a payment is left to be sent back.
type LeftError struct {
	PaymentID string
	Left      int64  // cents
	Currency  string // of them; "" if it is not known
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("of payment %s %d are left to be sent back", e.PaymentID, e.Left)
}
