package retention

import (
	"context"
	"errors"
	"time"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/retry"
	"seckill/internal/voucher"
)

// Candidate is a voucher of which something is old enough to be purged: a sale that ended before a time, or an ordinary
// voucher with orders from before it.
type Candidate struct {
	VoucherID, ShopID int64
	Title             string
	Sale              bool
	End               time.Time // of the sale
	Retired           bool      // so is the sale
	ByCode            bool      // its coupons are redeemed
	Limited           bool      // it is on sale, and its orders are counted for a limit of each user
	Begun             bool      // something of it was purged before
	Before            time.Time
}

// Cursor is how far a purge of a voucher has got: the part that it deletes, and the last row of it that was looked at.
type Cursor struct {
	Part  int
	After int64
}

// Deleted is the result of one transaction of a purge.
type Deleted struct {
	Orders int   // that were deleted, with all that belongs to them
	Rows   int   // operations and places
	Owed   Debts // orders and places that stay
	Next   Cursor
	Done   bool // nothing is left to look at
}

// Purging deletes old orders: the ledger. Every function may return order.ErrUnavailable.
type Purging interface {
	// Candidates returns vouchers with an id above after, ascending, at most n.
	Candidates(ctx context.Context, before time.Time, after int64, n int) ([]Candidate, error)
	// Debts returns what the voucher owes.
	Debts(ctx context.Context, c Candidate) (Debts, error)
	// Count returns how many orders would be deleted.
	Count(ctx context.Context, c Candidate) (int64, error)
	// Begin notes that the voucher is being purged, and for a sale, that it admits nobody any more. waitlist has the
	// numbers of its waiting list. Repeating it is harmless. Error: ErrNotYet if the sale is not retired, or ends
	// later.
	Begin(ctx context.Context, c Candidate, waitlist string, by Trail) error
	// Delete deletes up to n rows of a part behind the cursor. token is of the job's lock; 0: of a command.
	Delete(ctx context.Context, c Candidate, token int64, from Cursor, n int) (Deleted, error)
	// End notes that nothing is left.
	End(ctx context.Context, c Candidate) error
}

// Trail is who purges or forgets, and why, for the audit trail.
type Trail struct {
	Author  voucher.Author
	By, Why string
}

// ErrNotYet means that a sale is not over: it was changed meanwhile.
var ErrNotYet = errors.New("the sale is not retired")

const (
	purgeBatch = 500  // orders in one transaction
	purgeRate  = 5000 // orders a second at most, to leave the ledger room
)

// Purger purges vouchers, in small transactions of the lowest class.
type Purger struct {
	Ledger Purging
	// Waitlist returns the numbers of a sale's waiting list as JSON; "" without one.
	Waitlist func(ctx context.Context, voucherID int64) (string, error)
	// Progress is told after each transaction how many orders and other rows of the voucher are gone. It may be nil.
	Progress func(c Candidate, orders, rows int64)
}

// Purged is the result of a purge of one voucher.
type Purged struct {
	Orders, Rows int64
	Owed         Debts // why it was refused, or why some orders stay
	Refused      bool  // nothing was deleted
	Done         bool  // nothing is left
}

// Purge purges a voucher until nothing is left to look at, or until more returns false. It refuses a voucher that owes
// something, unless an earlier purge has begun; then it leaves what is owed. A purge that was interrupted is continued
// by calling it again.
func (p *Purger) Purge(
	ctx context.Context, c Candidate, token int64, by Trail, more func() bool,
) (done Purged, err error) {
	ctx = bulkhead.With(ctx, bulkhead.Background)
	if !c.Begun || c.Limited || c.Sale && !c.Retired {
		owed, err := p.Ledger.Debts(ctx, c)
		if err != nil || len(owed) > 0 {
			return Purged{Owed: owed, Refused: true}, err
		}
	}
	waitlist, err := p.Waitlist(ctx, c.VoucherID)
	if err != nil {
		return done, err
	}
	switch err := p.Ledger.Begin(ctx, c, waitlist, by); {
	case errors.Is(err, ErrNotYet):
		return Purged{Owed: Debts{NotRetired: 1}, Refused: true}, nil
	case err != nil:
		return done, err
	}
	done.Owed = Debts{}
	for at := (Cursor{}); more(); {
		start := time.Now()
		batch, err := p.Ledger.Delete(ctx, c, token, at, purgeBatch)
		if err != nil {
			return done, err
		}
		done.add(batch)
		if p.Progress != nil {
			p.Progress(c, done.Orders, done.Rows)
		}
		if batch.Done {
			done.Done = len(done.Owed) == 0
			break
		}
		at = batch.Next
		pause := time.Duration(batch.Orders) * time.Second / purgeRate
		retry.Sleep(ctx, max(time.Since(start), pause-time.Since(start)))
		if err := ctx.Err(); err != nil {
			return done, err
		}
	}
	if done.Done {
		err = p.Ledger.End(ctx, c)
	}
	return done, err
}

func (p *Purged) add(batch Deleted) {
	p.Orders, p.Rows = p.Orders+int64(batch.Orders), p.Rows+int64(batch.Rows)
	for reason, n := range batch.Owed {
		p.Owed[reason] += n
	}
}
