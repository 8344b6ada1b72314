package guard

import (
	"context"
	"errors"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/order"
	"seckill/internal/order/gate"
)

const (
	// maxStoppedAsks bounds how many stopped requests may ask Redis for the caller's order at once, so that bots do not
	// fill the batches of callers who were let in.
	maxStoppedAsks = 128
	// stoppedAskTimeout bounds such a question: a guard's answer does not wait for a Redis that hangs.
	stoppedAskTimeout = 500 * time.Millisecond
)

// Entry lets callers into sales, or stops them. A caller whom a guard stops gets the order that they already have, if
// there is one (rule 2).
type Entry struct {
	guards   *Guards
	now      func(voucherID int64) time.Time                          // feature.Sales.Now
	askRedis func(ctx context.Context, userID, voucherID int64) error // feature.Sales.OwnOrder
	holds    func(saleID, userID int64) bool                          // whether memory has a holder
	asking   chan struct{}
}

// NewEntry returns the entry of sales; now and ownOrder are those of feature.Sales. holds reports from memory whether a
// user had an order in a sale lately.
func NewEntry(
	guards *Guards, now func(voucherID int64) time.Time,
	ownOrder func(ctx context.Context, userID, voucherID int64) error, holds func(saleID, userID int64) bool,
) *Entry {
	return &Entry{
		guards: guards, now: now, askRedis: ownOrder, holds: holds, asking: make(chan struct{}, maxStoppedAsks),
	}
}

// Enter returns nil if the caller may enter the sale. A caller whom a guard stops gets a *gate.AlreadyBoughtError
// if they have an order there, else a *StoppedError, whose OrderKnown reports whether they certainly have none. It
// takes 500 ms at most.
func (e *Entry) Enter(ctx context.Context, s Sale, c Caller) error {
	return e.answer(ctx, s, c, e.guards.Check(s, c, e.now(s.ID)))
}

// Reserve keeps units for a caller who may enter the sale. A caller who gets none is answered as by Enter. A caller who
// is remembered to have an order is looked up first, so that asking again keeps no units from neighbours.
func (e *Entry) Reserve(ctx context.Context, s Sale, c Caller, units int64) (budget.Reservation, error) {
	if s.Settings != nil && s.Settings.Units != nil && e.holds(s.ID, c.UserID) {
		own := e.ownOrder(ctx, s.ID, c.UserID)
		if _, bought := errors.AsType[*gate.AlreadyBoughtError](own); bought {
			return budget.Reservation{}, own
		}
	}
	r, err := e.guards.Reserve(s, c, units)
	return r, e.answer(ctx, s, c, err)
}

// answer turns a guard's error into the caller's answer: their own order if they have one, else the *StoppedError.
func (e *Entry) answer(ctx context.Context, s Sale, c Caller, err error) error {
	stopped, is := errors.AsType[*StoppedError](err)
	if !is {
		return err
	}
	own := e.ownOrder(ctx, s.ID, c.UserID)
	if _, bought := errors.AsType[*gate.AlreadyBoughtError](own); bought {
		return own
	}
	stopped.OrderKnown = errors.Is(own, gate.ErrBarred)
	return stopped
}

// ownOrder looks up a stopped caller's order. It returns order.ErrUnavailable while too many look-ups are under way.
func (e *Entry) ownOrder(ctx context.Context, voucherID, userID int64) error {
	select {
	case e.asking <- struct{}{}:
		defer func() { <-e.asking }()
	default:
		return order.ErrUnavailable
	}
	asking, cancel := context.WithTimeout(ctx, stoppedAskTimeout)
	defer cancel()
	return e.askRedis(asking, userID, voucherID)
}
