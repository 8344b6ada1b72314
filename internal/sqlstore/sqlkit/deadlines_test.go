package sqlkit

import (
	"testing"
	"time"
)

// Deadlines stop for half a minute after a gap of more than five seconds, at most once in five minutes.
func TestDeadlinesStop(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(1_800_000_000+int64(seconds), 0).UTC() }
	for name, tc := range map[string]struct {
		last, grace int // of the notes; 0: none
		now         int
		stopped     bool
	}{
		"noted just now":                  {last: 100, now: 101},
		"noted five seconds ago":          {last: 100, now: 105},
		"noted six seconds ago":           {last: 100, now: 106, stopped: true},
		"away for an hour":                {last: 100, now: 3700, stopped: true},
		"never noted":                     {now: 100},
		"in the half minute":              {last: 149, grace: 121, now: 150, stopped: true},
		"after it":                        {last: 150, grace: 121, now: 151},
		"away again within five minutes":  {last: 151, grace: 121, now: 420},
		"away again after five minutes":   {last: 151, grace: 121, now: 421, stopped: true},
		"by a clock that was set back":    {last: 5000, grace: 4000, now: 100},
		"away in the half minute, longer": {last: 125, grace: 121, now: 160},
	} {
		var n deadlineNotes
		if tc.last != 0 {
			n.last = at(tc.last)
		}
		if tc.grace != 0 {
			n.grace = at(tc.grace)
		}
		if got := n.stopped(at(tc.now)); got != tc.stopped {
			t.Errorf("%s: stopped %v, want %v", name, got, tc.stopped)
		}
	}
}
