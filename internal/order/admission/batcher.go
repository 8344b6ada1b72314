package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/gate"
)

// maxWait is how long a request may expect to wait for its call. Callers' own timeouts are longer, and a buyer who is
// refused at once has lost nothing by coming back.
const maxWait = 5 * time.Second

// maxCallTime is how long a caller who has gone waits for the answer to a request for units: for two tries.
const maxCallTime = 2 * order.AdmissionTimeout

var errOverloaded = fmt.Errorf("%w: too many requests are waiting", order.ErrUnavailable)

// batcher decides the requests of the sales of one partition. Requests that come while a call of the script is under
// way share the next one (queue). At most maxCalls calls are under way, and a sale is in one of them at a time, so that
// its marks and observations stay in order. A worker is a goroutine that lives while requests wait.
//
// Redis may become slow without failing. Requests would then pile up until the last ones wait longer than buyers do, so
// the batcher refuses at once any request that would wait for longer than maxWait. When a call gets no answer, it
// refuses all waiting requests, since all sales of a partition are on one node: each call would otherwise wait for its
// own timeout.
type batcher struct {
	admission *Admission
	unused    sync.Pool // *pending
	calls     sync.Pool // *call, of workers that have ended

	mu    sync.Mutex
	queue queue
}

// pending is a request that waits for its result, and its sale's mark in the ledger.
type pending struct {
	gate.Request
	recorded order.Mark

	result gate.Result
	err    error
	done   chan struct{}   // receives a value once result or err is set
	gone   <-chan struct{} // closed when the caller gives up; nil if they never do
	sent   bool            // it is part of a call; guarded by batcher.mu
	next   *pending        // in the sale's line or turn
}

// join waits for the outcome of a request that came at the time now; recorded is the sale's mark in the ledger. It
// returns ErrUnavailable when the request was certainly not admitted, and ErrUnknownOutcome when it may have been. A
// request for units that is in a call waits for the call's answer even if ctx ends, maxCallTime at most: the guards
// count what was accepted. A question about a user's order does not wait.
func (s *sale) join(ctx context.Context, r gate.Request, recorded order.Mark, now time.Time) (gate.Result, error) {
	b := s.batcher
	p, _ := b.unused.Get().(*pending)
	if p == nil {
		p = &pending{done: make(chan struct{}, 1)}
	}
	p.Request, p.recorded, p.gone = r, recorded, ctx.Done()
	b.mu.Lock()
	if b.queue.wait(s) > maxWait {
		b.mu.Unlock()
		b.unused.Put(p)
		s.counts.add(gate.Unavailable, 1)
		return gate.Result{}, errOverloaded
	}
	start := b.queue.add(s, p, now)
	b.mu.Unlock()
	if start {
		b.start(ctx)
	}
	select {
	case <-p.done:
	case <-p.gone:
		if err := b.giveUp(ctx, s, p); err != nil {
			return gate.Result{}, err
		}
	}
	result, err, sent := p.result, p.err, p.sent
	*p = pending{done: p.done}
	b.unused.Put(p) // nobody else uses it any more
	if !sent {
		s.counts.add(gate.Unavailable, 1)
	}
	return result, err
}

// giveUp returns the error for a caller whose ctx has ended; nil once the result of a request for units has come.
func (b *batcher) giveUp(ctx context.Context, s *sale, p *pending) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if !b.sent(p) {
		s.counts.add(gate.Unavailable, 1) // it will not be sent: calls skip requests whose callers have gone
		return fmt.Errorf("%w: %w", order.ErrUnavailable, ctx.Err())
	}
	if p.OrderID != 0 {
		enough := time.NewTimer(maxCallTime)
		defer enough.Stop()
		select {
		case <-p.done:
			return nil
		case <-enough.C:
		}
	}
	return fmt.Errorf("%w: %w", order.ErrUnknownOutcome, ctx.Err())
}

// sent reports whether the request is part of a call.
func (b *batcher) sent(p *pending) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return p.sent
}

// start starts a worker, which makes calls until nothing can be sent.
func (b *batcher) start(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	b.admission.running.Go(func() {
		c, _ := b.calls.Get().(*call)
		if c == nil {
			c = new(call)
		}
		for b.next(ctx, c) {
			b.decide(ctx, c, c.turns, c.batches)
		}
		b.calls.Put(c)
	})
}

// next ends a call and fills the next one. It returns false if nothing can be sent.
func (b *batcher) next(ctx context.Context, c *call) bool {
	now := time.Now()
	b.mu.Lock()
	b.queue.end(c, now)
	more := b.queue.take(c, now)
	start := more && b.queue.hire()
	b.mu.Unlock()
	if start {
		b.start(ctx)
	}
	c.batches, c.requests = c.batches[:0], c.requests[:0]
	for i := range c.turns {
		c.load(&c.turns[i], b.admission.limit)
	}
	return more
}

// load appends a turn's batch.
func (c *call) load(t *turn, limit int64) {
	from := len(c.requests)
	for p := t.first; p != nil; p = p.next {
		c.requests = append(c.requests, p.Request)
		if t.sale.known.Before(p.recorded) {
			t.sale.known = p.recorded
		}
	}
	c.batches = append(c.batches,
		gate.Batch{Sale: t.sale.ref, Known: t.sale.known, MaxBacklog: limit, Requests: c.requests[from:]})
}

// decide runs the script for turns of a call, and answers their requests. It repeats identically, once, the batches
// that may have had an effect but got no answer: all of them if the call's answer did not arrive, otherwise those with
// an error of their own. The second answer then also names everyone whom the first call accepted (rule 3). Requests
// still undecided after that get an unknown outcome. So do those that only the repetition refuses: the first call may
// still be under way, and accept the request when it arrives.
func (b *batcher) decide(ctx context.Context, c *call, turns []turn, batches []gate.Batch) {
	sent := time.Now()
	decided, lost := b.try(ctx, batches)
	if errors.Is(lost, gate.ErrApart) && len(turns) > 1 {
		for i := range turns {
			b.decide(ctx, c, turns[i:i+1], batches[i:i+1])
		}
		return
	}
	if errors.Is(lost, order.ErrUnavailable) {
		b.refuse(lost)
	}
	open := 0 // turns to repeat; they are moved to the front
	for i := range turns {
		if err := decided[i].Err; err == nil || errors.Is(err, order.ErrUnavailable) {
			b.answer(ctx, &turns[i], &batches[i], &decided[i], sent, false)
			continue
		}
		turns[i].err = decided[i].Err
		turns[open], turns[i] = turns[i], turns[open]
		batches[open], batches[i] = batches[i], batches[open]
		open++
	}
	if open == 0 {
		return
	}
	b.release(ctx, c, turns[open:])
	again, lostAgain := b.try(ctx, batches[:open])
	if lost != nil && lostAgain != nil {
		b.refuse(lostAgain)
	}
	for i := range open {
		if err := again[i].Err; err != nil {
			again[i].Err = fmt.Errorf("%w: %w; repeated: %w", order.ErrUnknownOutcome, turns[i].err, unmarked{err})
		}
		b.answer(ctx, &turns[i], &batches[i], &again[i], sent, true)
	}
}

// release ends answered turns while their call goes on.
func (b *batcher) release(ctx context.Context, c *call, turns []turn) {
	now := time.Now()
	b.mu.Lock()
	for i := range turns {
		b.queue.release(c, turns[i].sale, now)
	}
	start := b.queue.hire()
	b.mu.Unlock()
	if start {
		b.start(ctx)
	}
}

// try calls the script once. When it returns an error, each result has it, too.
func (b *batcher) try(ctx context.Context, asked []gate.Batch) ([]gate.BatchResult, error) {
	ctx, cancel := context.WithTimeout(ctx, order.AdmissionTimeout)
	defer cancel()
	start := time.Now()
	decided, err := b.admission.stores.Gate(ctx, asked)
	b.admission.observer.Admitted(decided, time.Since(start), err)
	if err == nil && len(decided) != len(asked) {
		err = fmt.Errorf("answers for %d sales instead of %d", len(decided), len(asked))
	}
	if err != nil {
		decided = make([]gate.BatchResult, len(asked))
	}
	for i := range decided {
		if err != nil {
			decided[i].Err = err
		} else if r := &decided[i]; r.Err == nil && len(r.Results) != len(asked[i].Requests) {
			r.Err = fmt.Errorf("%d outcomes for %d requests", len(r.Results), len(asked[i].Requests))
		}
	}
	return decided, err
}

// answer gives a turn's requests their results. An error of the sale also refuses all that wait behind them.
func (b *batcher) answer(
	ctx context.Context, t *turn, asked *gate.Batch, decided *gate.BatchResult, sent time.Time, twice bool,
) {
	s, err := t.sale, decided.Err
	if err != nil {
		s.counts.add(outcomeOf(err), t.size)
		b.mu.Lock()
		s.refuse(errBehind(err))
		b.mu.Unlock()
	} else {
		b.admission.recent.write(*asked, *decided, twice)
		if twice {
			markDoubtful(decided.Results)
		}
		s.observe(ctx, &observation{view: decided.View, sentAt: sent, receivedAt: time.Now()})
		s.counts.outcomes(decided.Results)
	}
	p := t.first
	for i := range t.size {
		next := p.next
		if p.err = err; err == nil {
			p.result = decided.Results[i]
		}
		p.done <- struct{}{} // its caller may reuse it from now on
		p = next
	}
}

// refuse refuses all requests that wait in the partition, because a call got no answer.
func (b *batcher) refuse(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue.refuse(errBehind(cause))
}

// errBehind returns the error for requests that waited behind a failed call. It does not wrap the cause, which concerns
// others.
func errBehind(cause error) error {
	return fmt.Errorf("%w: the call before failed: %s", order.ErrUnavailable, cause.Error())
}

// markDoubtful marks outcomes as unknown if a late first call could still change them.
func markDoubtful(results []gate.Result) {
	for i := range results {
		if !results[i].Outcome.Final() {
			results[i].Outcome = gate.Doubtful
		}
	}
}

// unmarked hides what an error wraps. That a repetition certainly had no effect proves nothing about the first try.
type unmarked struct{ error }
