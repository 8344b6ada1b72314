package guard

import (
	"errors"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

const (
	// TicketHeader is the header with the ticket for a sale.
	TicketHeader = "X-Seckill-Ticket"
	// SolutionHeader is the header with the solution of a challenge, in the format of ALTCHA's widget. It is a header
	// because few routes read bodies, so strangers cannot hold connections open by sending one slowly.
	SolutionHeader = "X-Seckill-Altcha"
)

// Gate implements httpkit.Gatekeeper.
type Gate struct {
	guards *Guards
	entry  *Entry
	units  *Units
	front  httpkit.Front
	signs  bool
}

var _ httpkit.Gatekeeper = (*Gate)(nil)

// NewGate returns the gate of sales. signs reports whether tickets and challenges are available.
func NewGate(guards *Guards, entry *Entry, units *Units, front httpkit.Front, signs bool) *Gate {
	return &Gate{guards: guards, entry: entry, units: units, front: front, signs: signs}
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
) (finish func(guards.Ending), err error) {
	caller := callerOf(g.front, c, who)
	r, err := g.entry.Reserve(c.Request.Context(), saleOf(v), caller, units)
	if err != nil {
		return nil, g.unlessHidden(v, err)
	}
	return func(e guards.Ending) { g.units.end(v.ID, caller, r, e) }, nil
}

// unlessHidden replaces a guard's error by voucher.ErrNotFound if the sale is hidden, as purchases do.
func (g *Gate) unlessHidden(v voucher.Voucher, err error) error {
	if _, stopped := errors.AsType[*StoppedError](err); stopped && v.Hidden(g.front.Now()) {
		return voucher.ErrNotFound
	}
	return err
}

// saleOf converts a voucher to a guarded sale.
func saleOf(v voucher.Voucher) Sale {
	return Sale{
		ID: v.ID, Begin: v.Sale.Begin, Over: v.Sale.Retired || v.Sale.IsCalledOff(), Settings: v.Sale.Guards,
	}
}

// Headers implements httpkit.Gatekeeper.
func (*Gate) Headers() []string { return []string{TicketHeader, SolutionHeader} }

// Lacks implements httpkit.Gatekeeper.
func (g *Gate) Lacks(n guards.Name) (why invalid.Reason, data invalid.Data) {
	if !g.signs && (n == guards.TicketsGuard || n == guards.ChallengeGuard) {
		return invalid.NeedsSetting, invalid.Data{"setting": "SECKILL_GUARD_SECRET"}
	}
	return invalid.Reason{}, nil
}

// callerOf converts the request's identity to a guards' caller.
func callerOf(front httpkit.Front, c *gin.Context, who httpkit.Identity) Caller {
	return Caller{
		UserID: who.UserID, Address: front.Address(c.Request), Claims: who.Claims,
		Ticket: c.Request.Header.Get(TicketHeader),
	}
}
