package identity

import (
	"errors"
	"net/netip"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"
)

const (
	addressesKnown = 100_000         // above it, those with the fewest requests are forgotten
	addressIdle    = 5 * time.Minute // in which any budget is full again
	addressBurst   = 10              // seconds' worth
	network6       = 64              // bits: one customer has a whole network of this size
)

// ErrOften is the error for an address with too many sign-ins.
var ErrOften = errors.New("too many sign-ins from this address")

// Budget limits how often each address may ask. It is safe for concurrent use.
type Budget struct {
	perSecond int
	now       func() time.Time
	known     *otter.Cache[netip.Prefix, *rate.Limiter]
}

// NewBudget returns a budget of requests a second for each address; 0: no limit.
func NewBudget(perSecond int, now func() time.Time) *Budget {
	return &Budget{perSecond, now, otter.Must(&otter.Options[netip.Prefix, *rate.Limiter]{
		MaximumSize:      addressesKnown,
		ExpiryCalculator: otter.ExpiryAccessing[netip.Prefix, *rate.Limiter](addressIdle),
	})}
}

// Take returns ErrOften for an address that has asked too often. Addresses that cannot be read share a budget.
func (b *Budget) Take(address netip.Addr) error {
	if b.perSecond == 0 {
		return nil
	}
	from := customer(address)
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

// customer returns the network that the address shares a budget with: an Internet provider gives each customer one.
func customer(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = network6
	}
	all, err := address.Prefix(bits)
	if err != nil { // only the zero address
		return netip.Prefix{}
	}
	return all
}
