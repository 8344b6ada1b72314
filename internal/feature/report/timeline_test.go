package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWindowSteps(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 2, 20, 0, 0, 0, time.UTC)
	got := make(map[time.Duration]time.Duration)
	want := map[time.Duration]time.Duration{
		time.Minute: time.Second, 20 * time.Minute: time.Second, 21 * time.Minute: 5 * time.Second,
		5 * time.Hour:  15 * time.Second,
		20 * time.Hour: time.Minute, 1000 * time.Hour: time.Hour, 10 * 365 * 24 * time.Hour: 24 * time.Hour,
	}
	for span := range want {
		w := &window{least: begin.Add(-time.Hour), most: begin.Add(span)}
		w.extend(begin.Add(-2 * time.Hour)) // long before the sale
		w.extend(begin)
		w.extend(begin.Add(span - time.Minute))
		w.extend(begin.Add(span)) // after it
		got[span] = w.step()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps by span (-want +got):\n%s", diff)
	}
}
