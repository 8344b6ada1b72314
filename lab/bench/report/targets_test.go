package report

import (
	"slices"
	"testing"

	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
)

// TestTarget: a target's text, whether it is met, and by how much, including targets for which less is better.
func TestTarget(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		target  result.Target
		goal    string
		text    string
		verdict string
		reached float64
	}{
		{
			"more than wanted", atLeast(0.5, result.Target{Samples: []float64{0.4, 0.7, 0.6}}), "≥ 0.5",
			"0.60 (0.40–0.70)", "met", 1.2,
		},
		{
			"less than wanted", atLeast(50, result.Target{Samples: []float64{40, 30, 50}}), "≥ 50",
			"40 (30–50)", "missed", 0.8,
		},
		{
			"as little as wanted", atMost(100, result.Target{Unit: "ms", Samples: []float64{50, 40, 60}}), "≤ 100 ms",
			"50 (40–60) ms", "met", 2,
		},
		{"too much", atMost(3, result.Target{Samples: []float64{4, 3, 5}}), "≤ 3", "4.00 (3.00–5.00)", "missed", 0.75},
		{"not measured", atMost(3, result.Target{}), "≤ 3", "–", "missed", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := goal(tt.target); got != tt.goal {
				t.Errorf("target %q, want %q", got, tt.goal)
			}
			if got := targetFigure(tt.target); got != tt.text {
				t.Errorf("text %q, want %q", got, tt.text)
			}
			if got := verdict(tt.target); got != tt.verdict {
				t.Errorf("%s, want %s", got, tt.verdict)
			}
			if got := reached(tt.target, over(tt.target.Samples).median); got != tt.reached {
				t.Errorf("reached %v, want %v", got, tt.reached)
			}
		})
	}
}

// of returns a comparison of trials.
func of(trials ...result.Trial) comparison {
	return comparison{Comparison: &result.Comparison{Candidates: result.Collect(trials)}}
}

// TestRatio: the median of each round's ratio, not the ratio of the medians; a round without one of the two is left
// out.
func TestRatio(t *testing.T) {
	t.Parallel()
	rate := func(name string, round int, v float64) result.Trial {
		return result.Trial{Candidate: name, Round: round, Figures: map[result.Name]float64{result.Rate: v}}
	}
	c := of(
		rate(candidate.Service, 1, 30), rate(candidate.Bare, 1, 60),
		rate(candidate.Bare, 2, 10), rate(candidate.Service, 2, 8),
		rate(candidate.Bare, 3, 50), rate(candidate.Service, 3, 20),
		rate(candidate.Service, 4, 7),
	)
	got := c.ratio("P2", "", result.Rate, candidate.Service, candidate.Bare).Samples
	if want := []float64{0.5, 0.8, 0.4}; !slices.Equal(got, want) {
		t.Errorf("ratios %v, want %v", got, want)
	}
	if got, want := over(got), (spread{0.5, 0.4, 0.8}); got != want {
		t.Errorf("spread %v, want %v", got, want)
	}
}

func TestOver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		samples []float64
		want    spread
	}{
		{nil, spread{}},
		{[]float64{0, 0}, spread{}},
		{[]float64{4, 1, 3, 2}, spread{2.5, 1, 4}},
		{[]float64{0, 3, 5, 9}, spread{5, 3, 9}}, // figures that were not measured do not count
	} {
		if got := over(tt.samples); got != tt.want {
			t.Errorf("over(%v) = %v, want %v", tt.samples, got, tt.want)
		}
	}
}

// TestDrainOf: a drain is scaled to the target's backlog; one that was too small to measure with is left out.
func TestDrainOf(t *testing.T) {
	t.Parallel()
	drain := func(round int, backlog, seconds float64) result.Trial {
		return result.Trial{Candidate: candidate.ServiceHeld, Round: round, Figures: map[result.Name]float64{
			result.Backlog: backlog, result.Drain: seconds,
		}}
	}
	got := of(drain(1, 50_000, 2), drain(2, 200_000, 2), drain(3, result.LeastBacklog-1, 2)).drainOf(100_000)
	if want := []float64{4, 1}; !slices.Equal(got.Samples, want) || got.What != "drain of 100,000 accepted orders" {
		t.Errorf("%s: %v, want %v", got.What, got.Samples, want)
	}
}

// TestStampedeTargets: each stampede is a sample of the answers and of the memory of a connection; an older result has
// one.
func TestStampedeTargets(t *testing.T) {
	t.Parallel()
	good := result.Stampede{Connections: 1024, Accepted: 1024, Idle: 10, Peak: 30, PlainIdle: 5, PlainPeak: 15}
	bad := result.Stampede{
		Connections: 1024, Accepted: 768, Failed: 256, Idle: 10, Peak: 22, PlainIdle: 5, PlainPeak: 15,
	}
	for name, tt := range map[string]struct {
		limits           result.Limits
		answered, memory []float64
		verdicts         [2]string
	}{
		"several": {
			result.Limits{Stampedes: []result.Stampede{good, bad, bad}}, []float64{1, 0.75, 0.75}, []float64{
				2, 1.2, 1.2,
			}, [2]string{"missed", "met"},
		},
		"one": {result.Limits{Stampede: good}, []float64{1}, []float64{2}, [2]string{"met", "missed"}},
		"plain none": {
			result.Limits{Stampede: result.Stampede{Accepted: 5}}, []float64{1}, nil, [2]string{"met", "missed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			targets := bounded(result.Run{Limits: &tt.limits}).Targets
			if len(targets) != 2 || !slices.Equal(targets[0].Samples, tt.answered) ||
				!slices.Equal(targets[1].Samples, tt.memory) {
				t.Fatalf("targets %+v", targets)
			}
			for i, want := range tt.verdicts {
				if got := verdict(targets[i]); got != want {
					t.Errorf("%s: %s, want %s", targets[i].What, got, want)
				}
			}
		})
	}
}
