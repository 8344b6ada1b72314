package day_test

import (
	"testing"
	"time"
	_ "time/tzdata" // zones, wherever the test runs

	"seckill/internal/kit/day"
)

func TestBegin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ zone, now, want string }{
		{"UTC", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z"},
		{"Asia/Shanghai", "2026-01-02T15:59:59Z", "2026-01-01T16:00:00Z"},
		{"Asia/Shanghai", "2026-01-02T16:00:00Z", "2026-01-02T16:00:00Z"},
		{"America/New_York", "2026-11-02T03:00:00Z", "2026-11-01T04:00:00Z"}, // a day of 25 hours
		{"Africa/Cairo", "2026-04-24T10:00:00Z", "2026-04-23T22:00:00Z"},     // its clocks skip midnight
	} {
		zone, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, test.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := day.Begin(now, zone).UTC().Format(time.RFC3339); got != test.want {
			t.Errorf("%s at %s: %s, want %s", test.zone, test.now, got, test.want)
		}
	}
}
