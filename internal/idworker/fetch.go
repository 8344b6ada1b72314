package idworker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// fetch is a reservation in progress, for which any number of callers may wait.
type fetch struct {
	day    int64
	asker  *block // the block that requested it in advance; nil if a caller waits
	cancel context.CancelFunc
	done   chan struct{}
	err    error // valid once done is closed
}

// wait returns the reservation's error, or ctx's if ctx ends first.
func (f *fetch) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// prefetch starts a reservation for b's day, unless one is in progress or done.
func (w *Worker) prefetch(ctx context.Context, b *block) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.fetching != nil || w.spare != nil && w.spare.day == b.day {
		return
	}
	w.start(ctx, b.day, b)
}

// refill returns once there are numbers for the current day, even if other callers take them all first.
func (w *Worker) refill(ctx context.Context) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	// Read the clock again under the lock: a caller that read it before midnight must not replace the block that
	// another caller made current after midnight.
	second, err := secondOf(w.now())
	if err != nil {
		w.mu.Unlock()
		return err
	}
	day := dayOf(second)
	if w.ready(day) {
		w.mu.Unlock()
		return nil
	}
	f := w.fetching
	if f == nil {
		f = w.start(ctx, day, nil)
	}
	w.mu.Unlock()
	if err := f.wait(ctx); err != nil && (f.day == day || ctx.Err() != nil) {
		return err
	}
	return nil
}

// ready reports whether the current block serves the day; if it does not, ready first replaces it by the spare block.
// It drops a spare block of another day. The caller holds w.mu.
func (w *Worker) ready(day int64) bool {
	if b := w.current.Load(); b != nil && b.day == day && !b.empty() {
		return true
	}
	s := w.spare
	w.spare = nil
	if s == nil || s.day != day {
		return false
	}
	w.current.Store(s)
	return true
}

// start starts a reservation. The caller holds w.mu, and none is in progress.
func (w *Worker) start(ctx context.Context, day int64, asker *block) *fetch {
	// The reservation keeps the context's values but must not end with the caller, because others wait for it as well.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.timeout)
	f := &fetch{day: day, asker: asker, cancel: cancel, done: make(chan struct{})}
	w.fetching = f
	go w.run(ctx, f)
	return f
}

// run makes the reservation and stores its block.
func (w *Worker) run(ctx context.Context, f *fetch) {
	defer close(f.done)
	defer f.cancel()
	last, err := w.reserve(ctx, f)

	w.mu.Lock()
	defer w.mu.Unlock()
	w.fetching = nil
	if err != nil {
		f.err = fmt.Errorf("reserve order ids of %s: %w", dayName(f.day), err)
		if f.asker != nil && !w.closed {
			// Perhaps no caller waits, and then nobody else would report it.
			f.asker.askAgain()
			w.log.LogAttrs(ctx, slog.LevelWarn, "failed to reserve order ids in advance", slog.Any("error", f.err))
		}
		return
	}
	w.remember(f.day, last)
	if !w.closed {
		w.spare = newBlock(f.day, last, w.size)
	}
}

// reserve reserves the next numbers of the fetch's day and returns the last of them.
func (w *Worker) reserve(ctx context.Context, f *fetch) (int64, error) {
	known := w.highestKnown(f.day)
	r := Reservation{Day: dayName(f.day), N: w.size, Known: known}
	last, err := w.counter.Reserve(ctx, r)
	if errors.Is(err, ErrCounterMissing) {
		recorded, herr := w.highestRecorded(ctx, f.day)
		if herr != nil {
			return 0, fmt.Errorf("%w, and the recorded ids cannot be read: %w", err, herr)
		}
		r.Known, r.Create = max(known, recorded), true
		w.log.LogAttrs(ctx, slog.LevelInfo, "creating the day's order id counter", slog.String("day", r.Day),
			slog.Int64("highestKnown", known), slog.Int64("highestRecorded", recorded))
		last, err = w.counter.Reserve(ctx, r)
	}
	if err != nil {
		return 0, err
	}
	// Whatever the counter returns, this process must not use a number twice.
	if last-w.size < known || last > MaxNumber {
		return 0, fmt.Errorf("the counter returned the numbers up to %d, although %d was taken", last, known)
	}
	return last, nil
}

// highestRecorded returns the highest recorded number of the day, 0 for none.
func (w *Worker) highestRecorded(ctx context.Context, day int64) (int64, error) {
	from, to := idsOf(day)
	highest := int64(0)
	err := w.history.OrderIDs(ctx, from, to, func(id int64) { highest = max(highest, w.perm.number(id)) })
	return highest, err
}

// highestKnown returns the highest number that the day's reservations returned, 0 for none.
func (w *Worker) highestKnown(day int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known[day]
}

// remember keeps the highest number of the day, and of a few other days in case the clock steps back over midnight. The
// caller holds w.mu.
func (w *Worker) remember(day, last int64) {
	const most = 4
	w.known[day] = last
	for len(w.known) > most {
		oldest := day
		for d := range w.known {
			oldest = min(oldest, d)
		}
		delete(w.known, oldest)
	}
}
