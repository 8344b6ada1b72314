package retention

import (
	"context"
	"errors"
	"time"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/retry"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Candidate is a voucher with orders that are old enough to be purged: those of a sale that ended before a time, or an
// ordinary voucher's from before it.
type Candidate struct {
	VoucherID, ShopID int64
	Title             string
	Sale              bool
	EndTime           time.Time // of the sale
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
	// Progress is called after each transaction with how many orders and other rows are gone. It may be nil.
	Progress func(c Candidate, orders, rows int64)
	// Answers reports whether the ledger answers a cheap question.
	Answers func(ctx context.Context) bool
}

// Purged is the result of a purge of one voucher, as far as it has got.
type Purged struct {
	Orders, Rows int64
	Owed         Debts  // why it was refused, or why some orders stay
	Refused      bool   // nothing was deleted
	Done         bool   // nothing is left
	At           Cursor // what to look at next
}

// Purge purges a voucher until nothing is left to look at, or until more returns false; so is what it returned then, to
// go on from there. It refuses a sale that owes something, unless an earlier purge has begun; then, as of an ordinary
// voucher always, it leaves what is owed. A purge that died is continued by beginning again, with the zero Purged.
func (p *Purger) Purge(
	ctx context.Context, c Candidate, token int64, by Trail, so Purged, more func() bool,
) (Purged, error) {
	ctx = bulkhead.With(ctx, bulkhead.Background)
	if so.Owed == nil {
		owed, err := p.begin(ctx, c, by)
		if err != nil || len(owed) > 0 {
			return Purged{Owed: owed, Refused: true}, err
		}
		so.Owed = Debts{}
	}
	for {
		start := time.Now()
		batch, err := p.Ledger.Delete(ctx, c, token, so.At, purgeBatch)
		if err != nil {
			return so, err
		}
		so.Orders, so.Rows, so.At = so.Orders+int64(batch.Orders), so.Rows+int64(batch.Rows), batch.Next
		for reason, n := range batch.Owed {
			so.Owed[reason] += n
		}
		if p.Progress != nil {
			p.Progress(c, so.Orders, so.Rows)
		}
		if batch.Done {
			so.Done = len(so.Owed) == 0
			break
		}
		pause := time.Duration(batch.Orders) * time.Second / purgeRate
		retry.Sleep(ctx, max(time.Since(start), pause-time.Since(start)))
		if err := ctx.Err(); err != nil || !more() {
			return so, err
		}
	}
	if so.Done {
		return so, p.Ledger.End(ctx, c)
	}
	return so, nil
}

// endsAll reports whether an error is of no one voucher: the ledger is away, another holder has the job's lock, or ctx
// has ended. After any other error, the purge goes on with the next voucher; so it does if the ledger answers, and not
// this voucher's question in time.
func (p *Purger) endsAll(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, order.ErrUnknownChange) || errors.Is(err, order.ErrSuperseded) ||
		errors.Is(err, order.ErrUnavailable) && !p.Answers(ctx)
}

// begin begins a purge. It returns why that is refused, if it is.
func (p *Purger) begin(ctx context.Context, c Candidate, by Trail) (Debts, error) {
	if c.Limited {
		return Debts{Limit: 1}, nil
	}
	if c.Sale && (!c.Begun || !c.Retired) {
		owed, err := p.Ledger.Debts(ctx, c)
		if err != nil || len(owed) > 0 {
			return owed, err
		}
	}
	waitlist, err := p.Waitlist(ctx, c.VoucherID)
	if err != nil {
		return nil, err
	}
	err = p.Ledger.Begin(ctx, c, waitlist, by)
	if errors.Is(err, ErrNotYet) {
		return Debts{NotRetired: 1}, nil
	}
	return nil, err
}
