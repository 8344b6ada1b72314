package order

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// What the Recorder does with entries, once it has read them.

// settle brings every entry to its end: a row, or a dead letter. What could not be brought there stays pending.
func (r *Recorder) settle(ctx context.Context, entries []Entry) {
	sound := make([]Entry, 0, len(entries))
	for _, e := range entries {
		if e.Malformed == nil {
			sound = append(sound, e)
			continue
		}
		r.log.ErrorContext(ctx, "an entry cannot be decoded and becomes a dead letter", "entry", e.Key, "fields", e.Raw, "error", e.Malformed)
		if r.persist(ctx, func(ctx context.Context) error { return r.stores.Queue.Bury(ctx, e) }) {
			r.observer.Buried()
		}
	}
	if len(sound) > 0 {
		r.record(ctx, sound)
	}
}

// record commits a batch and finishes it. A batch that the ledger rejects for good is halved until the order at fault
// stands alone (rule 8).
func (r *Recorder) record(ctx context.Context, entries []Entry) {
	claims := make([]Claim, len(entries))
	for i, e := range entries {
		claims[i] = e.Claim
	}
	var decisions []Decision
	var rejected error
	conflicts := 0
	start := time.Now()
	committed := r.persist(ctx, func(ctx context.Context) error {
		var err error
		decisions, err = r.commit(ctx, claims, rejected)
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
		r.finish(ctx, entries, decisions, time.Since(start))
	case ctx.Err() == nil && len(entries) > 1:
		half := len(entries) / 2
		r.record(ctx, entries[:half])
		r.record(ctx, entries[half:])
	case ctx.Err() == nil:
		r.log.ErrorContext(ctx, "an accepted order can be neither recorded nor failed; it stays pending and is tried again",
			"order", claims[0].OrderID, "user", claims[0].UserID, "voucher", claims[0].VoucherID, "error", rejected)
	}
}

// commit writes the claims in one transaction: the plain insert first, and when the ledger contradicts it, the
// decision per claim. It returns what was decided, nil for the plain insert.
func (r *Recorder) commit(ctx context.Context, claims []Claim, rejected error) ([]Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	if rejected == nil && !r.outdated(claims) {
		if err := r.stores.Ledger.Insert(ctx, claims); !errors.Is(err, ErrConflict) {
			return nil, err
		}
	}
	return r.decide(ctx, claims, rejected)
}

// decide has the ledger settle the claims one by one.
func (r *Recorder) decide(ctx context.Context, claims []Claim, rejected error) ([]Decision, error) {
	var decisions []Decision
	var spare []int64
	for {
		err := r.stores.Ledger.Settle(ctx, claims, func(view LedgerView) ([]Decision, error) {
			for id, sale := range view.Sales {
				r.epochs[id] = sale.Epoch
			}
			var err error
			if rejected != nil {
				decisions, err = reject(claims[0], view, spare, rejected)
			} else {
				decisions, err = settle(claims, view, spare)
			}
			return decisions, err
		})
		if !errors.Is(err, errNeedIDs) {
			return decisions, err
		}
		id, err := r.ids.Next(ctx)
		if err != nil {
			return nil, err
		}
		spare = append(spare, id)
	}
}

// outdated reports whether the plain insert of the claims is known to fail: one of them is of an epoch that its sale has
// left. So the orders that waited during a rebuild cost one transaction each batch, not two.
func (r *Recorder) outdated(claims []Claim) bool {
	for _, c := range claims {
		if c.Epoch < r.epochs[c.VoucherID] {
			return true
		}
	}
	return false
}

// finish does what follows a commit. Each step may be repeated by whoever gets the entries again.
func (r *Recorder) finish(ctx context.Context, entries []Entry, decisions []Decision, took time.Duration) {
	outcomes := make(map[int64]Status, len(entries))
	for _, e := range entries {
		outcomes[e.Claim.OrderID] = Unpaid
	}
	var returns []Return
	var freed []Claim
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
			r.log.ErrorContext(ctx, "an accepted order could not be recorded", "order", d.Claim.OrderID, "user", d.Claim.UserID,
				"voucher", d.Claim.VoucherID, "reason", d.Reason, "detail", d.Detail, "row", d.RowID)
		}
		if d.freed() {
			freed = append(freed, d.Claim)
		} else if d.Return != nil {
			returns = append(returns, *d.Return)
		}
		if d.Reason == NoStock || d.Reason == DuplicateBuyer {
			// Redis promised what the ledger does not have: its sale is wrong (rule 6). Also when the row is there
			// already, for whoever wrote it may have died before he asked.
			r.mender.Mend(d.Claim.VoucherID, d.Claim.Epoch)
		}
	}
	r.audience.Told(outcomes)
	r.observer.Recorded(orders, failed, took)
	again, followed := r.follow(ctx, freed)
	if !followed { // they are looked at again in a minute, and hold up nobody else
		entries = slices.DeleteFunc(entries, func(e Entry) bool { return slices.Contains(freed, e.Claim) })
	}
	if !r.correct(ctx, append(returns, again...)) {
		return // whoever gets the entries again corrects Redis
	}
	r.acknowledge(ctx, entries)
}

// acknowledge tells the stream that entries are settled.
func (r *Recorder) acknowledge(ctx context.Context, entries []Entry) {
	if len(entries) == 0 {
		return
	}
	keys := make([]string, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	r.persist(ctx, func(ctx context.Context) error {
		n, err := r.stores.Queue.Settle(ctx, keys)
		if err == nil && n < len(keys) {
			r.log.WarnContext(ctx, "entries were settled by another consumer", "entries", len(keys), "mine", n)
		}
		return err
	})
}

// follow has the operations applied that gave the units of cancelled and refunded orders back, and returns what is to be
// corrected after that, and whether it could. Such an order's unit must not be given twice. A place that the order holds
// even then comes from a call of admission that arrived late; it took another unit, which goes back. The order may have
// been revived by one of the operations: so the ledger is asked again.
func (r *Recorder) follow(ctx context.Context, freed []Claim) (returns []Return, ok bool) {
	if len(freed) == 0 {
		return nil, true
	}
	patient, cancel := context.WithTimeout(ctx, followGrace)
	defer cancel()
	ok = r.persist(patient, func(ctx context.Context) error {
		done := make(map[int64]bool)
		for _, c := range freed {
			if done[c.VoucherID] {
				continue
			}
			done[c.VoucherID] = true
			call, cancel := context.WithTimeout(ctx, redisTime)
			err := r.stores.Outbox.Follow(call, c.VoucherID)
			cancel()
			if err != nil {
				return err
			}
		}
		call, cancel := context.WithTimeout(ctx, commitTime)
		defer cancel()
		decisions, err := r.decide(call, freed, nil)
		returns = nil
		for _, d := range decisions {
			if d.Return != nil {
				returns = append(returns, *d.Return)
			}
		}
		return err
	})
	return returns, ok
}

// correct tells Redis what the ledger decided otherwise, and reports whether it did.
func (r *Recorder) correct(ctx context.Context, returns []Return) bool {
	if len(returns) == 0 {
		return true
	}
	for i := range returns {
		returns[i].Sale.Partition = r.options.Partition
	}
	return r.persist(ctx, func(ctx context.Context) error {
		rebuilding, err := r.stores.Places.Correct(ctx, returns)
		for voucherID, epoch := range rebuilding {
			r.mender.Mend(voucherID, epoch) // that rebuild may have counted the unit as taken: it is missing then
		}
		if errors.Is(err, ErrRejected) {
			r.log.ErrorContext(ctx, "Redis refuses a correction for good; the entries stay pending", "error", err)
			return backoff.Permanent(err)
		}
		return err
	})
}

// persist repeats a step until it succeeds, fails for good, or ctx ends, and reports whether it succeeded. Pauses grow
// from milliseconds to seconds; the infrastructure's faults never count against a batch.
func (r *Recorder) persist(ctx context.Context, step func(context.Context) error) bool {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, step(ctx)
	}, backoff.WithBackOff(newPause()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, pause time.Duration) {
		r.observer.RecordRetried(err)
		r.log.WarnContext(ctx, "recording failed; trying again", "pause", pause, "error", err)
	}))
	if err != nil && ctx.Err() != nil {
		r.log.WarnContext(ctx, "stopped with entries in hand; they are delivered again", "error", err)
	}
	return err == nil
}
