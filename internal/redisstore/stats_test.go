package redisstore

import (
	"fmt"
	"testing"
	"time"

	"seckill/internal/kit/histogram"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

// statsTests test a sale's stats.
var statsTests = behaviour{
	"stats":          testStats,
	"stats, no sale": testStatsOfNothing,
}

func testStats(t *testing.T, r *rig) {
	v := voucher.Voucher{ID: 7, Status: voucher.OnShelf, Sale: &voucher.Sale{}}
	r.open(3, r.hour(5))
	r.admit(requests(1, 1)...)
	r.admit(requests(2, 1)...)
	r.must(r.Add(r.ctx(), r.sale, gate.Counts{"accepted": 2, "sold_out": 1 << 40}, histogram.Counts{0, 2}))
	r.must(r.Add(r.ctx(), r.sale, gate.Counts{"sold_out": 1, "unknown_outcome": 3}, histogram.Counts{1, 1}))
	r.must(r.commands.HSet(r.ctx(), r.keys.outcomes(r.sale), "another_day", "9").Err()) // of a later version

	got, err := r.LiveStats(r.ctx(), v)
	r.must(err)
	equal(t, gate.Counts{"accepted": 2, "sold_out": 1<<40 + 1, "unknown_outcome": 3}, got.Answers)
	equal(t, fmt.Sprint(histogram.Counts{1, 3}), fmt.Sprint(got.Took.Minus(nil)))
	equal(t, voucher.StateOnSale, got.State)
	equal(t, [4]int64{3, 2, 2, 0}, [4]int64{got.View.Stock, got.View.Buyers, got.Waiting, got.DeadLetters})
	if got.OldestWaiting < 0 || got.OldestWaiting > time.Minute {
		t.Errorf("the oldest entry has waited %v", got.OldestWaiting)
	}
	kept, err := r.commands.PTTL(r.ctx(), r.keys.outcomes(r.sale)).Result()
	r.must(err)
	if kept < countsKept-time.Minute || kept > countsKept {
		t.Errorf("the counts are kept for %v", kept)
	}
	r.must(r.commands.HSet(r.ctx(), r.keys.outcomes(r.sale), "accepted", "many").Err())
	if _, err := r.LiveStats(r.ctx(), v); err == nil {
		t.Error("a count that is not a number was read")
	}
}

func testStatsOfNothing(t *testing.T, r *rig) {
	got, err := r.LiveStats(r.ctx(), voucher.Voucher{ID: 7, Status: voucher.OnShelf, Sale: &voucher.Sale{}})
	r.must(err)
	equal(t, gate.Counts{}, got.Answers)
	equal(t, voucher.StatePreparing, got.State)
	equal(t, time.Duration(0), got.OldestWaiting)
}
