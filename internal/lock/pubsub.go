package lock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// linger is how long a subscription and its connection are kept after the last waiter has left: a lock that is
	// fought over is waited for again at once, and subscribing costs a round trip, connecting more. It is also how
	// long a tick is.
	linger = 100 * time.Millisecond
	// A connection that says nothing for so many ticks is sent a PING, and is dropped when it says nothing for so many
	// more: its other end may have gone without a word. Ticks are counted, and not time, so that a process that was
	// stopped hears first what arrived meanwhile.
	ticksToPing = 10
	ticksToTell = 20 // those who are cancelled now are told that nobody answers
	ticksToDrop = 25
)

// pubsub is the one connection through which all waiters of a Locker hear of releases. It exists while somebody waits,
// and a little longer, with two goroutines: one subscribes, unsubscribes and pings, in order, and one hands out what
// arrives. Waiters wait for neither. It also keeps their places in queues.
type pubsub struct {
	client Client
	silent atomic.Bool // Redis has not answered here for a second, or the connection was lost

	mu      sync.Mutex
	topics  map[string]*topic // by channel; nil while there is no connection
	changed chan struct{}     // the topics are others than those that are subscribed to; tells run
	places  alarm             // runs keepPlaces
}

// waiting reports whether somebody waits for the channel, so that nobody should ask before them.
func (p *pubsub) waiting(channel string) (yes bool) {
	p.on(channel, func(t *topic) { yes = len(t.waiters) > 0 })
	return yes
}

// known reports whether messages of the channel are on their way to this process.
func (p *pubsub) known(channel string) (yes bool) {
	p.on(channel, func(*topic) { yes = true })
	return yes
}

// successor returns the first of those who wait for the channel, if the lock is to be handed to them.
func (p *pubsub) successor(channel string) (in *topic, w *waiter) {
	p.on(channel, func(t *topic) { in, w = t, t.successor() })
	return in, w
}

// join makes the claim wait for the lock; leave must follow. ctx carries values only. The pause is how long the lock is
// known to be taken, 0 when it was not asked for.
func (p *pubsub) join(ctx context.Context, l *Lock, c claim, pause time.Duration) (*topic, *waiter) {
	channel := l.channel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.topics == nil {
		p.topics = map[string]*topic{}
		p.changed = make(chan struct{}, 1)
		go p.run(ctx, p.changed)
	}
	t := p.topics[channel]
	if t == nil {
		t = newTopic(l)
		p.topics[channel] = t
		signal(p.changed)
	}
	w := t.push(l, c, pause)
	if t.queued() {
		p.places.set(t.due, p.keepPlaces)
	}
	return t, w
}

// leave ends the wait, and reports whether the lock was handed to the waiter, or may still be.
func (p *pubsub) leave(t *topic, w *waiter, o outcome) (offered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.pop(w, o)
	return w.offered
}

// run keeps a connection, and makes another one when it is lost or says nothing, until nobody waits any more.
func (p *pubsub) run(ctx context.Context, changed <-chan struct{}) {
	p.silent.Store(false)
	for p.listen(ctx, changed) {
		p.silent.Store(true)
		time.Sleep(linger) // Redis may be away
		if _, _, done := p.difference(map[string]bool{}); done {
			return
		}
	}
}

// listen keeps one connection and its subscriptions what the topics want. It reports whether there is to be another.
// What goes wrong with a subscription goes wrong with the connection: it is lost, or says nothing.
func (p *pubsub) listen(ctx context.Context, changed <-chan struct{}) (again bool) {
	conn := p.client.Subscribe(ctx)
	defer func() { _ = conn.Close() }() // nobody listens any more
	var heard atomic.Int64
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		p.receive(ctx, conn, &heard)
	}()
	subscribed := map[string]bool{}
	tick := time.NewTicker(linger)
	defer tick.Stop()
	silent, last := 0, int64(0)
	for {
		select {
		case <-lost:
			return true
		case <-changed:
		case <-tick.C:
			silent++
		}
		added, dropped, done := p.difference(subscribed)
		if done {
			return false
		}
		if len(added) > 0 {
			_ = conn.Subscribe(ctx, added...) // see above
		}
		if len(dropped) > 0 {
			_ = conn.Unsubscribe(ctx, dropped...) // see above
		}
		switch n := heard.Load(); {
		case n != last:
			silent, last = 0, n
			p.silent.Store(false)
		case silent >= ticksToDrop:
			return true
		case silent == ticksToPing:
			_ = conn.Ping(ctx) // see above
			silent++
		case silent >= ticksToTell:
			p.silent.Store(true)
		}
	}
}

// difference brings subscribed up to date with the topics, less those that have been idle for long, and says what has
// changed, in any order: a cluster's client asks the server of the first, and the next time it may be one that
// answers. When no topic is left there is no connection any more.
func (p *pubsub) difference(subscribed map[string]bool) (added, dropped []string, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for channel, t := range p.topics {
		if !t.idle.IsZero() && time.Since(t.idle) >= linger {
			delete(p.topics, channel)
			if subscribed[channel] {
				delete(subscribed, channel)
				dropped = append(dropped, channel)
			}
		} else if !subscribed[channel] {
			subscribed[channel] = true
			added = append(added, channel)
		}
	}
	if len(p.topics) == 0 {
		p.topics = nil
		return nil, nil, true
	}
	return added, dropped, false
}

// receive hands out what arrives until the connection is closed or lost.
func (p *pubsub) receive(ctx context.Context, conn *redis.PubSub, heard *atomic.Int64) {
	for {
		event, err := conn.Receive(ctx)
		if err != nil {
			return
		}
		heard.Add(1)
		switch e := event.(type) {
		case *redis.Message:
			p.on(e.Channel, func(t *topic) { t.deliver(e.Payload) })
		case *redis.Subscription:
			if e.Kind == "subscribe" {
				p.on(e.Channel, (*topic).notify)
			}
		}
	}
}

// on does something with the topic of a channel, if it is still there.
func (p *pubsub) on(channel string, do func(*topic)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.topics[channel]; t != nil {
		do(t)
		if len(t.gone) > 0 {
			p.places.set(t.due, p.keepPlaces)
		}
	}
}
