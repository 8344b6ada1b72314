package main

import (
	"errors"
	"math"
	"math/rand/v2"
	"net/netip"
	"time"

	"seckill/internal/guard"
	"seckill/internal/guard/ticket"
)

// What is assumed of people. Delays are medians of log-normal distributions.
const (
	people        = 5_000
	waitingShare  = 0.6 // of people: they have pressed before the start, or before their moment, and their page holds the press
	reaction      = 350 * time.Millisecond
	reactionShape = 0.35
	lateness      = 1200 * time.Millisecond // of those who press after the start
	lateShape     = 0.9
	mobile        = 55 * time.Millisecond // one way
	mobileShape   = 0.5
	lostShare     = 0.01 // of requests; they are sent again
	sharedShare   = 0.2  // of people, who share so many addresses
	sharedLines   = 16
	clockDoubt    = 15 * time.Millisecond // of the server's time, as a page knows it
	telephone     = 80.0                  // tries a second: measured in Chromium, throttled six times
	openEarly     = 4 * time.Minute
)

// What is assumed of bots.
const (
	line    = time.Millisecond // one way
	core    = 1_130.0          // tries a second on one core: BenchmarkSolve
	botPoll = 50 * time.Millisecond
	retries = 40 // of a bot's account
)

// actor is one account and what it did.
type actor struct {
	caller
	bot, waiting bool
	ticket       string
	due          time.Time // when its ticket becomes usable, as it was told
	tries        int       // of its challenge
	worked       time.Duration
	won          bool
	attacked     int // refusals that call it an attack
}

// siege is one run.
type siege struct {
	*service
	random *rand.Rand
	kind   kind
	actors []*actor
}

// spread returns a random duration around a median.
func (s *siege) spread(median time.Duration, shape float64) time.Duration {
	return time.Duration(float64(median) * math.Exp(shape*s.random.NormFloat64()))
}

// hire makes people: most have an address of their own, some share one.
func (s *siege) hire() {
	for i := range people {
		address := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		if s.random.Float64() < sharedShare {
			address = netip.AddrFrom4([4]byte{100, 64, byte(s.random.IntN(sharedLines)), 1})
		}
		a := &actor{
			caller:  caller{user: int64(1 + i), address: address, since: s.begin.AddDate(-1, 0, 0)},
			waiting: s.random.Float64() < waitingShare,
		}
		s.actors = append(s.actors, a)
		s.live(a)
	}
}

// live lets a person take part: their page fetches a ticket, and sends their press.
func (s *siege) live(a *actor) {
	if s.settings.Tickets != nil {
		wait := time.Duration(s.random.Int64N(int64(time.Minute)))
		s.sim.at(s.begin.Add(-openEarly).Add(wait), func() { s.fetch(a, telephone) })
	}
	press := s.spread(lateness, lateShape)
	switch {
	case a.waiting && s.settings.Tickets != nil: // they have pressed before: their page sends at their moment, not they
		press = -time.Second
	case a.waiting:
		press = s.spread(reaction, reactionShape)
	}
	s.sim.at(s.begin.Add(press), func() { s.pressed(a) })
}

// fetch asks for a ticket, works as long as the challenge takes, and gets the ticket.
func (s *siege) fetch(a *actor, speed float64) {
	at := s.random.IntN(instances)
	most, err := s.tries(at, a.caller)
	if rate, is := errors.AsType[*guard.RateError](err); is {
		s.sim.after(rate.Retry+s.spread(time.Second, mobileShape), func() { s.fetch(a, speed) })
		return
	}
	a.tries = most
	if most > 0 { // the counter is any below it
		a.tries = 1 + s.random.IntN(most)
	}
	a.worked = time.Duration(float64(a.tries) / speed * float64(time.Second))
	s.sim.after(a.worked+2*s.trip(a), func() {
		if text, err := s.ticket(at, a.caller); err == nil {
			a.ticket, a.due = text, s.moment(a.caller)
		}
	})
}

// pressed is the button of a person's page: it sends at once, or at the moment of the ticket.
func (s *siege) pressed(a *actor) {
	doubt := time.Duration(math.Abs(s.random.NormFloat64()) * float64(clockDoubt))
	s.sim.at(a.due.Add(doubt), func() { s.send(a, 0) })
}

// trip is how long a message of an actor takes.
func (s *siege) trip(a *actor) time.Duration {
	if a.bot {
		return line
	}
	return s.spread(mobile, mobileShape)
}

// send sends a purchase, which arrives at some instance, or is lost and sent again.
func (s *siege) send(a *actor, repeated int) {
	if !a.bot && s.random.Float64() < lostShare {
		s.sim.after(time.Second+s.spread(mobile, mobileShape), func() { s.send(a, repeated+1) })
		return
	}
	s.sim.after(s.trip(a), func() {
		if a.won {
			return
		}
		err := s.buy(s.random.IntN(instances), a.caller, a.ticket)
		a.won = err == nil
		s.answered(a, err, repeated)
	})
}

// answered does what a page, or a bot, does with a refusal.
func (s *siege) answered(a *actor, err error, repeated int) {
	early, isEarly := errors.AsType[*ticket.EarlyError](err)
	switch {
	case err == nil, errors.Is(err, errSoldOut):
	case isEarly:
		s.sim.at(early.UsableFrom, func() { s.send(a, repeated+1) })
	default:
		if codeOf(err) != "NOT_STARTED" {
			a.attacked++
		}
		if repeated < retries {
			pause := botPoll
			if !a.bot {
				pause = time.Second + s.spread(mobile, mobileShape)
			}
			s.sim.after(pause, func() { s.send(a, repeated+1) })
		}
	}
}
