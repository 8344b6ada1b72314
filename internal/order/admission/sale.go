package admission

import (
	"context"
	"sync/atomic"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
)

// sale is what an instance knows of a sale. It has no goroutine.
type sale struct {
	line // guarded by batcher.mu

	ref     order.SaleRef
	batcher *batcher   // of its partition
	known   order.Mark // the highest mark in Redis or the ledger; used by the call under way alone

	seen   atomic.Pointer[order.Mark] // the highest mark that Redis has answered with
	latest atomic.Pointer[observation]
	cache  soldOutCache
	counts outcomeCounts
	kept   bool // the catalog has said that Redis must hold the sale; used by the StatsFlusher alone
}

// sale returns what is known of the sale.
func (a *Admission) sale(ref order.SaleRef) *sale {
	found, ok := a.sales.Load(ref.VoucherID)
	if !ok {
		found, _ = a.sales.LoadOrStore(ref.VoucherID, a.newSale(ref))
	}
	return found.(*sale)
}

func (a *Admission) newSale(ref order.SaleRef) *sale {
	found, ok := a.batchers.Load(ref.Partition)
	if !ok {
		found, _ = a.batchers.LoadOrStore(ref.Partition, newBatcher(a))
	}
	return &sale{ref: ref, batcher: found.(*batcher), cache: soldOutCache{
		holders: a.stores.Holders, sale: ref, log: a.log, running: &a.running, closing: a.closing,
		backOff: retry.NewBackOff(),
	}}
}

// release frees a sale's memory, above all its winners, once the catalog has dropped the sale; so no request has to
// come for it. A sale that the catalog has not listed yet stays.
func (a *Admission) release(s *sale) {
	kept := a.catalog.Keeps(s.ref.VoucherID)
	if s.kept && !kept {
		a.sales.CompareAndDelete(s.ref.VoucherID, s)
	}
	s.kept = kept
}

// observation is Redis's last answer about the sale, and when the call was sent and answered by the local monotonic
// clock. For a repeated call, sentAt is when the first one was sent.
type observation struct {
	view       order.SaleView
	sentAt     time.Time
	receivedAt time.Time
}

// at estimates Redis's clock at the time now of this machine: its time in the answer plus the time that has passed here
// since (rule 12).
func (o *observation) at(now time.Time) time.Time { return o.view.Now.Add(now.Sub(o.receivedAt)) }

// tooEarly reports whether the observation proves that the sale has not begun at the time now, by this machine's clock,
// and has no holder. Redis then need not be asked (rules 2 and 12).
func (o *observation) tooEarly(now time.Time) bool {
	return now.Sub(o.receivedAt) < observationTTL && o.view.Mode == order.SaleOpen && o.view.Buyers == 0 &&
		o.at(now).Before(o.view.Begin.Add(-clockMargin))
}

// observe stores Redis's answer about the sale, and its mark.
func (s *sale) observe(ctx context.Context, o *observation) {
	before := s.latest.Swap(o)
	if watch := s.batcher.admission.watch; watch != nil {
		if soldOut := o.soldOut(); soldOut || before != nil && before.soldOut() {
			watch(s.ref.VoucherID, &o.view, soldOut)
		}
	}
	if s.known.Before(o.view.Mark) {
		s.known = o.view.Mark
	}
	if seen := s.seen.Load(); seen == nil || seen.Before(o.view.Mark) {
		s.seen.Store(&o.view.Mark)
	}
	if o.soldOut() || s.cache.winners.Load() != nil {
		s.cache.observe(ctx, o)
	}
}
