package voucher

import (
	"context"
	"fmt"
	"time"
)

// How long an order may stay unpaid.
const (
	DefaultPayWithin = 15 * time.Minute
	MinPayWithin     = time.Second
	MaxPayWithin     = 30 * 24 * time.Hour
)

// Change is what an admin alters in a voucher; nil leaves a field as it is. Price and shop never change.
type Change struct {
	Title    *string
	SubTitle *string
	Rules    *string
	Begin    *time.Time // of a seckill voucher
	End      *time.Time // of a seckill voucher; exclusive
	OnShelf  *bool
}

// concernsSale reports whether Redis has to follow the change.
func (c Change) concernsSale() bool { return c.Begin != nil || c.End != nil || c.OnShelf != nil }

// apply alters the voucher, or returns *InvalidError with everything that is wrong with it as it would then be at the
// time now, or ErrRetired. What it leaves alone is not checked again.
func (c Change) apply(v *Voucher, now time.Time) error {
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
	if c.OnShelf != nil {
		v.Status = OffShelf
		if *c.OnShelf {
			v.Status = OnShelf
		}
	}
	moved := c.reschedule(v, &r, now)
	if err := r.err(); err != nil {
		return err
	}
	if moved && v.Sale.Retired {
		return ErrRetired
	}
	return nil
}

// reschedule changes the sale's window and reports whether it is another one now.
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
	v.Sale.Begin, v.Sale.End = begin, end
	return true
}

// StockChange is one delta of a sale's stock and what became of it.
type StockChange struct {
	Delta  int64
	Number int64 // of its operation
	State  StockState
}

// StockState is where a stock change is.
type StockState int8

// The states of a stock change.
const (
	StockPending StockState = iota // committed, but Redis has not followed yet; one that takes may still be refused
	StockDone                      // Redis and ledger contain it
	StockRefused                   // there were not as many units
	StockVoid                      // a rebuild of the sale came between; nothing was changed
)

// Changes is the ledger of what is altered in vouchers. Each method is one transaction; what Redis has to follow is
// written as an operation with it, and who changed what as an [Entry] of the audit trail.
type Changes interface {
	// ChangeVoucher reads the voucher under its lock, lets alter change texts, shelf status, Paused and window, and stores
	// the result with the version raised. An error of alter is returned and rolls back. A voucher in which alter changes
	// nothing is not written. ErrNotFound.
	ChangeVoucher(ctx context.Context, id int64, by Author, alter func(v *Voucher) error) (Voucher, error)
	// ChangeStock begins a change of the sale's stock under the key: one that adds raises stock and issued at once, one
	// that takes waits for Redis. A key that was used before returns that change and begins none; with another delta it is
	// ErrKeyReused. The key of a void change is free again. ErrNotFound, ErrNotSeckill, ErrRetired.
	ChangeStock(ctx context.Context, id int64, by Author, delta int64, key string) (StockChange, error)
}

// Follower brings Redis up to what the ledger says: order.Outbox.
type Follower interface {
	// Follow applies the voucher's pending operations to its sale and returns once they are. An error leaves them
	// pending: they are applied later.
	Follow(ctx context.Context, voucherID int64) error
}

// String returns the state's name.
func (s StockState) String() string {
	switch s {
	case StockDone:
		return "done"
	case StockRefused:
		return "refused"
	case StockVoid:
		return "void"
	default:
		return "pending"
	}
}

// InsufficientStockError says that fewer units are left than were to be taken.
type InsufficientStockError struct {
	Delta int64
	Left  int64 // units left to sell when it was refused or asked about again
}

func (e *InsufficientStockError) Error() string {
	return fmt.Sprintf("cannot take %d units: %d are left", -e.Delta, e.Left)
}
