package budget

import (
	"cmp"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"seckill/internal/voucher/guards"
)

// RateError says that a caller asks more often than a limit allows.
type RateError struct {
	Of    LimitOf
	Retry time.Duration // the wait until their budget has a request again
}

// LimitOf says what a limit counts by: a user, an address or a network. Answers contain the word.
type LimitOf string

// The values of LimitOf.
const (
	OfAddress LimitOf = "address"
	OfNetwork LimitOf = "network"
	OfUser    LimitOf = "user"
)

func (e *RateError) Error() string { return fmt.Sprintf("too many requests of the %s", e.Of) }

// Table has the budgets of addresses, networks and users in all sales: for requests, and for units. It allocates
// memory of a fixed size at the first limit and at the first share of units; reservations take memory while their
// purchases are under way. It is safe for concurrent use.
type Table struct {
	requests func() *cells
	units    func() *cells // in a table of their own: these budgets take days to fill, and would drive out the others
	reserved reservations
	now      func() time.Time
	spending *spending // to be published to other instances; nil where there are none
}

// NewTable returns a table in which all budgets are full.
func NewTable(now func() time.Time) *Table {
	made := func() *cells { return newCells(now()) }
	return &Table{
		requests: sync.OnceValue(made), units: sync.OnceValue(made), now: now,
		reserved: reservations{users: make(map[shareUser]underWay), open: make(map[budgetKey]int64)},
	}
}

// Check takes a request from the budgets of a user, their address and its network, or returns a *RateError. The user
// comes first, so that a user over their limit does not spend the budget of others behind the same address.
func (t *Table) Check(l *guards.Limits, saleID, userID int64, a netip.Addr) error {
	if err := t.check(l.PerUser, OfUser, saleID, account, uint64(userID)); err != nil {
		return err
	}
	if !a.IsValid() {
		return t.checkUnreadable(l, saleID)
	}
	kind, who := addressOf(a)
	if err := t.check(l.PerAddress, OfAddress, saleID, kind, who); err != nil {
		return err
	}
	kind, who = networkOf(a)
	return t.check(l.PerNetwork, OfNetwork, saleID, kind, who)
}

// check takes a request from one budget. It does nothing if the rate is nil.
func (t *Table) check(r *guards.Rate, of LimitOf, saleID int64, kind kind, who uint64) error {
	if r == nil {
		return nil
	}
	if _, wait := t.owe(budgetKey{saleID, who, kind}, r, t.now()); wait > 0 {
		return &RateError{of, wait}
	}
	return nil
}

// checkUnreadable takes a request from the one budget that all callers with unreadable addresses share, where a sale
// limits addresses or networks. The budget is small, because such callers can be anybody.
func (t *Table) checkUnreadable(l *guards.Limits, saleID int64) error {
	r := cmp.Or(l.PerAddress, l.PerNetwork)
	if r == nil {
		return nil
	}
	return t.check(smaller(*r, unreadable()), OfAddress, saleID, noAddress, 0)
}

// unreadable is the limit for all callers with unreadable addresses together.
func unreadable() guards.Rate { return guards.Rate{Requests: 20, Seconds: 10} }

// smaller returns the rate that allows fewer requests in the long run.
func smaller(a, b guards.Rate) *guards.Rate {
	if a.Requests*b.Seconds < b.Requests*a.Seconds {
		return &a
	}
	return &b
}

// owe takes a request from a budget. It returns how many requests the budget is below full, or how long the caller has
// to wait until it has one.
func (t *Table) owe(k budgetKey, r *guards.Rate, now time.Time) (owed int64, wait time.Duration) {
	return t.requests().owe(k, sizeOf(r), 1, now, t.spending)
}
