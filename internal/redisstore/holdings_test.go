package redisstore

import (
	"testing"

	"seckill/internal/order"
)

var holdingsTests = behaviour{
	"holdings of a sale":            testHoldings,
	"holdings of no sale":           testHoldingsMissing,
	"holdings during a rebuild":     testHoldingsRebuild,
	"holdings beside others":        testHoldingsOthers,
	"holdings behind a long stream": testHoldingsLong,
}

func (r *rig) holdings() order.Holdings {
	r.t.Helper()
	h, err := r.Holdings(r.ctx(), r.sale)
	r.must(err)
	return h
}

// testHoldings: units that came back or are kept for somebody count, a dead letter is told, and so is what is delivered.
func testHoldings(t *testing.T, r *rig) {
	r.open(3, r.hour(10))
	r.admit(applicants(1, 4)...)
	r.next(r.Consumer(0, "a"), 2)
	r.set(fieldReturned, 2, fieldReserved, 12, fieldOperation, 12)
	r.bury("x", "y")
	want := order.Holdings{
		Mode: order.SaleOpen, Mark: order.Mark{Epoch: 3, Sequence: 4}, Applied: 12, Stock: 6 + 2 + 1, Places: 4, Waiting: 4, Letters: 1,
	}
	equal(t, want, r.holdings())
}

func testHoldingsMissing(t *testing.T, r *rig) {
	equal(t, order.Holdings{Waiting: order.TooMany}, r.holdings())
	r.open(1, r.hour(1))
	r.set(fieldStock, "many")
	equal(t, order.Holdings{Waiting: order.TooMany}, r.holdings())
}

func testHoldingsRebuild(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	equal(t, order.SaleRebuilding, r.holdings().Mode)
	r.set(fieldMode, modeOpen) // and nothing but its epoch tells that it is rebuilt
	equal(t, order.SaleRebuilding, r.holdings().Mode)
	r.must(r.Publish(r.ctx(), r.sale, 2, r.hour(5)))
	equal(t, order.SaleOpen, r.holdings().Mode)
}

// testHoldingsOthers: other sales' entries do not count; those that do not say whose they are do.
func testHoldingsOthers(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.admit(applicants(1, 2)...)
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "v", 70, "u", 1, "o", 1)).Err())
	equal(t, int64(2), r.holdings().Waiting)
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "u", 1, "o", 1)).Err())
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "v", "seven", "u", 1, "o", 1)).Err())
	equal(t, int64(4), r.holdings().Waiting)
}

func testHoldingsLong(t *testing.T, r *rig) {
	r.queued(longestScan)
	equal(t, int64(longestScan), r.holdings().Waiting)
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "v", 70)).Err())
	equal(t, order.TooMany, r.holdings().Waiting)
}
