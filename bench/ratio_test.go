package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTarget: what a target is, whether it is met, and by how much, also where less is better.
func TestTarget(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		ratio   ratio
		target  string
		text    string
		met     bool
		reached float64
	}{
		{"more than wanted", ratio{spread: spread{0.6, 0.4, 0.7}}.atLeast(0.5), "≥ 0.5", "0.60 (0.40–0.70)", true, 1.2},
		{"less than wanted", ratio{spread: spread{40, 30, 50}}.atLeast(50), "≥ 50", "40 (30–50)", false, 0.8},
		{"as little as wanted", ratio{Unit: "ms", spread: spread{50, 40, 60}}.below(100), "≤ 100 ms", "50 (40–60) ms", true, 2},
		{"too much", ratio{spread: spread{4, 3, 5}}.below(3), "≤ 3", "4.00 (3.00–5.00)", false, 0.75},
		{"not measured", ratio{}.below(3), "≤ 3", "–", false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.ratio.target(); got != tt.target {
				t.Errorf("target %q, want %q", got, tt.target)
			}
			if got := tt.ratio.String(); got != tt.text {
				t.Errorf("text %q, want %q", got, tt.text)
			}
			if got := tt.ratio.met(); got != tt.met {
				t.Errorf("met %t, want %t", got, tt.met)
			}
			if got := tt.ratio.share(tt.ratio.Median); got != tt.reached {
				t.Errorf("share %v, want %v", got, tt.reached)
			}
		})
	}
}

// TestDrainOf: a drain is scaled to the backlog that the target names; one too small to measure by is none.
func TestDrainOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		turn turn
		want float64
	}{
		{turn{Backlog: 50_000, Drain: 2}, 4},
		{turn{Backlog: 200_000, Drain: 2}, 1},
		{turn{Backlog: leastBacklog - 1, Drain: 2}, 0},
	} {
		if got := tt.turn.drainOf(100_000); got != tt.want {
			t.Errorf("%d orders in %v s are %v s, want %v", tt.turn.Backlog, tt.turn.Drain, got, tt.want)
		}
	}
}

// TestSettle: an order is where it is found, the table first, and lost only where it is nowhere.
func TestSettle(t *testing.T) {
	t.Parallel()
	got := settle([]int64{1, 2, 3, 4, 5}, []int64{1, 2, 9}, []int64{2, 3, 8})
	want := crash{Accepted: 5, Recorded: 2, Waiting: 1, Lost: 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fate differs (-want +got):\n%s", diff)
	}
}
