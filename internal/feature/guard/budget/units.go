package budget

import (
	"fmt"
	"net/netip"
	"time"

	"seckill/internal/voucher/guards"
)

// unitTime is how long a share takes to regain a unit: far longer than a sale is crowded.
const unitTime = 24 * time.Hour

// ShareError says that an address or a network has reached its share of a sale's units.
type ShareError struct{ Of LimitOf }

func (e *ShareError) Error() string { return fmt.Sprintf("the %s has its share of the units", e.Of) }

// Reservation is a number of units that count against the shares of an address and its network while the purchase is
// under way, and for good once it has succeeded. The zero value reserves nothing.
type Reservation struct {
	Units  int64
	shares [2]share
}

// Bound reports whether the units count against any share.
func (r Reservation) Bound() bool { return r.shares != [2]share{} }

// share is the bound of one address or network; the zero value is no bound.
type share struct {
	key  budgetKey
	size size
}

// Reserve counts units against the shares of an address and of its network, or returns a *ShareError if they would
// exceed one. Addresses listed as shared have no bound.
func (t *Table) Reserve(u *guards.Units, saleID int64, a netip.Addr, units int64) (Reservation, error) {
	kind, who := addressOf(a)
	ofAddress := share{budgetKey{saleID, who, kind | won}, size{u.PerAddress, unitTime, true}}
	kind, who = networkOf(a)
	ofNetwork := share{budgetKey{saleID, who, kind | won}, size{u.PerNetwork, unitTime, true}}
	if !a.IsValid() {
		ofNetwork = share{} // all callers whose address cannot be read count as one address
	}
	r := Reservation{Units: units}
	for i, one := range []struct {
		share share
		of    LimitOf
	}{{ofAddress, OfAddress}, {ofNetwork, OfNetwork}} {
		if one.share.size.most == 0 {
			continue
		}
		if _, wait := t.units().owe(one.share.key, one.share.size, units, t.now(), nil); wait > 0 {
			t.Return(r)
			if u.IsShared(a.Unmap()) {
				return Reservation{}, nil
			}
			return Reservation{}, &ShareError{one.of}
		}
		r.shares[i] = one.share
	}
	return r, nil
}

// Return gives back units that were not bought.
func (t *Table) Return(r Reservation) {
	for _, s := range r.shares {
		if s.size.most > 0 {
			t.units().giveBack(s.key, s.size, r.Units)
		}
	}
}

// Win counts reserved units as sold, for good: the count stays even if the sale gets units back later. Other instances
// are notified of them.
func (t *Table) Win(r Reservation) {
	if t.spending == nil {
		return
	}
	for _, s := range r.shares {
		if s.size.most > 0 {
			t.units().tell(s.key, s.size, r.Units, t.spending)
		}
	}
}
