package guard

import (
	"math"
	"testing"
	"time"
)

func TestProposeDelay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		applicants, units int64
		want              time.Duration
	}{
		{0, 0, DefaultDelay},
		{100, 500, DefaultDelay},
		{500, 500, DefaultDelay},
		{750, 500, DefaultDelay},
		{5_000, 500, 10 * time.Second},
		{5_100, 500, 10_500 * time.Millisecond},
		{10_000, 500, 20 * time.Second},
		{1 << 40, 1, MaxDelayMs * time.Millisecond},
		{-1, -1, DefaultDelay},
	} {
		if got := ProposeDelay(tt.applicants, tt.units); got != tt.want {
			t.Errorf("%d applicants for %d units: %v, want %v", tt.applicants, tt.units, got, tt.want)
		}
	}
}

// TestGain holds the formula, and that the proposed delay keeps the gain below what is tolerated.
func TestGain(t *testing.T) {
	t.Parallel()
	if got := Gain(50*time.Millisecond, 10_000, 500, 2*time.Second); got < 0.499 || got > 0.501 {
		t.Errorf("50 ms of 2 s, 20 applicants for a unit: a gain of %v, want 0.5", got)
	}
	for _, tt := range []struct {
		units, applicants int64
		longest           time.Duration
		want              float64
	}{{500, 500, time.Second, 0}, {500, 10_000, 0, math.Inf(1)}, {0, 5, time.Second, math.Inf(1)}, {1, 100, time.Second, 5}} {
		if got := Gain(quickness, tt.applicants, tt.units, tt.longest); got != tt.want {
			t.Errorf("%d applicants for %d units in %v: a gain of %v, want %v", tt.applicants, tt.units, tt.longest, got, tt.want)
		}
	}
	for applicants := int64(501); applicants < 100_000; applicants += 997 {
		if got := Gain(quickness, applicants, 500, ProposeDelay(applicants, 500)); got > tolerated+1e-9 {
			t.Errorf("%d applicants: a gain of %v at the proposed delay", applicants, got)
		}
	}
}
