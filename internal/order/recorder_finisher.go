package order

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/cenkalti/backoff/v5"
)

// finisher is the Recorder's hand that does what follows a commit. Each step may be repeated by whoever gets the
// entries again.
type finisher struct {
	stores      RecorderStores
	partition   int
	judge       judge
	persistence persistence
	mender      Mender
	observer    Observer
	log         *slog.Logger
}

// run finishes what comes in until there is no more. When ctx has ended, what is not finished stays pending.
func (f *finisher) run(ctx context.Context, in <-chan *batch) {
	for b := range in {
		f.finish(ctx, b)
		close(b.finished)
	}
}

// finish brings every entry of the batch out of the stream, except those of which somebody has to look after again.
func (f *finisher) finish(ctx context.Context, b *batch) {
	settled := b.settled
	if !f.free(ctx, b.freed) { // they are looked at again in a minute, and hold up nobody else
		settled = slices.DeleteFunc(settled, func(e Entry) bool { return slices.Contains(b.freed, e.Claim) })
	}
	if f.correct(ctx, b.returns) { // else whoever gets the entries again corrects Redis
		f.acknowledge(ctx, settled)
	}
	f.bury(ctx, b.unreadable)
}

// free has the operations applied that gave the units of cancelled and refunded orders back, corrects Redis after that,
// and reports whether it could. Such an order's unit must not be given twice. A place that the order holds even then
// comes from a call of admission that arrived late; it took another unit, which goes back. The order may have been
// revived by one of the operations, or be revived at any moment: so the ledger is asked again, and what it says holds
// only until Redis has applied a later operation.
func (f *finisher) free(ctx context.Context, freed []Claim) bool {
	if len(freed) == 0 {
		return true
	}
	patient, cancel := context.WithTimeout(ctx, followGrace)
	defer cancel()
	return f.persistence.persist(patient, func(ctx context.Context) error {
		if err := f.follow(ctx, freed); err != nil {
			return err
		}
		call, cancel := context.WithTimeout(ctx, commitTime)
		defer cancel()
		decisions, _, err := f.judge.decide(call, freed, nil)
		if err != nil {
			return err
		}
		var returns []Return
		for _, d := range decisions {
			if d.Early {
				return fmt.Errorf("order %d: %w", d.Claim.OrderID, ErrOutdated)
			}
			if d.Return != nil {
				returns = append(returns, *d.Return)
			}
		}
		return f.tell(ctx, returns)
	})
}

// follow has Redis apply what is pending for the sales of the claims.
func (f *finisher) follow(ctx context.Context, claims []Claim) error {
	done := make(map[int64]bool)
	for _, c := range claims {
		if done[c.VoucherID] {
			continue
		}
		done[c.VoucherID] = true
		call, cancel := context.WithTimeout(ctx, redisTime)
		err := f.stores.Outbox.Follow(call, c.VoucherID)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// correct tells Redis what the ledger decided otherwise, and reports whether it did.
func (f *finisher) correct(ctx context.Context, returns []Return) bool {
	if len(returns) == 0 {
		return true
	}
	return f.persistence.persist(ctx, func(ctx context.Context) error { return f.tell(ctx, returns) })
}

// tell is one try of correcting Redis. Repeating cannot help against a permanent error.
func (f *finisher) tell(ctx context.Context, returns []Return) error {
	for i := range returns {
		returns[i].Sale.Partition = f.partition
	}
	rebuilding, err := f.stores.Places.Correct(ctx, returns)
	for voucherID, epoch := range rebuilding {
		f.mender.Mend(voucherID, epoch) // that rebuild may have counted the unit as taken: it is missing then
	}
	if errors.Is(err, ErrRejected) {
		f.log.ErrorContext(ctx, "Redis refuses a correction for good; the entries stay pending", "error", err)
		return backoff.Permanent(err)
	}
	return err
}

// acknowledge tells the stream that entries are settled.
func (f *finisher) acknowledge(ctx context.Context, entries []Entry) {
	if len(entries) == 0 {
		return
	}
	keys := make([]string, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	f.persistence.persist(ctx, func(ctx context.Context) error {
		n, err := f.stores.Queue.Settle(ctx, keys)
		if err == nil && n < len(keys) {
			f.log.WarnContext(ctx, "entries were settled by another consumer", "entries", len(keys), "mine", n)
		}
		return err
	})
}

// bury makes dead letters of entries that cannot be decoded.
func (f *finisher) bury(ctx context.Context, entries []Entry) {
	for _, e := range entries {
		f.log.ErrorContext(ctx, "an entry cannot be decoded and becomes a dead letter", "entry", e.Key, "fields", e.Raw, "error", e.Malformed)
		if f.persistence.persist(ctx, func(ctx context.Context) error { return f.stores.Queue.Bury(ctx, e) }) {
			f.observer.Buried()
		}
	}
}
