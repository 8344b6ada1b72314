package versus

import (
	"math"
	"math/rand/v2"
	"slices"
)

// estimate is the median of ratios with its 95 % interval.
type estimate struct{ median, low, high float64 }

// median returns the middle of the values, or the mean of the two in the middle.
func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if len(s) == 0 {
		return math.NaN()
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// bootstrap estimates the median of the ratios by drawing from them, with replacement, as many as there are, 10,000
// times.
func bootstrap(ratios []float64) estimate {
	const draws = 10_000
	random := rand.New(rand.NewPCG(1, 2)) // fixed: the same rounds have the same interval
	medians := make([]float64, draws)
	drawn := make([]float64, len(ratios))
	for i := range medians {
		for k := range drawn {
			drawn[k] = ratios[random.IntN(len(ratios))]
		}
		medians[i] = median(drawn)
	}
	slices.Sort(medians)
	return estimate{median(ratios), medians[draws*25/1000], medians[draws*975/1000-1]}
}

// spread returns how far nine of ten ratios are from 1 at most, upwards or downwards: 1.05 is five percent.
func spread(ratios []float64) float64 {
	away := make([]float64, len(ratios))
	for i, r := range ratios {
		away[i] = max(r, 1/r)
	}
	slices.Sort(away)
	return away[(9*len(away)+9)/10-1]
}

// verdict is the decision about a figure.
type verdict string

const (
	worse     verdict = "worse"
	noWorse   verdict = "no worse than the spread of the old tree against itself"
	undecided verdict = "undecided"
)

// comparison is a figure over all rounds.
type comparison struct {
	old, new []float64
	change   estimate // new / old
	floor    estimate // second old build / first
	spread   float64  // of floor
	verdict  verdict
	// most is the upper end of the interval of the change for the worse, as a ratio.
	most float64
}

// leastRounds is how many rounds a verdict needs: with fewer the interval is narrower than it should be.
const leastRounds = 6

// compare compares a figure over the rounds; lower is better, unless better is 1.
func compare(rounds []round, n, better int) comparison {
	var c comparison
	var change, floor, cost, floorCost []float64 // in the latter two, above 1 is worse
	for _, r := range rounds {
		old, again := r[oldTree][n], r[oldAgain][n]
		c.old, c.new = append(c.old, old, again), append(c.new, r[newTree][n])
		change = append(change, r[newTree][n]/math.Sqrt(old*again))
		floor = append(floor, again/old)
	}
	for i := range change {
		cost = append(cost, math.Pow(change[i], float64(-better)))
		floorCost = append(floorCost, math.Pow(floor[i], float64(-better)))
	}
	c.change, c.floor, c.spread = bootstrap(change), bootstrap(floor), spread(floor)
	c.verdict, c.most = undecided, math.Inf(1)
	if len(rounds) >= leastRounds {
		worst := bootstrap(cost)
		c.verdict, c.most = decide(worst, bootstrap(floorCost), c.spread), worst.high
	}
	return c
}

// decide applies the rules that the package's comment states.
func decide(cost, floor estimate, spread float64) verdict {
	switch {
	case cost.low > max(1, floor.high):
		return worse
	case cost.high <= spread:
		return noWorse
	default:
		return undecided
	}
}
