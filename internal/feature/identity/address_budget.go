package identity

import (
	"errors"
	"net/netip"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"seckill/internal/kit/clientip"
)

const (
	addressesKnown = 100_000         // above it, those with the fewest requests are forgotten
	addressIdle    = 5 * time.Minute // in which any budget is full again
	addressBurst   = 10              // seconds' worth
)

// ErrOften is the error for an address with too many sign-ins.
var ErrOften = errors.New("too many sign-ins from this address")

// Budget limits how often each address may ask. It is safe for concurrent use.
type Budget struct {
	perSecond int
	now       func() time.Time
	known     *otter.Cache[netip.Addr, *rate.Limiter]
}

// NewBudget returns a budget of requests a second for each address; 0: no limit.
func NewBudget(perSecond int, now func() time.Time) *Budget {
	return &Budget{perSecond, now, otter.Must(&otter.Options[netip.Addr, *rate.Limiter]{
		MaximumSize:      addressesKnown,
		ExpiryCalculator: otter.ExpiryAccessing[netip.Addr, *rate.Limiter](addressIdle),
	})}
}

// Take returns ErrOften for an address that has asked too often. The addresses of one line share a budget, and so do
// those that cannot be read.
func (b *Budget) Take(address netip.Addr) error {
	if b.perSecond == 0 {
		return nil
	}
	from := clientip.Line(address)
	limiter, ok := b.known.GetIfPresent(from)
	if !ok {
		limiter, _ = b.known.SetIfAbsent(from,
			rate.NewLimiter(rate.Limit(b.perSecond), b.perSecond*addressBurst))
	}
	if !limiter.AllowN(b.now(), 1) {
		return ErrOften
	}
	return nil
}
