package idworker

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultBlockSize    = 10_000
	maxBlockSize        = 1 << 20
	defaultFetchTimeout = 30 * time.Second
)

// Options are a worker's settings. Zero values mean the defaults.
type Options struct {
	// BlockSize is how many numbers are reserved at once, 1 to 1,048,576; any other value means 10,000. A process that
	// ends wastes the rest of its blocks, of some four billion numbers a day.
	BlockSize int64
	// FetchTimeout bounds one reservation, including the reading of recorded ids if the counter is gone; 0 or less
	// means 30 s. Callers of Next wait no longer than their own context allows.
	FetchTimeout time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger logs created counters and failed background reservations; nil discards them.
	Logger *slog.Logger
}

// Worker gives ids. It is safe for concurrent use.
//
// It starts a goroutine for each reservation, about one per BlockSize ids, and never two at once. The goroutine may
// outlive the call that started it, because others wait for the same numbers. It ends with the reservation, after
// FetchTimeout at the latest. Close ends it early and waits for it.
type Worker struct {
	counter Counter
	history History
	perm    *permutation
	size    int64
	timeout time.Duration
	now     func() time.Time
	log     *slog.Logger

	current atomic.Pointer[block] // replaced under mu; numbers are taken without it

	mu       sync.Mutex
	spare    *block          // the block after current
	fetching *fetch          // the reservation in progress
	known    map[int64]int64 // per day: the highest number that a reservation returned
	closed   bool
}

// New returns a worker that takes numbers from the counter and scrambles them with the key. All processes must share
// the counter and the key. New makes no call and starts no goroutine.
func New(counter Counter, history History, key [16]byte, o Options) *Worker {
	if o.BlockSize < 1 || o.BlockSize > maxBlockSize {
		o.BlockSize = defaultBlockSize
	}
	if o.FetchTimeout <= 0 {
		o.FetchTimeout = defaultFetchTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Worker{
		counter: counter, history: history, perm: newPermutation(key),
		size: o.BlockSize, timeout: o.FetchTimeout, now: o.Now, log: o.Logger,
		known: make(map[int64]int64),
	}
}

// Next returns a new id. While there are reserved numbers it answers from memory, without checking ctx. Otherwise it
// waits for a reservation, which all waiting callers share. The error is ErrExhausted, ErrClock, ErrClosed, ctx's, the
// counter's or the ledger's; then no id was given, and the next call tries again.
func (w *Worker) Next(ctx context.Context) (int64, error) {
	for {
		second, err := secondOf(w.now())
		if err != nil {
			return 0, err
		}
		if b := w.current.Load(); b != nil && b.day == dayOf(second) {
			if n, ok := b.take(); ok {
				if b.asks(n) {
					w.prefetch(ctx, b)
				}
				return w.perm.id(second, n), nil
			}
		}
		if err := w.refill(ctx); err != nil {
			return 0, err
		}
	}
}

// Warm reserves the first numbers, so that the first buyer does not wait. Its errors are those of Next.
func (w *Worker) Warm(ctx context.Context) error { return w.refill(ctx) }

// Close drops the reserved numbers and cancels a reservation in progress. It waits for that reservation, or returns
// ctx's error if ctx ends first. Later calls of Next fail with ErrClosed. Closing again is harmless.
func (w *Worker) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	w.current.Store(nil)
	w.spare = nil
	f := w.fetching
	w.mu.Unlock()
	if f == nil {
		return nil
	}
	f.cancel()
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
