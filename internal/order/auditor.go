package order

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/voucher"
)

// Accounts reads what the ledger holds of a sale.
type Accounts interface {
	// Account reads it in one statement, for a Redis that has applied operations up to the given number.
	// voucher.ErrNotSeckill when there is no such sale.
	Account(ctx context.Context, voucherID, applied int64) (Account, error)
}

// Stocktaker counts what Redis holds of a sale.
type Stocktaker interface {
	// Holdings counts it at one moment.
	Holdings(ctx context.Context, sale SaleRef) (Holdings, error)
}

// Brake stops sales.
type Brake interface {
	// Pause stops the sale until an admin resumes it, as an admin's pause does.
	Pause(ctx context.Context, voucherID int64) error
}

// AuditObserver hears what an Auditor finds, for metrics. Its methods must not block.
type AuditObserver interface {
	// Audited: all sales were looked at, with these results; or they could not be, with err.
	Audited(balances []Balance, err error)
	// AuditOver: this instance does not look any more; another one does.
	AuditOver()
	// Mended: a sale was given to be rebuilt because its units were not accounted for.
	Mended()
	// Stopped: a sale was paused because its units were not accounted for.
	Stopped()
}

const (
	auditEvery   = 5 * time.Second       // how often sales are looked at, at most
	auditShare   = 10                    // at most a tenth of the time is spent looking
	auditTime    = time.Minute           // one round at most
	lookAgain    = 50 * time.Millisecond // before a sale that could not be decided is read once more
	looks        = 3                     // readings of a sale in a round at most
	mendRest     = 30 * time.Second      // a sale is given to be rebuilt no more often; and after mendsAtMost times
	mendRestMost = 10 * time.Minute      // … twice as seldom each time, down to this
	mendMemory   = 2 * mendRestMost      // how long it is remembered that a sale had to be rebuilt
	mendsAtMost  = 3                     // rebuilds in a row without a balance between, before a surplus stops the sale
	auditorName  = "auditor"             // of the lock
	freshBalance = auditEvery            // how old a balance may be for whoever asks for one
)

// Auditor looks every few seconds, while sales run, whether the units of each are accounted for across both stores
// (Balance), tells the metrics and the log, and acts on what it has proved. Every instance runs one, and one of them at a
// time looks.
//
// What it does about a sale whose units are not accounted for, and only when two looks in a row, seconds apart, say so:
//
//	Redis differs, or orders are lost     the sale is rebuilt from the ledger, at most every half minute; ever more seldom
//	                                      where that does not last, since each rebuild stops the sale for a moment
//	Redis has too many after three rebuilds in a row      something else writes there: the sale is paused
//	the ledger has units that nobody issued   more would be sold than there are: the sale is paused
//	the ledger lacks units                nothing is oversold: an error in the log and in the metrics, and it sells on
//
// Whoever has corrected what was wrong resumes the sale as after any pause. It is paused again as long as it is wrong.
type Auditor struct {
	stores   AuditorStores
	mender   Mender
	observer AuditObserver
	log      *slog.Logger

	mu       sync.Mutex
	balances map[int64]Balance    // by voucher id: the latest of each
	drawing  map[int64]bool       // by voucher id: somebody looks, for one who asked
	cases    map[int64]*auditCase // only the one who has the lock uses it
}

// AuditorStores are the stores of an Auditor.
type AuditorStores struct {
	Sales    SaleLedger
	Vouchers Vouchers
	Accounts Accounts
	Redis    Stocktaker
	Locker   Locker
	Brake    Brake
}

// auditCase is what the Auditor has found out about a sale whose units are not accounted for, or were not until lately.
type auditCase struct {
	last   Balance       // the look before
	mended time.Time     // when it was last given to be rebuilt
	mends  int           // how often, since it last was balanced
	all    int           // how often in all
	rest   time.Duration // from then to the next time, at least
}

// mend notes that the sale is given to be rebuilt, and reports whether it is time to.
func (c *auditCase) mend() bool {
	if time.Since(c.mended) < c.rest {
		return false
	}
	c.mended, c.mends, c.all = time.Now(), c.mends+1, c.all+1
	c.rest = mendRest
	if c.all > mendsAtMost {
		c.rest = min(mendRest<<min(c.all-mendsAtMost, 10), mendRestMost)
	}
	return true
}

// quiet notes that the sale is balanced, and reports whether nothing need be remembered of it any more.
func (c *auditCase) quiet(b Balance) bool {
	c.last, c.mends = b, 0
	return time.Since(c.mended) >= mendMemory
}

// NewAuditor returns an auditor; Run starts it.
func NewAuditor(stores AuditorStores, mender Mender, observer AuditObserver, log *slog.Logger) *Auditor {
	return &Auditor{
		stores: stores, mender: mender, observer: observer, log: log, balances: map[int64]Balance{},
		drawing: map[int64]bool{}, cases: map[int64]*auditCase{},
	}
}

// Run looks, or waits for its turn, until ctx ends. It never returns an error: what fails is tried again, by whoever gets
// the lock then.
func (a *Auditor) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := a.stores.Locker.TryDo(ctx, auditorName, a.turn)
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrBusy) {
			a.log.WarnContext(ctx, "looking whether all units are accounted for failed; trying again", "error", err)
		}
		rest(ctx, auditEvery)
	}
	return nil
}

// turn looks until ctx ends, which it also does when the lock is lost, or until something fails.
func (a *Auditor) turn(ctx context.Context) error {
	defer a.observer.AuditOver()
	clear(a.cases) // another one may have had the lock since
	for ctx.Err() == nil {
		start := time.Now()
		balances, err := a.round(ctx)
		if ctx.Err() != nil {
			return nil
		}
		a.observer.Audited(balances, err)
		if err != nil {
			return err
		}
		rest(ctx, max(auditEvery, auditShare*time.Since(start)))
	}
	return nil
}

// round looks at every sale that Redis is to hold, once, and acts.
func (a *Auditor) round(ctx context.Context) ([]Balance, error) {
	ctx, cancel := context.WithTimeout(ctx, auditTime)
	defer cancel()
	balances, err := a.All(ctx)
	if err != nil {
		return nil, err
	}
	cases := make(map[int64]*auditCase, len(a.cases))
	for _, b := range balances {
		c := a.cases[b.VoucherID]
		switch {
		case c == nil && !b.Finding.Broken():
			continue
		case c == nil:
			c = &auditCase{last: b}
		case b.Finding.Broken():
			a.act(ctx, c, b)
			c.last = b
		case b.Finding != Undecided && c.quiet(b):
			continue
		}
		cases[b.VoucherID] = c
	}
	a.cases = cases
	return balances, nil
}

// All draws the balance of every sale that Redis is to hold.
func (a *Auditor) All(ctx context.Context) ([]Balance, error) {
	vs, err := a.stores.Sales.SalesToKeep(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: reading the sales from the ledger: %w", ErrUnavailable, err)
	}
	balances := make([]Balance, 0, len(vs))
	for _, v := range vs {
		b, err := a.Look(ctx, v.ID)
		switch {
		case errors.Is(err, voucher.ErrNotSeckill): // retired since
			continue
		case err != nil:
			return nil, err
		}
		balances = append(balances, b)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.balances)
	for _, b := range balances {
		a.balances[b.VoucherID] = b
	}
	return balances, nil
}

// Balance returns the balance of one sale, a few seconds old, or as old as it takes to draw it; any instance can be asked. It returns
// voucher.ErrNotFound, voucher.ErrNotSeckill, also for a sale that Redis no longer holds, or ErrUnavailable.
func (a *Auditor) Balance(ctx context.Context, voucherID int64) (Balance, error) {
	a.mu.Lock()
	known, has := a.balances[voucherID]
	if has && (a.drawing[voucherID] || time.Since(known.At) < freshBalance) {
		a.mu.Unlock()
		return known, nil // in a large sale a look takes a second: whoever comes meanwhile is told the last one
	}
	a.drawing[voucherID] = true
	a.mu.Unlock()
	b, err := a.Look(ctx, voucherID)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.drawing, voucherID)
	if err != nil {
		return Balance{}, err
	}
	a.balances[voucherID] = b
	return b, nil
}

// Look draws the balance of one sale anew: it reads until both stores belong together, or says that they did not. Its
// errors are those of Balance.
func (a *Auditor) Look(ctx context.Context, voucherID int64) (Balance, error) {
	for try := 1; ; try++ {
		b, err := a.read(ctx, voucherID)
		if err != nil || b.Finding != Undecided && b.Complete || b.Finding.Broken() || try == looks || b.Redis.Mode == SaleMissing {
			return b, err
		}
		rest(ctx, lookAgain)
	}
}

// read reads one sale: the ledger, Redis, and the ledger again.
func (a *Auditor) read(ctx context.Context, voucherID int64) (Balance, error) {
	v, err := a.stores.Vouchers.Voucher(ctx, voucherID)
	switch {
	case err != nil:
		return Balance{}, orUnavailable(err)
	case v.Sale == nil, v.Sale.Retired:
		return Balance{}, voucher.ErrNotSeckill
	}
	before := Account{
		Mark: Mark{Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}, Operation: v.Sale.LastOperation, Stock: v.Sale.Stock,
	}
	redis, err := a.stores.Redis.Holdings(ctx, saleRef(v))
	if err != nil {
		return Balance{}, orUnavailable(err)
	}
	ledger, err := a.stores.Accounts.Account(ctx, voucherID, redis.Applied)
	switch {
	case errors.Is(err, voucher.ErrNotSeckill):
		return Balance{}, err
	case err != nil:
		return Balance{}, orUnavailable(err)
	}
	return draw(voucherID, before, ledger, redis, time.Now()), nil
}

// act does what can be done about a sale that was found wrong twice in a row.
func (a *Auditor) act(ctx context.Context, c *auditCase, b Balance) {
	if b.Finding != c.last.Finding {
		return // it changes; the next look confirms it, or not
	}
	a.log.ErrorContext(ctx, "units of a sale are not accounted for", "voucher", b.VoucherID, "finding", b.Finding, "why", b.Why,
		"ledger_difference", b.LedgerDifference, "redis_difference", b.RedisDifference, "lost", b.Lost,
		"issued", b.Ledger.Issued, "ledger_stock", b.Ledger.Stock, "live", b.Ledger.Live, "redis_stock", b.Redis.Stock,
		"places", b.Redis.Places, "waiting", b.Redis.Waiting, "letters", b.Redis.Letters, "epoch", b.Redis.Mark.Epoch)
	switch {
	case b.LedgerDifference > 0:
		a.stop(ctx, b, "the ledger has units that nobody issued")
	case b.RedisDifference > 0 && b.Redis.Stock > 0 && c.mends >= mendsAtMost:
		a.stop(ctx, b, "redis has too many units after every rebuild")
	}
	if b.Mendable() && c.mend() {
		a.mender.Mend(b.VoucherID, b.Redis.Mark.Epoch)
		a.observer.Mended()
	}
}

// stop pauses a sale that sells, until somebody resumes it.
func (a *Auditor) stop(ctx context.Context, b Balance, reason string) {
	if b.Redis.Mode != SaleOpen {
		return
	}
	if err := a.stores.Brake.Pause(ctx, b.VoucherID); err != nil {
		a.log.ErrorContext(ctx, "a sale whose units are not accounted for could not be paused; trying again", "voucher", b.VoucherID, "error", err)
		return
	}
	a.observer.Stopped()
	a.log.ErrorContext(ctx, "the sale is paused; correct what is wrong, and resume it", "voucher", b.VoucherID, "reason", reason)
}
