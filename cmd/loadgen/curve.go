package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// steepness is the duration of a spike divided by the time in which its rate falls to 1/e. With 5, two thirds of the
// buyers arrive in the first fifth.
const steepness = 5

// curve is the distribution of arrivals: at returns the time by which the given share of the buyers, from 0 to 1, has
// arrived.
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

// at is the inverse of the share that has arrived by time t: t for flat, t² for ramp (the rate grows with t), and 1 -
// e^-5t for spike, scaled up because that reaches only 99.3 % at t = 1.
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

// arrival returns when the i-th of n buyers arrives: at a random point within the i-th of n equal shares, so that
// buyers arrive in order but not at regular intervals.
func (c curve) arrival(i, n int, seed uint64) time.Duration {
	return c.at((float64(i) + random(seed, i, 0)) / float64(n))
}

// random returns a number from 0 to 1 that depends only on the seed, the buyer, and which of the buyer's choices it is
// for.
func random(seed uint64, buyer, choice int) float64 {
	source := rand.NewPCG(seed, uint64(buyer)<<16|uint64(choice))
	return rand.New(source).Float64() //nolint:gosec // load, not keys
}
