package dispatch

import (
	"cmp"
	"slices"
	"time"

	"seckill/internal/order"
)

// Retry is the place where an endpoint has stopped taking a subject's events: all of the subject's events from Number
// on, as far as the endpoint has got, are still to be sent.
type Retry struct {
	Subject  order.Subject
	Number   int64 // of the first event that is to be sent
	Attempts int64 // to send that one
	DueAt    time.Time
	Failure  Failure // of the last attempt
}

// Work is what is to be sent to an endpoint now, under a lease.
type Work struct {
	Endpoint Endpoint
	Until    time.Time // of the lease, by this process's clock
	Now      time.Time // by the ledger's clock

	Retries []Retry // those that are due, each with all of its events among Events
	Waiting []Retry // those that are not due, of subjects that have Events
	Events  []Event // in the order of their numbers
	// Next and ReplayNext are how far the endpoint has got when all of it is settled.
	Next, ReplayNext int64
}

// Empty reports whether nothing is to be done.
func (w Work) Empty() bool {
	return len(w.Events) == 0 && len(w.Retries) == 0 && w.Next == w.Endpoint.Next &&
		w.ReplayNext == w.Endpoint.ReplayNext
}

// Range is a range of numbers of events, without its end.
type Range struct{ Next, End int64 }

// Settled is what has come of Work.
type Settled struct {
	EndpointID       int64
	URL              string // as it was read: Health, LastFailure and Disable are about it
	Next, ReplayNext int64
	ReplayWas        Range // as it was read
	Health           Health
	HealthWas        Health    // as it was read: with another one now, an admin has enabled the endpoint
	SuccessAt        time.Time // zero: there was none
	LastFailure      Failure
	Disable          FailureCode // why the endpoint is to be disabled; "": it is not

	Done   []Retry // retries as they were read, which are over
	Behind []Moved // subjects whose events are still to be sent
	Dead   []DeadLetter
}

// Moved is a retry that is new or has changed.
type Moved struct {
	Was *Retry // as it was read; nil: there was none
	Retry
}

// DeadLetter is an event that an endpoint did not take, in spite of all attempts.
type DeadLetter struct {
	Number   int64
	Attempts int64
	Failure  Failure
	At       time.Time
}

// chain is what is to be sent of one subject, one event after the other.
type chain struct {
	retry  *Retry // nil: the subject was not behind
	events []Event

	sent     int // how many of them are settled
	attempts int64
	failure  Failure // of the last attempt of the first that is not settled
	counts   bool    // whether that attempt counts against its event; else the endpoint is at fault
}

// chains divides work into chains, those first that have waited longest, and what joins those that are not due.
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
			if e.Number < m.Number { // it is sent again: from there on
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

// old reports whether the event that failed is behind, and as old as an endpoint's failures may be.
func (c *chain) old(now time.Time) bool {
	return c.retry != nil && now.Sub(c.events[c.sent].At) >= disableAfter
}

// settle writes into s what has come of the chain.
func (c *chain) settle(s *Settled, now time.Time) {
	left := c.events[c.sent:]
	switch {
	case len(left) > 0 && c.retry != nil && c.failure == (Failure{}) &&
		left[0].Number == c.retry.Number:
		// As it was.
	case len(left) > 0:
		s.Behind = append(s.Behind, c.behind(s, left, now))
	case c.retry != nil:
		s.Done = append(s.Done, *c.retry)
	}
}

// behind returns from where on the subject's events are still to be sent. When the first one has had all of its
// attempts, it becomes a dead letter, and the next one's turn comes.
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
	s.Dead = append(s.Dead, DeadLetter{Number: first.Number, Attempts: m.Attempts, Failure: c.failure, At: now})
	// The one behind it may not have been read yet: its number is at least the next one.
	m.Retry = Retry{Subject: first.Subject, Number: first.Number + 1, DueAt: now}
	return m
}
