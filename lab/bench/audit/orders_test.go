package audit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/lab/bench/result"
)

// TestClassify: an order counts where it is found, first in the table, and is lost only if it is nowhere.
func TestClassify(t *testing.T) {
	t.Parallel()
	got := classify([]int64{1, 2, 3, 4, 5}, []int64{1, 2, 9}, []int64{2, 3, 8})
	want := result.Crash{Accepted: 5, Recorded: 2, Queued: 1, Lost: 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fate differs (-want +got):\n%s", diff)
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	if err := Equal(map[string][2]int64{"same": {3, 3}}); err != nil {
		t.Error(err)
	}
	err := Equal(map[string][2]int64{"same": {3, 3}, "rows": {1, 2}, "users": {5, 4}})
	if err == nil || !strings.Contains(err.Error(), "rows: 1 is not 2") ||
		!strings.Contains(err.Error(), "users: 5 is not 4") || strings.Contains(err.Error(), "same") {
		t.Errorf("error %v", err)
	}
}
