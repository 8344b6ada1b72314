package recorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/cenkalti/backoff/v5"

	"seckill/internal/order"
)

// finisher is the Recorder's stage that does what follows a commit. Each step may be repeated when entries are delivered
// again.
type finisher struct {
	stores    Stores
	partition int
	resolver  conflictResolver
	retrier   retrier
	repairs   order.RepairRequester
	observer  Observer
	again     *rereading
	log       *slog.Logger
}

// run finishes what comes in until there is no more. When ctx has ended, what is not finished stays pending.
func (f *finisher) run(ctx context.Context, in <-chan *batch) {
	for b := range in {
		f.finish(ctx, b)
		close(b.finished)
	}
}

// finish removes every entry of the batch from the stream, except those that must be delivered again.
func (f *finisher) finish(ctx context.Context, b *batch) {
	left := make(map[int64]bool) // by order id
	if !f.free(ctx, b.freed) {
		for _, claim := range b.freed {
			left[claim.OrderID] = true
		}
	}
	maps.Copy(left, f.correct(ctx, b.corrections))
	// What is left is read again soon, which corrects Redis then, and holds up no others.
	settled := slices.DeleteFunc(b.settled, func(e order.Entry) bool { return left[e.Claim.OrderID] })
	if len(left) > 0 {
		f.again.in(againAfter)
	}
	f.acknowledge(ctx, settled)
	f.deadLetter(ctx, b.unreadable)
}

// free flushes the operations that gave back the units of cancelled and refunded orders, corrects Redis after that, and
// reports whether it could. Such an order's unit must not be given back twice. If the order still makes its user a holder
// then, a late call of admission did so; it took another unit, which goes back. The order may have been revived by one of
// the operations, or be revived at any moment: so the ledger is read again, and its answer is valid only until Redis has
// applied a later operation.
func (f *finisher) free(ctx context.Context, freed []order.Claim) bool {
	if len(freed) == 0 {
		return true
	}
	grace, cancel := context.WithTimeout(ctx, flushGrace)
	defer cancel()
	return f.retrier.retry(grace, func(ctx context.Context) error {
		if err := f.flushOutbox(ctx, freed); err != nil {
			return err
		}
		call, cancel := context.WithTimeout(ctx, commitTimeout)
		defer cancel()
		decisions, _, err := f.resolver.settle(call, freed, nil)
		if err != nil {
			return err
		}
		var corrections []order.Correction
		for _, d := range decisions {
			if d.Early {
				return fmt.Errorf("order %d: %w", d.Claim.OrderID, order.ErrOutdated)
			}
			if d.Correction != nil {
				corrections = append(corrections, *d.Correction)
			}
		}
		return f.correctOnce(ctx, corrections)
	})
}

// flushOutbox flushes the pending operations of the claims' sales.
func (f *finisher) flushOutbox(ctx context.Context, claims []order.Claim) error {
	done := make(map[int64]bool)
	for _, c := range claims {
		if done[c.VoucherID] {
			continue
		}
		done[c.VoucherID] = true
		call, cancel := context.WithTimeout(ctx, order.RedisTimeout)
		err := f.stores.Outbox.Flush(call, c.VoucherID)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// correct corrects Redis where the ledger decided otherwise. It tries for correctGrace, each sale by itself, and returns the
// orders whose corrections it could not make.
func (f *finisher) correct(ctx context.Context, corrections []order.Correction) map[int64]bool {
	left := make(map[int64]bool)
	if len(corrections) == 0 {
		return left
	}
	bySale := make(map[int64][]order.Correction)
	for _, c := range corrections {
		bySale[c.Sale.VoucherID] = append(bySale[c.Sale.VoucherID], c)
		left[c.OrderID] = true
	}
	grace, cancel := context.WithTimeout(ctx, correctGrace)
	defer cancel()
	f.retrier.retry(grace, func(ctx context.Context) error {
		var failed []error
		for voucherID, some := range bySale {
			err := f.correctOnce(ctx, some)
			if err == nil {
				for _, c := range some {
					delete(left, c.OrderID)
				}
			}
			if err == nil || errors.Is(err, order.ErrRejected) {
				delete(bySale, voucherID)
				continue
			}
			failed = append(failed, err)
		}
		return errors.Join(failed...)
	})
	return left
}

// correctOnce is one try of correct. Retrying cannot help against a permanent error.
func (f *finisher) correctOnce(ctx context.Context, corrections []order.Correction) error {
	for i := range corrections {
		corrections[i].Sale.Partition = f.partition
	}
	rebuilding, err := f.stores.Holders.Correct(ctx, corrections)
	for voucherID, epoch := range rebuilding {
		f.repairs.RequestRepair(voucherID, epoch) // that rebuild may have counted the unit as taken, and would lack it
	}
	if errors.Is(err, order.ErrRejected) {
		f.log.ErrorContext(ctx, "Redis rejects a correction for good; the entries stay pending", "error", err)
		return backoff.Permanent(err)
	}
	return err
}

// acknowledge removes settled entries from the stream.
func (f *finisher) acknowledge(ctx context.Context, entries []order.Entry) {
	if len(entries) == 0 {
		return
	}
	keys := make([]string, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	f.retrier.retry(ctx, func(ctx context.Context) error {
		n, err := f.stores.Queue.Acknowledge(ctx, keys)
		if err == nil && n < len(keys) {
			// Or Redis has lost that they were delivered: then it may also have lost that others were acknowledged.
			f.log.WarnContext(ctx, "entries were acknowledged by another consumer", "entries", len(keys), "mine", n)
			f.again.in(0)
		}
		return err
	})
}

// deadLetter moves entries that cannot be decoded to the dead letters.
func (f *finisher) deadLetter(ctx context.Context, entries []order.Entry) {
	for _, e := range entries {
		f.log.ErrorContext(ctx, "an entry cannot be decoded and becomes a dead letter", "entry", e.Key, "fields", e.Raw, "error", e.Malformed)
		if f.retrier.retry(ctx, func(ctx context.Context) error { return f.stores.Queue.MoveToDeadLetters(ctx, e) }) {
			f.observer.DeadLettered()
		}
	}
}
