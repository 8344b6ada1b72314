package versus

import (
	"math"
	"math/rand/v2"
	"testing"
)

// roundsOf returns rounds in which the new build has factor times the old one's cost in one figure, with measuring
// errors of about noise.
func roundsOf(n int, factor, noise float64, figure int, better int) []round {
	random := rand.New(rand.NewPCG(7, uint64(n)))
	value := func(factor float64) (t outcome) {
		t[figure] = 100 * math.Pow(factor*math.Exp(noise*random.NormFloat64()), float64(-better))
		return t
	}
	all := make([]round, n)
	for i := range all {
		drift := 1 + float64(i)/float64(n) // of the machine
		all[i] = round{oldTree: value(drift), newTree: value(drift * factor), oldAgain: value(drift)}
	}
	return all
}

// TestCompare: the verdict follows from the size of the change, the noise, and the number of rounds.
func TestCompare(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		rounds        int
		factor, noise float64
		want          verdict
		excludes2     bool // that it is two percent worse
	}{
		{"the same, quiet", 10, 1, 0.005, noWorse, true},
		{"the same, noisy", 10, 1, 0.1, noWorse, false},
		{"better, quiet", 10, 0.95, 0.005, noWorse, true},
		{"five percent worse, quiet", 10, 1.05, 0.005, worse, false},
		{"half as much again, noisy", 10, 1.5, 0.1, worse, false},
		{"one percent worse, hardly any noise", 30, 1.01, 0.002, worse, true},
		{"four percent worse, noise of half its size", 10, 1.04, 0.02, undecided, false},
		{"twice, too few rounds", leastRounds - 1, 2, 0.005, undecided, false},
		{"the same, too few rounds", 1, 1, 0, undecided, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, better := range []int{-1, 1} {
				c := compare(roundsOf(tt.rounds, tt.factor, tt.noise, drainRate, better), drainRate, better)
				if c.verdict != tt.want || (c.most < 1.02) != tt.excludes2 {
					t.Errorf("better %d: %s, at most %.3f; want %s, excluded %v; change %.3f, floor %.3f, spread %.3f",
						better, c.verdict, c.most, tt.want, tt.excludes2, c.change, c.floor, c.spread)
				}
				if change := math.Pow(c.change.median, float64(-better)); math.Abs(change-tt.factor) > 2*tt.noise {
					t.Errorf("better %d: the change is %.3f, want %.3f", better, change, tt.factor)
				}
			}
		})
	}
}

// TestBootstrap: the interval contains the true median in about 95 of 100 cases, and is the same every time.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	const cases = 200
	held := 0
	for range cases {
		ratios := make([]float64, 12)
		for i := range ratios {
			ratios[i] = math.Exp(0.05 * random.NormFloat64())
		}
		e := bootstrap(ratios)
		if e != bootstrap(ratios) {
			t.Fatal("the same ratios have two intervals")
		}
		if e.low <= 1 && 1 <= e.high {
			held++
		}
	}
	if held < cases*88/100 {
		t.Errorf("the interval holds the median in %d of %d cases", held, cases)
	}
}

// TestSpread: nine of ten are within the spread, whichever way the others go.
func TestSpread(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		ratios []float64
		want   float64
	}{
		{"one", []float64{1.1}, 1.1},
		{"downwards", []float64{0.5, 1, 1.2}, 2},
		{"an outlier of ten", []float64{1, 1, 1, 1, 1, 1, 1, 1, 1.25, 9}, 1.25},
		{"two outliers of ten", []float64{1, 1, 1, 1, 1, 1, 1, 1, 0.2, 9}, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := spread(tt.ratios); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("spread %v, want %v", got, tt.want)
			}
		})
	}
}

// TestSequences: over six rounds each build comes first, second and third equally often, and equally often before and
// after each other one.
func TestSequences(t *testing.T) {
	t.Parallel()
	at, before := map[[2]int]int{}, map[[2]side]int{}
	for _, s := range sequences() {
		for i, who := range s {
			at[[2]int{int(who), i}]++
			for _, later := range s[i+1:] {
				before[[2]side{who, later}]++
			}
		}
	}
	for key, n := range at {
		if n != 2 || len(at) != 9 {
			t.Errorf("build %d comes %d times as number %d, want 2", key[0], n, key[1])
		}
	}
	for key, n := range before {
		if n != 3 || len(before) != 6 {
			t.Errorf("build %d comes %d times before %d, want 3", key[0], n, key[1])
		}
	}
}
