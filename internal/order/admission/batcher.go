package admission

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"seckill/internal/kit/batch"
	"seckill/internal/order"
)

// maxWait is how long a request may expect to wait for its call. Callers' own timeouts are longer, and a buyer who is
// refused at once has lost nothing by coming back.
const maxWait = 5 * time.Second

// batcher decides the requests of one sale. Requests that come while a call of the script is under way share the next
// one, in the order of arrival (batch.Batcher). One call is under way at a time.
//
// Redis may become slow without failing. Requests would then pile up until the last ones wait longer than buyers do, so
// the batcher refuses at once any request that would wait for longer than maxWait. When a call fails, it refuses all
// waiting requests: each batch of them would otherwise wait for its own timeout on a Redis that does not answer.
type batcher struct {
	gate     Gate
	observer Observer
	sale     order.SaleRef
	limit    int64
	requests *batch.Batcher[pendingRequest, order.Result]
	known    order.Mark // the highest mark in Redis or the ledger; used by the call under way alone

	seen   atomic.Pointer[order.Mark] // the highest mark that Redis has answered with
	latest atomic.Pointer[observation]
	cache  soldOutCache
	counts outcomeCounts
	recent *recentAccepts
	kept   bool // the catalog has said that Redis must hold the sale; used by the StatsFlusher alone
}

// pendingRequest is a request, and its sale's mark in the ledger.
type pendingRequest struct {
	order.Request
	recorded order.Mark
}

// newBatcher returns the batcher of one sale.
func newBatcher(a *Admission, sale order.SaleRef) *batcher {
	b := &batcher{
		gate: a.stores.Gate, observer: a.observer, sale: sale, limit: a.limit, recent: a.recent,
		cache: soldOutCache{
			holders: a.stores.Holders, sale: sale, log: a.log, running: &a.running, closing: a.closing,
			backOff: order.NewBackOff(),
		},
	}
	b.requests = batch.New(
		batch.Options{Size: order.MaxBatch, Calls: 1, MaxWait: maxWait, FailWaiting: true, Running: &a.running},
		b.decide)
	return b
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

// join waits for the outcome of a request; recorded is the sale's mark in the ledger. It returns ErrUnavailable when
// the request was certainly not admitted, and ErrUnknownOutcome when it may have been. A request for units that is in a
// call waits for the call's answer even if ctx ends, twice order.AdmissionTimeout at most: the guards count what was
// accepted. A question about a user's order does not wait.
func (b *batcher) join(ctx context.Context, r order.Request, recorded order.Mark) (order.Result, error) {
	ask := b.requests.Finish
	if r.OrderID == 0 {
		ask = b.requests.Do
	}
	result, err := ask(ctx, pendingRequest{Request: r, recorded: recorded})
	switch {
	case err == nil, errors.Is(err, order.ErrUnavailable), errors.Is(err, order.ErrUnknownOutcome):
		return result, err
	case errors.Is(err, batch.ErrNotSent):
		b.counts.add(order.Unavailable, 1)
		return result, fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	default: // ctx ended
		return result, fmt.Errorf("%w: %w", order.ErrUnknownOutcome, err)
	}
}

// decide sends a batch to Redis and hands each request its result.
func (b *batcher) decide(ctx context.Context, items []*batch.Item[pendingRequest, order.Result]) error {
	requests := make([]order.Request, len(items))
	for i, it := range items {
		requests[i] = it.Request.Request
		if b.known.Before(it.Request.recorded) {
			b.known = it.Request.recorded
		}
	}
	sent := time.Now()
	decided, err := b.call(ctx, order.Batch{Sale: b.sale, Known: b.known, MaxBacklog: b.limit, Requests: requests})
	if err != nil {
		b.counts.add(outcomeOf(err), len(items))
		return err
	}
	b.observe(ctx, &observation{view: decided.View, sentAt: sent, receivedAt: time.Now()})
	b.counts.outcomes(decided.Results)
	for i, it := range items {
		it.Answer = decided.Results[i]
	}
	return nil
}

// observe stores Redis's answer about the sale, and its mark.
func (b *batcher) observe(ctx context.Context, o *observation) {
	b.latest.Store(o)
	if b.known.Before(o.view.Mark) {
		b.known = o.view.Mark
	}
	if seen := b.seen.Load(); seen == nil || seen.Before(o.view.Mark) {
		b.seen.Store(&o.view.Mark)
	}
	b.cache.observe(ctx, o)
}

// call runs the script, and repeats the identical batch once if the first answer did not arrive: the second answer then
// also names everyone whom the first call accepted (rule 3). Requests still undecided after that get an unknown
// outcome. So do those that only the repetition refuses: the first call may still be under way, and accept the request
// when it arrives.
func (b *batcher) call(ctx context.Context, asked order.Batch) (order.BatchResult, error) {
	decided, err := b.try(ctx, asked)
	if err == nil {
		b.recent.write(asked, decided, false)
		return decided, nil
	}
	if errors.Is(err, order.ErrUnavailable) {
		return decided, err
	}
	again, errAgain := b.try(ctx, asked)
	if errAgain != nil {
		return order.BatchResult{}, fmt.Errorf("%w: %w; repeated: %w", order.ErrUnknownOutcome, err, unmarked{errAgain})
	}
	b.recent.write(asked, again, true)
	markDoubtful(again.Results)
	return again, nil
}

// try calls the script once.
func (b *batcher) try(ctx context.Context, asked order.Batch) (order.BatchResult, error) {
	ctx, cancel := context.WithTimeout(ctx, order.AdmissionTimeout)
	defer cancel()
	start := time.Now()
	decided, err := b.gate(ctx, asked)
	b.observer.Admitted(decided.Results, time.Since(start), err)
	if err == nil && len(decided.Results) != len(asked.Requests) {
		err = fmt.Errorf("%d outcomes for %d requests", len(decided.Results), len(asked.Requests))
	}
	return decided, err
}

// markDoubtful marks outcomes as unknown if a late first call could still change them.
func markDoubtful(results []order.Result) {
	for i := range results {
		if !results[i].Outcome.Final() {
			results[i].Outcome = order.Doubtful
		}
	}
}

// unmarked hides what an error wraps. That a repetition certainly had no effect proves nothing about the first try.
type unmarked struct{ error }
