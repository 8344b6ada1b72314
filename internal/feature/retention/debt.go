package retention

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Reason is why something is not deleted yet. The words are in answers and in the output of commands.
type Reason string

// The reasons.
const (
	NotRetired Reason = "not_retired" // the sale is still in Redis
	Undecided  Reason = "undecided"   // unpaid, or being refunded
	Coupon     Reason = "coupon"      // paid, and its coupon can still be redeemed
	Reserved   Reason = "reserved"    // the same, and a till has reserved it just now
	Payment    Reason = "payment"     // money is under way, late, being sent back, or stuck
	Dispute    Reason = "dispute"     // a dispute is open
	Refund     Reason = "refund"      // asked for, pending, or failed and not seen to
	Event      Reason = "event"       // an enabled webhook endpoint has not taken it yet
	Place      Reason = "place"       // on a waiting list, still open
	Limit      Reason = "limit"       // the voucher is on sale and limits what each user may have: orders are counted
)

// text says the reason to people.
func (r Reason) text() string {
	return map[Reason]string{
		NotRetired: "the sale is not retired: a day after its end, once all orders are recorded",
		Undecided:  "orders are unpaid or being refunded",
		Coupon:     "coupons can still be redeemed",
		Reserved:   "coupons are reserved by a till",
		Payment:    "payments are under way, late, being sent back, or stuck",
		Dispute:    "payments are disputed",
		Refund:     "refunds are asked for, pending, or failed and not seen to",
		Event:      "events are not delivered yet",
		Place:      "places on the waiting list are open",
		Limit:      "the voucher limits what a user may have and is not archived: its orders are counted",
	}[r]
}

// Debts are how many things are not deleted yet, by reason.
type Debts map[Reason]int64

// mostEvents is how many events are counted of a voucher with many orders: an endpoint that is away may wait for all.
const mostEvents = 10_000

// String says the debts to people: "3 coupon (coupons can still be redeemed)".
func (d Debts) String() string {
	var parts []string
	for reason, n := range d {
		count := digits(n)
		if reason == Event && n >= mostEvents {
			count = "at least " + digits(mostEvents)
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", count, reason, reason.text()))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

// digits returns a number as text.
func digits(n int64) string { return strconv.FormatInt(n, 10) }
