package recorder

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"seckill/internal/order"
	"seckill/internal/order/reason"
)

// committer is the Recorder's stage that writes batches into the ledger, one after the other.
type committer struct {
	ledger   Ledger
	retrier  retrier
	repairs  order.RepairRequester
	notifier order.StatusNotifier
	observer Observer
	log      *slog.Logger

	busy   *busySince
	epochs map[int64]int64 // the sale's epoch when last seen; a hint for outdated
}

// run commits the batches from in and hands them on to out. It closes out once in is closed. Batches that are not
// committed when ctx ends stay pending.
func (c *committer) run(ctx context.Context, in <-chan *batch, out chan<- *batch) {
	defer close(out)
	for b := range in {
		if len(b.claimed) > 0 {
			c.record(ctx, b, b.claimed)
			c.busy.end()
		}
		close(b.committed)
		out <- b
	}
}

// record commits entries of the batch. If the ledger rejects them for good, it halves them until the order at fault is
// alone (rule 8).
func (c *committer) record(ctx context.Context, b *batch, entries []order.Entry) {
	c.busy.begin()
	claims := make([]order.Claim, len(entries))
	for i, e := range entries {
		claims[i] = e.Claim
	}
	var decisions []order.Decision
	var rejected, last error
	conflicts := 0
	start := time.Now()
	committed := c.retrier.retry(ctx, func(ctx context.Context) error {
		decisions, last = c.commit(ctx, claims, rejected)
		if rejected == nil && len(claims) == 1 && errors.Is(last, order.ErrRejected) {
			rejected = last
			c.reject(ctx, claims[0], rejected)
			decisions, last = c.commit(ctx, claims, rejected)
		}
		if answers(last) {
			c.busy.begin()
		}
		switch {
		case errors.Is(last, order.ErrConflict): // with another batch, which is over by now; or within this one
			if conflicts++; conflicts == maxConflicts && len(claims) > 1 {
				return backoff.Permanent(last)
			}
		case errors.Is(last, order.ErrRejected):
			return backoff.Permanent(last)
		}
		return last
	})
	switch {
	case committed:
		c.report(ctx, b, entries, decisions, time.Since(start))
	case ctx.Err() == nil && len(entries) > 1:
		half := len(entries) / 2
		c.record(ctx, b, entries[:half])
		c.record(ctx, b, entries[half:])
	case ctx.Err() == nil:
		c.log.ErrorContext(ctx,
			"an accepted order can be neither recorded nor failed; it stays pending and is retried",
			"order", claims[0].OrderID, "user", claims[0].UserID, "voucher", claims[0].VoucherID, "error", last)
	}
}

// reject counts and logs an order that the ledger rejects for good. It is committed again, as a failed row that says
// why.
func (c *committer) reject(ctx context.Context, claim order.Claim, why error) {
	c.busy.begin()
	c.observer.Rejected()
	c.log.ErrorContext(ctx, "the ledger rejects an accepted order for good", "order", claim.OrderID,
		"user", claim.UserID, "voucher", claim.VoucherID, "error", why)
}

// answers reports whether an error that kept a batch from being committed shows that the ledger answers this recorder:
// the claims, or another transaction, are in the way. Other recorders on the same server would meet the same obstacle
// and neglect the orders of other sales, so this one keeps its heartbeat. (Each Galera node has row locks of its own,
// so another node's recorder could commit; this one keeps the batch until the lock is gone.)
func answers(err error) bool {
	return errors.Is(err, order.ErrConflict) || errors.Is(err, order.ErrRejected) || errors.Is(err, order.ErrContended)
}

// commit writes the claims in one transaction: as a plain insert, or, if the ledger contradicts that, as one decision
// per claim. It returns the decisions; nil for the plain insert.
func (c *committer) commit(ctx context.Context, claims []order.Claim, rejected error) ([]order.Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	if rejected == nil && !c.outdated(claims) {
		if err := c.ledger.Insert(ctx, claims); !errors.Is(err, order.ErrConflict) {
			return nil, err
		}
	}
	decisions, sales, err := settle(ctx, c.ledger, claims, rejected)
	for id, sale := range sales {
		c.epochs[id] = sale.Epoch
	}
	return decisions, err
}

// outdated reports whether the plain insert of the claims is known to fail, because one of them has an epoch that its
// sale has left. Orders that waited during a rebuild then cost one transaction per batch instead of two.
func (c *committer) outdated(claims []order.Claim) bool {
	return slices.ContainsFunc(claims, func(claim order.Claim) bool { return claim.Epoch < c.epochs[claim.VoucherID] })
}

// report notifies callers of the entries' outcomes, and follows decisions up. It runs again when entries are delivered
// again.
func (c *committer) report(
	ctx context.Context, b *batch, entries []order.Entry, decisions []order.Decision, took time.Duration,
) {
	outcomes := make(map[int64]order.Status, len(entries))
	for _, e := range entries {
		outcomes[e.Claim.OrderID] = order.Unpaid
	}
	orders, failed := len(entries), 0
	for _, d := range decisions {
		if d.Verb != order.Insert {
			orders--
			delete(outcomes, d.Claim.OrderID) // callers learn the existing row's status from the ledger
		}
		if d.Verb == order.Fail {
			failed++
			if d.RowID == d.Claim.OrderID {
				outcomes[d.RowID] = order.Failed
			}
		}
		c.follow(ctx, b, d)
	}
	b.settled = append(b.settled, entries...)
	c.notifier.Notify(outcomes)
	c.observer.Recorded(orders, failed, took)
}

// follow logs a failed order, puts into the batch what the finisher must do about a decision, and requests a repair of
// the sale if the decision shows that it is wrong.
func (c *committer) follow(ctx context.Context, b *batch, d order.Decision) {
	if d.Verb == order.Fail {
		c.log.ErrorContext(ctx, "an accepted order could not be recorded", "order", d.Claim.OrderID, "user",
			d.Claim.UserID, "voucher", d.Claim.VoucherID, "reason", d.Reason, "detail", d.Detail, "row", d.RowID)
	}
	if d.Freed() {
		b.freed = append(b.freed, d.Claim)
	} else if d.Correction != nil {
		b.corrections = append(b.corrections, *d.Correction)
	}
	if d.Reason == reason.NoStock || d.Reason == reason.DuplicateBuyer {
		// Redis accepted an order that the ledger has no room for, so the sale in Redis is wrong (rule 6). This also
		// goes for an existing row: the process that wrote it may have died before it requested the repair.
		epoch := d.Claim.Epoch
		if d.Claim.Quantity.Extra() > 0 { // a rebuild may have counted its units as taken; some are left now
			epoch = max(epoch, c.epochs[d.Claim.VoucherID])
		}
		c.repairs.RequestRepair(d.Claim.VoucherID, epoch)
	}
}

// busySince measures how long the ledger has given no answer about the committer's present batch.
type busySince struct {
	mu    sync.Mutex
	since time.Time // zero: the committer waits for a batch
}

func (b *busySince) begin() { b.set(time.Now()) }
func (b *busySince) end()   { b.set(time.Time{}) }

func (b *busySince) set(t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.since = t
}

// longer reports whether the ledger has given no answer for longer than the given time.
func (b *busySince) longer(than time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.since.IsZero() && time.Since(b.since) > than
}
