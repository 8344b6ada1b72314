package guard

import (
	"fmt"
	"net/netip"
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

// LimitsTable has the budgets of addresses, networks and users in all sales. Its memory is taken with the first limit
// and does not grow. It is safe for concurrent use.
type LimitsTable struct {
	once     sync.Once
	made     *table
	now      func() time.Time
	spending *spending // what other instances are to know; nil where there are none
}

// NewLimitsTable returns full budgets.
func NewLimitsTable(now func() time.Time) *LimitsTable { return &LimitsTable{now: now} }

func (t *LimitsTable) table() *table {
	t.once.Do(func() { t.made = newTable(t.now()) })
	return t.made
}

// CheckAddress takes a request out of the budgets of an address and its network, or returns a *RateError.
func (t *LimitsTable) CheckAddress(l *guards.Limits, saleID int64, a netip.Addr) error {
	if l.PerAddress != nil {
		kind, who := addressOf(a)
		if _, wait := t.owe(budgetKey{saleID, who, kind}, l.PerAddress, t.now()); wait > 0 {
			return &RateError{OfAddress, wait}
		}
	}
	if l.PerNetwork != nil {
		kind, who := networkOf(a)
		if _, wait := t.owe(budgetKey{saleID, who, kind}, l.PerNetwork, t.now()); wait > 0 {
			return &RateError{OfNetwork, wait}
		}
	}
	return nil
}

// CheckUser takes a request out of a user's budget, or returns a *RateError.
func (t *LimitsTable) CheckUser(l *guards.Limits, saleID, userID int64) error {
	if l.PerUser == nil {
		return nil
	}
	if _, wait := t.owe(budgetKey{saleID, uint64(userID), account}, l.PerUser, t.now()); wait > 0 {
		return &RateError{OfUser, wait}
	}
	return nil
}

// owe takes a request out of a budget, and returns how many are missing in it then, or how long it takes until there
// is one.
func (t *LimitsTable) owe(k budgetKey, r *guards.Rate, now time.Time) (owed int64, wait time.Duration) {
	return t.table().owe(k, r, now, t.spending)
}
