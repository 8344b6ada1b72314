package guard

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"seckill/internal/voucher/guards"
)

// RateError says that a caller asks more often than a limit allows.
type RateError struct {
	Of    LimitOf
	Retry time.Duration // after which there is a request in their budget
}

// LimitOf is whose limit it is. It is the word that is shown.
type LimitOf string

// Whose limits there are.
const (
	OfAddress LimitOf = "address"
	OfNetwork LimitOf = "network"
	OfUser    LimitOf = "user"
)

func (e *RateError) Error() string { return fmt.Sprintf("too many requests of the %s", e.Of) }

// LimitsTable has the budgets of addresses, networks and users in all sales: of requests, and of units. Its memory is
// taken with the first limit and with the first share of units, and does not grow. It is safe for concurrent use.
type LimitsTable struct {
	table    func() *table // of requests
	units    func() *table // apart, as these budgets take days to fill, and would drive out the others
	now      func() time.Time
	spending *spending // what other instances are to know; nil where there are none
}

// NewLimitsTable returns full budgets.
func NewLimitsTable(now func() time.Time) *LimitsTable {
	made := func() *table { return newTable(now()) }
	return &LimitsTable{table: sync.OnceValue(made), units: sync.OnceValue(made), now: now}
}

// Check takes a request out of the budgets of a user, their address and its network, or returns a *RateError. The user
// comes first: who asks all the time spends nothing of those behind the same address.
func (t *LimitsTable) Check(l *guards.Limits, saleID int64, c Caller) error {
	if err := t.check(l.PerUser, OfUser, saleID, account, uint64(c.UserID)); err != nil {
		return err
	}
	if !c.Address.IsValid() {
		return t.checkUnreadable(l, saleID)
	}
	kind, who := addressOf(c.Address)
	if err := t.check(l.PerAddress, OfAddress, saleID, kind, who); err != nil {
		return err
	}
	kind, who = networkOf(c.Address)
	return t.check(l.PerNetwork, OfNetwork, saleID, kind, who)
}

// check takes a request out of one budget, of a rate that may be nil.
func (t *LimitsTable) check(r *guards.Rate, of LimitOf, saleID int64, kind kind, who uint64) error {
	if r == nil {
		return nil
	}
	if _, wait := t.owe(budgetKey{saleID, who, kind}, r, t.now()); wait > 0 {
		return &RateError{of, wait}
	}
	return nil
}

// checkUnreadable takes a request out of the one budget of all whose address cannot be read, where a sale limits
// addresses or networks. It is small: they can be anybody's.
func (t *LimitsTable) checkUnreadable(l *guards.Limits, saleID int64) error {
	r := cmp.Or(l.PerAddress, l.PerNetwork)
	if r == nil {
		return nil
	}
	return t.check(smaller(*r, unreadable()), OfAddress, saleID, noAddress, 0)
}

// unreadable is how often all together may ask whose address cannot be read.
func unreadable() guards.Rate { return guards.Rate{Requests: 20, Seconds: 10} }

// smaller returns the rate that lets through less, in the long run.
func smaller(a, b guards.Rate) *guards.Rate {
	if a.Requests*b.Seconds < b.Requests*a.Seconds {
		return &a
	}
	return &b
}

// owe takes a request out of a budget, and returns how many are missing in it then, or how long it takes until there
// is one.
func (t *LimitsTable) owe(k budgetKey, r *guards.Rate, now time.Time) (owed int64, wait time.Duration) {
	return t.table().owe(k, sizeOf(r), 1, now, t.spending)
}
