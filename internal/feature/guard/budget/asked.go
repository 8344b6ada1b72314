package budget

import (
	"net/netip"

	"seckill/internal/voucher/guards"
)

// askedOfUser is the limit on an account's requests for challenges. A buyer needs one per sale, and may lose a few.
func askedOfUser() guards.Rate { return guards.Rate{Requests: 10, Seconds: 300} }

// askedOfNetwork is the limit on a network's requests for challenges. A network may be a mobile provider's, so there is
// room for thousands of people, but only for a part of the challenges that an instance can make.
func askedOfNetwork() guards.Rate { return guards.Rate{Requests: 4096, Seconds: 64} }

// Asked counts a request for a challenge. It returns how many requests of the account and of its network still count,
// including this one: an account's count falls by one every thirty seconds, a network's by sixty-four every second.
// Beyond a limit it returns a *RateError.
func (t *Table) Asked(saleID, userID int64, a netip.Addr) (user, network int64, err error) {
	now, ofUser, ofNetwork := t.now(), askedOfUser(), askedOfNetwork()
	user, wait := t.owe(budgetKey{saleID, uint64(userID), accountAsked}, &ofUser, now)
	if wait > 0 {
		return user, 0, &RateError{OfUser, wait}
	}
	kind, who := networkOf(a)
	if kind == noAddress {
		ofNetwork = unreadable()
	}
	network, wait = t.owe(budgetKey{saleID, who, kind | asked}, &ofNetwork, now)
	if wait > 0 {
		return user, network, &RateError{OfNetwork, wait}
	}
	return user, network, nil
}
