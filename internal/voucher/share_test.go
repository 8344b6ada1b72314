package voucher

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestLevel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		stocks []int64
		units  int64
		want   []int64
	}{
		{[]int64{0, 0, 0}, 10, []int64{4, 3, 3}},
		{[]int64{0, 0, 0, 0}, 2, []int64{1, 1, 0, 0}},
		{[]int64{5, 0, 3}, 4, []int64{0, 4, 0}},
		{[]int64{5, 0, 3}, 5, []int64{0, 4, 1}},
		{[]int64{5, 0, 3}, 8, []int64{0, 6, 2}},
		{[]int64{9}, 3, []int64{3}},
		{[]int64{4, 4}, 0, []int64{0, 0}},
	} {
		if diff := cmp.Diff(tc.want, Level(tc.stocks, tc.units)); diff != "" {
			t.Errorf("%d units over %v (-want +got):\n%s", tc.units, tc.stocks, diff)
		}
	}
}

// All units are given, none is taken away, and who got one has at most one more than who has least.
func TestLevelIsLevel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stocks := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, MaxShares).Draw(t, "stocks")
		units := rapid.Int64Range(0, 500).Draw(t, "units")
		given := Level(slices.Clone(stocks), units)
		var sum int64
		after := make([]int64, len(stocks))
		for i, n := range given {
			sum += n
			after[i] = stocks[i] + n
		}
		for i, n := range given {
			if n < 0 || n > 0 && after[i] > slices.Min(after)+1 {
				t.Fatalf("%d units over %v: %v", units, stocks, given)
			}
		}
		if sum != units {
			t.Fatalf("%d of %d units were given: %v over %v", sum, units, given, stocks)
		}
	})
}

// A voucher has the sums of its shares, and each share its own numbers.
func TestShares(t *testing.T) {
	t.Parallel()
	whole := Voucher{ID: 7, Sale: &Sale{
		Stock: 7, Offered: 0, Issued: 10, SplitIn: 2, Paused: true, MovedIn: 2, MovedOut: 2,
		Epoch: 3, Sequence: 4, LastOperation: 5,
		Shares: []Share{
			{Stock: 3, Issued: 4, Epoch: 3, Sequence: 4, LastOperation: 5, MovedOut: 2, Retired: true},
			{Stock: 4, Issued: 6, Epoch: 1, Partition: 2, MovedIn: 2},
		},
	}}
	one := whole.OfShare(1)
	want := &Sale{Stock: 4, Issued: 6, SplitIn: 2, Share: 1, Paused: true, Epoch: 1, Partition: 2, MovedIn: 2}
	if diff := cmp.Diff(want, one.Sale); diff != "" {
		t.Errorf("share 1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(whole, Whole([]Voucher{whole.OfShare(0), one})); diff != "" {
		t.Errorf("put together again (-want +got):\n%s", diff)
	}
	if whole.OfShare(3).Sale != nil || whole.OfShare(-1).Sale != nil || one.OfShare(0).Sale != nil || one.OfShare(1).Sale != one.Sale {
		t.Error("a share that is not there has a sale")
	}
	if v := (Voucher{ID: 8, Sale: &Sale{Stock: 1}}); v.OfShare(5).Sale != nil || v.OfShare(0).Sale != v.Sale || Whole([]Voucher{v}).Sale != v.Sale {
		t.Error("a sale that is not split is copied")
	}
}
