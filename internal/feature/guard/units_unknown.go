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
)

const (
	// unknownEvery is the time between look-ups of unknown outcomes. unknownAfter is how old a purchase must be: longer
	// than a call to Redis may take.
	unknownEvery = time.Second
	unknownAfter = 5 * time.Second
	// maxUnknown bounds how many purchases are remembered; the units of any others stay reserved.
	maxUnknown = 4096
	// unknownAtOnce bounds the look-ups of one round, and unknownTimeout each of them.
	unknownAtOnce  = 64
	unknownTimeout = 500 * time.Millisecond
)

// UnknownUnits holds the units of purchases whose outcome is unknown. The units stay reserved until a look-up finds
// the user's order, or finds that the user has none.
type UnknownUnits struct {
	limits   *budget.Table
	tally    *tally.Tally
	ownOrder func(ctx context.Context, userID, voucherID int64) error // feature.Sales.OwnOrder
	now      func() time.Time
	mu       sync.Mutex
	waiting  []unknownUnits // the oldest first
}

type unknownUnits struct {
	saleID      int64
	caller      Caller
	reservation budget.Reservation
	since       time.Time
}

// NewUnknownUnits returns an empty UnknownUnits; Run does the look-ups by ownOrder, which is that of feature.Sales.
func NewUnknownUnits(
	limits *budget.Table, counts *tally.Tally, ownOrder func(ctx context.Context, userID, voucherID int64) error,
	now func() time.Time,
) *UnknownUnits {
	return &UnknownUnits{limits: limits, tally: counts, ownOrder: ownOrder, now: now}
}

// add remembers the units of a reservation that counts against a share.
func (u *UnknownUnits) add(saleID int64, c Caller, r budget.Reservation) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.Bound() && len(u.waiting) < maxUnknown {
		u.waiting = append(u.waiting, unknownUnits{saleID, c, r, u.now()})
	}
}

// Run looks up the outcomes until ctx ends.
func (u *UnknownUnits) Run(ctx context.Context) error {
	return periodic.Every(ctx, unknownEvery, u.round)
}

func (u *UnknownUnits) round(ctx context.Context) {
	due := u.due()
	for i, one := range due {
		asking, cancel := context.WithTimeout(ctx, unknownTimeout)
		err := u.ownOrder(asking, one.caller.UserID, one.saleID)
		cancel()
		_, bought := errors.AsType[*gate.AlreadyBoughtError](err)
		switch {
		case bought:
			u.limits.Win(one.reservation)
			u.tally.Sold(one.saleID, one.caller.Claims.Since, one.caller.Address, one.reservation.Units)
		case errors.Is(err, gate.ErrBarred), errors.Is(err, voucher.ErrNotFound),
			errors.Is(err, voucher.ErrNotSeckill):
			u.limits.Return(one.reservation)
		default: // Redis does not answer: the other look-ups would wait as long
			u.putBack(due[i:])
			return
		}
	}
}

// due takes the units that are old enough, the oldest first, as many as a round looks up.
func (u *UnknownUnits) due() []unknownUnits {
	u.mu.Lock()
	defer u.mu.Unlock()
	n, old := 0, u.now().Add(-unknownAfter)
	for n < min(len(u.waiting), unknownAtOnce) && !u.waiting[n].since.After(old) {
		n++
	}
	due := u.waiting[:n:n]
	u.waiting = u.waiting[n:]
	return due
}

func (u *UnknownUnits) putBack(due []unknownUnits) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting = append(due, u.waiting...)
}
