package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// steepness is how many times a spike falls to 1/e within its duration: a fifth of the time sees two thirds of the people.
const steepness = 5

// curve is how people arrive: at gives the moment by which the given part of them, from 0 to 1, has come.
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

// at is the inverse of the share that has arrived by a time: t for flat, t² for ramp (the rate grows with t), and for a
// spike 1 - e^-5t, of which the rest of 0.7 % is spread over all.
func (c curve) at(part float64) time.Duration {
	t := part
	switch c.name {
	case "ramp":
		t = math.Sqrt(part)
	case "spike":
		t = -math.Log1p(-part*(1-math.Exp(-steepness))) / steepness
	}
	return time.Duration(t * float64(c.duration))
}

// arrival returns when the i-th of n buyers comes. He comes somewhere in his n-th part of the crowd, so that people come
// in order, and not in step.
func (c curve) arrival(i, n int, seed uint64) time.Duration {
	return c.at((float64(i) + chance(seed, i, 0)) / float64(n))
}

// chance returns a number from 0 to 1 that depends on seed, buyer and which of his choices it is, and on nothing else.
func chance(seed uint64, buyer, choice int) float64 {
	source := rand.NewPCG(seed, uint64(buyer)<<16|uint64(choice))
	return rand.New(source).Float64() //nolint:gosec // load, not keys
}
