package idworker_test

import (
	"testing"
	"time"

	"seckill/internal/idworker"
)

// All ids of a second and later, and none before, are at or above the first id of its time.
func TestFirstAt(t *testing.T) {
	t.Parallel()
	second := time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)
	for at, want := range map[time.Time]time.Time{
		second: second, second.Add(time.Millisecond): second.Add(time.Second),
		time.Unix(0, 0): time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		first := idworker.FirstAt(at)
		if got := idworker.Time(first); !got.Equal(want) || first > 0 && !idworker.Time(first-1).Before(want) {
			t.Errorf("%v: the first id is of %v, want %v", at, got, want)
		}
	}
	if last := idworker.FirstAt(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)); last <= idworker.FirstAt(second) {
		t.Errorf("after all ids: %d", last)
	}
}
