package httpapi

import (
	"hash/maphash"
	"net/netip"
	"sync/atomic"
	"time"

	"seckill/internal/kit/clientip"
)

// An address's budget of requests with a missing or invalid token: its rate and its burst. Beyond that, the tokens of
// its requests are checked before they get a permit.
const (
	failedTokensPerSecond = 10
	failedTokensAtOnce    = 100
)

// failedTokens gives each address a budget of requests with a missing or invalid token. Once an address has spent it,
// its requests' tokens are checked before they take a permit, so that strangers cannot take the permits of buyers;
// buyers behind the same address notice nothing. Tokens of all other requests are checked last, because refusing a
// crowd costs least without reading tokens.
type failedTokens struct {
	budgets *rateLimit[netip.Addr]
	// spentUntil is when the last spent budget has a token again, in nanoseconds since budgets.started. For buyers,
	// reading it is the only cost.
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

// spent reports whether the budget of an address is spent.
func (f *failedTokens) spent(from netip.Addr, now time.Time) bool {
	return !f.budgets.has(clientip.Line(from), now)
}
