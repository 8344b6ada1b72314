package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/voucher"
)

// Observer counts what an Auditor finds, for metrics. Its methods must not block.
type Observer interface {
	// Audited: some sales were checked. balances are the latest results of all sales, and unchecked is the longest time
	// since any sale's last check. With err, no sale could be checked.
	Audited(balances []Balance, unchecked time.Duration, err error)
	// AuditOver: this instance has stopped auditing, and another one takes over.
	AuditOver()
	// RepairRequested: a rebuild was requested because a sale's units were not accounted for.
	RepairRequested()
	// SalePaused: a sale was paused because its units were not accounted for.
	SalePaused()
}

const (
	auditEvery   = 5 * time.Second         // from one pass to the next
	auditShare   = 10                      // at most a tenth of the time is spent on passes
	passTime     = auditEvery / auditShare // the time limit of one pass
	earlyPass    = time.Second             // the least time from one pass to the next when a sale is suspected
	recheckAfter = auditEvery - earlyPass  // the least time between two checks of a suspect
	checkTimeout = 10 * time.Second        // the time limit of one sale's check
	readAgain    = 50 * time.Millisecond   // pause before an undecided sale is read once more for a waiting caller
	maxReads     = 3                       // the most readings of one sale for a waiting caller
	// Failed or hung checks in a row, after which the stores of a partition count as away.
	maxFailures    = 3
	repairPause    = 30 * time.Second   // the least time between two rebuilds of a sale; after maxRepairs of them …
	maxRepairPause = 10 * time.Minute   // … it doubles each time, up to this
	repairMemory   = 2 * maxRepairPause // how long a sale's rebuilds are remembered
	// Rebuilds in a row without a balance in between, after which a surplus pauses the sale.
	maxRepairs  = 3
	auditorLock = "auditor"
	balanceTTL  = auditEvery // the age from which Balance checks a sale again
)

// Auditor checks, while sales run, whether the units of each sale are accounted for across both stores (Balance),
// reports to metrics and log, and acts on proved findings. Every instance runs one; a lock lets one at a time work.
//
// It goes round all sales: a pass every five seconds checks as many as half a second allows. It begins with suspects
// and sales that were found wrong before, and goes on with the others from where the last pass ended. A round of a
// thousand sales takes half a minute, in a tenth of which it queries the ledger. Suspects get a pass within a second.
//
// It acts on a sale whose units are not accounted for once two checks in a row, seconds apart, agree (package comment).
// It rebuilds less and less often if the difference comes back, since each rebuild stops the sale for a moment. A sale
// that an operator resumes is paused again while it is wrong.
type Auditor struct {
	stores   Stores
	repairs  order.RepairRequester
	observer Observer
	log      *slog.Logger

	mu        sync.Mutex
	balances  map[int64]Balance // the latest of each
	comparing map[int64]bool    // a caller of Balance is reading this sale

	// Used only under the auditor's lock.
	cases   map[int64]*auditCase
	checked map[int64]time.Time // when the sale was last checked, or first seen
	silent  silence             // kept from one turn to the next
	last    int64               // the sale that was checked last in its turn
	round   time.Time           // when the last regular pass ended
}

// Stores are the stores of an Auditor.
type Stores struct {
	Sales    order.KeptSales
	Vouchers catalog.Vouchers
	// Totals sums a sale up in the ledger, in one statement, for a Redis that has applied operations up to the given
	// number. voucher.ErrNotSeckill: there is no such sale.
	Totals func(ctx context.Context, sale int64, applied int64) (LedgerTotals, error)
	// Inventory counts a sale in Redis at one moment.
	Inventory func(ctx context.Context, sale order.SaleRef) (Inventory, error)
	// TryLock and Pause are used by Run only, and are nil in an auditor that only checks.
	TryLock order.TryLocker
	// Pause pauses a sale as an admin's pause does, until an admin resumes it.
	Pause func(ctx context.Context, voucherID int64) error
	// Suspects are checked first; nil for none.
	Suspects *Suspects
}

// auditCase is the history of a sale whose units are not accounted for, or were not until recently.
type auditCase struct {
	last       Balance       // from the previous check
	repairedAt time.Time     // when a rebuild was last requested
	repairs    int           // requests since it was last balanced
	all        int           // all requests
	pause      time.Duration // the least time from repairedAt to the next request
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
	if stores.Suspects == nil {
		stores.Suspects = NewSuspects()
	}
	return &Auditor{
		stores: stores, repairs: repairs, observer: observer, log: log, balances: map[int64]Balance{},
		comparing: map[int64]bool{}, cases: map[int64]*auditCase{}, checked: map[int64]time.Time{},
		silent: newSilence(),
	}
}

// Run audits, or waits for its turn, until ctx ends. Failures end its turn; whichever instance gets the lock next
// retries. So it returns no other error.
func (a *Auditor) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := a.stores.TryLock(ctx, auditorLock, a.turn)
		if err != nil && ctx.Err() == nil && !errors.Is(err, order.ErrBusy) {
			a.log.WarnContext(ctx, "audit failed; retrying", "error", err)
		}
		retry.Sleep(ctx, auditEvery)
	}
	return nil
}

// turn runs passes until one fails or ctx ends; losing the lock ends ctx too.
func (a *Auditor) turn(ctx context.Context) error {
	defer a.observer.AuditOver()
	clear(a.cases) // another instance may have audited meanwhile
	clear(a.checked)
	early := false
	for ctx.Err() == nil {
		busy, err := a.pass(ctx, early)
		if ctx.Err() != nil {
			return nil
		}
		a.observer.Audited(a.known(), a.unchecked(), err)
		if err != nil {
			return err
		}
		if !early {
			a.round = time.Now()
		}
		early = a.rest(ctx, busy)
	}
	return nil
}

// rest waits for the next pass; took is the duration of the last one. It ends early for a suspect, and reports that it
// did, unless the next regular pass is due: suspects that come again and again must not put it off.
func (a *Auditor) rest(ctx context.Context, took time.Duration) (early bool) {
	retry.Sleep(ctx, max(earlyPass, (auditShare-1)*took))
	left := time.NewTimer(auditEvery - took - max(earlyPass, (auditShare-1)*took))
	defer left.Stop()
	select {
	case <-ctx.Done():
	case <-left.C:
	case <-a.stores.Suspects.wake:
		return time.Since(a.round) < auditEvery
	}
	return false
}

// pass checks the sales that are due, for passTime, and acts on each at once. An early pass checks suspects only. A
// sale that cannot be checked does not keep the others from being checked; stores that are away end the pass. busy is
// how long the checks took, without those that hung.
func (a *Auditor) pass(ctx context.Context, early bool) (busy time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, passTime+checkTimeout)
	defer cancel()
	start := time.Now()
	vs, err := a.stores.Sales.SalesToKeep(ctx)
	if err != nil {
		return 0, fmt.Errorf("%w: reading the sales from the ledger: %w", order.ErrUnavailable, err)
	}
	a.keep(vs)
	p := newPass(&a.silent, vs)
	p.busy, p.some = time.Since(start), early
	for _, id := range a.due(vs, early) {
		if p.over() || ctx.Err() != nil {
			break
		}
		if !p.asks(id) {
			continue
		}
		began := time.Now()
		failed := a.checkOne(ctx, id)
		if ctx.Err() != nil { // the check was cut off, and proves nothing
			break
		}
		if p.note(id, failed, time.Since(began)); p.away() {
			return p.busy, failed
		}
		if !early {
			a.last = id
		}
	}
	return p.busy, p.err
}

// checkOne checks a sale and acts on the result. A sale that was retired meanwhile is no failure.
func (a *Auditor) checkOne(ctx context.Context, id int64) error {
	asking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	// Read twice at most: the next round tries again if the sale is still undecided, or its orders could not be
	// compared.
	b, err := a.readUpTo(asking, id, 2, 0)
	switch {
	case errors.Is(err, voucher.ErrNotSeckill), errors.Is(err, voucher.ErrNotFound):
		return nil
	case ctx.Err() != nil:
		return err
	case err != nil:
		a.log.WarnContext(ctx, "checking a sale failed; going on with the next", "voucher", id, "error", err)
		return err
	}
	a.checked[id] = time.Now()
	a.found(ctx, b)
	return nil
}

// keep forgets sales that Redis need not hold any more, and notes when a new sale was first seen.
func (a *Auditor) keep(vs []voucher.Voucher) {
	kept := make(map[int64]bool, len(vs))
	for _, v := range vs {
		id := v.ID
		kept[id] = true
		if _, has := a.checked[id]; !has {
			a.checked[id] = time.Now()
		}
	}
	gone := func(id int64) bool { return !kept[id] }
	maps.DeleteFunc(a.checked, func(id int64, _ time.Time) bool { return gone(id) })
	maps.DeleteFunc(a.cases, func(id int64, _ *auditCase) bool { return gone(id) })
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.balances, func(id int64, _ Balance) bool { return gone(id) })
}

// due returns the sales in the order in which to check them: first suspects and sales that were found wrong, each at
// most every recheckAfter, then the others, starting after the sale that was checked last.
func (a *Auditor) due(vs []voucher.Voucher, early bool) []int64 {
	first := make(map[int64]bool)
	var due []int64
	prefer := func(id int64) {
		if b, has := a.balance(id); !first[id] && (!has || time.Since(b.At) >= recheckAfter) {
			first[id], due = true, append(due, id)
		}
	}
	for _, id := range a.stores.Suspects.take(vs) {
		prefer(id)
	}
	for _, id := range slices.Sorted(maps.Keys(a.cases)) {
		if a.cases[id].last.Finding.Broken() {
			prefer(id)
		}
	}
	if early {
		return due
	}
	ids := make([]int64, len(vs))
	for i, v := range vs {
		ids[i] = v.ID
	}
	slices.Sort(ids)
	next, found := slices.BinarySearch(ids, a.last)
	if found {
		next++
	}
	for i := range ids {
		if id := ids[(next+i)%len(ids)]; !first[id] {
			due = append(due, id)
		}
	}
	return due
}

// found notes the result of a check, and acts once two results in a row agree.
func (a *Auditor) found(ctx context.Context, b Balance) {
	a.mu.Lock()
	a.note(b)
	a.mu.Unlock()
	c := a.cases[b.VoucherID]
	switch {
	case c == nil && b.Finding.Broken():
		a.cases[b.VoucherID] = &auditCase{last: b}
	case c == nil:
	case b.Finding.Broken():
		a.act(ctx, c, b)
		c.last = b
	case b.Finding != Undecided && c.balanced(b):
		delete(a.cases, b.VoucherID)
	}
}

func (a *Auditor) balance(sale int64) (Balance, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, has := a.balances[sale]
	return b, has
}

func (a *Auditor) known() []Balance {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.SortedFunc(maps.Values(a.balances),
		func(x, y Balance) int { return cmp.Compare(x.VoucherID, y.VoucherID) })
}

// unchecked returns the longest time since any sale's last check.
func (a *Auditor) unchecked() (longest time.Duration) {
	for _, at := range a.checked {
		longest = max(longest, time.Since(at))
	}
	return longest
}

// act repairs or pauses a sale that was found wrong twice in a row.
func (a *Auditor) act(ctx context.Context, c *auditCase, b Balance) {
	if b.Finding != c.last.Finding {
		return // the finding changed; the next check may confirm it
	}
	a.log.ErrorContext(ctx, "units of a sale are not accounted for", "voucher", b.VoucherID, "finding", b.Finding,
		"why", b.Why, "ledger_difference", b.LedgerDifference, "redis_difference", b.RedisDifference, "lost", b.Lost,
		"issued", b.Ledger.Issued, "ledger_stock", b.Ledger.Stock, "live", b.Ledger.LiveUnits(), "redis_stock",
		b.Redis.Stock, "held", b.Redis.Held(), "waiting", b.Redis.Waiting, "dead_letters", b.Redis.DeadLetters,
		"epoch", b.Redis.Mark.Epoch)
	switch {
	case b.LedgerDifference > 0:
		a.pause(ctx, b, "the ledger has units that were never issued")
	case b.RedisDifference > 0 && b.Redis.Stock > 0 && c.repairs >= maxRepairs:
		a.pause(ctx, b, "redis has too many units after every rebuild")
	}
	if b.Repairable() && c.mayRepair() {
		a.repairs.RequestRepair(b.VoucherID, b.Redis.Mark.Epoch)
		a.observer.RepairRequested()
	}
}

// pause pauses the sale, if it is open, until an admin resumes it.
func (a *Auditor) pause(ctx context.Context, b Balance, reason string) {
	if b.Redis.Mode != order.SaleOpen {
		return
	}
	if err := a.stores.Pause(ctx, b.VoucherID); err != nil {
		a.log.ErrorContext(ctx, "pausing a sale whose units are not accounted for failed; retrying", "voucher",
			b.VoucherID, "error", err)
		return
	}
	a.observer.SalePaused()
	a.log.ErrorContext(ctx, "the sale is paused; correct the cause and resume it", "voucher",
		b.VoucherID, "reason", reason)
}
