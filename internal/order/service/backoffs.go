package service

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// backOffs remember when what has failed is tried again. They are safe for concurrent use.
type backOffs struct {
	mu    sync.Mutex
	known map[string]backOff
}

// backOff is the back-off of one thing that has failed.
type backOff struct {
	pause time.Duration
	until time.Time
}

func (b *backOffs) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.known)
}

// rests reports whether it is too early to try again.
func (b *backOffs) rests(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Before(b.known[id].until)
}

// failed makes the next pause of one twice as long as its last: the first one is least, and none is longer than most.
func (b *backOffs) failed(id string, least, most time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = make(map[string]backOff)
	}
	pause := min(max(least, 2*b.known[id].pause), most)
	b.known[id] = backOff{pause: pause, until: time.Now().Add(pause)}
}

func (b *backOffs) done(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, id)
}

func (b *backOffs) only(ids map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.known, func(id string, _ backOff) bool { return !ids[id] })
}

// tryEach calls try for each item, some at a time, but not for those that it is too early to try again. It forgets the
// back-offs of all others.
func tryEach[T any](ctx context.Context, b *backOffs, items []T, id func(T) string, try func(T)) {
	listed := make(map[string]bool, len(items))
	for _, item := range items {
		listed[id(item)] = true
	}
	b.only(listed)
	var workers errgroup.Group
	workers.SetLimit(refundWorkers)
	for _, item := range items {
		workers.Go(func() error {
			if ctx.Err() == nil && !b.rests(id(item)) {
				try(item)
			}
			return nil
		})
	}
	_ = workers.Wait() // none returns an error
}
