package rehearsal

import (
	"strings"
	"testing"
	"time"

	"seckill/internal/kit/check"
	"seckill/internal/kit/words"
)

// The list before a sale warns without a rehearsal and after a change, and a no-go of the last one is a no-go.
func TestLastRehearsalInTheList(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 2, 20, 0, 0, 0, time.UTC)
	good := Figures{Stock: 40, Buyers: 200, Arrived: 200, Requests: 200, SoldOut: time.Second}
	bad := good
	bad.Findings = 1
	for name, tc := range map[string]struct {
		last    *Run
		changed time.Time
		level   check.Level
		says    string
	}{
		"none":           {nil, begin, check.Warning, "was not rehearsed"},
		"go":             {&Run{Begin: begin, Figures: good}, time.Time{}, check.OK, "go, at 2 Jan 2026, 20:00:00 UTC"},
		"changed before": {&Run{Begin: begin, Figures: good}, begin.Add(-time.Hour), check.OK, "go, at"},
		"changed since": {
			&Run{Begin: begin, Figures: good}, begin.Add(time.Hour), check.Warning, "changed since",
		},
		"no-go": {&Run{Begin: begin, Figures: bad}, time.Time{}, check.No, "was a no-go"},
	} {
		l := lineOf(tc.last, tc.changed)
		if l.Level != tc.level || !strings.Contains(l.What(words.English), tc.says) || l.What(words.Chinese) == "" ||
			(l.Do(words.English) == "") != (tc.level == check.OK) {
			t.Errorf("%s: %s: %s → %s; want %s: %s", name, l.Level, l.What(words.English),
				l.Do(words.English), tc.level, tc.says)
		}
	}
}
