package split_test

import (
	"math"
	"testing"

	"seckill/internal/order/split"
)

// Rows and holders are where this says: a change of any value here loses them.
func TestShareOfNeverChanges(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		voucher, user  int64
		of2, of4, of16 int
	}{
		{1, 1, 1, 2, 8},
		{1, 2, 1, 2, 11},
		{1, 1000001, 1, 3, 14},
		{1, math.MaxInt64, 1, 2, 10},
		{7, 1, 0, 0, 2},
		{7, 2, 1, 3, 13},
		{7, math.MaxInt64, 0, 0, 0},
		{1 << 40, 3, 0, 0, 2},
		{1 << 40, 1000001, 1, 3, 12},
		{math.MaxInt64, 1, 0, 0, 1},
		{math.MaxInt64, math.MaxInt64, 0, 1, 7},
	} {
		for shares, want := range map[int]int{1: 0, 2: tc.of2, 4: tc.of4, 16: tc.of16} {
			if got := split.ShareOf(tc.voucher, tc.user, shares); got != want {
				t.Errorf("ShareOf(%d, %d, %d) = %d, want %d", tc.voucher, tc.user, shares, got, want)
			}
		}
	}
}

// Shares are level within 3 % for users in sequence, with gaps, and far apart, in sales whose ids follow each other.
func TestShareOfIsLevel(t *testing.T) {
	t.Parallel()
	const users = 200_000
	for _, step := range []int64{1, 2, 16, 1000, 1 << 32} {
		for _, shares := range []int{2, 3, 8, 16} {
			for voucher := int64(1); voucher <= 2; voucher++ {
				counts := make([]int, shares)
				for i := range int64(users) {
					counts[split.ShareOf(voucher, 1+i*step, shares)]++
				}
				for share, n := range counts {
					if off := math.Abs(float64(n)*float64(shares)/users - 1); off > 0.03 {
						t.Errorf("voucher %d, users %d apart: share %d of %d has %d, %.1f %% off", voucher, step, share, shares, n, 100*off)
					}
				}
			}
		}
	}
}

// Two sales share their users out independently: who is in one share of the first is in any of the second.
func TestShareOfIsAnotherForEachVoucher(t *testing.T) {
	t.Parallel()
	var same int
	for user := range int64(10_000) {
		if split.ShareOf(1, user, 4) == split.ShareOf(2, user, 4) {
			same++
		}
	}
	if same < 2_200 || same > 2_800 {
		t.Errorf("%d of 10000 users are in the same share of two sales split in 4, want about 2500", same)
	}
}

func FuzzShareOf(f *testing.F) {
	f.Add(int64(1), int64(1), 16)
	f.Add(int64(-1), int64(math.MinInt64), 0)
	f.Fuzz(func(t *testing.T, voucher, user int64, shares int) {
		got := split.ShareOf(voucher, user, shares)
		if got < 0 || got > 0 && got >= shares {
			t.Errorf("ShareOf(%d, %d, %d) = %d", voucher, user, shares, got)
		}
	})
}
