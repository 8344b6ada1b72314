package service

import (
	"sync"
	"time"
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

// len returns how many are known.
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

// done forgets one.
func (b *backOffs) done(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, id)
}

// only forgets all but these.
func (b *backOffs) only(ids map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range b.known {
		if !ids[id] {
			delete(b.known, id)
		}
	}
}
