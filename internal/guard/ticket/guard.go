package ticket

import (
	"seckill/internal/guard"
	"seckill/internal/voucher/guards"
)

// Guard is the guard "tickets". Without Tickets, on an instance without SECKILL_GUARD_SECRET, it lets nobody in.
type Guard struct{ Tickets *Tickets }

// Name implements guard.Guard.
func (Guard) Name() guards.Name { return guards.TicketsGuard }

// Check implements guard.Guard: ErrRequired, ErrInvalid, ErrTryAgain, *EarlyError.
func (g Guard) Check(r *guard.Request) error {
	if g.Tickets == nil {
		return ErrTryAgain
	}
	if err := g.Tickets.Check(r.Caller.Ticket, r.Sale.ID, r.Caller.UserID, r.Now); err != nil {
		return err
	}
	return g.Tickets.Usable(r.Sale.ID, r.Caller.UserID, r.Sale.Begin, r.Sale.Settings.Tickets.Longest(), r.Now)
}
