package recorder

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"seckill/internal/order"
)

// DeadLetters lets operators list, replay and discard the entries of all partitions that could not be decoded (rule 8).
// The log has what they did, with their name and reason.
//
// A dead letter's name is its id in its partition's stream of dead letters, after the partition unless that is 0:
// 1764000000000-0, p2:1764000000000-0.
type DeadLetters struct {
	stores     DeadLetterStores
	partitions func() []int // as in NewDeadLetters
	repairs    order.RepairRequester
	notifier   order.StatusNotifier
	observer   Observer
	log        *slog.Logger
}

// NewDeadLetters returns the dead letters of the partitions, whose numbers the function returns, ascending; there is at
// least one, and the slice is not changed.
func NewDeadLetters(
	stores DeadLetterStores, partitions func() []int, repairs order.RepairRequester, notifier order.StatusNotifier,
	observer Observer, log *slog.Logger,
) *DeadLetters {
	return &DeadLetters{
		stores: stores, partitions: partitions, repairs: repairs, notifier: notifier, observer: observer, log: log,
	}
}

// letterName returns the name of a dead letter in a partition.
func letterName(partition int, id string) string {
	if partition == 0 {
		return id
	}
	return fmt.Sprintf("p%d:%s", partition, id)
}

// parseLetterName splits a name, or returns ErrNoDeadLetter for one that letterName does not make.
func parseLetterName(name string) (partition int, id string, err error) {
	text, id, found := strings.Cut(name, ":")
	if !found {
		return 0, name, nil
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(text, "p")); err == nil && n > 0 && letterName(n, id) == name {
		return n, id, nil
	}
	return 0, "", fmt.Errorf("%w: %q", order.ErrNoDeadLetter, name)
}

// List returns up to n dead letters after the one named after ("" for the first), with what is known of their orders,
// and the number of all. It goes partition by partition, the oldest first in each. Errors: ErrNoDeadLetter if no dead
// letter has the name after; ErrUnavailable if one of the partitions cannot be read, since an incomplete list would be
// taken for a complete one.
func (d *DeadLetters) List(ctx context.Context, after string, n int) (letters []DeadLetter, total int64, err error) {
	from, id, err := d.locate(after)
	if err != nil {
		return nil, 0, err
	}
	for _, p := range d.partitions() {
		behind := ""
		if p == from {
			behind = id
		}
		wanted := n - len(letters)
		if p < from {
			wanted = 0
		}
		some, there, err := d.in(p).list(ctx, behind, wanted)
		if err != nil {
			return nil, 0, fmt.Errorf("partition %d: %w", p, err)
		}
		for i := range some {
			some[i].ID = letterName(p, some[i].ID)
		}
		letters, total = append(letters, some...), total+there
	}
	return letters, total, nil
}

// Find returns one dead letter with what is known of its order, or ErrNoDeadLetter.
func (d *DeadLetters) Find(ctx context.Context, name string) (DeadLetter, error) {
	in, id, err := d.find(name)
	if err != nil {
		return DeadLetter{}, err
	}
	l, err := in.find(ctx, id)
	l.ID = name
	return l, err
}

// Replay requeues the dead letter's order, once, however often it is called, and returns the order. by and why go into
// the log. Errors: ErrNoDeadLetter; ErrNotReplayable for a dead letter whose order is not known to wait.
func (d *DeadLetters) Replay(ctx context.Context, name, by, why string) (order.Claim, error) {
	in, id, err := d.find(name)
	if err != nil {
		return order.Claim{}, err
	}
	return in.replay(ctx, id, by, why)
}

// Discard removes the dead letter for good. If its order was accepted and has no row, the order gets a failed row, and
// its unit goes back on sale. It returns the dead letter with its order's status. by and why go into the log, and why
// also into the failed row. Errors: ErrNoDeadLetter; ErrUnavailable, after which the dead letter is still there.
func (d *DeadLetters) Discard(ctx context.Context, name, by, why string) (DeadLetter, error) {
	in, id, err := d.find(name)
	if err != nil {
		return DeadLetter{}, err
	}
	l, err := in.discard(ctx, id, by, why)
	l.ID = name
	return l, err
}

// find returns the dead letters of the partition in the name, and the id in the name.
func (d *DeadLetters) find(name string) (*partitionLetters, string, error) {
	p, id, err := d.locate(name)
	return d.in(p), id, err
}

// locate returns the partition and the id in a name, or ErrNoDeadLetter if there is no such partition.
func (d *DeadLetters) locate(name string) (partition int, id string, err error) {
	partition, id, err = parseLetterName(name)
	if err == nil && !slices.Contains(d.partitions(), partition) {
		err = fmt.Errorf("%w: %q", order.ErrNoDeadLetter, name)
	}
	return partition, id, err
}

// in returns the dead letters of one partition.
func (d *DeadLetters) in(partition int) *partitionLetters {
	log := d.log
	if partition != 0 {
		log = log.With("partition", partition)
	}
	return &partitionLetters{
		stores: d.stores, partition: partition, notifier: d.notifier, log: log,
		finisher: finisher{
			stores:    Stores{Ledger: d.stores.Ledger, Correct: d.stores.Correct, Flush: d.stores.Flush},
			partition: partition, retrier: retrier{observer: d.observer, log: log}, repairs: d.repairs,
			observer: d.observer, log: log, rejected: new(rejections),
		},
	}
}
