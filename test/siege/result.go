package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"seckill/internal/guard"
	"seckill/internal/guard/challenge"
)

const units = 500

// result is what came of one siege.
type result struct {
	toBots, toPeople   int
	bots, waiting      int // accounts; people who have pressed before
	toWaiting, toLate  int
	seconds            float64 // until all units were gone; below 0: they were not
	refusals           map[string]int
	coreSeconds        float64 // that the bots' processors worked
	longestWork        time.Duration
	honestCalledAttack int
}

// botRate and waitingRate are how many accounts in a hundred have won.
func (r result) botRate() float64 { return 100 * float64(r.toBots) / float64(max(1, r.bots)) }

func (r result) waitingRate() float64 { return 100 * float64(r.toWaiting) / float64(max(1, r.waiting)) }

func (r result) lateRate() float64 {
	return 100 * float64(r.toLate) / float64(max(1, people-r.waiting))
}

// besieged runs one siege.
func besieged(ctx context.Context, seed uint64, k kind, settings guard.Settings) (result, error) {
	begin := time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)
	sim := &simulation{now: begin.Add(-time.Hour)}
	service, err := newService(ctx, sim, begin, units, settings, fmt.Sprintf("seed%08d", seed))
	if err != nil {
		return result{}, err
	}
	s := &siege{service: service, random: rand.New(rand.NewPCG(seed, 1111)), kind: k}
	s.hire()
	s.besiege()
	sim.run(begin.Add(5 * time.Minute))
	return s.count(), nil
}

func (s *siege) count() result {
	r := result{bots: s.kind.accounts, refusals: s.refusals, seconds: -1}
	if !s.soldOut.IsZero() {
		r.seconds = s.soldOut.Sub(s.begin).Seconds()
	}
	for _, a := range s.actors {
		switch {
		case a.bot:
			r.coreSeconds += float64(a.tries) / core
			r.toBots += number(a.won)
			continue
		case a.waiting:
			r.waiting++
			r.toWaiting += number(a.won)
		default:
			r.toLate += number(a.won)
		}
		r.toPeople += number(a.won)
		r.longestWork = max(r.longestWork, a.worked)
		r.honestCalledAttack += number(a.attacked > 0)
	}
	return r
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reallySolve has so many actors solve their challenges and returns how many tries they took, which must be as many as are
// charged, and the processor time.
func reallySolve(ctx context.Context, actors int) (tries int, took time.Duration, err error) {
	sim := &simulation{now: time.Date(2026, 11, 11, 19, 57, 0, 0, time.UTC)}
	var set guard.Settings
	tickets(&set)
	work(&set)
	s, err := newService(ctx, sim, sim.now.Add(3*time.Minute), units, set, "50 solve")
	if err != nil {
		return 0, 0, err
	}
	defer s.makeChallenges(ctx)()
	for i := range actors {
		who := challengeCaller(caller{user: int64(1 + i), address: anywhere(i)})
		made, err := s.made(ctx, i%instances, who)
		if err != nil {
			return 0, 0, err
		}
		began := time.Now()
		solved, err := challenge.Solve(ctx, made)
		if err != nil {
			return 0, 0, err
		}
		took += time.Since(began)
		text, err := solved.Encode()
		if err != nil {
			return 0, 0, err
		}
		if err := s.nodes[(i+1)%instances].challenges.Check(text, who, sim.now); err != nil { // another instance checks it
			return 0, 0, fmt.Errorf("actor %d: %w", i, err)
		}
		most, n := made.Parameters.Data.Difficulty, int(solved.Solution.Counter)+1
		if n > most {
			return 0, 0, fmt.Errorf("actor %d took %d tries, and is charged for %d at most", i, n, most)
		}
		tries += n
	}
	return tries, took, nil
}
