package lock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// linger is how long a subscription and its connection stay after the last waiter has left. A contended lock soon
	// has waiters again, and subscribing costs a round trip, connecting more. linger is also the length of a tick.
	linger = 100 * time.Millisecond
	// After ticksToPing ticks without a message a connection is sent a PING, and after as many more it is dropped: its
	// other end may have gone without closing it. Ticks are counted instead of time, so that a process that was stopped
	// first reads what arrived meanwhile.
	ticksToPing = 10
	ticksToTell = 20 // from now on a cancelled wait ends with ErrNoAnswer
	ticksToDrop = 25
)

// pubsub is the connection through which all waiters of a Locker hear of releases. It exists while somebody waits, and
// a little longer, with two goroutines: one subscribes, unsubscribes and pings, in order; the other delivers messages.
// Waiters never block on either. pubsub also renews the waiters' places in queues.
type pubsub struct {
	client Client
	silent atomic.Bool // no answer here for a while, or the connection was lost

	mu      sync.Mutex
	topics  map[string]*topic // by channel; nil while there is no connection
	changed chan struct{}     // tells run that topics and subscriptions differ
	places  alarm             // runs keepPlaces
}

// waiting reports whether somebody waits on the channel; a newcomer should then queue behind them instead of asking.
func (p *pubsub) waiting(channel string) (yes bool) {
	p.on(channel, func(t *topic) { yes = len(t.waiters) > 0 })
	return yes
}

// known reports whether this process is subscribed to the channel.
func (p *pubsub) known(channel string) (yes bool) {
	p.on(channel, func(*topic) { yes = true })
	return yes
}

// successor returns the first waiter on the channel, if the lock may be handed to that waiter.
func (p *pubsub) successor(channel string) (in *topic, w *waiter) {
	p.on(channel, func(t *topic) { in, w = t, t.successor() })
	return in, w
}

// join adds the claim to the waiters; leave must follow. Of ctx only the values are used. pause is how long the lock is
// known to be taken, 0 if the claim has not asked.
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

// leave removes the waiter, and reports whether the lock was or still may be handed to it.
func (p *pubsub) leave(t *topic, w *waiter, o outcome) (offered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.pop(w, o)
	return w.offered
}

// run keeps a connection open while somebody waits, and replaces it if it is lost or silent.
func (p *pubsub) run(ctx context.Context, changed <-chan struct{}) {
	p.silent.Store(false)
	for p.listen(ctx, changed) {
		p.silent.Store(true)
		time.Sleep(linger) // Redis may be down
		if _, _, done := p.difference(map[string]bool{}); done {
			return
		}
	}
}

// listen runs one connection and keeps its subscriptions equal to the topics. It reports whether another connection is
// needed. It ignores errors of subscribing, because it notices that the connection is lost or silent.
func (p *pubsub) listen(ctx context.Context, changed <-chan struct{}) (again bool) {
	conn := p.client.Subscribe(ctx)
	defer func() { _ = conn.Close() }() // nobody uses it any more
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

// difference updates subscribed to match the topics, without those that have been idle for long, and returns the
// changes. Their order is random: a cluster's client connects to the server of the first channel, so a retry may pick
// one that answers. If no topic is left, it reports done, and the connection ends.
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

// receive delivers messages until the connection is closed or lost.
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

// on calls do with the channel's topic, if it still exists.
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
