package admission

import (
	"fmt"
	"testing"
	"time"

	"seckill/internal/order/gate"
)

// How long a request waits is judged by its own sale. While the rush on another sale of the partition is refused, its
// request is not, however long the other's line is; and a rush that gets few places of a call is refused sooner.
func TestWaitIsTheSalesOwn(t *testing.T) {
	t.Parallel()
	const callTime = time.Second
	for name, tc := range map[string]struct {
		rushes  int
		waiting int // of each rush
		want    bool
	}{
		"a line of four calls":                {1, 4 * gate.MaxBatch, false},
		"a line of six calls":                 {1, 6 * gate.MaxBatch, true},
		"one of four rushes, of half a call":  {4, gate.MaxBatch / 2, false},
		"one of four rushes, of three calls":  {4, 3 * gate.MaxBatch, true},
		"one of sixteen rushes, of two calls": {16, 2 * gate.MaxBatch, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var q queue
			now := time.Unix(0, 0)
			come := func(s *sale, upTo int) {
				for s.waiting < upTo {
					q.add(s, &pending{done: make(chan struct{}, 1)}, now)
				}
			}
			rushes := make([]sale, tc.rushes)
			calls := []*call{newCall(1), newCall(1)}
			for range 30 { // both workers begin and end a call at the same time
				for i := range rushes {
					come(&rushes[i], tc.waiting)
				}
				for _, c := range calls {
					q.take(c, now)
				}
				now = now.Add(callTime)
				for _, c := range calls {
					q.end(c, now)
				}
			}
			for i := range rushes {
				come(&rushes[i], tc.waiting)
				if wait := q.wait(&rushes[i]); wait > maxWait != tc.want {
					t.Errorf("a request of a rush has to wait for %v", wait)
				}
			}
			if wait := q.wait(new(sale)); wait > 2*callTime {
				t.Errorf("the request of a quiet sale has to wait for %v", wait)
			}
			for range 1000 {
				come(new(sale), 1)
			}
			if wait := q.wait(new(sale)); wait < 7*callTime || wait > 10*callTime {
				t.Errorf("behind 1000 other sales: %v, want the time until the ring has come round", wait)
			}
		})
	}
}

// What a queue has learned about waiting is forgotten with the last request.
func TestQueueForgets(t *testing.T) {
	t.Parallel()
	var q queue
	now, s, c := time.Unix(0, 0), new(sale), newCall(1)
	for range 2 * gate.MaxBatch {
		q.add(s, &pending{done: make(chan struct{}, 1)}, now)
	}
	var waits []time.Duration
	for q.take(c, now) {
		now = now.Add(time.Second)
		q.end(c, now)
		waits = append(waits, q.wait(s))
	}
	if got, want := fmt.Sprint(waits), "[1s 750ms]"; got != want {
		t.Errorf("waits %s, want %s", got, want)
	}
	if q.wait(s) != 0 || q.workers != 0 {
		t.Errorf("an idle queue: %v to wait, %d workers", q.wait(s), q.workers)
	}
}
