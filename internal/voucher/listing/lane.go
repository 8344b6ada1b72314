package listing

import (
	"context"
	"sync"
	"time"
)

// run is one run of a job that several callers wait for.
type run struct {
	began time.Time
	done  chan struct{}
}

// wait returns when the run has ended, when it has taken so long, or when ctx ends. A caller who comes to a run that
// has taken so long already does not wait at all: a store that hangs delays the first callers and nobody after them.
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

// lane runs a job once for all who want it at the same time, and not again before renewEvery has passed.
type lane struct {
	mu   sync.Mutex
	last *run // nil before the first
	busy bool
}

// start returns the run that a caller at the time now has to wait for: the one under way, or a new one, of job in a
// goroutine of its own. It returns nil when the last run is too recent, unless that began before what is read was
// changed.
func (l *lane) start(now, changed time.Time, running *sync.WaitGroup, job func()) *run {
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
