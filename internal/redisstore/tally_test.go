package redisstore

import (
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// tallyTests are the behaviour of what is kept of a sale for those who watch over it.
var tallyTests = behaviour{
	"pulse":          testPulse,
	"pulse, no sale": testPulseOfNothing,
}

func testPulse(t *testing.T, r *rig) {
	v := voucher.Voucher{ID: 7, Status: voucher.OnShelf, Sale: &voucher.Sale{}}
	r.open(3, r.hour(5))
	r.admit(applicants(1, 2)...)
	r.must(r.Add(r.ctx(), r.sale, order.Counts{order.ToldAccepted: 2, order.ToldSoldOut: 1 << 40}))
	r.must(r.Add(r.ctx(), r.sale, order.Counts{order.ToldSoldOut: 1, order.ToldUnknown: 3}))
	r.must(r.commands.HSet(r.ctx(), r.keys.tally(r.sale), "another_day", "9").Err()) // of a later version

	got, err := r.Pulse(r.ctx(), v)
	r.must(err)
	equal(t, order.Counts{order.ToldAccepted: 2, order.ToldSoldOut: 1<<40 + 1, order.ToldUnknown: 3}, got.Told)
	equal(t, voucher.StateOnSale, got.State)
	equal(t, [4]int64{3, 2, 2, 0}, [4]int64{got.View.Stock, got.View.Buyers, got.Waiting, got.Dead})
	if got.Oldest < 0 || got.Oldest > time.Minute {
		t.Errorf("the oldest has waited %v", got.Oldest)
	}
	kept, err := r.commands.PTTL(r.ctx(), r.keys.tally(r.sale)).Result()
	r.must(err)
	if kept < tallyKept-time.Minute || kept > tallyKept {
		t.Errorf("the counts are kept for %v", kept)
	}
	r.must(r.commands.HSet(r.ctx(), r.keys.tally(r.sale), "accepted", "many").Err())
	if _, err := r.Pulse(r.ctx(), v); err == nil {
		t.Error("a count that is none was read")
	}
}

func testPulseOfNothing(t *testing.T, r *rig) {
	got, err := r.Pulse(r.ctx(), voucher.Voucher{ID: 7, Status: voucher.OnShelf, Sale: &voucher.Sale{}})
	r.must(err)
	equal(t, order.Counts{}, got.Told)
	equal(t, voucher.StatePreparing, got.State)
	equal(t, time.Duration(0), got.Oldest)
}
