package recorder

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"seckill/internal/order"
)

// DeadLetterStore keeps the dead letters of a partition: Redis.
type DeadLetterStore interface {
	// DeadLetters returns up to n dead letters after the one with the id after ("" for the first), oldest first, and
	// the number of all. Error: ErrNoDeadLetter if no dead letter has the id after.
	DeadLetters(ctx context.Context, partition int, after string, n int) (letters []DeadLetter, total int64, err error)
	// DeadLetter returns one dead letter, or ErrNoDeadLetter.
	DeadLetter(ctx context.Context, partition int, id string) (DeadLetter, error)
	// Replay requeues the claim's order, with its holder's units, and removes the dead letter, both or neither. It does
	// so only while the order makes its user a holder, and reports whether it did. Error: ErrNoDeadLetter if the dead
	// letter is gone.
	Replay(ctx context.Context, partition int, id string, c order.Claim) (bool, error)
	// Remove deletes the dead letter for good, and reports whether it was there.
	Remove(ctx context.Context, partition int, id string) (bool, error)
}

// discardTimeout is how long discarding tries to settle the order.
const discardTimeout = 10 * time.Second

// partitionLetters are the dead letters of one partition, under their ids there.
//
// A dead letter whose order was accepted and has no row stands for a unit: Redis has taken the unit, and the buyer has
// an order id and is a holder. So it must not simply vanish. Replaying requeues the order, and the recorder settles it
// like any other. Discarding writes a failed row, removes the holder and puts the unit back on sale, and only then
// removes the dead letter: if the process dies in between, the dead letter is still there and can be discarded again,
// with the same outcome. A replay at the same time does no harm either, because the order's id decides.
type partitionLetters struct {
	stores    DeadLetterStores
	partition int
	finisher  finisher
	notifier  order.StatusNotifier
	log       *slog.Logger
}

// DeadLetterStores are the stores of DeadLetters.
type DeadLetterStores struct {
	DeadLetters DeadLetterStore
	Holders     order.HolderReader
	Rows        order.Reader
	Ledger      Ledger
	Correct     HolderCorrector
	Flush       SaleFlusher
}

// list returns up to n dead letters after the one with the id after ("" for the first), oldest first, and the number of
// all.
func (d *partitionLetters) list(
	ctx context.Context, after string, n int,
) (letters []DeadLetter, total int64, err error) {
	letters, total, err = d.stores.DeadLetters.DeadLetters(ctx, d.partition, after, max(n, 1))
	letters = letters[:min(len(letters), n)]
	if err != nil {
		return nil, 0, order.OrUnavailable(err)
	}
	for i := range letters {
		if err := d.classify(ctx, &letters[i]); err != nil {
			return nil, 0, err
		}
	}
	return letters, total, nil
}

// classify sets the state of the dead letter's order. It reads the holder first, which is removed only after the ledger
// has decided.
func (d *partitionLetters) classify(ctx context.Context, l *DeadLetter) error {
	if !l.named() {
		return nil
	}
	held, err := d.holds(ctx, l.Claim)
	if err != nil {
		return err
	}
	rows, err := d.stores.Rows.OrdersByID(ctx, []int64{l.Claim.OrderID})
	if err != nil {
		return order.OrUnavailable(err)
	}
	row, recorded := rows[l.Claim.OrderID]
	switch {
	case recorded && row.UserID == l.Claim.UserID && row.VoucherID == l.Claim.VoucherID:
		l.State, l.Status = DeadLetterRecorded, row.Status
	case held:
		l.State = DeadLetterWaiting
	default:
		l.State = DeadLetterUnknown
	}
	return nil
}

// holds reports whether the claim's order makes its user a holder.
func (d *partitionLetters) holds(ctx context.Context, c order.Claim) (bool, error) {
	ids, err := d.stores.Holders(ctx, d.sale(c), []int64{c.UserID})
	if err != nil {
		return false, order.OrUnavailable(err)
	}
	return ids[0] == c.OrderID, nil
}

func (d *partitionLetters) sale(c order.Claim) order.SaleRef {
	return order.SaleRef{VoucherID: c.VoucherID, Partition: d.partition}
}

// replay requeues the dead letter's order.
func (d *partitionLetters) replay(ctx context.Context, id, by, why string) (order.Claim, error) {
	l, err := d.find(ctx, id)
	if err != nil {
		return order.Claim{}, err
	}
	if l.State != DeadLetterWaiting {
		return order.Claim{}, notReplayable(l)
	}
	done, err := d.stores.DeadLetters.Replay(ctx, d.partition, id, l.Claim)
	switch {
	case err != nil:
		return order.Claim{}, order.OrUnknown(err)
	case !done: // the order was settled meanwhile
		if err := d.classify(ctx, &l); err != nil {
			return order.Claim{}, err
		}
		return order.Claim{}, notReplayable(l)
	}
	d.log.InfoContext(ctx, "a dead letter was replayed", "letter", id, "order", l.Claim.OrderID, "user", l.Claim.UserID,
		"voucher", l.Claim.VoucherID, "by", by, "why", why)
	return l.Claim, nil
}

// find returns one dead letter with what is known of its order.
func (d *partitionLetters) find(ctx context.Context, id string) (DeadLetter, error) {
	l, err := d.stores.DeadLetters.DeadLetter(ctx, d.partition, id)
	if err != nil {
		return DeadLetter{}, order.OrUnavailable(err)
	}
	err = d.classify(ctx, &l)
	return l, err
}

func notReplayable(l DeadLetter) error {
	switch l.State {
	case DeadLetterRecorded:
		return fmt.Errorf("%w: order %d is recorded already, as %s", ErrNotReplayable, l.Claim.OrderID, l.Status)
	case DeadLetterUnreadable:
		return fmt.Errorf("%w: it does not say whose order it was", ErrNotReplayable)
	default:
		return fmt.Errorf("%w: user %d is no holder by order %d", ErrNotReplayable, l.Claim.UserID, l.Claim.OrderID)
	}
}

// discard settles the dead letter's order and then removes the dead letter for good.
func (d *partitionLetters) discard(ctx context.Context, id, by, why string) (DeadLetter, error) {
	l, err := d.find(ctx, id)
	if err != nil {
		return DeadLetter{}, err
	}
	held := false
	if l.named() {
		if held, err = d.holds(ctx, l.Claim); err != nil {
			return DeadLetter{}, err
		}
	}
	if held { // even if the order has a row: an earlier discard may have died before it removed the holder
		if err := d.settle(ctx, &l, fmt.Errorf("%w by %s: %s", errDiscarded, by, why)); err != nil {
			return DeadLetter{}, err
		}
	}
	if _, err := d.stores.DeadLetters.Remove(ctx, d.partition, id); err != nil {
		return DeadLetter{}, order.OrUnknown(err)
	}
	d.log.WarnContext(ctx, "a dead letter was discarded", "letter", id, "order", l.Claim.OrderID, "user",
		l.Claim.UserID,
		"voucher", l.Claim.VoucherID, "standing", l.State, "status", l.Status, "fields", l.Fields, "by", by, "why", why)
	return l, nil
}

// settle makes the order fail, unless it has a row, and corrects Redis.
func (d *partitionLetters) settle(ctx context.Context, l *DeadLetter, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, discardTimeout)
	defer cancel()
	decisions, _, err := settle(ctx, d.stores.Ledger, []order.Claim{l.Claim}, cause)
	if err != nil {
		return order.OrUnavailable(err)
	}
	decision := decisions[0]
	switch {
	case decision.Freed() && len(d.finisher.free(ctx, []order.Claim{l.Claim})) > 0:
		return fmt.Errorf("%w: the operations of voucher %d are not applied yet",
			order.ErrUnavailable, l.Claim.VoucherID)
	case !decision.Freed() && decision.Correction != nil &&
		len(d.finisher.correct(ctx, []order.Correction{*decision.Correction})) > 0:
		return fmt.Errorf("%w: order %d has failed, but its holder could not be removed yet",
			order.ErrUnavailable, l.Claim.OrderID)
	}
	if decision.Verb == order.Fail {
		l.State, l.Status = DeadLetterRecorded, order.Failed
		d.notifier.Notify(map[int64]order.Status{l.Claim.OrderID: order.Failed})
	}
	return nil
}
