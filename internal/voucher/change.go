package voucher

import (
	"context"
	"fmt"
	"time"

	"seckill/internal/kit/invalid"
	"seckill/internal/voucher/guards"
)

// How long an order may stay unpaid.
const (
	DefaultPayWithin = 15 * time.Minute
	MinPayWithin     = time.Second
	MaxPayWithin     = 30 * 24 * time.Hour

	// MinProcessingWithin and MaxProcessingWithin bound by how much money that is under way moves a payment deadline.
	MinProcessingWithin = time.Second
	MaxProcessingWithin = 3 * 24 * time.Hour
)

// Change is a change of a voucher by an admin or a merchant; nil leaves a field unchanged. Price and shop never change.
type Change struct {
	Title    *string
	SubTitle *string
	Rules    *string
	Picture  *string    // as in a Draft, or the voucher's
	Begin    *time.Time // seckill vouchers only
	End      *time.Time // seckill vouchers only; exclusive
	OnShelf  *bool
	// VisibleFrom can be changed only while the voucher is hidden. Once buyers have seen it, only taking it off the
	// shelf hides it.
	VisibleFrom *time.Time
	Guards      *guards.Change // seckill vouchers only; instances learn of it within about a second
	// Elsewhere is what is wrong with Picture, unless the voucher has it already: its host may not be named any more.
	Elsewhere *invalid.Problem
}

// concernsSale reports whether Redis has to apply the change.
func (c Change) concernsSale() bool { return c.Begin != nil || c.End != nil || c.OnShelf != nil }

// apply changes the voucher, or returns ErrArchived, ErrRetired, ErrCalledOff, or *invalid.Error with everything that
// would be wrong with the changed voucher at the time now. It does not check unchanged fields again.
func (c Change) apply(v *Voucher, now time.Time) error {
	if v.IsArchived() {
		return ErrArchived
	}
	var r fieldRules
	if c.Title != nil {
		v.Title = r.title(*c.Title)
	}
	if c.SubTitle != nil {
		v.SubTitle = r.subTitle(*c.SubTitle)
	}
	if c.Rules != nil {
		v.Rules = r.rules(*c.Rules)
	}
	if c.Picture != nil && *c.Picture != v.Picture {
		r.Add(c.Elsewhere)
		v.Picture = *c.Picture
	}
	if c.OnShelf != nil {
		v.Status = OffShelf
		if *c.OnShelf {
			v.Status = OnShelf
		}
	}
	announced := drawn(*v)
	c.guard(v, &r)
	moved := c.reschedule(v, &r, now)
	c.reveal(v, &r, now, moved)
	if v.Sale != nil && (moved || c.Guards != nil) {
		r.moments(*v.Sale)
	}
	if c.Guards != nil && c.Guards.Draw.To != nil && !c.Guards.Draw.To.Equal(announced) {
		r.draw(v.Sale, now)
	}
	if err := r.Err(); err != nil {
		return err
	}
	if moved {
		return v.Sale.final()
	}
	return nil
}

// drawn returns the draw of a voucher's sale; nil if there is none.
func drawn(v Voucher) *guards.Draw {
	if v.Sale == nil {
		return nil
	}
	return v.Sale.Guards.Drawn()
}

// reveal changes when the public first sees the voucher. If that time or the sale's begin has moved, it checks that the
// sale does not begin before the voucher is visible.
func (c Change) reveal(v *Voucher, r *fieldRules, now time.Time, moved bool) {
	if c.VisibleFrom != nil {
		from := r.visibleFrom(*c.VisibleFrom)
		if from.After(now) && !v.Hidden(now) {
			r.Bad("visibleFrom", alreadyVisible, omitOrShelf, nil)
			return
		}
		moved = moved || !from.Equal(v.VisibleFrom)
		v.VisibleFrom = from
	}
	if moved && v.Sale != nil {
		r.inTime(v.VisibleFrom, v.Sale.Begin)
	}
}

func (c Change) guard(v *Voucher, r *fieldRules) {
	switch {
	case c.Guards == nil:
	case v.Sale == nil:
		r.Bad("guards", needsSale, invalid.Omit, nil)
	default:
		v.Sale.Guards = r.guards(*c.Guards, v.Sale.Guards)
	}
}

// reschedule changes the sale's window, and reports whether the window has changed.
func (c Change) reschedule(v *Voucher, r *fieldRules, now time.Time) bool {
	if v.Sale == nil {
		r.absent("beginTime", c.Begin)
		r.absent("endTime", c.End)
		return false
	}
	begin, end := v.Sale.Begin, v.Sale.End
	if c.Begin != nil {
		begin = instant(*c.Begin)
	}
	if c.End != nil {
		end = instant(*c.End)
	}
	if begin.Equal(v.Sale.Begin) && end.Equal(v.Sale.End) {
		return false
	}
	r.window(begin, end, now)
	r.usable(v.Redemption, end)
	v.Sale.Begin, v.Sale.End = begin, end
	return true
}

// StockChange is a change of a sale's stock by a delta, with its state.
type StockChange struct {
	Delta  int64
	Number int64 // number of its operation
	State  StockState
}

// StockState is the state of a stock change.
type StockState int8

// The states of a stock change.
const (
	// StockPending: committed, but Redis has not applied it yet; a change that takes units may still be refused.
	StockPending StockState = iota
	StockDone               // applied in Redis and in the ledger
	StockRefused            // there were not enough units
	StockVoid               // a rebuild of the sale intervened; nothing was changed
)

// Changes changes vouchers in the ledger. Each method is one transaction, which also writes the operation that Redis
// must apply and the [Entry] of the audit trail.
type Changes interface {
	// ChangeVoucher reads the voucher under its lock, lets alter change texts, shelf status, Archived, Paused and
	// window, and stores the result with the version raised. If alter returns an error, it rolls back and returns that
	// error. If alter changes nothing, nothing is written. It returns ErrNotFound, or ErrOrdersWait if alter archives a
	// voucher with an order that is unpaid or waits for a decision of Redis.
	ChangeVoucher(ctx context.Context, id int64, by Author, alter func(v *Voucher) error) (Voucher, error)
	// ChangeStock begins a change of the sale's stock under the key. A change that adds units raises stock and issued
	// at once; one that takes units waits for Redis. If the key was used before, it returns that earlier change, or
	// idempotency.ErrReused if that had another delta. The key of a void change is free again. Errors:
	// ErrNotFound, ErrNotSeckill, ErrArchived, ErrRetired, ErrCalledOff, and CheckIssued's error.
	ChangeStock(ctx context.Context, id int64, by Author, delta int64, key string) (StockChange, error)
	// CallOff calls the voucher's sale off, once for each key of its author: the sale's window ends now, and the
	// operation keeps Redis from selling ever again. A sale that was called off before stays as it is. Errors:
	// ErrNotFound, ErrNotSeckill, ErrArchived, ErrRetired; for the key, *idempotency.RepeatedError and
	// idempotency.ErrReused.
	CallOff(ctx context.Context, id int64, by Author, why string) (Voucher, error)
}

// Outbox applies pending operations to Redis: outbox.Outbox.
type Outbox interface {
	// Flush applies the voucher's pending operations to its sale and returns once they are applied. After an error they
	// stay pending and are applied later.
	Flush(ctx context.Context, voucherID int64) error
}

var stockStates = [...]string{"pending", "done", "refused", "void"}

// String returns the state's name.
func (s StockState) String() string {
	if s < 0 || int(s) >= len(stockStates) {
		s = StockPending
	}
	return stockStates[s]
}

// InsufficientStockError says that fewer units are left than a change would take.
type InsufficientStockError struct {
	Delta int64
	Left  int64 // units left when the change was refused, or, for a repeated call, now
}

func (e *InsufficientStockError) Error() string {
	return fmt.Sprintf("cannot take %d units: %d are left", -e.Delta, e.Left)
}
