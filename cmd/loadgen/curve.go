package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// steepness is how many times a spike falls to 1/e within its duration: two thirds of the buyers come in the first
// fifth.
const steepness = 5

// curve is how buyers arrive: at returns the time by which the given share of them, from 0 to 1, has arrived.
type curve struct {
	name     string
	duration time.Duration
}

func newCurve(name string, d time.Duration) (curve, error) {
	switch name {
	case "flat", "ramp", "spike":
		return curve{name, d}, nil
	default:
		return curve{}, fmt.Errorf("-curve is %q (allowed: flat, ramp, spike)", name)
	}
}

// at is the inverse of the share that has arrived by time t: t for flat, t² for ramp (the rate grows with t), and
// 1 - e^-5t for spike, scaled up by the 0.7 % that this misses at t = 1.
func (c curve) at(share float64) time.Duration {
	t := share
	switch c.name {
	case "ramp":
		t = math.Sqrt(share)
	case "spike":
		t = -math.Log1p(-share*(1-math.Exp(-steepness))) / steepness
	}
	return time.Duration(t * float64(c.duration))
}

// arrival returns when the i-th of n buyers arrives: at a random point of the i-th of n equal shares, so that buyers
// arrive in order and not at regular intervals.
func (c curve) arrival(i, n int, seed uint64) time.Duration {
	return c.at((float64(i) + random(seed, i, 0)) / float64(n))
}

// random returns a number from 0 to 1 that depends only on the seed, the buyer, and the number of the buyer's choice.
func random(seed uint64, buyer, choice int) float64 {
	source := rand.NewPCG(seed, uint64(buyer)<<16|uint64(choice))
	return rand.New(source).Float64() //nolint:gosec // load, not keys
}
