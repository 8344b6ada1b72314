package guard

import (
	"net/netip"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/tally"
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
	Over     bool             // for good: it was retired or called off
	Settings *guards.Settings // nil: the sale has no guards
}

// Caller is the buyer behind a request.
type Caller struct {
	UserID  int64
	Address netip.Addr // behind trusted proxies; zero if it is not known
	Claims  guards.Claims
	Ticket  string // header X-Seckill-Ticket; "" if absent
}

// Guard decides about requests. It uses no store, and is safe for concurrent use.
type Guard interface {
	// Name says which guard it is.
	Name() guards.Name
	// Check returns nil if the request may enter, else an error with the reason. It is only called where the guard is
	// not off, and ignores dryRun.
	Check(r *Request) error
}

// StoppedError is the refusal of a request that a guard stopped.
type StoppedError struct {
	Guard guards.Name
	Why   error // what Check returned
	// OrderKnown reports that the user certainly has no order in the sale. If false, they may have one.
	OrderKnown bool
}

func (e *StoppedError) Error() string { return string(e.Guard) + ": " + e.Why.Error() }

// Unwrap returns the guard's own error.
func (e *StoppedError) Unwrap() error { return e.Why }

// Guards asks a sale's guards one after the other. It is safe for concurrent use.
type Guards struct {
	limits *budget.Table
	asked  []Guard
	tally  *tally.Tally
	// stopped is called when a guard stopped a request, or with dryRun would have, for metrics. It must not block.
	stopped func(by guards.Name, dryRun bool)
}

// NewGuards returns guards. CheckLimits asks the limits, before all others; Check asks the given guards in this order.
func NewGuards(
	limits *budget.Table, counts *tally.Tally, stopped func(by guards.Name, dryRun bool), asked ...Guard,
) *Guards {
	return &Guards{limits: limits, tally: counts, asked: asked, stopped: stopped}
}

// CheckLimits returns nil if the caller may ask for a unit now, else a *StoppedError.
func (g *Guards) CheckLimits(s Sale, c Caller) error {
	if s.Settings == nil || s.Settings.Limits == nil {
		return nil
	}
	return g.Judge(s, c, guards.LimitsGuard, g.limits.Check(s.Settings.Limits, s.ID, c.UserID, c.Address))
}

// Check returns nil if the caller may enter the sale at the time now, else a *StoppedError of the first guard that
// stops them. Guards with dryRun are asked too.
func (g *Guards) Check(s Sale, c Caller, now time.Time) error {
	if s.Settings == nil {
		return nil
	}
	r := Request{Sale: s, Caller: c, Now: now}
	for _, asked := range g.asked {
		if s.Settings.State(asked.Name()) == guards.Off {
			continue
		}
		if err := g.Judge(s, c, asked.Name(), asked.Check(&r)); err != nil {
			return err
		}
	}
	return nil
}

// Reserve reserves units for a caller, or returns a *StoppedError if the caller's address or network has no room in its
// share.
// With dryRun it reserves nothing in that case, and lets the caller in.
func (g *Guards) Reserve(s Sale, c Caller, units int64) (budget.Reservation, error) {
	if s.Settings == nil || s.Settings.Units == nil {
		return budget.Reservation{Units: units}, nil
	}
	r, err := g.limits.Reserve(s.Settings.Units, s.ID, c.UserID, c.Address, units)
	return r, g.Judge(s, c, guards.UnitsGuard, err)
}

// Judge counts a guard's decision. It returns the decision as a *StoppedError, or nil if the guard has dryRun.
func (g *Guards) Judge(s Sale, c Caller, by guards.Name, why error) error {
	if why == nil {
		return nil
	}
	state := s.Settings.State(by)
	dryRun := state == guards.DryRun
	g.tally.Stopped(s.ID, by, state, c.Address)
	g.stopped(by, dryRun)
	if dryRun {
		return nil
	}
	return &StoppedError{Guard: by, Why: why}
}
