package guard

import (
	"seckill/internal/feature/guard/ticket"
	"seckill/internal/voucher/guards"
)

// TicketsCheck is the guard "tickets". If Tickets is nil, on an instance without SECKILL_GUARD_SECRET, it stops
// everybody.
type TicketsCheck struct{ Tickets *ticket.Tickets }

// Name implements Guard.
func (TicketsCheck) Name() guards.Name { return guards.TicketsGuard }

// Check implements Guard: ticket.ErrRequired, ticket.ErrInvalid, ticket.ErrTryAgain, *ticket.EarlyError.
func (g TicketsCheck) Check(r *Request) error {
	if g.Tickets == nil {
		return ticket.ErrTryAgain
	}
	if err := g.Tickets.Check(r.Caller.Ticket, r.Sale.ID, r.Caller.UserID, r.Now); err != nil {
		return err
	}
	return g.Tickets.Usable(r.Sale.ID, r.Caller.UserID, r.Sale.Begin, r.Sale.Settings.Tickets.Longest(), r.Now)
}
