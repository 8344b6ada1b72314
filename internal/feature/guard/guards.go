package guard

import (
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/tally"
	"seckill/internal/voucher/guards"
)

// Guards asks a sale's guards one after the other. It is safe for concurrent use.
type Guards struct {
	limits   *budget.Table
	asked    []Guard
	tally    *tally.Tally
	observer Observer
}

// Observer is notified of what guards decide, for metrics. Its methods must not block.
type Observer interface {
	// GuardStopped: a guard stopped a request, or with dryRun would have.
	GuardStopped(by guards.Name, dryRun bool)
}

// NewGuards returns guards. CheckLimits asks the limits, before all others; Check asks the given guards in this order.
func NewGuards(limits *budget.Table, counts *tally.Tally, observer Observer, asked ...Guard) *Guards {
	return &Guards{limits: limits, tally: counts, asked: asked, observer: observer}
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

// Reserve reserves units for a caller, or returns a *StoppedError if the caller's address or network has had its share.
// With dryRun it then reserves nothing and lets the caller in.
func (g *Guards) Reserve(s Sale, c Caller, units int64) (budget.Reservation, error) {
	if s.Settings == nil || s.Settings.Units == nil {
		return budget.Reservation{Units: units}, nil
	}
	r, err := g.limits.Reserve(s.Settings.Units, s.ID, c.Address, units)
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
	g.observer.GuardStopped(by, dryRun)
	if dryRun {
		return nil
	}
	return &StoppedError{Guard: by, Why: why}
}
