package httpapi

import (
	"hash/maphash"
	"net/netip"
	"sync/atomic"
	"time"

	"seckill/internal/kit/clientip"
)

// How many requests with a token that is missing or not valid an address may send, in a second and at once, until its
// requests have to show their token before they get a permit.
const (
	failedTokensPerSecond = 10
	failedTokensAtOnce    = 100
)

// failedTokens is a budget for requests with a token that is missing or not valid, one for each address. While that of
// an address is spent its requests have their token looked at before they take a permit, so that strangers cannot take
// those of buyers; buyers behind the same address notice nothing. Of the others the token is looked at last, as
// refusing a crowd without reading tokens costs least.
type failedTokens struct {
	budgets *rateLimit[netip.Addr]
	// spentUntil is from when on no budget is spent: nanoseconds since budgets.started. Buyers pay for a load of it.
	spentUntil atomic.Int64
}

func newFailedTokens(now time.Time) *failedTokens {
	seed := maphash.MakeSeed()
	return &failedTokens{budgets: newRateLimit(failedTokensPerSecond, failedTokensAtOnce, now,
		func(from netip.Addr) uint64 { return maphash.Comparable(seed, from) % limitShards })}
}

// add counts a token that is missing or not valid.
func (f *failedTokens) add(from netip.Addr, now time.Time) {
	if !f.budgets.allow(clientip.Line(from), now) {
		f.spentUntil.Store(int64(now.Sub(f.budgets.started) + f.budgets.token))
	}
}

// any reports whether the budget of some address may be spent.
func (f *failedTokens) any(now time.Time) bool {
	return int64(now.Sub(f.budgets.started)) < f.spentUntil.Load()
}

// spent reports whether that of an address is.
func (f *failedTokens) spent(from netip.Addr, now time.Time) bool {
	return !f.budgets.has(clientip.Line(from), now)
}
