package recorder

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
)

// fetcher is the Recorder's stage that reads batches from the stream.
type fetcher struct {
	queue   Queue
	callers Callers
	options Options
	again   *rereading
	log     *slog.Logger

	out    chan<- *batch
	last   *batch    // the last batch handed over, nil before the first
	lastAt time.Time // when it was read; zero after a full batch, since the stream has more
}

// run reads batches into out until ctx ends. With Options.Drain it then reads to the stream's end, unless work ends
// first. It closes out.
func (f *fetcher) run(ctx, work context.Context, out chan<- *batch) {
	defer close(out)
	f.out = out
	f.loop(ctx)
	if f.options.Drain {
		f.drain(work)
	}
}

// loop reads until ctx ends. It reads the consumer's pending entries at the start, after a failed read (the lost answer
// may have had entries), when the finisher asks for them, and once a minute.
func (f *fetcher) loop(ctx context.Context) {
	backOff := retry.NewBackOff()
	var ownAt, orphansAt time.Time
	for ctx.Err() == nil {
		var err error
		switch {
		case time.Since(ownAt) > ownEvery, f.again.due():
			if err = f.own(ctx); err == nil {
				ownAt = time.Now()
			}
		case time.Since(orphansAt) > orphanEvery:
			if _, err = f.read(ctx, f.orphans); err == nil {
				orphansAt = time.Now()
			}
		default:
			f.gather(ctx)
			_, err = f.read(ctx, f.next)
		}
		if err == nil {
			backOff.Reset()
			continue
		}
		ownAt = time.Time{}
		f.pause(ctx, backOff.NextBackOff(), err)
	}
}

// pause waits after a failed read.
func (f *fetcher) pause(ctx context.Context, pause time.Duration, err error) {
	if ctx.Err() == nil {
		f.log.WarnContext(ctx, "reading accepted orders failed; retrying", "partition",
			f.options.Partition, "error", err)
		retry.Sleep(ctx, pause)
	}
}

// gather waits until gatherTime has passed since the last read, so that more entries share a transaction and the calls
// to Redis that follow it. It does not wait while a caller waits for a row, nor for an order that comes to an idle
// recorder.
func (f *fetcher) gather(ctx context.Context) {
	since := time.Since(f.lastAt)
	if since >= gatherTime {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, gatherTime-since)
	defer cancel()
	f.callers.Awaited(ctx)
}

func (f *fetcher) next(ctx context.Context) ([]order.Entry, error) {
	return f.queue.Next(ctx, f.options.Batch, nextWait)
}

func (f *fetcher) orphans(ctx context.Context) ([]order.Entry, error) {
	return f.queue.Orphans(ctx, f.options.Batch)
}

// own reads everything that was delivered to this consumer and is not acknowledged. It first waits until no batch is in
// progress, whose entries it would otherwise read again.
func (f *fetcher) own(ctx context.Context) error {
	if f.last != nil {
		<-f.last.finished
	}
	after := ""
	for ctx.Err() == nil {
		entries, err := f.read(ctx, func(ctx context.Context) ([]order.Entry, error) {
			return f.queue.Own(ctx, after, f.options.Batch)
		})
		if err != nil || len(entries) == 0 {
			return err
		}
		after = entries[len(entries)-1].Key
	}
	return ctx.Err()
}

// read reads entries and hands them on as one batch, or as several if they have too many orders for one. Entries that
// were read are handed on even if ctx has ended meanwhile.
func (f *fetcher) read(ctx context.Context, read func(context.Context) ([]order.Entry, error)) ([]order.Entry, error) {
	call, cancel := context.WithTimeout(ctx, order.RedisTimeout)
	entries, err := read(call)
	cancel()
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	f.lastAt = time.Now()
	for _, part := range split(entries, f.options.Batch) {
		f.last = newBatch(part)
		f.out <- f.last
	}
	if len(entries) < f.options.Batch {
		// The stream is empty. Wait for the commit, so that entries which come meanwhile share the next batch instead
		// of making a small one of their own.
		<-f.last.committed
	} else {
		f.lastAt = time.Time{}
	}
	return entries, nil
}

// drain reads this consumer's pending entries and then the stream, until nothing is left or ctx ends.
func (f *fetcher) drain(ctx context.Context) {
	err := f.own(ctx) // the answer of the last read may have been lost
	for err == nil && ctx.Err() == nil {
		var entries []order.Entry
		entries, err = f.read(ctx, func(ctx context.Context) ([]order.Entry, error) {
			return f.queue.Next(ctx, f.options.Batch, 0)
		})
		if err == nil && len(entries) == 0 {
			return
		}
	}
	if err != nil {
		f.log.ErrorContext(ctx, "draining the stream failed", "error", err)
	}
}

// rereading has the time at which the finisher wants own entries read again, ahead of the read once a minute.
type rereading struct {
	mu sync.Mutex
	at time.Time // zero: not wanted
}

// in asks for a reread after the given time; the earliest request counts.
func (r *rereading) in(after time.Duration) {
	at := time.Now().Add(after)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || at.Before(r.at) {
		r.at = at
	}
}

// due reports whether a reread is due, and if so forgets the request.
func (r *rereading) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || time.Now().Before(r.at) {
		return false
	}
	r.at = time.Time{}
	return true
}
