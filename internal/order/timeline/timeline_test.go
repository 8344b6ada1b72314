package timeline

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/kit/histogram"
	"seckill/internal/order"
	"seckill/internal/order/gate"
)

// place distinguishes the minutes of a sale: by start and run.
type place struct {
	start time.Time
	run   int64
}

func placeOf(m Minute) place { return place{m.Start, m.Run} }

// fakeLedger stores minutes as the real one does, and fails or hangs on demand.
type fakeLedger struct {
	kept  map[place]map[int64]Minute // by start and run, then by voucher
	calls int
	fails error
	lost  bool // failed writes are stored all the same
	hangs bool
}

func (l *fakeLedger) PutMinutes(ctx context.Context, minutes []Minute) error {
	l.calls++
	if l.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	for _, m := range minutes {
		if l.fails != nil && !l.lost {
			break
		}
		if l.kept[placeOf(m)] == nil {
			l.kept[placeOf(m)] = make(map[int64]Minute)
		}
		if was, has := l.kept[placeOf(m)][m.VoucherID]; !has || m.Asked() >= was.Asked() {
			l.kept[placeOf(m)][m.VoucherID] = m
		}
	}
	return l.fails
}

func (l *fakeLedger) asked() (n int64) {
	for _, sales := range l.kept {
		for _, m := range sales {
			n += m.Asked()
		}
	}
	return n
}

// took returns how long the answers of all stored minutes took.
func (l *fakeLedger) took() (all histogram.Counts) {
	for _, sales := range l.kept {
		for _, m := range sales {
			all = all.Plus(m.TookInAll())
		}
	}
	return all
}

// inBubble runs the test with a running timeline, on a clock of its own.
func inBubble(t *testing.T, f func(t *testing.T, line *Timeline, l *fakeLedger)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakeLedger{kept: make(map[place]map[int64]Minute)}
		line := New(l.PutMinutes, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- line.Run(ctx) }()
		f(t, line, l)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// remembered returns how many minutes are in memory, and how many requests were lost.
func (t *Timeline) remembered() (minutes int, lost int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.minutes), t.lost
}

// add counts one request in each of the given number of seconds.
func add(line *Timeline, voucherID int64, seconds int) {
	for range seconds {
		line.Add(voucherID, time.Now(), gate.Counts{"accepted": 1}, histogram.Counts{0, 1})
		time.Sleep(time.Second)
	}
}

func TestTimelineIsWritten(t *testing.T) {
	inBubble(t, func(t *testing.T, line *Timeline, l *fakeLedger) {
		add(line, 7, 90)
		time.Sleep(writeEvery)
		synctest.Wait()
		if got := l.asked(); got != 90 || len(l.kept) != 2 {
			t.Errorf("%d requests in %d minutes are stored, want 90 in 2", got, len(l.kept))
		}
		for _, sales := range l.kept {
			for second, n := range sales[7].Counts["accepted"] {
				if took := sales[7].Took[second]; n > 1 || len(took) != 2*int(n) {
					t.Errorf("second %d has %d requests, which took %v", second, n, took)
				}
			}
		}
		calls := l.calls
		time.Sleep(time.Hour)
		synctest.Wait()
		if left, _ := line.remembered(); l.calls != calls || left != 0 {
			t.Errorf("%d writes for a sale without requests, %d minutes in memory", l.calls-calls, left)
		}
	})
}

// Whether a write fails, hangs or only seems to fail, each request is counted once.
func TestTimelineOutlivesItsLedger(t *testing.T) {
	inBubble(t, func(t *testing.T, line *Timeline, l *fakeLedger) {
		for _, fault := range []func(){
			func() { l.fails = order.ErrUnavailable },
			func() { l.fails, l.lost = errors.New("no reply"), true },
			func() { l.fails, l.lost, l.hangs = nil, false, true },
			func() { l.hangs = false },
		} {
			synctest.Wait()
			fault()
			add(line, 7, 70)
			time.Sleep(writeEvery / 2) // between two writes
		}
		time.Sleep(2 * writeEvery)
		add(line, 7, 1)
		synctest.Wait()
		line.Flush(t.Context()) // as when the process ends
		if got, took := l.asked(), l.took(); got != 281 || !slices.Equal(took, histogram.Counts{0, 281}) {
			t.Errorf("%d requests are stored, want 281, and how long %v took", got, took)
		}
	})
}

// While the ledger stays away, a bounded number of minutes is in memory; beyond it the oldest are dropped.
func TestTimelineIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, line *Timeline, l *fakeLedger) {
		l.fails = order.ErrUnavailable
		began := time.Now()
		for minute := range maxMinutes + 100 {
			at := began.Add(time.Duration(minute) * time.Minute)
			line.Add(7, at, gate.Counts{"sold_out": 2}, histogram.Counts{0, 2})
		}
		if kept, lost := line.remembered(); kept != maxMinutes || lost != 200 {
			t.Errorf("%d minutes in memory, %d requests lost; want %d and 200", kept, lost, maxMinutes)
		}
		time.Sleep(writeEvery)
		synctest.Wait()
		l.fails = nil
		line.Add(7, began.Add(24*365*time.Hour), gate.Counts{"sold_out": 2}, nil) // in place of the oldest
		time.Sleep(writeEvery)
		synctest.Wait()
		if got := l.asked(); got != 2*maxMinutes {
			t.Errorf("%d requests are stored, want %d", got, 2*maxMinutes)
		}
	})
}
