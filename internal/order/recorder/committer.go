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
)

// committer is the Recorder's stage that writes batches into the ledger, one after the other.
type committer struct {
	ledger   Ledger
	resolver conflictResolver
	retrier  retrier
	repairs  order.RepairRequester
	notifier order.StatusNotifier
	observer Observer
	log      *slog.Logger

	busy   *busySince
	epochs map[int64]int64 // the sale's epoch when last seen; only a hint, for outdated
}

// run commits the batches of in and hands them over to out, which it closes once in is closed. When ctx has ended, what
// is not committed stays pending.
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

// record commits entries of the batch. What the ledger rejects for good is halved until the order at fault stands alone
// (rule 8).
func (c *committer) record(ctx context.Context, b *batch, entries []order.Entry) {
	c.busy.begin()
	claims := make([]order.Claim, len(entries))
	for i, e := range entries {
		claims[i] = e.Claim
	}
	var decisions []order.Decision
	var rejected error
	conflicts := 0
	start := time.Now()
	committed := c.retrier.retry(ctx, func(ctx context.Context) error {
		var err error
		decisions, err = c.commit(ctx, claims, rejected)
		if answers(err) {
			c.busy.begin()
		}
		switch {
		case errors.Is(err, order.ErrConflict): // with another batch, which is over by now; or within this one
			if conflicts++; conflicts == maxConflicts && len(claims) > 1 {
				return backoff.Permanent(err)
			}
		case errors.Is(err, order.ErrRejected):
			if len(claims) > 1 || rejected != nil {
				return backoff.Permanent(err)
			}
			rejected = err // alone: it becomes a failed row that says why
		}
		return err
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
			"an accepted order can be neither recorded nor failed; it stays pending and is tried again",
			"order", claims[0].OrderID, "user", claims[0].UserID, "voucher", claims[0].VoucherID, "error", rejected)
	}
}

// answers reports whether the ledger is there for this recorder, although it has not committed: it answers that
// something about these claims, or another transaction, is in the way. On the same server other recorders would fare
// no better, and they have other sales' orders to record. (Row locks of one Galera node are its own: there its
// recorder keeps the batch until the lock is gone.)
func answers(err error) bool {
	return errors.Is(err, order.ErrConflict) || errors.Is(err, order.ErrRejected) || errors.Is(err, order.ErrContended)
}

// commit writes the claims in one transaction: the plain insert first, and when the ledger contradicts it, the
// decision per claim. It returns what was decided, nil for the plain insert.
func (c *committer) commit(ctx context.Context, claims []order.Claim, rejected error) ([]order.Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	if rejected == nil && !c.outdated(claims) {
		if err := c.ledger.Insert(ctx, claims); !errors.Is(err, order.ErrConflict) {
			return nil, err
		}
	}
	decisions, sales, err := c.resolver.settle(ctx, claims, rejected)
	for id, sale := range sales {
		c.epochs[id] = sale.Epoch
	}
	return decisions, err
}

// outdated reports whether the plain insert of the claims is known to fail: one of them is of an epoch that its sale
// has left. So the orders that waited during a rebuild cost one transaction each batch, not two.
func (c *committer) outdated(claims []order.Claim) bool {
	return slices.ContainsFunc(claims, func(claim order.Claim) bool { return claim.Epoch < c.epochs[claim.VoucherID] })
}

// report passes on what became of entries, and leaves in the batch what is still to be done about them. It runs again
// when they are delivered again.
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
			delete(outcomes, d.Claim.OrderID) // what the ledger holds instead is found by asking it
		}
		if d.Verb == order.Fail {
			failed++
			if d.RowID == d.Claim.OrderID {
				outcomes[d.RowID] = order.Failed
			}
			c.log.ErrorContext(ctx, "an accepted order could not be recorded", "order", d.Claim.OrderID, "user",
				d.Claim.UserID, "voucher", d.Claim.VoucherID, "reason", d.Reason, "detail", d.Detail, "row", d.RowID)
		}
		if d.Freed() {
			b.freed = append(b.freed, d.Claim)
		} else if d.Correction != nil {
			b.corrections = append(b.corrections, *d.Correction)
		}
		if d.Reason == order.NoStock || d.Reason == order.DuplicateBuyer {
			// Redis promised what the ledger does not have: its sale is wrong (rule 6). Also when the row is there
			// already: the process that wrote it may have died before it requested the repair.
			epoch := d.Claim.Epoch
			if d.Claim.Quantity.Extra() > 0 { // a rebuild may have done so itself: some of its units are left then
				epoch = max(epoch, c.epochs[d.Claim.VoucherID])
			}
			c.repairs.RequestRepair(d.Claim.VoucherID, epoch)
		}
	}
	b.settled = append(b.settled, entries...)
	c.notifier.Notify(outcomes)
	c.observer.Recorded(orders, failed, took)
}

// busySince is since when the ledger has not answered for the batch that the committer is at.
type busySince struct {
	mu    sync.Mutex
	since time.Time // zero: it waits for one
}

func (b *busySince) begin() { b.set(time.Now()) }
func (b *busySince) end()   { b.set(time.Time{}) }

func (b *busySince) set(t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.since = t
}

// longer reports whether the ledger has not answered for longer than that.
func (b *busySince) longer(than time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.since.IsZero() && time.Since(b.since) > than
}
