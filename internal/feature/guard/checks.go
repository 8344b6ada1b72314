package guard

import (
	"fmt"
	"time"

	"seckill/internal/feature/guard/cooldown"
	"seckill/internal/feature/guard/ticket"
	"seckill/internal/voucher/guards"
)

// NotEligibleError says which condition an account does not meet.
type NotEligibleError struct {
	Condition string // the field's name in the settings: minLevel or minAgeDays
	Wanted    int64
}

func (e *NotEligibleError) Error() string {
	return fmt.Sprintf("the account does not meet the sale's %s of %d", e.Condition, e.Wanted)
}

// ConditionsCheck is the guard "conditions".
type ConditionsCheck struct{}

// Name implements Guard.
func (ConditionsCheck) Name() guards.Name { return guards.ConditionsGuard }

// Check implements Guard with a *NotEligibleError. A claim that the token lacks fails its condition.
func (ConditionsCheck) Check(r *Request) error {
	c, claims := r.Sale.Settings.Conditions, &r.Caller.Claims
	switch {
	case claims.Level < c.MinLevel:
		return &NotEligibleError{"minLevel", c.MinLevel}
	case c.MinAgeDays > 0 &&
		(claims.Since.IsZero() || r.Now.Sub(claims.Since) < time.Duration(c.MinAgeDays)*24*time.Hour):
		return &NotEligibleError{"minAgeDays", c.MinAgeDays}
	}
	return nil
}

// CoolDownCheck is the guard "coolDown".
type CoolDownCheck struct{ Users *cooldown.Users }

// Name implements Guard.
func (CoolDownCheck) Name() guards.Name { return guards.CoolDownGuard }

// Check implements Guard with a *cooldown.Error.
func (g CoolDownCheck) Check(r *Request) error {
	return g.Users.Check(r.Sale.Settings.CoolDown, r.Caller.UserID)
}

// TicketsCheck is the guard "tickets". If Tickets is nil, on an instance without SECKILL_GUARD_SECRET, it stops
// everybody.
type TicketsCheck struct {
	Tickets *ticket.Tickets
	Draws   *Draws // of sales whose moments are drawn
}

// Name implements Guard.
func (TicketsCheck) Name() guards.Name { return guards.TicketsGuard }

// Check implements Guard. Errors: ticket.ErrRequired, ticket.ErrInvalid, ticket.ErrTryAgain, *ticket.EarlyError.
func (g TicketsCheck) Check(r *Request) error {
	if g.Tickets == nil {
		return ticket.ErrTryAgain
	}
	if r.Sale.Settings.Tickets.Draw != nil {
		return g.Draws.check(g.Tickets, r)
	}
	if err := g.Tickets.Check(r.Caller.Ticket, r.Sale.ID, r.Caller.UserID, r.Now); err != nil {
		return err
	}
	return g.Tickets.Usable(r.Sale.ID, r.Caller.UserID, r.Sale.Begin, r.Sale.Settings.Tickets.Longest(), r.Now)
}
