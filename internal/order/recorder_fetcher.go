package order

import (
	"context"
	"log/slog"
	"time"
)

// fetcher is the Recorder's hand that reads batches from the stream.
type fetcher struct {
	queue   Queue
	options RecorderOptions
	log     *slog.Logger

	out  chan<- *batch
	last *batch // the one that it handed over last, nil before the first
}

// run reads into out until ctx ends, and after that to the stream's end if it is to, as long as work lasts. It closes
// out.
func (f *fetcher) run(ctx, work context.Context, out chan<- *batch) {
	defer close(out)
	f.out = out
	f.loop(ctx)
	if f.options.Drain {
		f.drain(work)
	}
}

// loop reads until ctx ends. Whenever a read may have delivered entries whose answer was lost, and once a minute, it
// looks through its own pending entries first.
func (f *fetcher) loop(ctx context.Context) {
	pause := newPause()
	var lookedOwn, lookedOrphans time.Time
	for ctx.Err() == nil {
		var err error
		switch {
		case time.Since(lookedOwn) > ownEvery:
			if err = f.own(ctx); err == nil {
				lookedOwn = time.Now()
			}
		case time.Since(lookedOrphans) > orphanEvery:
			if _, err = f.read(ctx, f.orphans); err == nil {
				lookedOrphans = time.Now()
			}
		default:
			_, err = f.read(ctx, f.next)
		}
		if err == nil {
			pause.Reset()
			continue
		}
		if ctx.Err() != nil {
			return
		}
		f.log.WarnContext(ctx, "reading accepted orders failed; trying again", "partition", f.options.Partition, "error", err)
		lookedOwn = time.Time{}
		rest(ctx, pause.NextBackOff())
	}
}

func (f *fetcher) next(ctx context.Context) ([]Entry, error) {
	return f.queue.Next(ctx, f.options.Batch, nextWait)
}

func (f *fetcher) orphans(ctx context.Context) ([]Entry, error) {
	return f.queue.Orphans(ctx, f.options.Batch)
}

// own goes through everything that was delivered to this consumer and not settled. What is in hand would be found too
// and recorded twice, to no purpose: so it waits until nothing is.
func (f *fetcher) own(ctx context.Context) error {
	if f.last != nil {
		<-f.last.finished
	}
	after := ""
	for ctx.Err() == nil {
		entries, err := f.read(ctx, func(ctx context.Context) ([]Entry, error) {
			return f.queue.Own(ctx, after, f.options.Batch)
		})
		if err != nil || len(entries) == 0 {
			return err
		}
		after = entries[len(entries)-1].Key
	}
	return ctx.Err()
}

// read reads entries and hands them over as a batch. Once read, they are settled even when ctx ends meanwhile.
func (f *fetcher) read(ctx context.Context, read func(context.Context) ([]Entry, error)) ([]Entry, error) {
	call, cancel := context.WithTimeout(ctx, redisTime)
	entries, err := read(call)
	cancel()
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	f.last = newBatch(entries)
	f.out <- f.last
	if len(entries) < f.options.Batch {
		// There was no more. What comes while this is being committed travels together in the next batch; read already, it
		// would have to wait in a small one.
		<-f.last.committed
	}
	return entries, nil
}

// drain reads what is pending for this consumer and then what is in the stream, until there is nothing or ctx ends.
func (f *fetcher) drain(ctx context.Context) {
	err := f.own(ctx) // the answer of the last read may have been lost
	for err == nil && ctx.Err() == nil {
		var entries []Entry
		entries, err = f.read(ctx, func(ctx context.Context) ([]Entry, error) {
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
