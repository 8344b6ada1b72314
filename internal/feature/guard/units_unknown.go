package guard

import (
	"context"
	"errors"
	"sync"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/tally"
	"seckill/internal/kit/periodic"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

const (
	// unknownEvery is the time between look-ups of unknown outcomes. unknownAfter is how old a purchase must be: longer
	// than a call to Redis may take. unknownAtMost is the longest time between two look-ups of one.
	unknownEvery  = time.Second
	unknownAfter  = 5 * time.Second
	unknownAtMost = time.Minute
	// maxUnknown bounds how many purchases are remembered. The units of any others are given back: counts may be too
	// low, never too high.
	maxUnknown = 4096
	// unknownAtOnce bounds the look-ups of one round, and unknownTimeout each of them.
	unknownAtOnce  = 1024
	unknownTimeout = 500 * time.Millisecond
)

// Units counts the units of purchases in sales with guards, in shares and in the tally: those whose own order was
// accepted, and each order once. While an outcome is unknown the units stay reserved, until a look-up tells.
type Units struct {
	limits   *budget.Table
	tally    *tally.Tally
	counted  *buyers
	ownOrder func(ctx context.Context, userID, voucherID int64) error // feature.Sales.OwnOrder
	now      func() time.Time
	mu       sync.Mutex
	waiting  []unknownUnits
}

// unknownUnits are units of a purchase whose outcome is unknown.
type unknownUnits struct {
	saleID      int64
	caller      Caller
	reservation budget.Reservation
	ending      guards.Ending
	next        time.Time     // when it is looked up next
	pause       time.Duration // from that look-up to the one after it
}

// NewUnits returns a Units without purchases; Run does the look-ups by ownOrder, which is that of feature.Sales.
func NewUnits(
	limits *budget.Table, counts *tally.Tally, ownOrder func(ctx context.Context, userID, voucherID int64) error,
	now func() time.Time,
) *Units {
	return &Units{limits: limits, tally: counts, counted: newBuyers(), ownOrder: ownOrder, now: now}
}

// end ends a reservation with the purchase. An unknown outcome is looked up later.
func (u *Units) end(saleID int64, c Caller, r budget.Reservation, e guards.Ending) {
	if e.Outcome == guards.Unknown {
		u.keep(unknownUnits{saleID, c, r, e, u.now().Add(unknownAfter), unknownEvery})
		return
	}
	accepted := (e.Outcome == guards.Won || e.Outcome == guards.Claimed) && u.counted.add(saleID, c.UserID, e.ID)
	u.limits.End(r, accepted)
	if accepted && e.Outcome == guards.Won {
		u.tally.Sold(saleID, c.Claims.Since, c.Address, r.Units)
	}
}

// add remembers a purchase with an unknown outcome. It reports whether there is room.
func (u *Units) add(one unknownUnits) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.waiting) >= maxUnknown {
		return false
	}
	u.waiting = append(u.waiting, one)
	return true
}

// Run looks up unknown outcomes until ctx ends.
func (u *Units) Run(ctx context.Context) error {
	return periodic.Every(ctx, unknownEvery, u.round)
}

// round looks up the purchases that are due. If Redis does not answer for a sale, its other purchases wait for the next
// round, because they would take as long; so do all look-ups elsewhere once one got no answer in time. Those back off.
func (u *Units) round(ctx context.Context) {
	failing, hangs := make(map[int64]bool), false
	for _, one := range u.due() {
		elsewhere := one.ending.Look != nil
		if elsewhere && hangs || !elsewhere && failing[one.saleID] {
			u.keep(one)
			continue
		}
		ending, inTime := u.ask(ctx, one)
		one.ending, hangs = ending, hangs || elsewhere && !inTime
		switch {
		case one.ending.Outcome != guards.Unknown:
			u.end(one.saleID, one.caller, one.reservation, one.ending)
		case !elsewhere:
			failing[one.saleID] = true
			u.keep(one)
		default:
			one.next, one.pause = u.now().Add(one.pause), min(2*one.pause, unknownAtMost)
			u.keep(one)
		}
	}
}

// keep lets a purchase wait for its next look-up.
func (u *Units) keep(one unknownUnits) {
	if !u.add(one) {
		u.limits.End(one.reservation, false)
	}
}

// ask looks up the outcome of a purchase, and reports whether the answer came in time. A purchase without an id of its
// own has that of the user's order: it panicked before it had one.
func (u *Units) ask(ctx context.Context, one unknownUnits) (e guards.Ending, inTime bool) {
	asking, cancel := context.WithTimeout(ctx, unknownTimeout)
	defer cancel()
	e = one.ending
	if e.Look != nil {
		seen := e.Look(asking)
		seen.Look = e.Look
		return seen, asking.Err() == nil
	}
	err := u.ownOrder(asking, one.caller.UserID, one.saleID)
	own, bought := errors.AsType[*gate.AlreadyBoughtError](err)
	switch {
	case bought && (e.ID == own.OrderID || e.ID == 0):
		e.Outcome, e.ID = guards.Won, own.OrderID
	case bought, errors.Is(err, gate.ErrBarred), errors.Is(err, voucher.ErrNotFound),
		errors.Is(err, voucher.ErrNotSeckill):
		e.Outcome = guards.Refused
	}
	return e, asking.Err() == nil
}

// due takes the purchases that are to be looked up now, as many as a round looks up.
func (u *Units) due() []unknownUnits {
	u.mu.Lock()
	defer u.mu.Unlock()
	var due, later []unknownUnits
	for now, i := u.now(), 0; i < len(u.waiting); i++ {
		if one := u.waiting[i]; len(due) < unknownAtOnce && !one.next.After(now) {
			due = append(due, one)
		} else {
			later = append(later, one)
		}
	}
	u.waiting = later
	return due
}
