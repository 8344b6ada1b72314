package guard

import (
	"net/netip"

	"seckill/internal/voucher/guards"
)

// askedOfUser is how many challenges an account gets at once, and in the long run. It needs one for a sale; it may
// have lost some.
func askedOfUser() guards.Rate { return guards.Rate{Requests: 10, Seconds: 300} }

// askedOfNetwork is the same of a network, which may be a mobile provider's: it has room for thousands of people, and
// for no more than a part of the challenges that an instance can make.
func askedOfNetwork() guards.Rate { return guards.Rate{Requests: 4096, Seconds: 64} }

// Asked counts a request for a challenge, and returns how many the account and its network have asked for lately,
// this one among them. They forget one in thirty seconds, and sixty-four in one. A *RateError where it is too many.
func (t *LimitsTable) Asked(saleID, userID int64, a netip.Addr) (user, network int64, err error) {
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
