package guard

import (
	"net/netip"
	"time"

	"seckill/internal/voucher/guards"
)

// Request is one attempt to buy, as guards see it.
type Request struct {
	Sale   Sale
	Caller Caller
	Now    time.Time // by Redis's clock as the instance knows it (rule 12)
}

// Sale is a sale with its guards' settings.
type Sale struct {
	ID       int64 // the voucher's
	Begin    time.Time
	Settings *guards.Settings // nil: the sale has no guards
}

// Caller is the buyer behind a request.
type Caller struct {
	UserID  int64
	Address netip.Addr // behind trusted proxies; the zero one if it is not known
	Claims  guards.Claims
	Ticket  string // header X-Seckill-Ticket; "" without
}

// Guard decides about requests. It uses no store, and is safe for concurrent use.
type Guard interface {
	// Name says which guard it is.
	Name() guards.Name
	// Check returns nil if the request may enter, else why not. It is only asked where the guard is not off, and does
	// not look at dryRun.
	Check(r *Request) error
}

// StoppedError says that a guard stopped a request.
type StoppedError struct {
	Guard guards.Name
	Why   error // what Check returned
	// OrderKnown: the sale's holders were asked, and the user has no order in it. Else it is not known.
	OrderKnown bool
}

func (e *StoppedError) Error() string { return string(e.Guard) + ": " + e.Why.Error() }

// Unwrap returns the guard's own error.
func (e *StoppedError) Unwrap() error { return e.Why }
