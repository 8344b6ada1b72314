package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

func newBatcher(a *Admission) *batcher {
	return &batcher{
		admission: a,
		unused:    sync.Pool{New: func() any { return &pending{done: make(chan struct{}, 1)} }},
		calls:     sync.Pool{New: func() any { return newCall(a.limit) }},
	}
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
	next   *pending        // in the sale's line
}

// refuse answers a request with an error. Its caller may reuse it from then on.
func (p *pending) refuse(err error) {
	p.err = err
	p.done <- struct{}{}
}

// join waits for the outcome of a request that came at the time now; recorded is the sale's mark in the ledger. It
// returns ErrUnavailable when the request was certainly not admitted, and ErrUnknownOutcome when it may have been. A
// request for units that is in a call waits for the call's answer even if ctx ends, maxCallTime at most: the guards
// count what was accepted. A question about a user's order does not wait.
func (s *sale) join(ctx context.Context, r gate.Request, recorded order.Mark, now time.Time) (gate.Result, error) {
	b := s.batcher
	p := b.unused.Get().(*pending)
	p.Request, p.recorded, p.gone = r, recorded, ctx.Done()
	b.mu.Lock()
	start := false
	if b.queue.wait(s) > maxWait {
		p.refuse(errOverloaded)
	} else {
		start = b.queue.add(s, p, now)
	}
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
		c := b.calls.Get().(*call)
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
	return more
}

// decide runs the script for turns of a call, and answers their requests. It repeats those that may have had an effect
// but got no answer: all of them if the call's answer did not arrive, otherwise those with an error of their own.
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
	var open []int // turns to repeat
	for i := range turns {
		if err := decided[i].Err; err == nil || errors.Is(err, order.ErrUnavailable) {
			b.answer(ctx, &turns[i], &batches[i], &decided[i], sent, false)
		} else {
			open = append(open, i)
		}
	}
	if len(open) > 0 {
		b.repeat(ctx, c, failed{turns, batches, decided, open, sent, lost != nil})
	}
}

// failed is a try after which turns are open.
type failed struct {
	turns   []turn
	batches []gate.Batch
	decided []gate.BatchResult
	open    []int
	sent    time.Time
	lost    bool // the call as a whole got no answer
}

// repeat sends open turns identically, once. The second answer then also names everyone whom the first call accepted
// (rule 3). Requests still undecided after that get an unknown outcome. So do those that only the repetition refuses:
// the first call may still be under way, and accept the request when it arrives.
func (b *batcher) repeat(ctx context.Context, c *call, f failed) {
	var batches []gate.Batch
	var answered []*sale
	for i := range f.turns {
		if slices.Contains(f.open, i) {
			batches = append(batches, f.batches[i])
		} else {
			answered = append(answered, f.turns[i].sale)
		}
	}
	b.release(ctx, c, answered)
	again, lost := b.try(ctx, batches)
	if f.lost && lost != nil {
		b.refuse(lost)
	}
	for i, at := range f.open {
		if err := again[i].Err; err != nil {
			again[i].Err = fmt.Errorf("%w: %w; repeated: %w", order.ErrUnknownOutcome, f.decided[at].Err, unmarked{err})
		}
		b.answer(ctx, &f.turns[at], &batches[i], &again[i], f.sent, true)
	}
}

// release ends answered sales' part in a call that goes on.
func (b *batcher) release(ctx context.Context, c *call, answered []*sale) {
	now := time.Now()
	b.mu.Lock()
	for _, s := range answered {
		b.queue.release(c, s, now)
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
	if err != nil {
		decided = slices.Repeat([]gate.BatchResult{{Err: err}}, len(asked))
	}
	return decided, err
}

// answer gives a turn's requests their results.
func (b *batcher) answer(
	ctx context.Context, t *turn, asked *gate.Batch, decided *gate.BatchResult, sent time.Time, twice bool,
) {
	if decided.Err != nil {
		b.fail(t, decided.Err)
		return
	}
	if twice {
		markDoubtful(decided.Results)
	}
	if accepted := t.sale.counts.outcomes(decided.Results); accepted > 0 {
		b.admission.recent.write(asked, decided, accepted, twice)
	}
	t.sale.observe(ctx, &observation{view: decided.View, sentAt: sent, receivedAt: time.Now()})
	for i, p := range t.pending {
		p.result = decided.Results[i]
		p.done <- struct{}{} // its caller may reuse it from now on
	}
}

// fail gives a turn's requests, and all that wait behind them, an error.
func (b *batcher) fail(t *turn, err error) {
	t.sale.counts.add(outcomeOf(err), len(t.pending))
	b.mu.Lock()
	t.sale.refuse(errBehind(err))
	b.mu.Unlock()
	for _, p := range t.pending {
		p.refuse(err)
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
