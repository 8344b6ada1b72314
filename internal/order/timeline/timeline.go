package timeline

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"seckill/internal/kit/histogram"
	"seckill/internal/kit/periodic"
	"seckill/internal/order/gate"
)

const (
	writeEvery   = 5 * time.Second // a process that dies loses at most the counts of this time
	writeTimeout = 5 * time.Second // the time limit of one statement
	writeRows    = 50              // minutes in one statement
	maxMinutes   = 2048            // in memory, some 2 KB each, 20 KB if each second has answers of every duration
)

// Minute is how one process answered the requests for a sale during a minute.
type Minute struct {
	VoucherID int64
	Start     time.Time // a whole minute by the process's clock
	Run       int64     // random; a minute that a process counts a second time has another number and row
	Counts    map[gate.Answer]*Seconds
	Took      map[int]histogram.Counts // how long answers took, by the second of the minute; nil if unknown
}

// Seconds are counts for each second of a minute.
type Seconds [60]int64

// Asked returns how many requests were answered.
func (m Minute) Asked() int64 {
	var all int64
	for _, n := range m.Totals() {
		all += n
	}
	return all
}

// Totals returns the counts of the whole minute.
func (m Minute) Totals() gate.Counts {
	totals := gate.Counts{}
	for answer, seconds := range m.Counts {
		for _, n := range seconds {
			totals[answer] += n
		}
	}
	return totals
}

// TookInAll returns how long the answers of the whole minute took.
func (m Minute) TookInAll() (all histogram.Counts) {
	for _, took := range m.Took {
		all = all.Plus(took)
	}
	return all
}

// Ledger stores minutes. Each replaces the row of its sale, start and run, unless that row has more requests.
type Ledger func(ctx context.Context, minutes []Minute) error

// Timeline counts how this process answers the requests for each sale, second by second, and keeps the counts for good.
// It is safe for concurrent use.
type Timeline struct {
	ledger Ledger
	log    *slog.Logger

	writing sync.Mutex // one Flush at a time, so that the last one writes everything

	mu      sync.Mutex
	minutes map[minuteKey]*minute
	lost    int64 // requests of dropped minutes, since the last log line about them
	failing bool
}

type minuteKey struct {
	voucherID int64
	start     int64 // Unix seconds
}

type minute struct {
	counted Minute
	dirty   bool
	addedAt time.Time
}

// New returns an empty timeline. Run writes it.
func New(ledger Ledger, log *slog.Logger) *Timeline {
	return &Timeline{ledger: ledger, log: log, minutes: make(map[minuteKey]*minute)}
}

// Add is an admission.Timeline. It only changes memory.
func (t *Timeline) Add(voucherID int64, at time.Time, since gate.Counts, took histogram.Counts) {
	second := at.Unix()
	key := minuteKey{voucherID, second - second%60}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.minutes[key]
	if m == nil {
		if len(t.minutes) >= maxMinutes {
			t.forgetOldest()
		}
		m = &minute{counted: Minute{
			VoucherID: voucherID, Start: time.Unix(key.start, 0).UTC(),
			Run:    rand.Int64(), //nolint:gosec // it only tells rows apart
			Counts: make(map[gate.Answer]*Seconds, len(since)), Took: make(map[int]histogram.Counts),
		}}
		t.minutes[key] = m
	}
	m.dirty, m.addedAt = true, time.Now()
	for answer, n := range since {
		if m.counted.Counts[answer] == nil {
			m.counted.Counts[answer] = new(Seconds)
		}
		m.counted.Counts[answer][second%60] += n
	}
	if len(took) > 0 {
		m.counted.Took[int(second%60)] = m.counted.Took[int(second%60)].Plus(took)
	}
}

// forgetOldest drops the oldest minute. The caller holds the lock.
func (t *Timeline) forgetOldest() {
	oldest := slices.MinFunc(slices.Collect(maps.Keys(t.minutes)),
		func(a, b minuteKey) int { return cmp.Compare(a.start, b.start) })
	if m := t.minutes[oldest]; m.dirty {
		t.lost += m.counted.Asked()
	}
	delete(t.minutes, oldest)
}

// Run writes every five seconds until ctx ends. It does not write at the end: call Flush for that.
func (t *Timeline) Run(ctx context.Context) error {
	return periodic.Every(ctx, writeEvery, t.Flush)
}

// Flush writes the minutes that have changed, and drops written ones that are over. Minutes that it cannot write stay
// for the next time.
func (t *Timeline) Flush(ctx context.Context) {
	t.writing.Lock()
	defer t.writing.Unlock()
	var failed error
	for part := range slices.Chunk(t.take(time.Now()), writeRows) {
		if failed == nil {
			call, cancel := context.WithTimeout(ctx, writeTimeout)
			failed = t.ledger(call, part)
			cancel()
		}
		if failed != nil {
			t.putBack(part)
		}
	}
	t.mu.Lock()
	lost, news := t.lost, failed != nil && !t.failing
	t.lost, t.failing = 0, failed != nil
	t.mu.Unlock()
	if lost > 0 {
		t.log.WarnContext(ctx, "sales' timelines lack requests: the ledger has been away for too long",
			"requests", lost)
	}
	if news {
		t.log.WarnContext(ctx, "sales' timelines cannot be written; retrying every five seconds", "error", failed)
	}
}

// take returns copies of the minutes that have changed, oldest first. It drops the others if they are over by now.
func (t *Timeline) take(now time.Time) []Minute {
	const over = 2 * time.Minute // after the last request; a later one begins another row
	t.mu.Lock()
	defer t.mu.Unlock()
	var taken []Minute
	for key, m := range t.minutes {
		switch {
		case m.dirty:
			m.dirty = false
			taken = append(taken, m.counted.clone())
		case now.Sub(m.addedAt) > over:
			delete(t.minutes, key)
		}
	}
	slices.SortFunc(taken, func(a, b Minute) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.VoucherID, b.VoucherID))
	})
	return taken
}

func (m Minute) clone() Minute {
	counts := make(map[gate.Answer]*Seconds, len(m.Counts))
	for answer, seconds := range m.Counts {
		counts[answer] = new(*seconds)
	}
	m.Counts, m.Took = counts, maps.Clone(m.Took)
	return m
}

// putBack marks minutes as not written.
func (t *Timeline) putBack(minutes []Minute) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range minutes {
		if kept := t.minutes[minuteKey{m.VoucherID, m.Start.Unix()}]; kept != nil {
			kept.dirty = true
		}
	}
}
