package admission

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/kit/histogram"
	"seckill/internal/kit/periodic"
	"seckill/internal/order"
	"seckill/internal/order/gate"
)

const (
	flushEvery   = time.Second
	flushTimeout = time.Second // how long adding the counts of one sale may take
)

// StatsStore adds to the sum of all instances' counts of a sale in Redis: counts of answers, and of how long answers
// took. After ErrUnavailable nothing was added.
type StatsStore func(ctx context.Context, sale order.SaleRef, since gate.Counts, took histogram.Counts) error

// Timeline adds, for good, the answers that this process gave at about the time at, and how long they took. It does not
// wait for a store.
type Timeline func(voucherID int64, at time.Time, since gate.Counts, took histogram.Counts)

// timelineMargin is how long before and after a sale its timeline has one entry per second, as its report shows it.
const timelineMargin = 5 * time.Minute

// timelineAt returns the time under which an answer given now enters the timeline. Outside of the sale that is the full
// hour: repeated requests for coming or ended sales then leave no row for each minute.
func (s *sale) timelineAt(now time.Time) time.Time {
	o := s.latest.Load()
	if o == nil || !now.Before(o.view.Begin.Add(-timelineMargin)) && now.Before(o.view.End.Add(timelineMargin)) {
		return now
	}
	return now.Truncate(time.Hour)
}

// StatsFlusher adds this instance's answers of the last second to the shared counts, so that an observer of a sale sees
// the answers of all instances. A count that may have arrived is not added again: the shared counts may lack a second
// of one instance, and are never too high. The timeline gets the same counts, whether Redis takes them or not.
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

// Run flushes until ctx ends, and then once more.
func (f *StatsFlusher) Run(ctx context.Context) error {
	defer f.flush(context.WithoutCancel(ctx))
	return periodic.Every(ctx, flushEvery, f.flush)
}

// newCounts are the counts of a sale that Redis does not have yet.
type newCounts struct {
	of         *sale
	all, since answered
}

// flush adds the new counts in all partitions at the same time: one partition's Redis node may be away alone.
func (f *StatsFlusher) flush(ctx context.Context) {
	byPartition := map[int][]newCounts{}
	f.admission.sales.Range(func(_, found any) bool {
		s := found.(*sale)
		if n := f.noted(s); !n.since.empty() {
			byPartition[s.ref.Partition] = append(byPartition[s.ref.Partition], n)
		} else {
			f.admission.release(s)
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

// noted passes a sale's new counts on to the observer and the timeline, and returns those to add in Redis.
func (f *StatsFlusher) noted(s *sale) newCounts {
	all, soldOut, notStarted := s.counts.counts()
	flushed := &s.counts.flushed
	f.observer.RefusedFromCache(soldOut-flushed.soldOut, notStarted-flushed.notStarted)
	flushed.soldOut, flushed.notStarted = soldOut, notStarted
	if told := all.minus(flushed.timeline); !told.empty() {
		f.timeline(s.ref.VoucherID, s.timelineAt(time.Now().Add(-flushEvery/2)), told.counts, told.took)
		flushed.timeline = all
	}
	return newCounts{of: s, all: all, since: all.minus(flushed.all)}
}

// add adds the counts of one partition's sales. After a failure it leaves the remaining sales for the next flush: each
// would wait for the same Redis.
func (f *StatsFlusher) add(ctx context.Context, counts []newCounts) error {
	for _, n := range counts {
		adding, cancel := context.WithTimeout(ctx, flushTimeout)
		err := f.store(adding, n.of.ref, n.since.counts, n.since.took)
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
