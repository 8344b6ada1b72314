package lock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// linger is how long a subscription and its connection are kept after the last waiter has left: a lock that is fought
// over is waited for again at once, and subscribing costs a round trip, connecting more.
const linger = 100 * time.Millisecond

// hub is the one connection through which all waiters of a Locker hear of releases. It exists while somebody waits, and
// a little longer, with two goroutines: one subscribes and unsubscribes, in order, and one hands out what arrives.
// Waiters wait for neither.
type hub struct {
	subscribe func(ctx context.Context, channels ...string) *redis.PubSub

	mu      sync.Mutex
	queues  map[string]*queue // by channel; nil while there is no connection
	changed chan struct{}     // the queues are others than those that are subscribed to
}

// waiting reports whether somebody waits for the channel, so that nobody should ask before him.
func (h *hub) waiting(channel string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.queues[channel]
	return q != nil && len(q.waiters) > 0
}

// successor returns the first of those who wait for the channel, if the lock is to be passed to him.
func (h *hub) successor(channel string) (*queue, *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.queues[channel]
	if q == nil {
		return nil, nil
	}
	w := q.successor()
	return q, w
}

// join takes a place in the queue of the channel for the claim; leave must follow. ctx carries values only. The pause
// is how long the lock is known to be taken.
func (h *hub) join(ctx context.Context, channel string, c claim, pause time.Duration) (*queue, *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.queues == nil {
		h.queues = map[string]*queue{}
		h.changed = make(chan struct{}, 1)
		go h.run(ctx, h.changed)
	}
	q := h.queues[channel]
	if q == nil {
		q = newQueue(channel)
		h.queues[channel] = q
		h.change()
	}
	w := q.push(c, pause)
	return q, w
}

// leave gives up the place, and reports whether the lock was passed to the waiter, or may still be.
func (h *hub) leave(q *queue, w *waiter, o outcome) (offered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	q.pop(w, o)
	if len(q.waiters) == 0 {
		q.idle = time.Now()
	}
	return w.offered
}

// change tells run that it has something to do; mu is held.
func (h *hub) change() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// run makes the connection, keeps its subscriptions what the queues want, and ends when there are none. A subscription
// that fails is made by the client when it has a connection again; waiters look when the lease is over in any case.
func (h *hub) run(ctx context.Context, changed <-chan struct{}) {
	conn := h.subscribe(ctx)
	go h.receive(conn.ChannelWithSubscriptions())
	defer func() { _ = conn.Close() }() // nobody listens any more
	subscribed := map[string]bool{}
	sweep := time.NewTicker(linger)
	defer sweep.Stop()
	for {
		select {
		case <-changed:
		case <-sweep.C:
		}
		added, dropped, done := h.difference(subscribed)
		if done {
			return
		}
		if len(added) > 0 {
			_ = conn.Subscribe(ctx, added...) // see above
		}
		if len(dropped) > 0 {
			_ = conn.Unsubscribe(ctx, dropped...) // a lost connection has no subscriptions
		}
	}
}

// difference brings subscribed up to date with the queues, less those that have been idle for long, and says what has
// changed. When no queue is left the hub is without a connection again.
func (h *hub) difference(subscribed map[string]bool) (added, dropped []string, done bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for channel, q := range h.queues {
		if len(q.waiters) == 0 && time.Since(q.idle) >= linger {
			delete(h.queues, channel)
			delete(subscribed, channel)
			dropped = append(dropped, channel)
		} else if !subscribed[channel] {
			subscribed[channel] = true
			added = append(added, channel)
		}
	}
	if len(h.queues) == 0 {
		h.queues = nil
		return nil, nil, true
	}
	slices.Sort(added)
	return added, dropped, false
}

// receive hands out releases and confirmed subscriptions until the connection is closed.
func (h *hub) receive(events <-chan any) {
	for event := range events {
		switch e := event.(type) {
		case *redis.Message:
			h.notify(e.Channel, e.Payload == othersTurn)
		case *redis.Subscription:
			if e.Kind == "subscribe" {
				h.notify(e.Channel, false)
			}
		}
	}
}

// othersTurn is what a process publishes when it has passed a lock on among its own as often as it may.
const othersTurn = "turn"

func (h *hub) notify(channel string, turn bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch q := h.queues[channel]; {
	case q == nil:
	case turn:
		q.turn()
	default:
		q.notify()
	}
}
