package lock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// How long Redis keeps the places of a process without hearing from it, and how often the process renews all of them. A
// dead waiter at the head of a queue delays the others by at most the sum: its place expires, and another process
// notices that at its next renewal.
const (
	placeTime    = 4 * time.Second
	placeRenewal = time.Second
	mostOften    = 50 * time.Millisecond // for very short leases
)

// keepPlaces renews the places of all waiters that are due, in shared requests: one script per lock and second, and one
// when the holder's lease should end. It signals the waiters whose turn it is. It runs often enough for several retries
// before places are lost.
func (p *pubsub) keepPlaces() {
	due, stays := p.duePlaces(time.Now())
	ctx, cancel := context.WithTimeout(context.Background(), placeRenewal)
	defer cancel()
	runAll(ctx, p.client, stays, func(i int, answer *redis.Cmd) {
		if got, err := answer.Slice(); err == nil && len(got) >= 3 {
			p.on(due[i].lock.channel(), func(t *topic) { t.stayed(got) })
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places.at = time.Time{}
	for _, t := range p.topics {
		if t.queued() && len(t.waiters) > 0 {
			p.places.set(t.due, p.keepPlaces)
		}
	}
}

// duePlaces returns the topics that are due, or nearly so, and the calls that renew their places. Each call checks one
// place as a sample of whether the places still exist: not the first, whose waiter may already have the lock, nor the
// last, who may not have a place yet.
func (p *pubsub) duePlaces(now time.Time) (due []*topic, stays []call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.topics {
		if !t.queued() || len(t.waiters) == 0 || now.Before(t.due.Add(-afterLease)) {
			continue
		}
		due, stays = append(due, t), append(stays, t.lock.callStay(t.waiters[len(t.waiters)/2].claim, t.gone))
		t.gone, t.due = nil, now.Add(placeRenewal)
	}
	return due, stays
}

// stayed acts on the answer of stay.lua.
func (t *topic) stayed(got []any) {
	if got[0] == int64(1) {
		t.notify()
	}
	if got[1] == int64(1) {
		t.due = time.Time{}
	}
	if ms, ok := got[2].(int64); ok && ms >= 0 {
		t.soonerDue(time.Now().Add(max(untilNextTry(time.Duration(ms)*time.Millisecond), mostOften)))
	}
	var turns []string
	for _, request := range got[3:] {
		if text, ok := request.(string); ok {
			turns = append(turns, text)
		}
	}
	t.tell(turns)
}
