package order

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// committer is the Recorder's hand that writes batches into the ledger, one after the other.
type committer struct {
	ledger      Ledger
	judge       judge
	persistence persistence
	mender      Mender
	audience    Audience
	observer    Observer
	log         *slog.Logger

	epochs map[int64]int64 // by voucher id: the sale's epoch when it was last seen; a hint, for outdated
}

// run commits what comes in and hands it over to out, which it closes once in is. When ctx has ended, what is not
// committed stays pending.
func (c *committer) run(ctx context.Context, in <-chan *batch, out chan<- *batch) {
	defer close(out)
	for b := range in {
		if len(b.claimed) > 0 {
			c.record(ctx, b, b.claimed)
		}
		close(b.committed)
		out <- b
	}
}

// record commits entries of the batch. What the ledger rejects for good is halved until the order at fault stands alone
// (rule 8).
func (c *committer) record(ctx context.Context, b *batch, entries []Entry) {
	claims := make([]Claim, len(entries))
	for i, e := range entries {
		claims[i] = e.Claim
	}
	var decisions []Decision
	var rejected error
	conflicts := 0
	start := time.Now()
	committed := c.persistence.persist(ctx, func(ctx context.Context) error {
		var err error
		decisions, err = c.commit(ctx, claims, rejected)
		switch {
		case errors.Is(err, ErrConflict): // with another batch, which has gone by now; or in itself
			if conflicts++; conflicts == maxConflicts && len(claims) > 1 {
				return backoff.Permanent(err)
			}
		case errors.Is(err, ErrRejected):
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
		c.log.ErrorContext(ctx, "an accepted order can be neither recorded nor failed; it stays pending and is tried again",
			"order", claims[0].OrderID, "user", claims[0].UserID, "voucher", claims[0].VoucherID, "error", rejected)
	}
}

// commit writes the claims in one transaction: the plain insert first, and when the ledger contradicts it, the
// decision per claim. It returns what was decided, nil for the plain insert.
func (c *committer) commit(ctx context.Context, claims []Claim, rejected error) ([]Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if rejected == nil && !c.outdated(claims) {
		if err := c.ledger.Insert(ctx, claims); !errors.Is(err, ErrConflict) {
			return nil, err
		}
	}
	decisions, sales, err := c.judge.decide(ctx, claims, rejected)
	for id, sale := range sales {
		c.epochs[id] = sale.Epoch
	}
	return decisions, err
}

// outdated reports whether the plain insert of the claims is known to fail: one of them is of an epoch that its sale
// has left. So the orders that waited during a rebuild cost one transaction each batch, not two.
func (c *committer) outdated(claims []Claim) bool {
	return slices.ContainsFunc(claims, func(claim Claim) bool { return claim.Epoch < c.epochs[claim.VoucherID] })
}

// report says what became of entries, and leaves in the batch what is still to be done about them. Whoever gets them
// again reports again.
func (c *committer) report(ctx context.Context, b *batch, entries []Entry, decisions []Decision, took time.Duration) {
	outcomes := make(map[int64]Status, len(entries))
	for _, e := range entries {
		outcomes[e.Claim.OrderID] = Unpaid
	}
	orders, failed := len(entries), 0
	for _, d := range decisions {
		if d.Verb != Insert {
			orders--
			delete(outcomes, d.Claim.OrderID) // what the ledger holds instead is found by asking it
		}
		if d.Verb == Fail {
			failed++
			if d.RowID == d.Claim.OrderID {
				outcomes[d.RowID] = Failed
			}
			c.log.ErrorContext(ctx, "an accepted order could not be recorded", "order", d.Claim.OrderID, "user", d.Claim.UserID,
				"voucher", d.Claim.VoucherID, "reason", d.Reason, "detail", d.Detail, "row", d.RowID)
		}
		if d.freed() {
			b.freed = append(b.freed, d.Claim)
		} else if d.Return != nil {
			b.returns = append(b.returns, *d.Return)
		}
		if d.Reason == NoStock || d.Reason == DuplicateBuyer {
			// Redis promised what the ledger does not have: its sale is wrong (rule 6). Also when the row is there
			// already, for whoever wrote it may have died before he asked.
			c.mender.Mend(d.Claim.VoucherID, d.Claim.Epoch)
		}
	}
	b.settled = append(b.settled, entries...)
	c.audience.Told(outcomes)
	c.observer.Recorded(orders, failed, took)
}
