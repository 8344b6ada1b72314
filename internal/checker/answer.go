package checker

import (
	"fmt"
	"time"
)

// Outcome is a client's knowledge after one request.
type Outcome int8

// The outcomes. Anything that a client does not understand is Unknown.
const (
	Unknown  Outcome = iota // no answer, or the service does not know the outcome: ask again
	Accepted                // done; a buyer got an order id
	Held                    // the buyer already has the order that the answer names
	Refused                 // refused for good: sold out, ended, not started, …
	Later                   // nothing happened; ask again shortly
)

// String returns the outcome's name.
func (v Outcome) String() string {
	return [...]string{"unknown", "accepted", "held", "refused", "later"}[v]
}

// Action is the kind of a client's request.
type Action int8

// The actions.
const (
	Buy    Action = iota
	Cancel        // cancel an unpaid order
	Refund        // refund a paid order
)

// String returns the action's name.
func (a Action) String() string { return [...]string{"buy", "cancel", "refund"}[a] }

// CodeNotEnough is the code of a refusal because fewer units were left than asked for, but some.
const CodeNotEnough = "NOT_ENOUGH"

// CodeSoldOut is the code of a refusal because no unit was left.
const CodeSoldOut = "SOLD_OUT"

// Answer is a client's request and its result. Times are by the client's clock and may be zero.
type Answer struct {
	Action   Action
	Outcome  Outcome
	User     int64
	Voucher  int64
	Order    int64  // for Accepted and Held; for Cancel and Refund always
	Units    int64  // of that order, or as requested; 0: one
	Code     string // Refused, Later: the service's code; Unknown: the error instead of an answer
	Server   string // the server that was asked
	Sent     time.Time
	Received time.Time
}

// String returns the answer as a line of a history.
func (a Answer) String() string {
	s := fmt.Sprintf("user %d", a.User)
	if !a.Sent.IsZero() {
		s = fmt.Sprintf("%s +%v %s", a.Sent.Format("15:04:05.000"), a.Received.Sub(a.Sent).Round(time.Microsecond), s)
	}
	if a.Server != "" {
		s += " at " + a.Server
	}
	s += fmt.Sprintf(", %s: %s", a.Action, a.Outcome)
	if a.Order != 0 {
		s += fmt.Sprintf(" %d", a.Order)
	}
	if a.Code != "" {
		s += " " + a.Code
	}
	return s
}
