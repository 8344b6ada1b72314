package dispatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"seckill/internal/kit/retry"
)

const (
	sendTimeout = 10 * time.Second // one attempt at most
	sendGrace   = 2 * time.Second  // for attempts under way when the process stops
)

// pass sends some work: one event of each order at a time, and events of different orders at once.
type pass struct {
	d    *Deliverer
	work Work
	from time.Time // when work was read, by d.now

	mu      sync.Mutex
	settled Settled
	failed  time.Time // when the last failure that counts against the endpoint was seen, by d.now
	waiting []*chain
	over    bool // nothing more is sent
}

// pass sends as much as it can of the work and returns the result.
func (d *Deliverer) pass(ctx context.Context, w Work) Settled {
	p := &pass{d: d, work: w, from: d.now(), settled: Settled{
		EndpointID: w.Endpoint.ID, URL: w.Endpoint.URL, Next: w.Next, ReplayNext: w.ReplayNext,
		Health: w.Endpoint.Health, HealthWas: w.Endpoint.Health,
		ReplayWas: Range{Next: w.Endpoint.ReplayNext, End: w.Endpoint.ReplayEnd},
	}}
	due, waiting := w.chains()
	p.settled.Behind = waiting
	p.waiting = slices.Clone(due)
	var lanes sync.WaitGroup
	for range min(d.lanes, len(due)) {
		lanes.Go(func() { p.lane(ctx) })
	}
	lanes.Wait()
	now := p.now()
	if p.settled.Health.hopeless(now) && p.settled.Disable == "" {
		p.giveUp(due, now)
	}
	for _, c := range due {
		c.settle(&p.settled, now)
	}
	return p.settled
}

// giveUp ends five days of failures. If only events failed that are that old, they may be at fault: their attempts
// count again, until they are dead letters. If a younger event failed, or an event that was not tried before, the
// endpoint is at fault: it is disabled.
func (p *pass) giveUp(due []*chain, now time.Time) {
	for _, c := range due {
		switch {
		case c.failure == (Failure{}):
		case c.old(now):
			c.counts = true
		default:
			p.settled.Disable = FailedLong
		}
	}
}

// now returns the time by the ledger's clock.
func (p *pass) now() time.Time { return p.work.Now.Add(p.d.now().Sub(p.from)) }

// lane sends chains until none is left.
func (p *pass) lane(ctx context.Context) {
	for {
		c := p.next(ctx)
		if c == nil {
			return
		}
		for c.sent < len(c.events) && !p.ended(ctx) {
			if !p.send(ctx, c) {
				break
			}
		}
	}
}

// next takes the next chain, or returns nil when none is to be sent now.
func (p *pass) next(ctx context.Context) *chain {
	if p.ended(ctx) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return nil
	}
	c := p.waiting[0]
	p.waiting = p.waiting[1:]
	return c
}

// ended reports whether nothing more is to be sent: the process stops, the lease could end, or the endpoint is broken
// or to be disabled.
func (p *pass) ended(ctx context.Context) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over || ctx.Err() != nil || !p.d.now().Before(p.work.Until)
}

// send sends the next event of the chain and reports whether it was taken.
func (p *pass) send(ctx context.Context, c *chain) bool {
	e, now := c.events[c.sent], p.now()
	longer, cancelGrace := retry.WithGrace(ctx, sendGrace)
	defer cancelGrace()
	call, cancel := context.WithTimeout(longer, sendTimeout)
	defer cancel()
	began, by := p.d.now(), e.Trace().Child()
	failure := p.d.send(call, Message{
		URL: p.work.Endpoint.URL, ID: e.ID(), At: now, Body: e.Body, Secrets: p.work.Endpoint.Secrets(now), Trace: by,
	}).Clip()
	taken := failure == Failure{}
	if by != "" {
		p.d.log.InfoContext(ctx, "a webhook event is sent", "trace_id", by.ID(), "traceparent", by, "event", e.ID(),
			"endpoint", p.work.Endpoint.ID, "took", p.d.now().Sub(began), "failure", failure.Code)
	}
	if !taken && ctx.Err() != nil {
		return false // the attempt was cut off, and its outcome is unknown
	}
	p.d.observer.EventSent(taken, p.d.now().Sub(began))
	p.mu.Lock()
	defer p.mu.Unlock()
	now = p.now()
	broken := p.settled.Health.Broken()
	again := began.Before(p.failed) // it was on the way at that failure, whose reason may be its own
	if taken || !again {
		p.settled.Health = p.settled.Health.after(taken, now)
	}
	if taken {
		p.settled.SuccessAt = now
		c.sent, c.attempts = c.sent+1, 0
		return true
	}
	if !again {
		p.failed = p.d.now()
	}
	c.failure, c.counts = failure, !broken
	p.settled.LastFailure = failure
	if failure.Code == Gone {
		p.settled.Disable = Gone
	}
	p.over = p.over || p.settled.Health.Broken() || p.settled.Disable != ""
	return false
}
