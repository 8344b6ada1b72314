package lock

import (
	"context"
	"sync"
	"time"
)

// How long Redis keeps the place of a waiter that it does not hear of, and how often it hears of all. A waiter who dies
// at the head of a queue delays the others by no more than both together: his place is over, and one of them comes by.
const (
	placeTime    = 4 * time.Second
	placeRenewal = time.Second
)

// placer is a protocol whose waiters have places in a queue in Redis. acquire leaves one when it is refused and its
// claim listens, so it must be asked at once, and release must be called when the wait is given up.
type placer interface {
	// stay keeps the place of a claim: 1, or 0 when it has none and must ask again. It is safe to repeat.
	stay(c claim) call
}

// placeMS is how long the place of a claim is kept, as scripts count it; 0 for one that does not wait.
func (c claim) placeMS() int64 {
	if !c.listens {
		return 0
	}
	return placeTime.Milliseconds()
}

// places keeps the places of all who wait in a Locker, with one request for many. Like the watchdog it is a timer, and
// nothing while nobody waits.
type places struct {
	client Client

	mu    sync.Mutex
	stays map[*queue]call // by the queue of the one waiter who listens there
	timer *time.Timer     // runs renew; nil while nobody waits
}

// add keeps a waiter's place until it is removed.
func (p *places) add(q *queue, stay call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stays == nil {
		p.stays = map[*queue]call{}
	}
	p.stays[q] = stay
	if p.timer == nil {
		p.timer = time.AfterFunc(placeRenewal, p.renew)
	}
}

// remove leaves the place to the waiter, who gives it up.
func (p *places) remove(q *queue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.stays, q)
	if len(p.stays) == 0 {
		p.timer.Stop()
		p.timer = nil
	}
}

// renew keeps all places, and makes those waiters ask again who have none. Without an answer there is time for some
// more tries before places are over.
func (p *places) renew() {
	queues, stays := p.collect()
	for len(stays) > 0 {
		n := min(len(stays), renewalBatch)
		p.renewBatch(queues[:n], stays[:n])
		queues, stays = queues[n:], stays[n:]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Reset(placeRenewal)
	}
}

func (p *places) collect() (queues []*queue, stays []call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for q, stay := range p.stays {
		queues, stays = append(queues, q), append(stays, stay)
	}
	return queues, stays
}

func (p *places) renewBatch(queues []*queue, stays []call) {
	ctx, cancel := context.WithTimeout(context.Background(), placeRenewal)
	defer cancel()
	for i, answer := range runAll(ctx, p.client, stays) {
		if kept, err := answer.Int(); err == nil && kept == 0 {
			queues[i].notify()
		}
	}
}
