package batch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// ErrNotSent means that the request was never part of a call, so it certainly had no effect.
var ErrNotSent = errors.New("the request was not sent")

var errOverloaded = fmt.Errorf("%w: too many requests are waiting", ErrNotSent)

// Options tune a Batcher.
type Options struct {
	Size  int // the most requests in one call; 0: all that wait
	Calls int // the most calls under way at once
	// MaxWait refuses a request that would wait longer, judging by how long calls took lately. 0: no limit.
	MaxWait time.Duration
	// FailWaiting: when a call fails, all waiting requests fail with ErrNotSent.
	FailWaiting bool
	// Inline lets a caller make its own call, in its goroutine and with its context, if fewer than Calls are under way.
	// It is for calls that cost little more than waking a goroutine.
	Inline bool
	// Running counts the goroutines that the Batcher starts to make calls, so that a clean stop can wait for them. It
	// may be nil.
	Running *Running
}

// Item is one request of a call.
type Item[Q, A any] struct {
	Request Q
	Answer  A // set by the call

	err  error
	done chan struct{}   // receives a value once Answer or err is set
	gone <-chan struct{} // closed when the caller gives up; nil if it never does
	sent bool            // it is part of a call; guarded by Batcher.mu
}

// Batcher shares calls among callers.
type Batcher[Q, A any] struct {
	call    func(ctx context.Context, items []*Item[Q, A]) error
	options Options

	unused sync.Pool // of items, which requests reuse

	mu       sync.Mutex
	waiting  []*Item[Q, A]
	workers  int           // goroutines that make calls, callers' own included
	calls    int           // calls since the Batcher was last idle
	callTime time.Duration // moving average since the Batcher was last idle; 0: no call yet
}

// New returns a Batcher. call fills in the items' answers, or returns an error for all of them; it must not keep the
// items. Its context has a caller's values but no deadline or cancellation, except with Options.Inline.
func New[Q, A any](options Options, call func(ctx context.Context, items []*Item[Q, A]) error) *Batcher[Q, A] {
	if options.Size == 0 {
		options.Size = math.MaxInt
	}
	if options.Running == nil {
		options.Running = new(Running)
	}
	return &Batcher[Q, A]{call: call, options: options}
}

// Do returns the answer to the request, from a call that begins after Do did, or that call's error. It returns
// ErrNotSent if the request is part of no call, and ctx's error if ctx ends during the call, which goes on.
func (b *Batcher[Q, A]) Do(ctx context.Context, request Q) (answer A, err error) {
	it, _ := b.unused.Get().(*Item[Q, A])
	if it == nil {
		it = &Item[Q, A]{done: make(chan struct{}, 1)}
	}
	it.Request, it.gone = request, ctx.Done()
	if err := b.join(ctx, it, b.options.Inline); err != nil {
		return answer, err
	}
	select {
	case <-it.done:
		return b.finish(it)
	case <-it.gone:
	}
	select {
	case <-it.done: // both happened: e.g. the caller's own call ended with ctx
		return b.finish(it)
	default:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !it.sent { // and never will be: take skips items whose caller has gone
		return answer, fmt.Errorf("%w: %w", ErrNotSent, ctx.Err())
	}
	return answer, ctx.Err()
}

// finish returns the item's result and recycles the item, which nobody else uses any more.
func (b *Batcher[Q, A]) finish(it *Item[Q, A]) (answer A, err error) {
	answer, err = it.Answer, it.err
	*it = Item[Q, A]{done: it.done}
	b.unused.Put(it)
	return answer, err
}

// Go sends the request as Do does, but does not wait for the answer.
func (b *Batcher[Q, A]) Go(ctx context.Context, request Q) {
	_ = b.join(ctx, &Item[Q, A]{Request: request, done: make(chan struct{}, 1)}, false) // the outcome is not needed
}

// Waiting returns how many requests wait for a call.
func (b *Batcher[Q, A]) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// join appends the item to the waiting ones, and starts a worker if another one is allowed. With inline, the caller
// itself makes one call with only its own item, because the call runs with the caller's context.
func (b *Batcher[Q, A]) join(ctx context.Context, it *Item[Q, A], inline bool) error {
	b.mu.Lock()
	if b.options.MaxWait > 0 && b.expectedWait() > b.options.MaxWait {
		b.mu.Unlock()
		return errOverloaded
	}
	b.waiting = append(b.waiting, it)
	free := b.workers < b.options.Calls
	if free {
		b.workers++
	}
	var mine []*Item[Q, A]
	if inline = inline && free && len(b.waiting) == 1; inline {
		mine = b.take()
	}
	b.mu.Unlock()
	if free && !inline {
		b.start(ctx, nil)
	}
	if len(mine) > 0 {
		if items := b.next(b.run(ctx, mine)); len(items) > 0 {
			b.start(ctx, items)
		}
	}
	return nil
}

// start starts a worker, which makes calls until nobody waits. items, if any, are its first call.
func (b *Batcher[Q, A]) start(ctx context.Context, items []*Item[Q, A]) {
	ctx = context.WithoutCancel(ctx)
	b.options.Running.Go(func() { b.work(ctx, items) })
}

func (b *Batcher[Q, A]) work(ctx context.Context, items []*Item[Q, A]) {
	if items == nil {
		items = b.next(0)
	}
	for len(items) > 0 {
		items = b.next(b.run(ctx, items))
	}
}

// run makes one call and answers its items. It returns how long the call took, or 0 if MaxWait is not used.
func (b *Batcher[Q, A]) run(ctx context.Context, items []*Item[Q, A]) (took time.Duration) {
	var start time.Time
	if b.options.MaxWait > 0 {
		start = time.Now()
	}
	err := Safely(func() error { return b.call(ctx, items) })
	if b.options.MaxWait > 0 {
		took = time.Since(start)
	}
	if err != nil && b.options.FailWaiting {
		b.failWaiting(err)
	}
	for _, it := range items {
		it.err = err
		it.done <- struct{}{}
	}
	return took
}

// next returns the items of the next call, or none if the worker has to end. took is how long the worker's previous
// call took, 0 if unknown. It is averaged into callTime: with a weight of one half at first, so that slow calls are
// noticed after a few, and one eighth later, so that a few stalls refuse nobody.
func (b *Batcher[Q, A]) next(took time.Duration) []*Item[Q, A] {
	const quick, steady = 2, 8
	b.mu.Lock()
	defer b.mu.Unlock()
	if took > 0 {
		b.calls++
		b.callTime += (took - b.callTime) / time.Duration(min(max(b.calls, quick), steady))
	}
	return b.take()
}

// take removes the items of the next call from b.waiting and returns them, dropping items whose callers have gone. If
// nothing is left to send, it deregisters the worker and returns nil. The caller holds b.mu.
func (b *Batcher[Q, A]) take() []*Item[Q, A] {
	taken, items := 0, b.waiting[:0]
	for _, it := range b.waiting {
		if len(items) == b.options.Size {
			break
		}
		taken++
		select {
		case <-it.gone:
		default:
			it.sent = true
			items = append(items, it)
		}
	}
	if b.waiting = b.waiting[taken:]; len(b.waiting) == 0 {
		b.waiting = nil // frees the memory of a rush
	}
	if len(items) > 0 {
		return slices.Clip(items) // the waiting items follow in the same array
	}
	if b.workers--; b.workers == 0 {
		b.calls, b.callTime = 0, 0
	}
	return nil
}

// expectedWait returns how long one more request would wait if calls take as long as they did. The caller has locked.
func (b *Batcher[Q, A]) expectedWait() time.Duration {
	return b.callTime * time.Duration(len(b.waiting)/b.options.Size+1) / time.Duration(b.options.Calls)
}

// failWaiting fails all waiting requests with ErrNotSent.
func (b *Batcher[Q, A]) failWaiting(cause error) {
	err := fmt.Errorf("%w: the call before failed: %s", ErrNotSent, cause.Error()) // not wrapped: cause concerns others
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, it := range b.waiting {
		it.err = err
		it.done <- struct{}{}
	}
	b.waiting = nil
}
