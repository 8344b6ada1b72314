package report

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"seckill/internal/order"
	"seckill/internal/periodic"
)

const (
	writeEvery   = 5 * time.Second // a process that dies loses the counts of this long at most
	writeTimeout = 5 * time.Second // one statement at most
	writeRows    = 50              // minutes in one statement
	maxMinutes   = 2048            // minutes that wait in memory, some 2 KB each
)

// Minute is how one process answered the requests for a sale during a minute.
type Minute struct {
	VoucherID int64
	Start     time.Time // a whole minute by the process's clock
	Run       int64     // a random number: what a process counts anew has another one, so that none replaces the other
	Counts    map[order.Answer]*Seconds
}

// Seconds are counts for each second of a minute.
type Seconds [60]int64

// Asked is how many requests were answered.
func (m Minute) Asked() int64 {
	var all int64
	for _, n := range m.Totals() {
		all += n
	}
	return all
}

// Totals are the counts of the whole minute.
func (m Minute) Totals() order.Counts {
	totals := order.Counts{}
	for answer, seconds := range m.Counts {
		for _, n := range seconds {
			totals[answer] += n
		}
	}
	return totals
}

// TimelineLedger keeps minutes.
type TimelineLedger interface {
	// PutMinutes stores minutes, each in place of what was stored of the same sale, minute and run with fewer requests.
	PutMinutes(ctx context.Context, minutes []Minute) error
}

// Timeline keeps for good how this process answers the requests for each sale, second by second. It is safe for
// concurrent use.
type Timeline struct {
	ledger TimelineLedger
	log    *slog.Logger

	writing sync.Mutex // one Flush at a time: the last one writes what another could not

	mu      sync.Mutex
	minutes map[minuteKey]*minute
	lost    int64 // requests of minutes that found no room, since it was logged last
	failing bool
}

type minuteKey struct {
	voucherID int64
	start     int64 // Unix seconds
}

type minute struct {
	run     int64
	counts  map[order.Answer]*Seconds
	dirty   bool
	addedAt time.Time
}

// NewTimeline returns a timeline of this process; Run writes it.
func NewTimeline(ledger TimelineLedger, log *slog.Logger) *Timeline {
	return &Timeline{ledger: ledger, log: log, minutes: make(map[minuteKey]*minute)}
}

// Add implements admission.Timeline. It only remembers.
func (t *Timeline) Add(voucherID int64, at time.Time, since order.Counts) {
	second := at.Unix()
	key := minuteKey{voucherID, second - second%60}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.minutes[key]
	if m == nil {
		if len(t.minutes) >= maxMinutes {
			t.forgetOldest()
		}
		//nolint:gosec // it tells rows apart
		m = &minute{run: rand.Int64(), counts: make(map[order.Answer]*Seconds, len(since))}
		t.minutes[key] = m
	}
	m.dirty, m.addedAt = true, time.Now()
	for answer, n := range since {
		if m.counts[answer] == nil {
			m.counts[answer] = new(Seconds)
		}
		m.counts[answer][second%60] += n
	}
}

// forgetOldest makes room. The caller has the lock.
func (t *Timeline) forgetOldest() {
	var oldest minuteKey
	for key := range t.minutes {
		if oldest.start == 0 || key.start < oldest.start {
			oldest = key
		}
	}
	if m := t.minutes[oldest]; m.dirty {
		t.lost += Minute{Counts: m.counts}.Asked()
	}
	delete(t.minutes, oldest)
}

// Run writes every five seconds until ctx ends. What is new then is Flush's.
func (t *Timeline) Run(ctx context.Context) error {
	return periodic.Every(ctx, writeEvery, t.Flush)
}

// Flush writes what is new, and forgets minutes that are over and written. What cannot be written waits for the next
// time.
func (t *Timeline) Flush(ctx context.Context) {
	t.writing.Lock()
	defer t.writing.Unlock()
	var failed error
	for part := range slices.Chunk(t.take(time.Now()), writeRows) {
		if failed == nil {
			call, cancel := context.WithTimeout(ctx, writeTimeout)
			failed = t.ledger.PutMinutes(call, part)
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

// take returns copies of what is new, oldest first, and forgets what was written before and is over at the time now.
func (t *Timeline) take(now time.Time) []Minute {
	const over = 2 * time.Minute // what nothing was added to for so long is rarely added to again
	t.mu.Lock()
	defer t.mu.Unlock()
	var taken []Minute
	for key, m := range t.minutes {
		switch {
		case m.dirty:
			m.dirty = false
			taken = append(taken, t.copied(key, m))
		case now.Sub(m.addedAt) > over:
			delete(t.minutes, key)
		}
	}
	slices.SortFunc(taken, func(a, b Minute) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.VoucherID, b.VoucherID))
	})
	return taken
}

func (t *Timeline) copied(key minuteKey, m *minute) Minute {
	counts := make(map[order.Answer]*Seconds, len(m.counts))
	for answer, seconds := range m.counts {
		copied := *seconds
		counts[answer] = &copied
	}
	return Minute{VoucherID: key.voucherID, Start: time.Unix(key.start, 0).UTC(), Run: m.run, Counts: counts}
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
