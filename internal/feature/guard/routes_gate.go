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
	guards *Guards
	entry  *Entry
	tally  *Tally
	front  httpkit.Front
	signs  bool
}

var _ httpkit.Gatekeeper = (*Gate)(nil)

// NewGate returns the gate of sales. signs: there are tickets and challenges.
func NewGate(guards *Guards, entry *Entry, tally *Tally, front httpkit.Front, signs bool) *Gate {
	return &Gate{guards: guards, entry: entry, tally: tally, front: front, signs: signs}
}

// Limits implements httpkit.Gatekeeper with a *StoppedError.
func (g *Gate) Limits(c *gin.Context, who httpkit.Identity, voucherID int64, s *guards.Settings) error {
	return g.guards.CheckLimits(Sale{ID: voucherID, Settings: s}, callerOf(g.front, c, who))
}

// Enter implements httpkit.Gatekeeper with a *StoppedError. Whom a guard of a hidden sale stops is told what buying it
// tells: that there is none.
func (g *Gate) Enter(c *gin.Context, who httpkit.Identity, v voucher.Voucher) error {
	s := Sale{ID: v.ID, Begin: v.Sale.Begin, Settings: v.Sale.Guards}
	err := g.entry.Enter(c.Request.Context(), s, callerOf(g.front, c, who))
	if _, stopped := errors.AsType[*StoppedError](err); stopped && v.Hidden(g.front.Now()) {
		return voucher.ErrNotFound
	}
	return err
}

// Won implements httpkit.Gatekeeper.
func (g *Gate) Won(c *gin.Context, who httpkit.Identity, voucherID, units int64) {
	g.tally.Sold(voucherID, callerOf(g.front, c, who), units)
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
