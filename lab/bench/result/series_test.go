package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCollect: trials are grouped by candidate and point, samples are ordered by round, and 0 counts as not measured.
func TestCollect(t *testing.T) {
	t.Parallel()
	got := Collect([]Trial{
		{Candidate: "b", Round: 1, Figures: map[Name]float64{Drain: 2, Rate: 10}},
		{Candidate: "a", Round: 1, Figures: map[Name]float64{Rate: 5, P99: 0}},
		{Candidate: "b", Round: 3, Figures: map[Name]float64{Rate: 30, Drain: 9}, DrainEstimated: true},
		{Candidate: "b", At: 16, Round: 1, Figures: map[Name]float64{Rate: 7}},
	})
	want := []Series{
		{Candidate: "b", Figures: []Figure{
			{Name: Rate, Unit: "1/s", Samples: []float64{10, 0, 30}},
			{Name: Drain, Unit: "s", Samples: []float64{2, 0, 9}, Estimated: true},
		}},
		{Candidate: "a", Figures: []Figure{{Name: Rate, Unit: "1/s", Samples: []float64{5}}}},
		{Candidate: "b", At: 16, Figures: []Figure{{Name: Rate, Unit: "1/s", Samples: []float64{7}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series differ (-want +got):\n%s", diff)
	}
	if f := got[0].Figure(P99); f.Samples != nil {
		t.Errorf("a figure that was not measured is %v", f)
	}
}
