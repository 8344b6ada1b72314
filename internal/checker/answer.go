package checker

import (
	"fmt"
	"time"
)

// Outcome is what a client knows after one request.
type Outcome int8

// The outcomes. Anything that a client does not understand is Unknown.
const (
	Unknown  Outcome = iota // no answer, or one that says the outcome is not known: ask again
	Accepted                // it was done; a buyer was given an order id
	Held                    // the answer names the order that the buyer already has
	Refused                 // no, for good: sold out, ended, not started, …
	Later                   // nothing happened; ask again shortly
)

// String returns the outcome's name.
func (v Outcome) String() string {
	return [...]string{"unknown", "accepted", "held", "refused", "later"}[v]
}

// Action is what a client asked for.
type Action int8

// The actions.
const (
	Buy    Action = iota
	Cancel        // of an unpaid order
	Refund        // of a paid one
)

// String returns the action's name.
func (a Action) String() string { return [...]string{"buy", "cancel", "refund"}[a] }

// CodeNotEnough is the code of the refusal that says that fewer units were left than were asked for, but some.
const CodeNotEnough = "NOT_ENOUGH"

// CodeSoldOut is the code of the refusal that says that no unit was left.
const CodeSoldOut = "SOLD_OUT"

// Answer is one request of a client and what came of it. Times are by the client's clock and may be zero.
type Answer struct {
	Action   Action
	Outcome  Outcome
	User     int64
	Voucher  int64
	Order    int64  // for Accepted and Held; for Cancel and Refund always
	Units    int64  // of that order, else those that were asked for; 0: one
	Code     string // for Refused and Later: the service's code; for Unknown: what was seen instead of an answer
	Server   string // who was asked
	Sent     time.Time
	Received time.Time
}

// String is the answer as one line of a history.
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
