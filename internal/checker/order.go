package checker

import (
	"fmt"
	"slices"
)

// Status is an order's state. The numbers are the ledger's. They are repeated here deliberately, to keep the checker
// independent of the service.
type Status int8

// The states.
const (
	StatusUnknown Status = -1 // the source could not tell
	Queued        Status = 0  // accepted, but without a row
	Unpaid        Status = 1
	Paid          Status = 2
	Redeemed      Status = 3
	Cancelled     Status = 4
	Refunding     Status = 5
	Refunded      Status = 6
	Failed        Status = 7
	Lapsed        Status = 8
)

func statusNames() []string {
	return []string{"queued", "unpaid", "paid", "redeemed", "cancelled", "refunding", "refunded", "failed", "lapsed"}
}

// String returns the state's name as in the service's answers.
func (s Status) String() string {
	if names := statusNames(); s >= 0 && int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// StatusNamed returns the state with the name, or StatusUnknown.
func StatusNamed(name string) Status {
	return Status(slices.Index(statusNames(), name)) // StatusUnknown is -1, too
}

// Live reports whether an order in this state holds a unit and occupies its user.
func (s Status) Live() bool { return s >= Queued && s <= Redeemed || s == Refunding || s == Lapsed }

// givenBack reports whether an order in this state has given its units back.
func (s Status) givenBack() bool { return s == Cancelled || s == Refunded }

// Order is an order according to one source.
type Order struct {
	ID      int64
	User    int64
	Voucher int64
	Status  Status
	Reason  string // why it failed
	Units   int64  // 0: one
}

// units returns the order's number of units.
func (o Order) units() int64 { return max(1, o.Units) }

// String returns the order as a line of a history.
func (o Order) String() string {
	s := fmt.Sprintf("order %d of user %d, voucher %d, %s", o.ID, o.User, o.Voucher, o.Status)
	if o.Units > 1 {
		s += fmt.Sprintf(", %d units", o.Units)
	}
	if o.Reason != "" {
		s += " (" + o.Reason + ")"
	}
	return s
}
