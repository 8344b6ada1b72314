package guard

import (
	"math"
	"time"
)

// DefaultDelay is the longest delay of a sale's tickets where nothing is known about its crowd.
const DefaultDelay = 1500 * time.Millisecond

const (
	// quickness is by how much a program on a fast line is sooner than a person on a telephone, once both press at their moment:
	// half of a mobile round trip.
	quickness = 50 * time.Millisecond
	// tolerated is by which part more often it may win for that.
	tolerated = 0.05
)

// Gain returns by which part more often somebody wins who is faster by so much: with so many applicants who have pressed before
// their moment, the units are gone once units/applicants of the longest delay has passed, and they have that much more of it.
func Gain(faster time.Duration, applicants, units int64, longest time.Duration) float64 {
	if longest <= 0 || units <= 0 {
		return math.Inf(1) // the fastest take everything
	}
	if applicants <= units {
		return 0 // everybody wins
	}
	return faster.Seconds() * float64(applicants) / (longest.Seconds() * float64(units))
}

// ProposeDelay returns the longest delay for an expected crowd: so long that being quick gains a twentieth at most, and
// DefaultDelay at least. It is rounded up to half a second.
func ProposeDelay(applicants, units int64) time.Duration {
	if units <= 0 || applicants <= units {
		return DefaultDelay
	}
	const step = 500.0 // milliseconds
	needed := float64(quickness.Milliseconds()) * float64(applicants) / (tolerated * float64(units))
	steps := math.Ceil(min(needed, MaxDelayMs)/step - 1e-9)
	return max(DefaultDelay, time.Duration(steps*step)*time.Millisecond)
}
