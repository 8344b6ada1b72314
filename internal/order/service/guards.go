package service

import (
	"context"
	"errors"
	"time"

	"seckill/internal/guard"
	"seckill/internal/order"
	"seckill/internal/order/admission"
	"seckill/internal/order/catalog"
)

const (
	// maxStoppedAsks is how many stopped requests may be asking Redis for an order at once: bots that are stopped
	// must not take the batches of those who are not.
	maxStoppedAsks = 128
	// stoppedAskTimeout is how long such a question may take. A guard's answer does not wait for a Redis that hangs.
	stoppedAskTimeout = 500 * time.Millisecond
)

// Guards keeps bots from taking a sale: it has the guards of package guard asked, and whom one stops told the order
// that they have (rule 2).
type Guards struct {
	guards    *guard.Guards
	catalog   *catalog.Catalog
	admission *admission.Admission
	purchases *Purchases
	asking    chan struct{}
}

// NewGuards returns the guards of purchases.
func NewGuards(
	guards *guard.Guards, catalog *catalog.Catalog, admission *admission.Admission, purchases *Purchases,
) *Guards {
	return &Guards{
		guards: guards, catalog: catalog, admission: admission, purchases: purchases,
		asking: make(chan struct{}, maxStoppedAsks),
	}
}

// Remembered returns a sale if it is known here and has guards, and else one without settings. It asks no store, and
// costs next to nothing where no sale has guards.
func (g *Guards) Remembered(voucherID int64) guard.Sale {
	return guard.Sale{ID: voucherID, Settings: g.catalog.Guards(voucherID)}
}

// CheckAddress returns nil if a caller from the address may ask for a unit now, else a *guard.StoppedError.
func (g *Guards) CheckAddress(s guard.Sale, c guard.Caller) error { return g.guards.CheckAddress(s, c) }

// CheckUser returns nil if the user may ask for a unit now, else a *guard.StoppedError.
func (g *Guards) CheckUser(s guard.Sale, c guard.Caller) error { return g.guards.CheckUser(s, c) }

// Enter returns nil if the caller may enter the sale. A caller whom a guard stops gets an *order.AlreadyBoughtError
// if they have an order there, else a *guard.StoppedError, which says whether that is certain; it takes 500 ms at
// most.
func (g *Guards) Enter(ctx context.Context, s guard.Sale, c guard.Caller) error {
	err := g.guards.Check(s, c, g.admission.Now(s.ID))
	stopped, is := errors.AsType[*guard.StoppedError](err)
	if !is {
		return err
	}
	own := g.ownOrder(ctx, s.ID, c.UserID)
	if _, bought := errors.AsType[*order.AlreadyBoughtError](own); bought {
		return own
	}
	stopped.OrderKnown = errors.Is(own, order.ErrBarred)
	return stopped
}

// ownOrder asks for a stopped caller's order; beyond the bound, order.ErrUnavailable.
func (g *Guards) ownOrder(ctx context.Context, voucherID, userID int64) error {
	select {
	case g.asking <- struct{}{}:
		defer func() { <-g.asking }()
	default:
		return order.ErrUnavailable
	}
	asking, cancel := context.WithTimeout(ctx, stoppedAskTimeout)
	defer cancel()
	return g.purchases.explain(asking, userID, g.admission.Order(asking, voucherID, userID))
}
