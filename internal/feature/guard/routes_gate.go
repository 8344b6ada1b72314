package guard

import (
	"errors"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

const (
	// TicketHeader carries a ticket for a sale.
	TicketHeader = "X-Seckill-Ticket"
	// SolutionHeader carries the solution of a challenge, as ALTCHA's widget gives it. A header, because the entry
	// takes bodies of few routes: strangers who send them slowly have nothing to hold.
	SolutionHeader = "X-Seckill-Altcha"
)

// Gate is the httpkit.Gatekeeper.
type Gate struct {
	guards  *Guards
	entry   *Entry
	unknown *UnknownUnits
	front   httpkit.Front
	signs   bool
}

var _ httpkit.Gatekeeper = (*Gate)(nil)

// NewGate returns the gate of sales. signs: there are tickets and challenges.
func NewGate(guards *Guards, entry *Entry, unknown *UnknownUnits, front httpkit.Front, signs bool) *Gate {
	return &Gate{guards: guards, entry: entry, unknown: unknown, front: front, signs: signs}
}

// Limits implements httpkit.Gatekeeper with a *StoppedError.
func (g *Gate) Limits(c *gin.Context, who httpkit.Identity, voucherID int64, s *guards.Settings) error {
	return g.guards.CheckLimits(Sale{ID: voucherID, Settings: s}, callerOf(g.front, c, who))
}

// Enter implements httpkit.Gatekeeper with a *StoppedError.
func (g *Gate) Enter(c *gin.Context, who httpkit.Identity, v voucher.Voucher) error {
	return g.unlessHidden(v, g.entry.Enter(c.Request.Context(), saleOf(v), callerOf(g.front, c, who)))
}

// Reserve implements httpkit.Gatekeeper with a *StoppedError.
func (g *Gate) Reserve(
	c *gin.Context, who httpkit.Identity, v voucher.Voucher, units int64,
) (finish func(httpkit.Outcome), err error) {
	caller := callerOf(g.front, c, who)
	r, err := g.entry.Reserve(c.Request.Context(), saleOf(v), caller, units)
	if err != nil {
		return nil, g.unlessHidden(v, err)
	}
	return func(o httpkit.Outcome) {
		switch o {
		case httpkit.Won:
			g.guards.limits.Win(r)
			g.guards.tally.Sold(v.ID, caller, units)
		case httpkit.Refused:
			g.guards.limits.Return(r)
		case httpkit.Unknown:
			g.unknown.add(v.ID, caller, r)
		}
	}, nil
}

// unlessHidden returns what a caller hears whom a guard of a sale stops: of a hidden one what buying it tells, that
// there is none.
func (g *Gate) unlessHidden(v voucher.Voucher, err error) error {
	if _, stopped := errors.AsType[*StoppedError](err); stopped && v.Hidden(g.front.Now()) {
		return voucher.ErrNotFound
	}
	return err
}

// saleOf is a voucher's sale, as guards see it.
func saleOf(v voucher.Voucher) Sale {
	return Sale{ID: v.ID, Begin: v.Sale.Begin, Settings: v.Sale.Guards}
}

// Headers implements httpkit.Gatekeeper.
func (*Gate) Headers() []string { return []string{TicketHeader, SolutionHeader} }

// Lacks implements httpkit.Gatekeeper.
func (g *Gate) Lacks(n guards.Name) string {
	if !g.signs && (n == guards.TicketsGuard || n == guards.ChallengeGuard) {
		return "SECKILL_GUARD_SECRET"
	}
	return ""
}

// callerOf is who calls, as guards see them.
func callerOf(front httpkit.Front, c *gin.Context, who httpkit.Identity) Caller {
	return Caller{
		UserID: who.UserID, Address: front.Address(c.Request), Claims: who.Claims,
		Ticket: c.Request.Header.Get(TicketHeader),
	}
}
