package order

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"seckill/internal/voucher"
)

// Letters keeps the dead letters of a partition: Redis.
type Letters interface {
	// Letters returns up to n letters behind the one with the id after ("" for the first), oldest first, and how many
	// there are in all. ErrNoLetter when after is no letter's id.
	Letters(ctx context.Context, partition int, after string, n int) (letters []DeadLetter, total int64, err error)
	// Letter returns one letter, or ErrNoLetter.
	Letter(ctx context.Context, partition int, id string) (DeadLetter, error)
	// Replay queues the claim and removes the letter, both or neither, and reports whether it did: not when the user's
	// place is not held by the claim's order. ErrNoLetter when the letter has gone.
	Replay(ctx context.Context, partition int, id string, c Claim) (bool, error)
	// Remove deletes the letter for good, and reports whether it was there.
	Remove(ctx context.Context, partition int, id string) (bool, error)
}

// discardTime is how long discarding tries to settle the letter's order.
const discardTime = 10 * time.Second

// DeadLetters is what an operator does about entries that could not be decoded (rule 8). What he does is in the log, with
// his name and his reason.
//
// A letter whose order was accepted and has no row stands for a unit: Redis has taken it, the buyer has his order id and
// holds his place. So such a letter does not just go away. Replaying queues the order again, and the recorder settles
// it as any other. Discarding makes it a failed row, empties the place and puts the unit back on sale, before the letter
// goes: whoever dies over it leaves the letter, and it is discarded again, to the same end. Whether it was replayed at the
// same time does not matter either, because the order's id decides.
type DeadLetters struct {
	stores    DeadLetterStores
	partition int
	judge     judge
	finisher  finisher
	audience  Audience
	log       *slog.Logger
}

// DeadLetterStores are the stores of DeadLetters.
type DeadLetterStores struct {
	Letters Letters
	Held    Held
	Rows    Rows
	Ledger  Ledger
	Places  Places
	Outbox  voucher.Follower
}

// NewDeadLetters returns those of one partition. ids are needed for the rare order whose id another one has.
func NewDeadLetters(
	stores DeadLetterStores, partition int, ids IDs, mender Mender, audience Audience, observer Observer, log *slog.Logger,
) *DeadLetters {
	judge := judge{ledger: stores.Ledger, ids: ids}
	return &DeadLetters{
		stores: stores, partition: partition, judge: judge, audience: audience, log: log,
		finisher: finisher{
			stores: RecorderStores{Places: stores.Places, Outbox: stores.Outbox}, partition: partition, judge: judge,
			persistence: persistence{observer: observer, log: log}, mender: mender, observer: observer, log: log,
		},
	}
}

// List returns up to n letters behind the one with the id after ("" for the first), oldest first, with what is known of
// their orders, and how many letters there are in all. ErrNoLetter when after is no letter's id.
func (d *DeadLetters) List(ctx context.Context, after string, n int) (letters []DeadLetter, total int64, err error) {
	letters, total, err = d.stores.Letters.Letters(ctx, d.partition, after, n)
	if err != nil {
		return nil, 0, orUnavailable(err)
	}
	for i := range letters {
		if err := d.stand(ctx, &letters[i]); err != nil {
			return nil, 0, err
		}
	}
	return letters, total, nil
}

// stand finds out what became of the letter's order. The place is read first: it is emptied only after the ledger knows.
func (d *DeadLetters) stand(ctx context.Context, l *DeadLetter) error {
	if !l.named() {
		return nil
	}
	held, err := d.holds(ctx, l.Claim)
	if err != nil {
		return err
	}
	rows, err := d.stores.Rows.OrdersByID(ctx, []int64{l.Claim.OrderID})
	if err != nil {
		return orUnavailable(err)
	}
	row, recorded := rows[l.Claim.OrderID]
	switch {
	case recorded && row.UserID == l.Claim.UserID && row.VoucherID == l.Claim.VoucherID:
		l.Standing, l.Status = StandingRecorded, row.Status
	case held:
		l.Standing = StandingWaiting
	default:
		l.Standing = StandingUnknown
	}
	return nil
}

// holds reports whether the claim's user has his place by the claim's order.
func (d *DeadLetters) holds(ctx context.Context, c Claim) (bool, error) {
	ids, err := d.stores.Held.HeldBy(ctx, c.UserID, []SaleRef{d.sale(c)})
	if err != nil {
		return false, orUnavailable(err)
	}
	return ids[0] == c.OrderID, nil
}

func (d *DeadLetters) sale(c Claim) SaleRef {
	return SaleRef{VoucherID: c.VoucherID, Partition: d.partition}
}

// Replay queues the letter's order again, once, whoever else does and wherever he dies. It returns what was queued:
// ErrNoLetter, or ErrNotReplayable for a letter whose order is not known to wait. by and why go into the log.
func (d *DeadLetters) Replay(ctx context.Context, id, by, why string) (Claim, error) {
	l, err := d.Find(ctx, id)
	if err != nil {
		return Claim{}, err
	}
	if l.Standing != StandingWaiting {
		return Claim{}, notReplayable(l)
	}
	done, err := d.stores.Letters.Replay(ctx, d.partition, id, l.Claim)
	switch {
	case err != nil:
		return Claim{}, orUnavailable(err)
	case !done: // it was settled since
		if err := d.stand(ctx, &l); err != nil {
			return Claim{}, err
		}
		return Claim{}, notReplayable(l)
	}
	d.log.InfoContext(ctx, "a dead letter was replayed", "letter", id, "order", l.Claim.OrderID, "user", l.Claim.UserID,
		"voucher", l.Claim.VoucherID, "by", by, "why", why)
	return l.Claim, nil
}

// Find returns one letter with what is known of its order, or ErrNoLetter.
func (d *DeadLetters) Find(ctx context.Context, id string) (DeadLetter, error) {
	l, err := d.stores.Letters.Letter(ctx, d.partition, id)
	if err != nil {
		return DeadLetter{}, orUnavailable(err)
	}
	err = d.stand(ctx, &l)
	return l, err
}

func notReplayable(l DeadLetter) error {
	switch l.Standing {
	case StandingRecorded:
		return fmt.Errorf("%w: order %d is recorded already, as %s", ErrNotReplayable, l.Claim.OrderID, l.Status)
	case StandingUnreadable:
		return fmt.Errorf("%w: it does not say whose order it was", ErrNotReplayable)
	default:
		return fmt.Errorf("%w: user %d has no place by order %d", ErrNotReplayable, l.Claim.UserID, l.Claim.OrderID)
	}
}

// Discard removes the letter for good. If its order was accepted and has no row, it gets one that has failed, and its
// unit goes back on sale. It returns the letter with what became of its order: Status is Failed then. ErrNoLetter, or
// ErrUnavailable, after which the letter is still there. by and why go into the log, and why into the failed row.
func (d *DeadLetters) Discard(ctx context.Context, id, by, why string) (DeadLetter, error) {
	l, err := d.Find(ctx, id)
	if err != nil {
		return DeadLetter{}, err
	}
	held := false
	if l.named() {
		if held, err = d.holds(ctx, l.Claim); err != nil {
			return DeadLetter{}, err
		}
	}
	if held { // also by an order with a row: whoever discarded the letter before may have died before he emptied the place
		if err := d.settle(ctx, &l, fmt.Errorf("%w by %s: %s", errDiscarded, by, why)); err != nil {
			return DeadLetter{}, err
		}
	}
	if _, err := d.stores.Letters.Remove(ctx, d.partition, id); err != nil {
		return DeadLetter{}, orUnavailable(err)
	}
	d.log.WarnContext(ctx, "a dead letter was discarded", "letter", id, "order", l.Claim.OrderID, "user", l.Claim.UserID,
		"voucher", l.Claim.VoucherID, "standing", l.Standing, "status", l.Status, "fields", l.Fields, "by", by, "why", why)
	return l, nil
}

// settle makes the letter's order fail, unless it has a row, and has Redis follow.
func (d *DeadLetters) settle(ctx context.Context, l *DeadLetter, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, discardTime)
	defer cancel()
	decisions, _, err := d.judge.decide(ctx, []Claim{l.Claim}, cause)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	decision := decisions[0]
	switch {
	case decision.freed() && !d.finisher.free(ctx, []Claim{l.Claim}):
		return fmt.Errorf("%w: the operations of voucher %d are not applied yet", ErrUnavailable, l.Claim.VoucherID)
	case !decision.freed() && decision.Return != nil && !d.finisher.correct(ctx, []Return{*decision.Return}):
		return fmt.Errorf("%w: order %d has failed, but its place could not be emptied yet", ErrUnavailable, l.Claim.OrderID)
	}
	if decision.Verb == Fail {
		l.Standing, l.Status = StandingRecorded, Failed
		d.audience.Told(map[int64]Status{l.Claim.OrderID: Failed})
	}
	return nil
}
