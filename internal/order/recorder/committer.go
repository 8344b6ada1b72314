package recorder

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
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
			c.record(ctx, b, b.claimed, time.Now().Add(blameAfter))
			c.busy.end()
		}
		close(b.committed)
		out <- b
	}
}

// record commits entries of the batch. If the ledger rejects them for good, it halves them until the order at fault is
// alone (rule 8). From the time blame on it also halves them after another error that is theirs alone; the order that
// is left then stays pending.
func (c *committer) record(ctx context.Context, b *batch, entries []order.Entry, blame time.Time) {
	c.busy.begin()
	ctx = followed(ctx, entries)
	claims := make([]order.Claim, len(entries))
	for i, e := range entries {
		claims[i] = e.Claim
	}
	a := attempt{claims: claims, blame: blame}
	start := time.Now()
	committed := c.retrier.retry(ctx, func(ctx context.Context) error {
		if a.decisions, a.last = c.commit(ctx, claims, a.rejected); a.last != nil {
			return c.failed(ctx, &a)
		}
		return nil
	})
	if committed {
		c.report(ctx, b, entries, a.decisions, time.Since(start))
	} else if ctx.Err() == nil {
		c.halve(ctx, b, entries, a)
	}
}

// attempt is a try, and its repetitions, to commit claims.
type attempt struct {
	claims    []order.Claim
	decisions []order.Decision // nil for a plain insert
	last      error            // of the last try
	rejected  error            // why the only claim is recorded as failed; nil: it is not
	conflicts int
	blame     time.Time // from then on the claims are suspected
}

// failed returns the error of a failed try, permanent if repeating it cannot help. A claim that is rejected alone is
// committed again at once, as a failed order.
func (c *committer) failed(ctx context.Context, a *attempt) error {
	if a.rejected == nil && len(a.claims) == 1 && errors.Is(a.last, order.ErrRejected) {
		a.rejected = a.last
		c.reject(ctx, a.claims[0], a.rejected)
		a.decisions, a.last = c.commit(ctx, a.claims, a.rejected)
	}
	if answers(a.last) {
		c.busy.begin()
	}
	switch {
	case errors.Is(a.last, order.ErrConflict): // with another batch, which is over by now; or within this one
		if a.conflicts++; a.conflicts == maxConflicts && len(a.claims) > 1 {
			return backoff.Permanent(a.last)
		}
	case errors.Is(a.last, order.ErrRejected):
		return backoff.Permanent(a.last)
	case a.last != nil && !answers(a.last) && !errors.Is(a.last, context.DeadlineExceeded) &&
		time.Now().After(a.blame) && c.commitsOthers(ctx):
		return backoff.Permanent(a.last)
	}
	return a.last
}

// halve commits each half of the entries by itself. It logs an entry that is alone already.
func (c *committer) halve(ctx context.Context, b *batch, entries []order.Entry, a attempt) {
	if half := len(entries) / 2; half > 0 {
		c.record(ctx, b, entries[:half], a.blame)
		c.record(ctx, b, entries[half:], a.blame)
		return
	}
	claim := entries[0].Claim
	c.log.ErrorContext(ctx,
		"an accepted order can be neither recorded nor failed; it stays pending and is retried",
		"order", claim.OrderID, "user", claim.UserID, "voucher", claim.VoucherID, "error", a.last)
}

// commitsOthers reports whether the ledger commits a transaction without any claim: the fault then lies with the claims
// that it does not commit.
func (c *committer) commitsOthers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	_, _, err := settle(ctx, c.ledger, nil, nil)
	return err == nil
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
	return c.decide(ctx, claims, rejected)
}

// decide writes the claims as one decision each.
func (c *committer) decide(ctx context.Context, claims []order.Claim, rejected error) ([]order.Decision, error) {
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
	failed, existed := c.followAll(ctx, b, decisions, outcomes)
	logFollowed(ctx, c.log, entries, took)
	b.settled = append(b.settled, entries...)
	c.notifier.Notify(outcomes)
	c.observer.Recorded(len(entries)-existed, failed, took)
}

// followAll follows decisions up, and corrects the outcomes of their orders. It returns how many orders failed, and how
// many were not inserted.
func (c *committer) followAll(
	ctx context.Context, b *batch, decisions []order.Decision, outcomes map[int64]order.Status,
) (failed, existed int) {
	for _, d := range decisions {
		if d.Verb != order.Insert {
			existed++
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
	return failed, existed
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
	since atomic.Pointer[time.Time] // nil: the committer waits for a batch
}

func (b *busySince) begin() { b.since.Store(new(time.Now())) }
func (b *busySince) end()   { b.since.Store(nil) }

// longer reports whether the ledger has given no answer for longer than the given time.
func (b *busySince) longer(than time.Duration) bool {
	since := b.since.Load()
	return since != nil && time.Since(*since) > than
}
