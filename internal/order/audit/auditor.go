package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/voucher"
)

// LedgerTotalsReader sums up a sale in the ledger.
type LedgerTotalsReader interface {
	// LedgerTotals reads the sums in one statement, for a Redis that has applied operations up to the given number.
	// voucher.ErrNotSeckill when there is no such sale.
	LedgerTotals(ctx context.Context, voucherID, applied int64) (LedgerTotals, error)
}

// InventoryReader counts a sale in Redis.
type InventoryReader interface {
	// Inventory counts it at one moment.
	Inventory(ctx context.Context, sale order.SaleRef) (Inventory, error)
}

// SalePauser pauses sales.
type SalePauser interface {
	// Pause pauses the sale until an admin resumes it, as an admin's pause does.
	Pause(ctx context.Context, voucherID int64) error
}

// Observer counts what an Auditor finds, for metrics. Its methods must not block.
type Observer interface {
	// Audited: all sales were checked, with these results; or they could not be, with err.
	Audited(balances []Balance, err error)
	// AuditOver: this instance no longer audits; another one does.
	AuditOver()
	// RepairRequested: a rebuild was requested because a sale's units were not accounted for.
	RepairRequested()
	// SalePaused: a sale was paused because its units were not accounted for.
	SalePaused()
}

const (
	auditEvery     = 5 * time.Second       // between two rounds at least
	auditShare     = 10                    // at most a tenth of the time is spent on rounds
	auditTimeout   = time.Minute           // for one round
	readAgain      = 50 * time.Millisecond // before an undecided sale is read once more
	maxReads       = 3                     // of one sale in a round
	repairPause    = 30 * time.Second      // between two rebuilds of a sale at least; after maxRepairs of them
	maxRepairPause = 10 * time.Minute      // … it doubles each time, up to this
	repairMemory   = 2 * maxRepairPause    // how long a sale's rebuilds are remembered
	maxRepairs     = 3                     // rebuilds in a row without a balance in between, before a surplus pauses the sale
	auditorLock    = "auditor"
	balanceTTL     = auditEvery // how old a balance may be that Balance returns
)

// Auditor checks every few seconds, while sales run, whether the units of each are accounted for across both stores
// (Balance), reports to metrics and log, and acts on what it has proved. Every instance runs one; a lock lets one at a time
// work.
//
// What it does about a sale whose units are not accounted for, once two checks in a row, seconds apart, agree:
//
//	Redis differs, or orders are lost     the sale is rebuilt from the ledger, at most every half minute, and less and less
//	                                      often where that does not last, since each rebuild stops the sale for a moment
//	Redis has too many after three rebuilds in a row      something else writes there: the sale is paused
//	the ledger has units that nobody issued   more would be sold than there are: the sale is paused
//	the ledger lacks units                nothing is oversold: an error in the log and in the metrics, and the sale goes on
//
// An operator who has corrected the cause resumes the sale as after any pause. It is paused again while it is wrong.
type Auditor struct {
	stores   Stores
	repairs  order.RepairRequester
	observer Observer
	log      *slog.Logger

	mu        sync.Mutex
	balances  map[int64]Balance    // by voucher id: the latest of each
	comparing map[int64]bool       // by voucher id: a caller of Balance is reading it
	cases     map[int64]*auditCase // used only under the lock of the audit
}

// Stores are the stores of an Auditor.
type Stores struct {
	Sales    order.KeptSales
	Vouchers catalog.Vouchers
	Totals   LedgerTotalsReader
	Redis    InventoryReader
	Locker   order.Locker
	Pauser   SalePauser
}

// auditCase is the history of a sale whose units are not accounted for, or were not until lately.
type auditCase struct {
	last       Balance       // of the round before
	repairedAt time.Time     // when a rebuild was last requested
	repairs    int           // requests since it last was balanced
	all        int           // requests in all
	pause      time.Duration // between repairedAt and the next request at least
}

// mayRepair reports whether a rebuild may be requested now, and notes the request.
func (c *auditCase) mayRepair() bool {
	if time.Since(c.repairedAt) < c.pause {
		return false
	}
	c.repairedAt, c.repairs, c.all = time.Now(), c.repairs+1, c.all+1
	c.pause = repairPause
	if c.all > maxRepairs {
		c.pause = min(repairPause<<min(c.all-maxRepairs, 10), maxRepairPause)
	}
	return true
}

// balanced notes that the sale is balanced, and reports whether the case can be forgotten.
func (c *auditCase) balanced(b Balance) bool {
	c.last, c.repairs = b, 0
	return time.Since(c.repairedAt) >= repairMemory
}

// New returns an auditor; Run starts it.
func New(stores Stores, repairs order.RepairRequester, observer Observer, log *slog.Logger) *Auditor {
	return &Auditor{
		stores: stores, repairs: repairs, observer: observer, log: log, balances: map[int64]Balance{},
		comparing: map[int64]bool{}, cases: map[int64]*auditCase{},
	}
}

// Run audits, or waits for its turn, until ctx ends. It never returns an error: what fails is retried by the instance that
// gets the lock then.
func (a *Auditor) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := a.stores.Locker.TryDo(ctx, auditorLock, a.turn)
		if err != nil && ctx.Err() == nil && !errors.Is(err, order.ErrBusy) {
			a.log.WarnContext(ctx, "audit failed; retrying", "error", err)
		}
		order.Sleep(ctx, auditEvery)
	}
	return nil
}

// turn runs rounds until ctx ends, which it does when the lock is lost, or until one fails.
func (a *Auditor) turn(ctx context.Context) error {
	defer a.observer.AuditOver()
	clear(a.cases) // another instance may have audited since
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
		order.Sleep(ctx, max(auditEvery, auditShare*time.Since(start)))
	}
	return nil
}

// round checks every sale that Redis must hold, once, and acts.
func (a *Auditor) round(ctx context.Context) ([]Balance, error) {
	ctx, cancel := context.WithTimeout(ctx, auditTimeout)
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
		case b.Finding != Undecided && c.balanced(b):
			continue
		}
		cases[b.VoucherID] = c
	}
	a.cases = cases
	return balances, nil
}

// All returns the balance of every sale that Redis must hold.
func (a *Auditor) All(ctx context.Context) ([]Balance, error) {
	vs, err := a.stores.Sales.SalesToKeep(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: reading the sales from the ledger: %w", order.ErrUnavailable, err)
	}
	balances := make([]Balance, 0, len(vs))
	for _, v := range vs {
		b, err := a.Check(ctx, v.ID)
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

// Balance returns the balance of one sale, a few seconds old, or as old as one check takes; any instance can be asked. It
// returns voucher.ErrNotFound, voucher.ErrNotSeckill, also for a sale that Redis no longer holds, or ErrUnavailable.
func (a *Auditor) Balance(ctx context.Context, voucherID int64) (Balance, error) {
	a.mu.Lock()
	known, has := a.balances[voucherID]
	if has && (a.comparing[voucherID] || time.Since(known.At) < balanceTTL) {
		a.mu.Unlock()
		return known, nil // the check of a large sale takes a second: callers get the last balance meanwhile
	}
	a.comparing[voucherID] = true
	a.mu.Unlock()
	b, err := a.Check(ctx, voucherID)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.comparing, voucherID)
	if err != nil {
		return Balance{}, err
	}
	a.balances[voucherID] = b
	return b, nil
}

// Check reads one sale and returns its balance: it reads again while the stores cannot be compared, a few times. Its
// errors are those of Balance.
func (a *Auditor) Check(ctx context.Context, voucherID int64) (Balance, error) {
	for try := 1; ; try++ {
		b, err := a.read(ctx, voucherID)
		if err != nil || b.Finding != Undecided && b.Complete || b.Finding.Broken() || try == maxReads || b.Redis.Mode == order.SaleMissing {
			return b, err
		}
		order.Sleep(ctx, readAgain)
	}
}

// read reads one sale: the ledger, Redis, and the ledger again.
func (a *Auditor) read(ctx context.Context, voucherID int64) (Balance, error) {
	v, err := a.stores.Vouchers.Voucher(ctx, voucherID)
	switch {
	case err != nil:
		return Balance{}, order.OrUnavailable(err)
	case v.Sale == nil, v.Sale.Retired:
		return Balance{}, voucher.ErrNotSeckill
	}
	before := LedgerTotals{
		Mark: order.Mark{Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}, Operation: v.Sale.LastOperation, Stock: v.Sale.Stock,
	}
	redis, err := a.stores.Redis.Inventory(ctx, order.SaleOf(v))
	if err != nil {
		return Balance{}, order.OrUnavailable(err)
	}
	ledger, err := a.stores.Totals.LedgerTotals(ctx, voucherID, redis.Applied)
	switch {
	case errors.Is(err, voucher.ErrNotSeckill):
		return Balance{}, err
	case err != nil:
		return Balance{}, order.OrUnavailable(err)
	}
	return compare(voucherID, before, ledger, redis, time.Now()), nil
}

// act repairs or pauses a sale that was found wrong twice in a row.
func (a *Auditor) act(ctx context.Context, c *auditCase, b Balance) {
	if b.Finding != c.last.Finding {
		return // it changed; the next round confirms it, or not
	}
	a.log.ErrorContext(ctx, "units of a sale are not accounted for", "voucher", b.VoucherID, "finding", b.Finding, "why", b.Why,
		"ledger_difference", b.LedgerDifference, "redis_difference", b.RedisDifference, "lost", b.Lost,
		"issued", b.Ledger.Issued, "ledger_stock", b.Ledger.Stock, "live", b.Ledger.Live, "redis_stock", b.Redis.Stock,
		"holders", b.Redis.Holders, "waiting", b.Redis.Waiting, "dead_letters", b.Redis.DeadLetters, "epoch", b.Redis.Mark.Epoch)
	switch {
	case b.LedgerDifference > 0:
		a.pause(ctx, b, "the ledger has units that nobody issued")
	case b.RedisDifference > 0 && b.Redis.Stock > 0 && c.repairs >= maxRepairs:
		a.pause(ctx, b, "redis has too many units after every rebuild")
	}
	if b.Repairable() && c.mayRepair() {
		a.repairs.RequestRepair(b.VoucherID, b.Redis.Mark.Epoch)
		a.observer.RepairRequested()
	}
}

// pause pauses an open sale, until an admin resumes it.
func (a *Auditor) pause(ctx context.Context, b Balance, reason string) {
	if b.Redis.Mode != order.SaleOpen {
		return
	}
	if err := a.stores.Pauser.Pause(ctx, b.VoucherID); err != nil {
		a.log.ErrorContext(ctx, "pausing a sale whose units are not accounted for failed; retrying", "voucher", b.VoucherID, "error", err)
		return
	}
	a.observer.SalePaused()
	a.log.ErrorContext(ctx, "the sale is paused; correct the cause and resume it", "voucher", b.VoucherID, "reason", reason)
}
