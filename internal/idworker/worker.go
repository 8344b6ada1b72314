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

// Options are a worker's settings; the zero value has the defaults.
type Options struct {
	// BlockSize is how many numbers are reserved at once, 1 to 1,048,576; anything else means 10,000. A process that
	// ends leaves the rest of its blocks unused, and each day has some four billion numbers.
	BlockSize int64
	// FetchTimeout bounds one reservation, the reading of recorded ids included where the counter is gone; 0 or less
	// means 30 s. Callers of Next wait no longer than their own context allows.
	FetchTimeout time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger logs counters that had to be created and reservations in the background that failed; nil means
	// nobody.
	Logger *slog.Logger
}

// Worker gives ids. It is safe for concurrent use.
//
// It starts a goroutine for each reservation, about one in BlockSize ids, never two at once. Such a goroutine outlives
// the call that started it, because others wait for the same numbers; it ends with the reservation, after FetchTimeout
// at the latest. Close ends it early and waits for it.
type Worker struct {
	counter Counter
	history History
	perm    *permutation
	size    int64
	timeout time.Duration
	now     func() time.Time
	log     *slog.Logger

	current atomic.Pointer[block] // replaced under mu, taken from without it

	mu       sync.Mutex
	spare    *block          // the block after current
	fetching *fetch          // the reservation in progress
	known    map[int64]int64 // per day: the highest number that a reservation returned
	closed   bool
}

// New returns a worker that takes numbers from the counter and scrambles them with the key, which all processes share.
// It makes no call and starts nothing.
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

// Next returns a new id. It answers from memory, without looking at ctx, as long as there are reserved numbers, and
// waits for a reservation otherwise; all waiting callers share one. It returns ErrExhausted, ErrClock, ErrClosed, ctx's
// error, or that of the counter or the ledger. No id was given then, and the next call tries again.
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

// Warm reserves the first numbers, so that the first buyer does not wait for it. Its errors are those of Next.
func (w *Worker) Warm(ctx context.Context) error { return w.refill(ctx) }

// Close drops the reserved numbers, stops a reservation in progress and waits for it, or for ctx, whose error it then
// returns. Calls of Next that come later fail with ErrClosed. Closing again is harmless.
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
