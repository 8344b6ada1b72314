package listing

import (
	"context"
	"sync"
	"time"

	"seckill/internal/kit/batch"
)

// run is one run of a job that several callers wait for.
type run struct {
	began time.Time
	done  chan struct{}
}

// wait returns when the run has ended, when the run has taken atMost, or when ctx ends. A caller who comes to a run
// that has already taken that long does not wait: a hung store delays the first callers and nobody after them.
func (r *run) wait(ctx context.Context, atMost time.Duration) {
	left := atMost - time.Since(r.began)
	if left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// lane runs a job once for all callers who want it at the same time, and again only after renewEvery.
type lane struct {
	mu   sync.Mutex
	last *run // nil before the first
	busy bool
}

// start returns the run that a caller at the time now must wait for: the one under way, or a new run of job in its own
// goroutine. It returns nil when the last run is recent enough, which it is not if it began before the data was
// changed.
func (l *lane) start(now, changed time.Time, running *batch.Running, job func()) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy {
		return l.last
	}
	if l.last != nil && !changed.After(l.last.began) && now.Sub(l.last.began) < renewEvery {
		return nil
	}
	r := &run{began: now, done: make(chan struct{})}
	l.last, l.busy = r, true
	running.Go(func() {
		defer close(r.done)
		defer l.end()
		job()
	})
	return r
}

func (l *lane) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
}
