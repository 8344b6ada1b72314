package checker

import (
	"fmt"
	"iter"
)

// Evidence is what is known of one sale at a quiescent point: when the clients have stopped and nothing is under way.
type Evidence struct {
	Voucher int64
	Issued  int64 // units, as the sale was created
	PerUser int64 // units that a user may have in one order; 0: one
	// Answers is the clients' record, in the order in which the answers came. It is read several times, and what it
	// yields is not kept: a record of millions may be stored in any form.
	Answers iter.Seq[Answer]
	Views   []View
	// LedgerStock is the number of units that the ledger has left; nil: not read.
	LedgerStock *int64
	// Offered is how many units the ledger keeps for those who wait for them: they are neither left nor of an order.
	Offered int64
	// ShownStock is the number of units that buyers are shown as left; nil: not read.
	ShownStock *int64
	Redis      *Redis // nil: not read

	Loss    bool // a store lost writes that it had acknowledged
	Others  bool // buyers who are not in the record may have bought too
	Expires bool // unpaid orders may have expired
	Changed bool // stock was added or removed during the sale; Issued is the final number
	GaveUp  bool // clients stopped asking before they had an outcome
}

// View is a list of orders, as one source shows them.
type View struct {
	Name   string
	Orders []Order
	// Complete: it has every order of the voucher. Otherwise it has only orders that answers named.
	Complete bool
}

// Redis is what Redis holds of the sale.
type Redis struct {
	Stock   int64           // units left to sell, returned ones included
	Waiting int64           // accepted orders that are not recorded yet
	Dead    int64           // dead letters
	Holders map[int64]int64 // user → order
	Units   map[int64]int64 // user → units of that order, of those that have several
}

// Live returns how many units the orders of the first complete view hold.
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

// Invariant names what a finding contradicts, or what could not be decided.
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

// Title returns the invariant in a few words.
func (i Invariant) Title() string {
	switch i {
	case NoOversell:
		return "no oversell"
	case OnePerUser:
		return "one per user"
	case Settled:
		return "accepted means settled"
	case AskedFor:
		return "no order that was not asked for"
	case Conservation:
		return "conservation"
	case TrueAnswers:
		return "winners are told their order, sold out is true"
	case Recovered:
		return "nothing left waiting"
	case ReturnedOnce:
		return "units come back once"
	case IDs:
		return "order ids"
	case Resolved:
		return "unknown gets resolved"
	default:
		return "unnamed"
	}
}

// Finding is one contradiction.
type Finding struct {
	Invariant Invariant `json:"invariant"`
	What      string    `json:"what"`
	History   []string  `json:"history,omitempty"` // the answers and views of these orders and users, in order

	users, orders []int64
}

// String is the finding without its history.
func (f Finding) String() string {
	return fmt.Sprintf("%s %s: %s", f.Invariant, f.Invariant.Title(), f.What)
}

// Gap is something that the evidence cannot decide.
type Gap struct {
	Invariant Invariant `json:"invariant"`
	Why       string    `json:"why"`
}

// String is the gap as a line.
func (g Gap) String() string {
	return fmt.Sprintf("%s %s: %s", g.Invariant, g.Invariant.Title(), g.Why)
}

// Report is what the checker found.
type Report struct {
	Findings  []Finding `json:"findings"`  // at most 50 of each invariant
	Total     int       `json:"total"`     // findings in all
	Undecided []Gap     `json:"undecided"` // what could not be looked at
	Lost      []int64   `json:"lost,omitempty"`
}
