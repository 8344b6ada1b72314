package box

import (
	"slices"
	"strings"
	"sync"

	"seckill/internal/checker"
)

// notSent reports whether the attempt reached no server, so that it certainly had no effect.
func notSent(a checker.Answer) bool {
	return a.Outcome == checker.Unknown && strings.Contains(a.Code, "connection refused")
}

// Record is every answer of a test's clients, in the order in which they came.
type Record struct {
	mu       sync.Mutex
	answers  []checker.Answer
	accepted int
	triggers []trigger
}

// trigger is a function that runs when the n-th purchase is accepted.
type trigger struct {
	at int
	do func()
}

// After calls do when the n-th purchase is accepted, in that client's goroutine, while the others go on: so a fault
// meant for the middle of a sale cannot come late.
func (r *Record) After(n int, do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.triggers = append(r.triggers, trigger{n, do})
}

// Reached returns a channel that is closed when n purchases are accepted.
func (r *Record) Reached(n int) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	reached := make(chan struct{})
	if r.accepted >= n {
		close(reached)
	} else {
		r.triggers = append(r.triggers, trigger{n, func() { close(reached) }})
	}
	return reached
}

// Add records an answer and runs the triggers that it fires.
func (r *Record) Add(a checker.Answer) {
	for _, do := range r.put(a) {
		do()
	}
}

// put records an answer and returns the triggers to run.
func (r *Record) put(a checker.Answer) []func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = append(r.answers, a)
	if a.Outcome != checker.Accepted || a.Action != checker.Buy {
		return nil
	}
	r.accepted++
	var due []func()
	for _, t := range r.triggers {
		if t.at == r.accepted {
			due = append(due, t.do)
		}
	}
	return due
}

// Accepted returns how many purchases were accepted so far.
func (r *Record) Accepted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted
}

// Answers returns a copy of the answers so far.
func (r *Record) Answers() []checker.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.answers)
}

// Winners returns each user whose answers named an order, with that order.
func (r *Record) Winners() map[int64]int64 {
	won := map[int64]int64{}
	for _, a := range r.Answers() {
		if a.Action == checker.Buy && (a.Outcome == checker.Accepted || a.Outcome == checker.Held) {
			won[a.User] = a.Order
		}
	}
	return won
}

// Counts counts the answers by outcome (refusals also by code), and attempts that reached no server as "not sent".
func (r *Record) Counts() map[string]int {
	n := map[string]int{}
	for _, a := range r.Answers() {
		key := a.Outcome.String()
		if a.Action != checker.Buy {
			key = a.Action.String() + " " + key
		}
		if a.Outcome == checker.Refused || a.Outcome == checker.Later {
			key += " " + a.Code
		}
		if notSent(a) {
			key = "not sent"
		}
		n[key]++
	}
	return n
}
