package order

import (
	"fmt"
	"strings"
	"unicode"
)

// RefusedError is a provider's final no: it will never send this payment's money back, however often it is asked. Any
// other error of a provider is a temporary one.
type RefusedError struct{ Reason string } // in the provider's words, for staff; may be empty

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the provider refuses for good to send the money back: %q", CheckedRefusal(e.Reason))
}

// MaxRefusal is how many characters of a provider's reason are kept: as wide as the column.
const MaxRefusal = 255

// CheckedRefusal returns a provider's reason as it can be stored and shown on one line.
func CheckedRefusal(reason string) string {
	reason = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) { // such as a line separator, or what turns the direction of text
			return ' '
		}
		return r
	}, strings.ToValidUTF8(reason, "\uFFFD"))
	runes := []rune(strings.TrimSpace(reason))
	return string(runes[:min(len(runes), MaxRefusal)])
}

// PaymentStateError says that staff cannot do this with a payment in its state: only a stuck one is retried or closed.
type PaymentStateError struct {
	PaymentID string
	State     PaymentState
}

func (e *PaymentStateError) Error() string {
	return fmt.Sprintf("payment %s is %s, not stuck", e.PaymentID, e.State)
}

// NeedStaff is how many payments need staff: their refund is stuck, or their dispute is open.
type NeedStaff struct{ Stuck, Disputed int64 }
