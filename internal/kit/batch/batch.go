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

// ErrNotSent says that a request was in no call, so that it certainly had no effect.
var ErrNotSent = errors.New("the request was not sent")

var errOverloaded = fmt.Errorf("%w: too many wait", ErrNotSent)

// Options tune a Batcher.
type Options struct {
	Size  int // requests in one call at most; 0: all that wait
	Calls int // calls under way at once, at most
	// MaxWait refuses requests that would wait for longer, if calls go on taking as long as they did lately. 0: none.
	MaxWait time.Duration
	// FailWaiting makes a call that fails end the waiting of all: their requests were not sent.
	FailWaiting bool
	// Inline lets a caller that finds fewer calls under way make its own, in its goroutine and with its context: for
	// calls that cost little more than to wake a goroutine does.
	Inline bool
	// Running counts the goroutines that make calls, for a clean stop; may be nil.
	Running *sync.WaitGroup
}

// Item is one request in a call.
type Item[Q, A any] struct {
	Request Q
	Answer  A // for the call to fill in

	err  error
	done chan struct{}   // gets a value once the answer or err is there
	gone <-chan struct{} // closed once the caller has given up; nil: it never does
	sent bool            // a call has it; guarded by Batcher.mu
}

// Batcher shares calls among callers.
type Batcher[Q, A any] struct {
	call    func(ctx context.Context, items []*Item[Q, A]) error
	options Options

	unused sync.Pool // of items, so that a request allocates none

	mu       sync.Mutex
	waiting  []*Item[Q, A]
	workers  int           // goroutines that make calls, callers' own included
	calls    int           // since it was idle
	callTime time.Duration // what a call takes, the latest ones counting most; 0 without any since it was idle
}

// New returns a Batcher. call answers the items, or returns an error that all of them get. Its context has the values
// of a caller's, and no end unless Options.Inline says so. It must not keep the items.
func New[Q, A any](options Options, call func(ctx context.Context, items []*Item[Q, A]) error) *Batcher[Q, A] {
	if options.Size == 0 {
		options.Size = math.MaxInt
	}
	if options.Running == nil {
		options.Running = new(sync.WaitGroup)
	}
	return &Batcher[Q, A]{call: call, options: options}
}

// Do returns the answer to the request, of a call that begins after this one, or the call's error. It returns
// ErrNotSent when the request is in no call, and ctx's error when ctx ends during the call; the call goes on.
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
	case <-it.done: // both, as where the caller's own call went on until ctx ended
		return b.finish(it)
	default:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !it.sent { // nor will it be: take sees that its caller has gone
		return answer, fmt.Errorf("%w: %w", ErrNotSent, ctx.Err())
	}
	return answer, ctx.Err()
}

// finish returns what came of the item, which nobody else has any more.
func (b *Batcher[Q, A]) finish(it *Item[Q, A]) (answer A, err error) {
	answer, err = it.Answer, it.err
	*it = Item[Q, A]{done: it.done}
	b.unused.Put(it)
	return answer, err
}

// Go has the request sent as Do does, and does not wait.
func (b *Batcher[Q, A]) Go(ctx context.Context, request Q) {
	_ = b.join(ctx, &Item[Q, A]{Request: request, done: make(chan struct{}, 1)}, false) // nobody asks what became of it
}

// Waiting returns how many requests wait for a call.
func (b *Batcher[Q, A]) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// join lets the item wait, and starts a worker if one more may work. If inline, its caller is that worker for one
// call: of its own item, for the call has its context.
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

// start starts a worker, which calls until nobody waits, first with the items if there are any.
func (b *Batcher[Q, A]) start(ctx context.Context, items []*Item[Q, A]) {
	b.options.Running.Add(1)
	go b.work(context.WithoutCancel(ctx), items)
}

func (b *Batcher[Q, A]) work(ctx context.Context, items []*Item[Q, A]) {
	defer b.options.Running.Done()
	if items == nil {
		items = b.next(0)
	}
	for len(items) > 0 {
		items = b.next(b.run(ctx, items))
	}
}

// run makes one call, answers its items, and returns how long it took, if that is of use.
func (b *Batcher[Q, A]) run(ctx context.Context, items []*Item[Q, A]) (took time.Duration) {
	var start time.Time
	if b.options.MaxWait > 0 {
		start = time.Now()
	}
	err := b.call(ctx, items)
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

// next returns the items of the next call, none when the worker is to end. took is how long its call before took; 0:
// not known. callTime moves to that by half of the difference at first, so that slow calls are known as such after a
// few; by an eighth later, so that some that stall refuse nobody.
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

// take removes the items of the next call from those that wait, without those whose callers have gone. When there are
// none, the worker ends. The caller has locked.
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
		b.waiting = nil // lets the memory of a rush go
	}
	if len(items) > 0 {
		return slices.Clip(items) // what waits stands behind them in the same array
	}
	if b.workers--; b.workers == 0 {
		b.calls, b.callTime = 0, 0
	}
	return nil
}

// expectedWait is how long it takes to serve all that wait and one more, if calls take as long as they did. The
// caller has locked.
func (b *Batcher[Q, A]) expectedWait() time.Duration {
	return b.callTime * time.Duration(len(b.waiting)/b.options.Size+1) / time.Duration(b.options.Calls)
}

// failWaiting answers all that wait: they were not sent.
func (b *Batcher[Q, A]) failWaiting(cause error) {
	err := fmt.Errorf("%w: the call before failed: %s", ErrNotSent, cause.Error()) // what cause wraps is about others
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, it := range b.waiting {
		it.err = err
		it.done <- struct{}{}
	}
	b.waiting = nil
}
