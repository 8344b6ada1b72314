package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"seckill/internal/guard"
	"seckill/internal/guard/challenge"
	"seckill/internal/guard/keys"
	"seckill/internal/guard/ticket"
)

const (
	saleID    = int64(7)
	instances = 3
)

// What a request is refused with besides what tickets say.
var (
	errSoldOut    = errors.New("sold out")
	errNotStarted = errors.New("not started")
)

// service is the sale with its guards, on several instances that share nothing but their secret and the script.
type service struct {
	sim      *simulation
	begin    time.Time
	settings guard.Settings
	nodes    [instances]node

	stock    int
	holders  map[int64]bool
	soldOut  time.Time
	refusals map[string]int
}

// node is one instance.
type node struct {
	limits     *guard.LimitsTable
	tickets    *ticket.Tickets
	challenges *challenge.Challenges
}

// salts is one salt, known to all instances.
type salts struct{}

func (salts) GuardSalts(context.Context) ([]keys.Salt, error) { return []keys.Salt{{ID: 1}}, nil }

func newService(ctx context.Context, sim *simulation, begin time.Time, stock int, settings guard.Settings, secret string) (*service, error) {
	s := &service{sim: sim, begin: begin, settings: settings, stock: stock, holders: map[int64]bool{}, refusals: map[string]int{}}
	for i := range s.nodes {
		ring, err := keys.NewRing(strings.Repeat(secret, 4), salts{}, sim.clock, slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, fmt.Errorf("instance %d: %w", i, err)
		}
		if err := ring.Load(ctx); err != nil {
			return nil, fmt.Errorf("instance %d: %w", i, err)
		}
		limits := guard.NewLimitsTable(sim.clock)
		s.nodes[i] = node{limits, ticket.New(ring), challenge.New(ring, limits, challenge.PoolDepth)}
	}
	return s, nil
}

// caller is an account on a line.
type caller struct {
	user    int64
	address netip.Addr
	since   time.Time // when the account was made
}

// tries counts an ask for a challenge, and returns how many tries it takes at most; 0 where a ticket costs nothing. A *guard.RateError
// where the account or its network asks too often.
func (s *service) tries(at int, c caller) (int, error) {
	set := s.settings.Challenge
	if set == nil {
		return 0, nil
	}
	return s.nodes[at].challenges.Difficulty(challengeCaller(c), int(set.Difficulty), int(set.MaxDifficulty))
}

// made is a challenge that really can be solved.
func (s *service) made(ctx context.Context, at int, who challenge.Caller) (challenge.Challenge, error) {
	challenges, set := s.nodes[at].challenges, s.settings.Challenge
	difficulty, err := challenges.Difficulty(who, int(set.Difficulty), int(set.MaxDifficulty))
	if err != nil {
		return challenge.Challenge{}, err
	}
	for {
		made, err := challenges.Make(ctx, who, difficulty, s.sim.now)
		if !errors.Is(err, challenge.ErrBusy) || ctx.Err() != nil {
			return made, err
		}
	}
}

// makeChallenges has all instances make challenges until the function that it returns is called.
func (s *service) makeChallenges(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var making sync.WaitGroup
	for i := range s.nodes {
		making.Go(func() { _ = s.nodes[i].challenges.Run(ctx) })
	}
	return func() { cancel(); making.Wait() }
}

func challengeCaller(c caller) challenge.Caller {
	return challenge.Caller{SaleID: saleID, UserID: c.user, Address: c.address}
}

// ticket gives a ticket to an account that has solved its challenge.
func (s *service) ticket(at int, c caller) (string, error) {
	if s.sim.now.Before(s.begin.Add(-time.Duration(s.settings.Tickets.LeadMinutes) * time.Minute)) {
		return "", errNotStarted
	}
	expires := s.begin.Add(s.longest() + time.Duration(s.settings.Tickets.ExpiryMinutes)*time.Minute)
	return s.nodes[at].tickets.Issue(saleID, c.user, expires)
}

// moment is when an account's ticket becomes usable, as the answer with the ticket says.
func (s *service) moment(c caller) time.Time {
	return s.begin.Add(s.nodes[0].tickets.Delay(saleID, c.user, s.longest()))
}

func (s *service) longest() time.Duration {
	if s.settings.Tickets == nil {
		return 0
	}
	return time.Duration(s.settings.Tickets.DelayMs) * time.Millisecond
}

// buy is a purchase that has arrived at an instance.
func (s *service) buy(at int, c caller, text string) error {
	err := s.enter(at, c, text)
	if err != nil {
		s.refusals[codeOf(err)]++
	}
	return err
}

// enter asks the guards in their order, then the script. A holder would hear their order (rule 2); here nobody asks again who has one.
func (s *service) enter(at int, c caller, text string) error {
	n := &s.nodes[at]
	if l := s.settings.Limits; l != nil {
		if err := errors.Join(n.limits.CheckAddress(l, saleID, c.address), n.limits.CheckUser(l, saleID, c.user)); err != nil {
			return err
		}
	}
	if s.settings.Conditions != nil {
		request := guard.Request{
			Sale:   guard.Sale{ID: saleID, Begin: s.begin, Settings: &s.settings},
			Caller: guard.Caller{UserID: c.user, Claims: guard.Claims{Since: c.since}}, Now: s.sim.now,
		}
		if err := (guard.ConditionsCheck{}).Check(&request); err != nil {
			return err
		}
	}
	if s.settings.Tickets != nil {
		if err := n.tickets.Check(text, saleID, c.user, s.sim.now); err != nil {
			return err
		}
		if err := n.tickets.Usable(saleID, c.user, s.begin, s.longest(), s.sim.now); err != nil {
			return err
		}
	}
	return s.script(c)
}

// script is scripts/seckill.lua as far as a siege sees it.
func (s *service) script(c caller) error {
	switch {
	case s.holders[c.user]:
		return nil
	case s.sim.now.Before(s.begin):
		return errNotStarted
	case s.stock == 0:
		return errSoldOut
	}
	s.stock--
	s.holders[c.user] = true
	if s.stock == 0 {
		s.soldOut = s.sim.now
	}
	return nil
}

// codeOf is the code of an answer.
func codeOf(err error) string {
	var early *ticket.EarlyError
	var rate *guard.RateError
	var condition *guard.NotEligibleError
	switch {
	case errors.Is(err, errSoldOut):
		return "SOLD_OUT"
	case errors.Is(err, errNotStarted), errors.As(err, &early):
		return "NOT_STARTED"
	case errors.As(err, &rate):
		return "RATE_LIMITED"
	case errors.As(err, &condition):
		return "NOT_ELIGIBLE"
	case errors.Is(err, ticket.ErrRequired):
		return "TICKET_REQUIRED"
	case errors.Is(err, ticket.ErrInvalid):
		return "TICKET_INVALID"
	default:
		return "INTERNAL"
	}
}
