package admission

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/kit/periodic"
	"seckill/internal/order"
)

const (
	flushEvery   = time.Second
	flushTimeout = time.Second // how long adding the counts of one sale may take
)

// StatsStore is where all instances together count how requests were answered: Redis.
type StatsStore interface {
	// Add adds to the sale's counts. ErrUnavailable says that certainly nothing was added.
	Add(ctx context.Context, sale order.SaleRef, since order.Counts) error
}

// Timeline keeps for good how this process answers requests: *timeline.Timeline.
type Timeline interface {
	// Add adds what was answered around the time at. It does not wait for a store.
	Add(voucherID int64, at time.Time, since order.Counts)
}

// timelineMargin is how long before and after a sale its timeline has each second, as its report shows it.
const timelineMargin = 5 * time.Minute

// timelineAt is when something that was answered now is entered in the timeline: outside of the sale at the hour, so
// that those who ask for sales to come, or for ended ones, again and again, leave no row for each minute.
func (b *batcher) timelineAt(now time.Time) time.Time {
	o := b.latest.Load()
	if o == nil || !now.Before(o.view.Begin.Add(-timelineMargin)) && now.Before(o.view.End.Add(timelineMargin)) {
		return now
	}
	return now.Truncate(time.Hour)
}

// StatsFlusher adds once a second how this instance has answered requests to what the others have added, so that one
// who watches a sale sees all of it. A count that may have arrived is not added again: what people read may lack a
// second of one instance, and is never too high. The timeline has the same counts, whether Redis takes them or not.
type StatsFlusher struct {
	admission *Admission
	store     StatsStore
	timeline  Timeline
	observer  Observer
	log       *slog.Logger
	failing   bool
}

// NewStatsFlusher returns a flusher of the admission's counts; Run flushes.
func NewStatsFlusher(
	admission *Admission, store StatsStore, timeline Timeline, observer Observer, log *slog.Logger,
) *StatsFlusher {
	return &StatsFlusher{admission: admission, store: store, timeline: timeline, observer: observer, log: log}
}

// Run flushes until ctx ends, and a last time then.
func (f *StatsFlusher) Run(ctx context.Context) error {
	defer f.flush(context.WithoutCancel(ctx))
	return periodic.Every(ctx, flushEvery, f.flush)
}

// newCounts are those of a sale that Redis does not have yet.
type newCounts struct {
	of         *batcher
	all, since order.Counts
}

// flush adds what is new, to all partitions at the same time: the Redis node of one may be away alone.
func (f *StatsFlusher) flush(ctx context.Context) {
	byPartition := map[int][]newCounts{}
	f.admission.batchers.Range(func(_, found any) bool {
		b := found.(*batcher)
		if n := f.noted(b); len(n.since) > 0 {
			byPartition[b.sale.Partition] = append(byPartition[b.sale.Partition], n)
		} else {
			f.admission.release(b)
		}
		return true
	})
	var (
		adding sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	for _, counts := range byPartition {
		adding.Go(func() {
			if err := f.add(ctx, counts); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	adding.Wait()
	if failed != nil && !f.failing {
		f.log.WarnContext(ctx, "sale stats could not be added; retrying every second", "error", failed)
	}
	f.failing = failed != nil
}

// noted tells the observer and the timeline what is new of a sale, and returns what Redis is to be told.
func (f *StatsFlusher) noted(b *batcher) newCounts {
	all, soldOut, notStarted := b.counts.counts()
	flushed := &b.counts.flushed
	f.observer.RefusedFromCache(soldOut-flushed.soldOut, notStarted-flushed.notStarted)
	flushed.soldOut, flushed.notStarted = soldOut, notStarted
	if told := all.Minus(flushed.timeline); len(told) > 0 {
		f.timeline.Add(b.sale.VoucherID, b.timelineAt(time.Now().Add(-flushEvery/2)), told)
		flushed.timeline = all
	}
	return newCounts{of: b, all: all, since: all.Minus(flushed.all)}
}

// add adds the counts of sales of one partition. After a failure the others wait for the next time: Redis would keep
// each of them waiting.
func (f *StatsFlusher) add(ctx context.Context, counts []newCounts) error {
	for _, n := range counts {
		adding, cancel := context.WithTimeout(ctx, flushTimeout)
		err := f.store.Add(adding, n.of.sale, n.since)
		cancel()
		if !errors.Is(err, order.ErrUnavailable) {
			n.of.counts.flushed.all = n.all
		}
		if err != nil {
			return err
		}
	}
	return nil
}
