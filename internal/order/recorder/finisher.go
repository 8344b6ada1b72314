package recorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"seckill/internal/order"
)

// finisher is the Recorder's stage after the commit: it corrects Redis and acknowledges entries. Each step may be
// repeated when entries are delivered again.
type finisher struct {
	stores    Stores
	partition int
	retrier   retrier
	repairs   order.RepairRequester
	observer  Observer
	again     *rereading
	log       *slog.Logger

	rejected *rejections
}

// rejections remembers the sales for which Redis rejected the last correction for good.
type rejections struct{ sales sync.Map } // its keys are the sales

// note records whether Redis rejected the sale's last correction, and reports whether that has changed.
func (r *rejections) note(sale int64, rejected bool) (changed bool) {
	if rejected {
		_, known := r.sales.LoadOrStore(sale, true)
		return !known
	}
	_, known := r.sales.LoadAndDelete(sale)
	return known
}

// run finishes batches until in is closed: it removes their entries from the stream, except those that must be
// delivered again. Batches that are not finished when ctx ends stay pending.
func (f *finisher) run(ctx context.Context, in <-chan *batch) {
	for b := range in {
		left := f.free(ctx, b.freed)
		maps.Copy(left, f.correct(ctx, b.corrections))
		// Entries that are left are read again soon, and Redis is corrected then. Meanwhile they hold up no others.
		if len(left) > 0 {
			f.again.in(againAfter)
		}
		f.acknowledge(ctx, b.done(left))
		f.deadLetter(ctx, b.unreadable)
		close(b.finished)
	}
}

// free corrects Redis about cancelled and refunded orders, and returns those for which it failed.
func (f *finisher) free(ctx context.Context, freed []order.Claim) (left map[int64]bool) {
	return bySale(ctx, f, freed, func(c order.Claim) (sale, id int64) { return c.VoucherID, c.OrderID }, f.freeSale)
}

// freeSale flushes the operations that gave back the units of one sale's cancelled and refunded orders, and then
// corrects Redis. It must not give the unit of such an order back twice. If the order still makes its user a holder
// after the flush, a late call of admission made it so and took another unit, which goes back. But one of the
// operations may have revived the order, or may do so at any moment. So freeSale reads the ledger again, and that
// answer is valid only until Redis has applied a later operation.
func (f *finisher) freeSale(ctx context.Context, freed []order.Claim) error {
	if err := f.stores.Flush(ctx, freed[0].VoucherID); err != nil {
		return err
	}
	decisions, _, err := settle(ctx, f.stores.Ledger, freed, nil)
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
}

// correct corrects Redis where the ledger decided otherwise, and returns the orders for which it failed.
func (f *finisher) correct(ctx context.Context, corrections []order.Correction) (left map[int64]bool) {
	return bySale(ctx, f, corrections,
		func(c order.Correction) (sale, id int64) { return c.Sale.VoucherID, c.OrderID }, f.correctOnce)
}

// bySale runs the step once for all items of a sale, and returns the orders of the sales for which it failed.
func bySale[T any](
	ctx context.Context, f *finisher, items []T, of func(T) (sale, id int64), step func(context.Context, []T) error,
) (left map[int64]bool) {
	sales, orders := make(map[int64][]T), make(map[int64][]int64)
	for _, it := range items {
		sale, id := of(it)
		sales[sale], orders[sale] = append(sales[sale], it), append(orders[sale], id)
	}
	left = make(map[int64]bool)
	for _, sale := range f.each(ctx, slices.Collect(maps.Keys(sales)), func(ctx context.Context, sale int64) error {
		return step(ctx, sales[sale])
	}) {
		for _, id := range orders[sale] {
			left[id] = true
		}
	}
	return left
}

// each runs the step for every sale and returns the sales for which it failed. It retries failed steps, and begins none
// once correctGrace has passed.
func (f *finisher) each(
	ctx context.Context, sales []int64, step func(ctx context.Context, sale int64) error,
) (failed []int64) {
	if len(sales) == 0 {
		return nil
	}
	grace, cancel := context.WithTimeout(ctx, correctGrace)
	defer cancel()
	f.retrier.retry(grace, func(context.Context) error {
		var again []int64
		var errs []error
		for i, sale := range sales {
			if grace.Err() != nil { // the others are read again later; each could cost this pass another timeout
				again = append(again, sales[i:]...)
				break
			}
			switch err := f.try(ctx, sale, step); {
			case err == nil:
			case errors.Is(err, order.ErrRejected):
				failed = append(failed, sale)
			default:
				again, errs = append(again, sale), append(errs, err)
			}
		}
		sales = again
		return errors.Join(errs...)
	})
	return append(failed, sales...)
}

// try runs the step for one sale, and logs when Redis starts or stops rejecting the sale's corrections.
func (f *finisher) try(ctx context.Context, sale int64, step func(ctx context.Context, sale int64) error) error {
	call, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	err := step(call, sale)
	rejected := errors.Is(err, order.ErrRejected)
	switch {
	case rejected && f.rejected.note(sale, true):
		f.log.ErrorContext(ctx, "Redis rejects a correction for good; the entries stay pending",
			"voucher", sale, "error", err)
	case err == nil && f.rejected.note(sale, false):
		f.log.InfoContext(ctx, "Redis accepts corrections of the sale again", "voucher", sale)
	}
	return err
}

func (f *finisher) correctOnce(ctx context.Context, corrections []order.Correction) error {
	for i := range corrections {
		corrections[i].Sale.Partition = f.partition
	}
	rebuilding, err := f.stores.Correct(ctx, corrections)
	for sale, epoch := range rebuilding {
		f.repairs.RequestRepair(sale, epoch) // the rebuild may have counted the unit as taken, and would then lack it
	}
	return err
}

// acknowledge removes settled entries from the stream.
func (f *finisher) acknowledge(ctx context.Context, keys []string) {
	if len(keys) == 0 {
		return
	}
	f.retrier.retry(ctx, func(ctx context.Context) error {
		n, err := f.stores.Queue.Acknowledge(ctx, keys)
		if err == nil && n < len(keys) {
			// Another consumer was faster, or Redis has lost their delivery to this one. It may then also have lost
			// other acknowledgements.
			f.log.WarnContext(ctx, "entries were acknowledged by another consumer", "entries", len(keys), "mine", n)
			f.again.in(0)
		}
		return err
	})
}

// deadLetter turns entries that cannot be decoded into dead letters.
func (f *finisher) deadLetter(ctx context.Context, entries []order.Entry) {
	for _, e := range entries {
		f.log.ErrorContext(ctx, "an entry cannot be decoded and becomes a dead letter", "entry", e.Key, "fields",
			e.Raw, "error", e.Malformed)
		if f.retrier.retry(ctx, func(ctx context.Context) error { return f.stores.Queue.MoveToDeadLetters(ctx, e) }) {
			f.observer.DeadLettered()
		}
	}
}
