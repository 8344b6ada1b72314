package checker

import (
	"fmt"
	"iter"
)

// Evidence is all data about one sale, collected after the clients have stopped and nothing is under way.
type Evidence struct {
	Voucher int64
	Issued  int64 // units for sale when it was created
	PerUser int64 // the most units in a user's order; 0: one
	// Answers is the clients' record, in the order in which the answers came. It is iterated several times and not
	// retained, so a record of millions may be stored in any form.
	Answers iter.Seq[Answer]
	Views   []View
	// LedgerStock is how many units the ledger has left; nil: not read.
	LedgerStock *int64
	// Kept is how many units the ledger keeps for the waiting list: they are neither left nor part of an order.
	Kept int64
	// ShownStock is how many units buyers are shown as left; nil: not read.
	ShownStock *int64
	Redis      *Redis // nil: not read

	Loss    bool // a store lost acknowledged writes
	Others  bool // buyers outside the record may have bought as well
	Expires bool // unpaid orders may have expired
	Changed bool // stock was added or removed during the sale; Issued is the final number
	GaveUp  bool // some clients stopped before they had an outcome
}

// View is one source's list of orders.
type View struct {
	Name   string
	Orders []Order
	// Complete: the list has every order of the voucher. Otherwise it only has orders named by answers.
	Complete bool
}

// Redis is the sale's data in Redis.
type Redis struct {
	Stock   int64           // units left to sell, returned ones included
	Waiting int64           // accepted orders that are not yet recorded
	Dead    int64           // dead letters
	Holders map[int64]int64 // user → order
	Units   map[int64]int64 // user → units of that order, if several
}

// Live returns the number of units in live orders of the first complete view.
func (e Evidence) Live() (n int64) {
	v := e.complete()
	if v == nil {
		return 0
	}
	for _, o := range v.Orders {
		if o.Status.Live() {
			n += o.units()
		}
	}
	return n
}

// complete returns the first complete view, or nil.
func (e Evidence) complete() *View {
	for i := range e.Views {
		if e.Views[i].Complete {
			return &e.Views[i]
		}
	}
	return nil
}

// Invariant names a promise that a finding contradicts, or that could not be decided.
type Invariant string

// The invariants.
const (
	NoOversell   Invariant = "I1"
	OnePerUser   Invariant = "I2"
	Settled      Invariant = "I3"
	AskedFor     Invariant = "I4"
	Conservation Invariant = "I5"
	TrueAnswers  Invariant = "I6"
	Recovered    Invariant = "I8"
	ReturnedOnce Invariant = "I9"
	IDs          Invariant = "I10"
	Resolved     Invariant = "I12"
)

var titles = map[Invariant]string{
	NoOversell:   "no oversell",
	OnePerUser:   "one per user",
	Settled:      "accepted means settled",
	AskedFor:     "no order that was not asked for",
	Conservation: "conservation",
	TrueAnswers:  "winners get their own order; sold out is true",
	Recovered:    "nothing left waiting",
	ReturnedOnce: "units come back once",
	IDs:          "order ids",
	Resolved:     "unknown gets resolved",
}

// Title returns the invariant in a few words.
func (i Invariant) Title() string { return titles[i] }

// Finding is one contradiction.
type Finding struct {
	Invariant Invariant `json:"invariant"`
	What      string    `json:"what"`
	History   []string  `json:"history,omitempty"` // the answers and views of these orders and users, in order

	users, orders []int64
}

// String returns the finding without its history.
func (f Finding) String() string {
	return fmt.Sprintf("%s %s: %s", f.Invariant, f.Invariant.Title(), f.What)
}

// Gap is something that the evidence could not decide.
type Gap struct {
	Invariant Invariant `json:"invariant"`
	Why       string    `json:"why"`
}

// String returns the gap as a line.
func (g Gap) String() string {
	return fmt.Sprintf("%s %s: %s", g.Invariant, g.Invariant.Title(), g.Why)
}

// Report is the result of a check.
type Report struct {
	Findings  []Finding `json:"findings"`  // at most 50 for each invariant
	Total     int       `json:"total"`     // number of findings, kept or not
	Undecided []Gap     `json:"undecided"` // invariants that could not be checked
	Lost      []int64   `json:"lost,omitempty"`
}
