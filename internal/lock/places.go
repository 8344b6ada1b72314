package lock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// How long Redis keeps the places of a process that it does not hear of, and how often it hears of all. A waiter who
// dies at the head of a queue delays the others by no more than both together: their place is over, and another process
// comes by.
const (
	placeTime    = 4 * time.Second
	placeRenewal = time.Second
	mostOften    = 50 * time.Millisecond // with a lease that is as short
)

// keepPlaces keeps the places of all who wait, those that are due in requests that they share: one script for each
// lock and second, and one when the lease of its holder should be over. It makes those ask whose turn it is. Without
// an answer there is time for some more tries before places are lost.
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

// duePlaces returns the topics that are due, or nearly so, and what keeps their places. One place is looked at, to
// see whether they are there: not the first, whose waiter may have the lock already, and not the last, who may have
// no place yet.
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

// stayed acts on what stay.lua returned.
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
