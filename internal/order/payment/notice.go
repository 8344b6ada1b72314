package payment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// NoticeKind is what a provider's notice is about.
type NoticeKind int8

// The kinds of notices, and what the amount of each means.
const (
	NoticePaid        NoticeKind = iota // the provider has the money; the whole amount
	NoticeReturned                      // money has gone back as refunds; the total until now
	NoticeDisputed                      // the buyer disputes the payment; the disputed part
	NoticeDisputeWon                    // the dispute was decided for the shop; the part that was disputed
	NoticeDisputeLost                   // the dispute was decided for the buyer; the part that has gone back by it
	NoticeProcessing                    // the money is under way, for as long as a bank needs; the whole amount
	NoticeFailed                        // the attempt to pay has failed; no amount
	NoticeCancelled                     // the attempt has ended without money: expired, or cancelled; no amount
	NoticeRefund                        // one refund, begun by us or by the provider; its amount
)

// Notice is a provider's message about a payment. Its signature has been checked.
type Notice struct {
	Kind      NoticeKind
	PaymentID string
	Amount    int64     // cents; see the kinds
	Provider  string    // whose signature it has
	Reference string    // the provider's own id of the payment, of NoticePaid; "" when it has none
	Until     time.Time // of NoticeProcessing: when the provider will know; zero: it does not say
	Reason    string    // of NoticeFailed, and of a refund that has failed: why, in the provider's words, for staff
	Refund    RefundNotice
}

// RefundNotice is what a notice says of one refund. It has an id at least.
type RefundNotice struct {
	ID        string      // ours, if we have asked for it; "" otherwise
	Reference string      // the provider's own; "" if it has none
	State     RefundState // RefundPending, RefundDone or RefundFailed; 0 in other notices
}

func (r RefundNotice) check() error {
	if !IsID(r.ID) && r.ID != "" || r.ID == "" && r.Reference == "" {
		return BadNotice(RefusedUnreadable, "%.80q is not a refund's id", r.ID)
	}
	if r.State != RefundPending && r.State != RefundDone && r.State != RefundFailed {
		return BadNotice(RefusedUnreadable, "there is no state %d of a refund", r.State)
	}
	return CheckReference(r.Reference)
}

// Check returns ErrBadNotice, wrapped, for a notice whose id cannot be a payment's: ids are 1 to 64 visible characters
// of ASCII, references up to 128. For other ids the ledger would fail at each retry, or ignore a blank at the end of
// the id and find a payment.
func (n Notice) Check() error {
	if !IsID(n.PaymentID) {
		return BadNotice(RefusedUnreadable, "%.80q is not a payment's id", n.PaymentID)
	}
	if n.Kind < NoticePaid || n.Kind > NoticeRefund {
		return BadNotice(RefusedUnreadable, "there is no kind %d", n.Kind)
	}
	if n.Kind == NoticeRefund {
		if err := n.Refund.check(); err != nil {
			return err
		}
	}
	return CheckReference(n.Reference)
}

// IsID reports whether a text can be a payment's id.
func IsID(id string) bool {
	const longest = 64 // as wide as the column
	return id != "" && len(id) <= longest && visible(id)
}

// MaxReference is how many characters a provider's reference may have: as wide as the column.
const MaxReference = 128

// CheckReference returns ErrBadNotice, wrapped, for a text that cannot be stored as a provider's reference.
func CheckReference(reference string) error {
	if len(reference) > MaxReference || !visible(reference) {
		return BadNotice(RefusedUnreadable, "%.150q is not a reference", reference)
	}
	return nil
}

// visible reports whether all of a text is visible ASCII.
func visible(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// ReadNotice reads the body of a provider's callback. It may ask the service for the payment that the notice is about,
// and the provider for more. Errors: ErrBadNotice, ErrIgnored; any other makes the provider send it again.
type ReadNotice func(ctx context.Context, body []byte, find FindPayment) (Notice, error)

// FindPayment returns a provider's payment with the id, or with the provider's own reference. Errors: ErrNotFound, or
// that the ledger is away.
type FindPayment func(ctx context.Context, name string) (Payment, error)

// Errors of notices.
var (
	// ErrBadNotice: a message that claims to be the provider's is not, or cannot be read.
	ErrBadNotice = errors.New("not a notice of the payment provider")
	// ErrIgnored: a provider's message, rightly signed, is of a type that does not concern the service.
	ErrIgnored = errors.New("a notice of a type that does not concern this service")
)

// Refusal is why a notice was refused. The word is stored and shown.
type Refusal string

// The refusals. The last two are of notices that are signed as they should be: somebody has to look at the money.
const (
	RefusedTooLarge       Refusal = "too_large"        // its body is larger than the service reads
	RefusedSignature      Refusal = "signature"        // it has no signature, or one that does not match
	RefusedTime           Refusal = "time"             // it was signed too long ago, or by a clock that is ahead
	RefusedUnreadable     Refusal = "unreadable"       // it is signed, and cannot be read
	RefusedOther          Refusal = "other"            // its reader does not say why
	RefusedProvider       Refusal = "unknown_provider" // no provider of the name in its path is configured
	RefusedUnknownPayment Refusal = "unknown_payment"  // there is no such payment, or it is another provider's
	RefusedAmount         Refusal = "wrong_amount"     // the amount cannot be one of the payment
)

// Refusals returns all refusals.
func Refusals() []Refusal {
	return []Refusal{
		RefusedTooLarge, RefusedSignature, RefusedTime, RefusedUnreadable, RefusedOther, RefusedProvider,
		RefusedUnknownPayment, RefusedAmount,
	}
}

// BadNoticeError is an ErrBadNotice that says why.
type BadNoticeError struct {
	Refusal Refusal
	Off     time.Duration // for RefusedTime: how old it is; negative: its clock is ahead
	Detail  string        // for staff and the log
}

// BadNotice returns a *BadNoticeError.
func BadNotice(why Refusal, detail string, args ...any) error {
	return &BadNoticeError{Refusal: why, Detail: fmt.Sprintf(detail, args...)}
}

// LateNotice returns the error of a notice whose time is off by that much from the service's clock.
func LateNotice(off time.Duration) error {
	detail := fmt.Sprintf("it was signed %s ago", off.Truncate(time.Second))
	if off < 0 {
		detail = fmt.Sprintf("the clock that signed it is %s ahead", -off.Truncate(time.Second))
	}
	return &BadNoticeError{Refusal: RefusedTime, Off: off, Detail: detail}
}

func (e *BadNoticeError) Error() string { return ErrBadNotice.Error() + ": " + e.Detail }

// Is makes the error an ErrBadNotice.
func (*BadNoticeError) Is(target error) bool { return target == ErrBadNotice }

// RefusedNotice is what is remembered of the notices of one provider that were refused for one reason.
type RefusedNotice struct {
	Provider  string // "": of RefusedProvider
	Refusal   Refusal
	Count     int64
	Detail    string    // of the last one, as CheckedRefusal returns it
	PaymentID string    // that the last one named; "" unless it was rightly signed
	Amount    int64     // cents, likewise
	At        time.Time // of the last one
}

// RefusedBy returns what to remember of a notice that was refused with the error; false for an error after which the
// provider is to send it again. n is the notice as far as it was read.
func RefusedBy(provider string, n Notice, err error) (RefusedNotice, bool) {
	r := RefusedNotice{Provider: provider, Count: 1, Detail: CheckedRefusal(err.Error())}
	bad, says := errors.AsType[*BadNoticeError](err)
	switch {
	case says:
		r.Refusal = bad.Refusal
	case errors.Is(err, ErrBadNotice):
		r.Refusal = RefusedOther
	case errors.Is(err, ErrNotFound):
		r.Refusal = RefusedUnknownPayment
	case errors.Is(err, ErrWrongAmount):
		r.Refusal = RefusedAmount
	default:
		return RefusedNotice{}, false
	}
	if IsID(n.PaymentID) {
		r.PaymentID, r.Amount = n.PaymentID, n.Amount
	}
	return r, true
}
