package bulkhead

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrFull means that no permit was free for the caller's class. Nothing was done.
var ErrFull = errors.New("no permit is free for this class of callers")

// Bulkhead divides a number of permits among classes. It is safe for concurrent use.
type Bulkhead struct {
	users []Class
	free  int // not reserved for any class
	wait  time.Duration

	mu      sync.Mutex
	shared  int // how many of the free permits are taken
	classes [classes]state
}

// state is the state of one class.
type state struct {
	reserve int // permits reserved for the class
	limit   int // it may take free permits while shared is below
	held    int
	waiting list.List // of chan struct{}, which receives a value with the permit
	shed    int64     // refused since the start
}

// Permit allows one request, or one connection. Its holder releases it exactly once.
type Permit struct {
	of    *Bulkhead
	class Class
}

// New returns a bulkhead with size permits (at least one for each class) for the given classes. Acquire waits for at
// most wait. Classes that are not listed get nothing.
func New(size int, wait time.Duration, users ...Class) *Bulkhead {
	reserve := max(1, size/reserves)
	b := &Bulkhead{users: users, wait: wait, free: max(0, size-reserve*len(users))}
	for _, c := range users {
		b.classes[c].reserve, b.classes[c].limit = reserve, b.free*c.quarters()/quarters
	}
	return b
}

const (
	reserves = 16 // each class has 1/16 of all permits reserved
	quarters = 4
)

// Stores are the classes that use connections to the stores.
func Stores() []Class { return []Class{PublicRead, OwnRead, Background, Purchase, Admin, Recording} }

// Requests are the classes of HTTP requests.
func Requests() []Class { return []Class{PublicRead, OwnRead, Purchase, Admin} }

// Try takes a permit for the class if one is free now.
func (b *Bulkhead) Try(c Class) (Permit, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.take(c) {
		b.classes[c].shed++
		return Permit{}, false
	}
	return Permit{b, c}, true
}

// Acquire takes a permit for the class in ctx, and waits for one if necessary. It returns ErrFull if the wait or ctx
// ends first.
func (b *Bulkhead) Acquire(ctx context.Context) (Permit, error) {
	c := Of(ctx)
	b.mu.Lock()
	if b.take(c) {
		b.mu.Unlock()
		return Permit{b, c}, nil
	}
	turn := make(chan struct{}, 1)
	place := b.classes[c].waiting.PushBack(turn)
	b.mu.Unlock()
	timeout := time.NewTimer(b.wait)
	defer timeout.Stop()
	select {
	case <-turn:
		return Permit{b, c}, nil
	case <-ctx.Done():
	case <-timeout.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-turn: // the permit came at the same moment
		return Permit{b, c}, nil
	default:
	}
	b.classes[c].waiting.Remove(place)
	b.classes[c].shed++
	if err := ctx.Err(); err != nil {
		return Permit{}, fmt.Errorf("%w: %s: %w", ErrFull, c, err)
	}
	return Permit{}, fmt.Errorf("%w: %s waited for %v", ErrFull, c, b.wait)
}

// Release gives the permit back, or on to a waiting caller.
func (s Permit) Release() {
	b := s.of
	b.mu.Lock()
	defer b.mu.Unlock()
	b.giveBack(s.class)
	for c := Recording; c > Unnamed; c-- {
		for waiting := &b.classes[c].waiting; waiting.Len() > 0 && b.take(c); {
			turn, _ := waiting.Remove(waiting.Front()).(chan struct{})
			turn <- struct{}{}
		}
	}
}

// take takes a permit if the class may have one. The caller has locked.
func (b *Bulkhead) take(c Class) bool {
	s := &b.classes[c]
	switch {
	case s.held < s.reserve:
	case b.shared < s.limit:
		b.shared++
	default:
		return false
	}
	s.held++
	return true
}

// giveBack undoes take: permits beyond the reserve go back first. The caller has locked.
func (b *Bulkhead) giveBack(c Class) {
	s := &b.classes[c]
	if s.held > s.reserve {
		b.shared--
	}
	s.held--
}
