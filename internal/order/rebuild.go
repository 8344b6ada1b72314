package order

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"seckill/internal/voucher"
)

// SaleLedger is the ledger as a rebuild sees it.
type SaleLedger interface {
	// SalesToKeep returns every seckill voucher whose sale Redis is to hold: all that are not retired.
	SalesToKeep(ctx context.Context) ([]voucher.Voucher, error)
	// RaiseEpoch begins a rebuild: it raises the sale's epoch by one, or above the given one if that is higher, sets
	// its sequence to 0, and returns the new epoch. The epoch is the rebuild's fencing token.
	RaiseEpoch(ctx context.Context, voucherID, above int64) (int64, error)
	// Snapshot reads the sale and all its orders under its row's lock, marking pending operations as absorbed, and those
	// that take units as void. It returns ErrSuperseded when the sale's epoch is not the given one.
	Snapshot(ctx context.Context, voucherID, epoch int64) (Snapshot, error)
	// Retire marks the sale as no longer held by Redis, and reports whether it did (or it was before): not while an
	// operation is pending, before its end has passed, or when its last operation is not the given one any more.
	Retire(ctx context.Context, voucherID, lastOperation int64) (retired bool, err error)
}

// SaleReader reads sales in Redis.
type SaleReader interface {
	// Views returns the state of each sale, in the order asked, in few round trips however many there are.
	Views(ctx context.Context, sales []SaleRef) ([]SaleView, error)
	// Waiting yields the claims of a sale that are in the stream, delivered or not, oldest first.
	Waiting(ctx context.Context, sale SaleRef) iter.Seq2[Claim, error]
	// Holders yields who holds a place in a sale, as claims without epoch and sequence. One may come twice.
	Holders(ctx context.Context, sale SaleRef) iter.Seq2[Claim, error]
}

// SaleBuilder writes a sale into Redis step by step. Every step carries the rebuild's epoch and returns ErrSuperseded
// once a newer rebuild has begun or the sale is open at this epoch or a later one.
type SaleBuilder interface {
	// Begin stops the sale (SaleRebuilding). Holders of a place are still told their order.
	Begin(ctx context.Context, sale SaleRef, epoch int64) error
	// Seat gives each claim's user the place, and empties those of the users in vacate.
	Seat(ctx context.Context, sale SaleRef, epoch int64, claims []Claim, vacate []int64) error
	// Requeue appends claims to the stream whose entries were lost.
	Requeue(ctx context.Context, sale SaleRef, epoch int64, claims []Claim) error
	// Publish opens the sale at the epoch with sequence 0.
	Publish(ctx context.Context, sale SaleRef, epoch int64, o Opening) error
}

// rebuildIfNeeded looks again, now that the lock is held, and rebuilds.
func (k *Keeper) rebuildIfNeeded(ctx context.Context, voucherID int64) error {
	k.catalog.Forget(voucherID)
	v, err := k.catalog.Find(ctx, voucherID)
	if err != nil {
		return err
	}
	if v.Sale == nil || v.Sale.Retired {
		k.forget(voucherID)
		return nil
	}
	views, err := k.reader.Views(ctx, []SaleRef{saleRef(v)})
	if err != nil {
		return fmt.Errorf("reading the sale from Redis: %w", err)
	}
	wrong, err := k.needsRebuild(ctx, v, views[0])
	if err != nil {
		return err
	}
	if !wrong {
		k.wrong.leftBehind(voucherID, views[0].Mark.Epoch)
		return nil
	}
	start := time.Now()
	err = k.rebuild(ctx, v, views[0].Mark)
	if !errors.Is(err, ErrSuperseded) {
		k.observer.Rebuilt(time.Since(start), err)
	}
	return err
}

// rebuild makes Redis hold the sale as the ledger has it, with the accepted orders that still wait (rule 10).
//
// The order of reading is what makes it exact. The sale stands still from Begin on. Then the stream is read, then the
// places, then what instances remember, then the ledger: an order that leaves the stream in between has its row by then,
// so each accepted order is seen at least once, and being seen twice is harmless, since orders are told apart by id. An
// order that is recorded after the ledger was read lowers the ledger's stock by the unit that was already counted for it
// here.
//
// before is how far the sale was in Redis. A ledger that was restored from a copy may be behind its epoch.
//
// Dying anywhere leaves the sale standing still; the next rebuild, with the next epoch, begins from the top.
func (k *Keeper) rebuild(ctx context.Context, v voucher.Voucher, before Mark) error {
	sale := saleRef(v)
	epoch, err := k.ledger.RaiseEpoch(ctx, sale.VoucherID, before.Epoch)
	if err != nil {
		return fmt.Errorf("raising the epoch: %w", err)
	}
	if err := k.builder.Begin(ctx, sale, epoch); err != nil {
		return fmt.Errorf("stopping the sale: %w", err)
	}
	r := reconstruction{
		held: map[int64]int64{}, reached: []Mark{before, {Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}},
	}
	if epoch > 1 { // else nobody can remember anything of it, and there is nothing to read
		if r.seen, err = k.hear(ctx, sale, epoch); err != nil {
			return fmt.Errorf("hearing the instances: %w", err)
		}
		select {
		case k.reading <- struct{}{}:
			defer func() { <-k.reading }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := k.gather(ctx, sale, &r); err != nil {
		return err
	}
	if r.ledger, err = k.ledger.Snapshot(ctx, sale.VoucherID, epoch); err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	plan := r.plan(epoch)
	if err := k.builder.Seat(ctx, sale, epoch, plan.seat, plan.vacate); err != nil {
		return fmt.Errorf("writing the places: %w", err)
	}
	if err := k.builder.Requeue(ctx, sale, epoch, plan.requeue); err != nil {
		return fmt.Errorf("writing the stream: %w", err)
	}
	if err := k.builder.Publish(ctx, sale, epoch, plan.opening); err != nil {
		return fmt.Errorf("opening the sale: %w", err)
	}
	k.wrong.leftBehind(sale.VoucherID, epoch)
	k.log.InfoContext(ctx, "sale rebuilt", "voucher", sale.VoucherID, "epoch", epoch, "stock", plan.opening.Stock,
		"orders", len(r.ledger.Live), "waiting", len(r.waiting), "requeued", len(plan.requeue))
	k.account(ctx, sale, &r, plan)
	return nil
}

// gather reads what Redis holds of the stopped sale, and what was handed in.
func (k *Keeper) gather(ctx context.Context, sale SaleRef, r *reconstruction) error {
	for claim, err := range k.reader.Waiting(ctx, sale) {
		if err != nil {
			return fmt.Errorf("reading the stream: %w", err)
		}
		r.waiting = append(r.waiting, claim)
	}
	for claim, err := range k.reader.Holders(ctx, sale) {
		if err != nil {
			return fmt.Errorf("reading the places: %w", err)
		}
		r.held[claim.UserID] = claim.OrderID
	}
	if k.testimony == nil {
		return nil
	}
	for claim, err := range k.testimony.Testified(ctx, sale) {
		if err != nil {
			return fmt.Errorf("reading what was handed in: %w", err)
		}
		r.testified = append(r.testified, claim)
	}
	return nil
}

// reconstruction is what a rebuild found: in the stream, among the places, with the instances, in the ledger.
type reconstruction struct {
	waiting   []Claim         // in stream order
	held      map[int64]int64 // user id → order id, as Redis has it
	testified []Claim         // what instances have accepted, in no order
	ledger    Snapshot

	seen    Mark   // how far the sale had got, as instances have heard
	reached []Mark // how far Redis and the ledger knew of
}

// blueprint is what a rebuild writes.
type blueprint struct {
	seat    []Claim // places that Redis lacks or has otherwise
	vacate  []int64 // users whose place is held by nothing
	requeue []Claim // accepted orders that are in no stream and no ledger
	opening Opening
	lost    []Claim // those of them of which only the instances knew
}

// plan decides who has a place and how much is left: places go to the ledger's live orders first, then to accepted
// orders that wait, in stream order, then to those that only their place still tells of, then to those that only
// instances remember, in the order in which they were accepted. Each of the latter three will take a unit from the
// ledger, so it is counted as taken here. One that finds no place any more, as its user has another order, is queued too:
// the recorder makes it a failed order that says why.
func (r *reconstruction) plan(epoch int64) blueprint {
	var b blueprint
	places := make(map[int64]int64, len(r.ledger.Live)+len(r.waiting))
	maps.Copy(places, r.ledger.Live)
	var promised int64
	queued := make(map[int64]bool, len(r.waiting))
	for _, c := range r.waiting {
		queued[c.OrderID] = true
		if _, taken := places[c.UserID]; taken || r.ledger.Dead[c.OrderID] {
			continue // recorded already, or to fail: the recorder settles it
		}
		places[c.UserID] = c.OrderID
		promised++
	}
	for user, id := range r.held {
		place, taken := places[user]
		if place == id {
			continue
		}
		if r.ledger.Dead[id] || queued[id] {
			if !taken {
				b.vacate = append(b.vacate, user)
			}
			continue
		}
		if !taken {
			places[user] = id
			promised++
		}
		b.requeue = append(b.requeue, Claim{OrderID: id, UserID: user, VoucherID: r.ledger.Voucher.ID, Epoch: epoch - 1})
	}
	for _, c := range r.untold(queued) {
		if _, taken := places[c.UserID]; !taken {
			places[c.UserID] = c.OrderID
			promised++
		}
		b.requeue, b.lost = append(b.requeue, c), append(b.lost, c)
	}
	for user, id := range places {
		if r.held[user] != id {
			b.seat = append(b.seat, Claim{OrderID: id, UserID: user, VoucherID: r.ledger.Voucher.ID})
		}
	}
	v := r.ledger.Voucher
	b.opening = Opening{
		Stock: max(0, v.Sale.Stock-promised), Begin: v.Sale.Begin, End: v.Sale.End, Mode: SaleOpen, Operation: r.ledger.Operation,
	}
	switch {
	case v.Status != voucher.OnShelf:
		b.opening.Mode = SaleOffShelf
	case v.Sale.Paused:
		b.opening.Mode = SalePaused
	}
	return b
}

// untold returns, each once and in the order of their acceptance, the claims that were handed in and that neither Redis
// nor the ledger tells of.
func (r *reconstruction) untold(queued map[int64]bool) []Claim {
	var untold []Claim
	for _, c := range r.testified {
		if !queued[c.OrderID] && !r.ledger.Dead[c.OrderID] && r.ledger.Live[c.UserID] != c.OrderID && r.held[c.UserID] != c.OrderID {
			untold = append(untold, c)
		}
	}
	slices.SortFunc(untold, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.OrderID, b.OrderID))
	})
	return slices.CompactFunc(untold, func(a, b Claim) bool { return a.OrderID == b.OrderID })
}

// unaccounted is how many admissions nobody can name any more: those up to the last one that instances have heard of
// that are above what Redis and the ledger knew, and that nobody has handed in. It is known when one of the two still
// knew the epoch.
func (r *reconstruction) unaccounted() int64 {
	reached := int64(-1)
	for _, m := range r.reached {
		if r.seen.Before(m) {
			return 0
		}
		if m.Epoch == r.seen.Epoch {
			reached = max(reached, m.Sequence)
		}
	}
	if reached < 0 {
		return 0
	}
	named := make(map[int64]bool)
	for _, c := range r.testified {
		if c.Epoch == r.seen.Epoch && (c.Sequence > reached || c.Sequence == 0) {
			named[c.OrderID] = true
		}
	}
	return max(0, r.seen.Sequence-reached-int64(len(named)))
}
