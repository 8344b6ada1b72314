package idworker

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestNoIDTwice checks that no id is given twice, whatever happens: the workers' clocks run, step back and disagree;
// the counter is lost, or loses its last numbers; the ledger has recorded any part of the ids; processes die and start.
func TestNoIDTwice(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		m := newMemory()
		workers := make([]*Worker, 3)
		clocks := make([]*clock, len(workers))
		size := rapid.Int64Range(1, 12).Draw(t, "block size")
		for i := range workers {
			clocks[i] = newClock(testTime.Add(time.Duration(i-1) * 4 * time.Hour)) // one is already past midnight
			workers[i] = New(m, m, testKey, Options{BlockSize: size, Now: clocks[i].now})
		}
		given := make(map[int64]bool)
		one := func(t *rapid.T) int { return rapid.IntRange(0, len(workers)-1).Draw(t, "worker") }
		closeAll := func(ws ...*Worker) {
			for _, w := range ws {
				if err := w.Close(ctx); err != nil {
					t.Fatalf("close: %v", err)
				}
			}
		}
		defer func() { closeAll(workers...) }()

		step := rapid.SampledFrom([]time.Duration{
			time.Millisecond, time.Second, time.Hour, 5 * time.Hour, 24 * time.Hour,
			-2 * time.Second, -time.Hour, -5 * time.Hour, -24 * time.Hour,
		})
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				i := one(t)
				for range rapid.IntRange(1, 40).Draw(t, "ids") {
					id, err := workers[i].Next(ctx)
					if err != nil {
						t.Fatalf("Next: %v", err)
					}
					if id <= 0 || given[id] {
						t.Fatalf("id %d (number %d of %v) is not positive or was given before",
							id, workers[i].perm.number(id), Time(id))
					}
					if got, want := Time(id), clocks[i].now().Truncate(time.Second); !got.Equal(want) {
						t.Fatalf("id %d is of %v, want %v", id, got, want)
					}
					if day := Time(id).Format("2006:01:02"); !m.reserved(day, workers[i].perm.number(id)) {
						t.Fatalf("id %d has number %d, which is not one of %s", id, workers[i].perm.number(id), day)
					}
					given[id] = true
					if rapid.Bool().Draw(t, "recorded") {
						m.do(func() { m.ids = append(m.ids, id) })
					}
				}
			},
			"step the clock": func(t *rapid.T) { clocks[one(t)].add(step.Draw(t, "step")) },
			"restart a process": func(t *rapid.T) {
				i := one(t)
				closeAll(workers[i])
				workers[i] = New(m, m, testKey, Options{BlockSize: size, Now: clocks[i].now})
			},
			"lose the counter": func(*rapid.T) { m.do(func() { clear(m.numbers) }) },
			"lose its tail": func(t *rapid.T) {
				lost := rapid.Int64Range(1, 100).Draw(t, "lost")
				m.do(func() {
					for day, n := range m.numbers {
						m.numbers[day], m.moved[day] = max(0, n-lost), true // only a restart loses a tail
					}
				})
			},
		})
	})
}
