package test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"seckill/internal/checker"
)

// What a buyer knows after one attempt to buy.
const (
	unknown  = checker.Unknown
	accepted = checker.Accepted
	held     = checker.Held
	refused  = checker.Refused
	later    = checker.Later
)

// answer is one attempt to buy and what came of it.
type answer struct {
	user    int64
	verdict checker.Verdict
	order   int64  // for accepted and held
	code    string // for refused and later: the problem's code; for unknown: what was seen instead of an answer
	server  string
	asked   time.Time
	told    time.Time
}

// nobodyThere reports whether the attempt found no server at all: it certainly had no effect.
func (a answer) nobodyThere() bool {
	return a.verdict == unknown && strings.Contains(a.code, "connection refused")
}

func (a answer) String() string {
	return fmt.Sprintf("user %d at %s: %s %d %s", a.user, a.server, a.verdict, a.order, a.code)
}

// record is every answer that the clients of a test were given, in the order in which they were given.
type record struct {
	mu       sync.Mutex
	answers  []answer
	accepted int
	triggers []trigger
}

// trigger is something that is done once so many purchases were accepted.
type trigger struct {
	at int
	do func()
}

// after lets do run, once, in the goroutine of the client whose acceptance is the n-th, while the others go on: a
// fault that is due "in the middle of the sale" then cannot come late.
func (r *record) after(n int, do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.triggers = append(r.triggers, trigger{n, do})
}

// reached returns a channel that is closed once so many purchases were accepted.
func (r *record) reached(n int) <-chan struct{} {
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

// add records an answer and sets off what is due.
func (r *record) add(a answer) {
	for _, do := range r.put(a) {
		do()
	}
}

// put records an answer and returns what is due.
func (r *record) put(a answer) []func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = append(r.answers, a)
	if a.verdict != accepted {
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

// acceptedCount returns how many answers gave an order id.
func (r *record) acceptedCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted
}

// all returns a copy of the answers so far.
func (r *record) all() []answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.answers)
}

// evidence returns the answers so far as the checker reads them.
func (r *record) evidence(voucher int64) []checker.Answer {
	answers := r.all()
	facts := make([]checker.Answer, len(answers))
	for i, a := range answers {
		facts[i] = checker.Answer{
			Verdict: a.verdict, User: a.user, Voucher: voucher, Order: a.order, Code: a.code,
			Server: a.server, Sent: a.asked, Told: a.told,
		}
	}
	return facts
}

// winners returns each user who was given or told an order, with that order.
func (r *record) winners() map[int64]int64 {
	won := map[int64]int64{}
	for _, a := range r.all() {
		if a.verdict == accepted || a.verdict == held {
			won[a.user] = a.order
		}
	}
	return won
}

// tally counts the answers by verdict, refusals by code, and apart those attempts that found nobody to answer them.
func (r *record) tally() map[string]int {
	n := map[string]int{}
	for _, a := range r.all() {
		key := a.verdict.String()
		if a.verdict == refused || a.verdict == later {
			key += " " + a.code
		}
		if a.nobodyThere() {
			key = "nobody there"
		}
		n[key]++
	}
	return n
}
