package dispatch

import (
	"cmp"
	"slices"
	"time"

	"seckill/internal/order"
)

// Retry is the place where an endpoint has stopped taking a subject's events: all of the subject's events from Number
// on, up to the endpoint's position, are still to be sent.
type Retry struct {
	Subject  order.Subject
	Number   int64 // the first event to be sent
	Attempts int64 // attempts to send that event
	DueAt    time.Time
	Failure  Failure // the last attempt's
}

// Work has the events to be sent to an endpoint now, under a lease.
type Work struct {
	Endpoint Endpoint
	Until    time.Time // the time to stop sending, before the lease's end, by this process's clock
	Now      time.Time // by the ledger's clock

	Retries []Retry // the retries that are due, each with all of its events in Events
	Waiting []Retry // the retries that are not due, of subjects that have Events
	Events  []Event // in the order of their numbers
	// Next and ReplayNext are the endpoint's positions after all of the work is settled.
	Next, ReplayNext int64
}

// Empty reports whether there is nothing to be sent or settled.
func (w Work) Empty() bool {
	return len(w.Events) == 0 && len(w.Retries) == 0 && w.Next == w.Endpoint.Next &&
		w.ReplayNext == w.Endpoint.ReplayNext
}

// Range is a range of numbers of events, without its end.
type Range struct{ Next, End int64 }

// Settled is the result of Work.
type Settled struct {
	EndpointID       int64
	URL              string // the URL that was read: Health, LastFailure and Disable are about it
	Next, ReplayNext int64
	ReplayWas        Range // the range that was read
	Health           Health
	HealthWas        Health    // the health that was read; if the stored one differs, an admin has enabled the endpoint
	SuccessAt        time.Time // the last success; zero: there was none
	LastFailure      Failure
	Disable          FailureCode // the reason to disable the endpoint; "": none

	Done   []Retry // the retries to be removed, as they were read
	Behind []Moved // the retries of subjects whose events are still to be sent
	Dead   []DeadLetter
}

// Moved is a retry that is new or has changed.
type Moved struct {
	Was *Retry // the retry that was read; nil: the retry is new
	Retry
}

// DeadLetter is an event that an endpoint did not take, in spite of all attempts.
type DeadLetter struct {
	Number   int64
	Attempts int64
	Failure  Failure
}

// chain has the events of one subject, to be sent one after the other.
type chain struct {
	retry  *Retry // nil: the subject was not behind
	events []Event

	sent     int // how many of the events were taken
	attempts int64
	failure  Failure // the last attempt's, to send the first event that was not taken
	counts   bool    // whether that attempt counts against its event; else the endpoint is at fault
}

// chains divides work into chains: first those that have waited longest. Events of a subject whose retry is not due are
// not sent; waiting has the retries that now begin at such an event.
func (w Work) chains() (due []*chain, waiting []Moved) {
	bySubject := make(map[order.Subject]*chain)
	for i, r := range w.Retries {
		c := &chain{retry: &w.Retries[i], attempts: r.Attempts}
		bySubject[r.Subject] = c
		due = append(due, c)
	}
	notDue := make(map[order.Subject]*Moved)
	for i, r := range w.Waiting {
		notDue[r.Subject] = &Moved{Was: &w.Waiting[i], Retry: r}
	}
	for _, e := range w.Events {
		if !w.Endpoint.Wants(e.Type) {
			continue
		}
		if m := notDue[e.Subject]; m != nil {
			if e.Number < m.Number { // a replay: the retry begins at this event
				m.Number, m.Attempts = e.Number, 0
				waiting = append(waiting, *m)
			}
			continue
		}
		c := bySubject[e.Subject]
		if c == nil {
			c = &chain{}
			bySubject[e.Subject] = c
			due = append(due, c)
		}
		c.events = append(c.events, e)
	}
	for _, c := range due {
		slices.SortFunc(c.events, func(a, b Event) int { return cmp.Compare(a.Number, b.Number) })
		c.events = slices.CompactFunc(c.events, func(a, b Event) bool { return a.Number == b.Number })
		if c.retry != nil && len(c.events) > 0 && c.events[0].Number != c.retry.Number {
			c.attempts = 0 // another event is the first one now
		}
	}
	return due, waiting
}

// old reports whether the event that failed was a retry, and is at least disableAfter old.
func (c *chain) old(now time.Time) bool {
	return c.retry != nil && now.Sub(c.events[c.sent].At) >= disableAfter
}

// settle adds the result of the chain to s.
func (c *chain) settle(s *Settled, now time.Time) {
	left := c.events[c.sent:]
	switch {
	case len(left) > 0 && c.retry != nil && c.failure == (Failure{}) &&
		left[0].Number == c.retry.Number:
		// No attempt was made: the retry stays as it was.
	case len(left) > 0:
		s.Behind = append(s.Behind, c.behind(s, left, now))
	case c.retry != nil:
		s.Done = append(s.Done, *c.retry)
	}
}

// behind returns the retry from which the subject's events are still to be sent. If the first event has had all of its
// attempts, it becomes a dead letter, and the retry begins at the next event.
func (c *chain) behind(s *Settled, left []Event, now time.Time) Moved {
	first := left[0]
	m := Moved{Was: c.retry, Retry: Retry{
		Subject: first.Subject, Number: first.Number, Attempts: c.attempts, DueAt: now, Failure: c.failure,
	}}
	if c.failure == (Failure{}) {
		return m // there was no attempt
	}
	if !c.counts || s.Disable != "" {
		if m.DueAt.Before(s.Health.RetryAt) {
			m.DueAt = s.Health.RetryAt
		}
		return m
	}
	m.Attempts++
	pause, again := retryPause(m.Attempts)
	m.DueAt = now.Add(pause)
	if again {
		return m
	}
	s.Dead = append(s.Dead, DeadLetter{Number: first.Number, Attempts: m.Attempts, Failure: c.failure})
	// The subject's next event may not have been read yet: its number is at least one higher.
	m.Retry = Retry{Subject: first.Subject, Number: first.Number + 1, DueAt: now}
	return m
}
