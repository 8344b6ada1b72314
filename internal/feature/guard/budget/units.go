package budget

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// unitTime is how long a share takes to regain a unit: far longer than a sale is crowded.
const unitTime = 24 * time.Hour

// ShareError says that an address or a network has no room in its share of a sale's units.
type ShareError struct {
	Of LimitOf
	// Busy reports that the share has room for the request once purchases under way that win nothing give theirs back.
	Busy bool
}

func (e *ShareError) Error() string {
	if e.Busy {
		return fmt.Sprintf("the share of the %s is taken by purchases under way", e.Of)
	}
	return fmt.Sprintf("the %s has its share of the units", e.Of)
}

// Reservation is a number of units that count against the shares of an address and its network while the purchase is
// under way, and for good once it has succeeded. End it exactly once. The zero value reserves nothing.
type Reservation struct {
	Units  int64
	user   int64
	shares [2]share
}

// share is the bound of one address or network; the zero value is no bound.
type share struct {
	key  budgetKey
	size size
}

// reservations are the units of shares that purchases under way keep. A user's purchases keep as many units of a share
// as the largest of them asks for, because at most one of them is accepted at a time.
type reservations struct {
	mu    sync.Mutex
	users map[shareUser]underWay
	open  map[budgetKey]int64 // the units of a share that are counted and not won; no entry for 0
}

// shareUser is a user behind the address or network of a share.
type shareUser struct {
	share budgetKey
	user  int64
}

// underWay is what a user's purchases under way count against a share.
type underWay struct {
	asks    [voucher.MaxPerUser + 1]uint32 // how many of the purchases ask for that many units
	won     int64                          // units won since the first of them
	counted int64                          // the larger of won and of what the largest purchase asks for
}

// most returns how many units the largest purchase asks for; 0 if none is under way.
func (w *underWay) most() int64 {
	for n := len(w.asks) - 1; n > 0; n-- {
		if w.asks[n] > 0 {
			return int64(n)
		}
	}
	return 0
}

// Reserve counts the units of a user's purchase against the shares of an address and of its network, or returns a
// *ShareError if they would exceed one. Purchases of one user behind an address count as their largest. Addresses
// listed as shared have no bound.
func (t *Table) Reserve(u *guards.Units, saleID, userID int64, a netip.Addr, units int64) (Reservation, error) {
	kind, who := addressOf(a)
	ofAddress := share{budgetKey{saleID, who, kind | won}, size{u.PerAddress, unitTime}}
	kind, who = networkOf(a)
	ofNetwork := share{budgetKey{saleID, who, kind | won}, size{u.PerNetwork, unitTime}}
	if !a.IsValid() {
		ofNetwork = share{} // all callers whose address cannot be read count as one address
	}
	r := Reservation{Units: units, user: userID}
	h := &t.reserved
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, one := range []struct {
		share share
		of    LimitOf
	}{{ofAddress, OfAddress}, {ofNetwork, OfNetwork}} {
		if one.share.size.most == 0 {
			continue
		}
		if busy, ok := t.reserve(h, one.share, userID, units); !ok {
			t.end(h, r, false)
			if u.IsShared(a.Unmap()) {
				return Reservation{}, nil
			}
			return Reservation{}, &ShareError{Of: one.of, Busy: busy}
		}
		r.shares[i] = one.share
	}
	return r, nil
}

// reserve counts a purchase against one share. If the share has no room, it counts nothing, and reports whether units
// that are only reserved are in the way. The caller has locked h.
func (t *Table) reserve(h *reservations, s share, userID, units int64) (busy, ok bool) {
	k := shareUser{s.key, userID}
	w := h.users[k]
	w.asks[units]++
	counted := max(w.won, w.most())
	if more := counted - w.counted; more > 0 {
		if wait := t.units().take(s.key, s.size, more, t.now()); wait > 0 {
			return s.size.token*time.Duration(h.open[s.key]-(w.counted-w.won)) >= wait, false
		}
		h.add(s.key, more)
		w.counted = counted
	}
	h.users[k] = w
	return false, true
}

// add changes how many units of a share are only reserved.
func (h *reservations) add(k budgetKey, n int64) {
	if h.open[k] += n; h.open[k] == 0 {
		delete(h.open, k)
	}
}

// End ends the reservation of a purchase. If its order was accepted, its units count for good, even if the sale gets
// them back later and even if the share is full by then, and other instances are notified of them.
func (t *Table) End(r Reservation, accepted bool) {
	if r.shares == [2]share{} {
		return
	}
	h := &t.reserved
	h.mu.Lock()
	defer h.mu.Unlock()
	t.end(h, r, accepted)
}

// end is End for a caller that has locked h.
func (t *Table) end(h *reservations, r Reservation, accepted bool) {
	for _, s := range r.shares {
		if s.size.most == 0 {
			continue
		}
		k := shareUser{s.key, r.user}
		w := h.users[k]
		h.add(s.key, w.won-w.counted)
		w.asks[r.Units]--
		if accepted {
			w.won += r.Units
		}
		most := w.most()
		counted := max(w.won, most)
		t.units().put(s.key, s.size, counted-w.counted, t.now())
		if w.counted = counted; most == 0 {
			delete(h.users, k)
		} else {
			h.users[k] = w
			h.add(s.key, counted-w.won)
		}
		if accepted && t.spending != nil {
			t.units().tell(s.key, s.size, r.Units, t.spending)
		}
	}
}
