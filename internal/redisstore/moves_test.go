package redisstore

import (
	"strconv"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/split"
)

// move is one half of a move between shares: what takes is below 0.
func move(number, delta int64) order.Operation {
	return order.Operation{Number: number, Kind: order.Move, Delta: delta, Peer: 1}
}

// openShare builds the sale as one share of a split sale.
func (r *rig) openShare(epoch int64, o order.Opening, moved order.Moved) {
	r.t.Helper()
	o.Moved = &moved
	r.open(epoch, o)
}

// look reads the sale as the only share.
func (r *rig) look() split.Share {
	r.t.Helper()
	look, err := r.Look(r.ctx(), []order.SaleRef{r.sale})
	r.must(err)
	return look[0]
}

// keeps returns until when the share keeps what it was given, in milliseconds since 1970, and has it keep that for longer, so that
// no slow test sees it end.
func (r *rig) keeps() int64 {
	r.t.Helper()
	until, err := strconv.ParseInt(r.field(fieldKeptUntil), 10, 64)
	r.must(err)
	r.set(fieldKeptUntil, r.now().Add(longDelay).UnixMilli())
	return until
}

// A move takes what is there, once; what it gives sells at once and stays until the share has sold of it, or for a time.
func testMoves(t *testing.T, r *rig) {
	r.openShare(1, r.hour(5), order.Moved{Out: 2, In: 3})
	for range 2 { // the answer to the first was lost
		equal(t, []bool{true, false}, r.apply(move(1, -3), move(2, -3)))
	}
	equal(t, split.Share{Known: true, Open: true, Epoch: 1, Operation: 2, MovedOut: 5, MovedIn: 3, Sellable: 2}, r.look())
	r.admit(requests(1, 2)...)
	before := r.now().UnixMilli()
	for range 2 {
		equal(t, []bool{true}, r.apply(move(3, 4)))
	}
	if kept := r.keeps() - before; kept < split.KeepFor.Milliseconds() {
		t.Errorf("what was given is kept for %d ms", kept)
	}
	equal(t, split.Share{Known: true, Open: true, Epoch: 1, Operation: 3, MovedOut: 5, MovedIn: 7, Sellable: 4, Kept: true}, r.look())
	equal(t, []bool{false}, r.apply(move(4, -1)))
	equal(t, []string{"0"}, codes(r.admit(requests(9, 1)...).Results))
	equal(t, []bool{true}, r.apply(move(5, -1))) // it has sold of it
	r.apply(move(6, 1))
	r.keeps()
	equal(t, []bool{false}, r.apply(move(7, -1)))
	r.set(fieldKeptUntil, r.now().UnixMilli())
	equal(t, false, r.look().Kept)
	equal(t, []bool{true}, r.apply(move(8, -1)))
	// The clock was set back by an hour: nothing is kept that long.
	r.apply(move(9, 1))
	r.set(fieldKeptUntil, r.now().Add(time.Hour).UnixMilli())
	equal(t, false, r.look().Kept)
	equal(t, []bool{true}, r.apply(move(10, -3)))
}

// A move takes no unit that came back to a sold-out share before its time, none that is reserved, and none of a share that does
// not sell yet after a rebuild.
func testMovesOnlyWhatSells(t *testing.T, r *rig) {
	r.returnDelay = longDelay
	r.openShare(1, r.hour(2), order.Moved{})
	r.admit(requests(1, 2)...)
	equal(t, []bool{true, true, false}, r.apply(give(1, 1), give(2, 2), move(3, -1)))
	equal(t, split.Share{Known: true, Open: true, Epoch: 1, Operation: 3, Waiting: 2}, r.look())
	r.once(r.ctx(), revival(4, 1)) // which now waits
	equal(t, split.Share{Known: true, Open: true, Epoch: 1, Operation: 3, Waiting: 2}, r.look())
	r.set(fieldReservedAt, 1, fieldReturnedAt, 1)
	equal(t, []bool{true, false, true}, r.apply(revival(4, 1), move(5, -2), move(6, -1)))
	equal(t, split.Share{Known: true, Open: true, Epoch: 1, Operation: 6, MovedOut: 1}, r.look())
	// What a move gives can be sold, though another unit waits.
	equal(t, []bool{true, true}, r.apply(give(7, 1), move(8, 1)))
	equal(t, []string{"1", "1", "0"}, r.units())

	r.must(r.Begin(r.ctx(), r.sale, 2))
	equal(t, split.Share{}, r.look())
	o := r.hour(2)
	o.Operation, o.Moved = 8, &order.Moved{Out: 1, In: 1}
	r.must(r.Publish(r.ctx(), r.sale, 2, o))
	equal(t, split.Share{Known: true, Epoch: 2, Operation: 8, MovedOut: 1, MovedIn: 1, Sellable: 2}, r.look())
	equal(t, []bool{false}, r.apply(move(9, -1)))
	r.set(fieldResumes, 0)
	equal(t, []bool{true}, r.apply(move(10, -1)))
}

// A rebuild counts as the ledger does: a take that is not completed never was, and what is to be given is contained. What comes
// late from before finds it done.
func testMovesAfterRebuild(t *testing.T, r *rig) {
	r.openShare(1, r.hour(3), order.Moved{})
	equal(t, []bool{true, true}, r.apply(move(1, -1), move(2, -1))) // of which the ledger completes one
	r.apply(move(3, 1))
	o := r.hour(3 - 1 + 2)
	o.Operation = 4
	r.openShare(2, o, order.Moved{Out: 1, In: 2})
	late := r.applyResult(move(1, -1), move(2, -1), move(3, 1), move(4, 1))
	equal(t, []order.OperationResult{{Number: 3, Taken: true}, {Number: 4, Taken: true}}, late.Results)
	equal(t, split.Share{Known: true, Open: true, Epoch: 2, Operation: 4, MovedOut: 1, MovedIn: 2, Sellable: 4}, r.look())
	equal(t, []bool{true}, r.apply(move(5, -1))) // nothing is kept from before
}

// Looks at several shares, whatever is in them; and corrections are counted in shares alone.
func testLooks(t *testing.T, r *rig) {
	of := func(voucherID int64) order.SaleRef { return order.SaleRef{SaleID: order.SaleID{VoucherID: voucherID}} }
	share, unsplit, missing, text, nonsense, paused := r.sale, of(8), of(9), of(10), of(11), of(12)
	for _, sale := range []order.SaleRef{share, unsplit, text, nonsense, paused} {
		r.sale = sale
		if sale == unsplit {
			r.open(1, r.hour(2))
		} else {
			r.openShare(1, r.hour(2), order.Moved{})
		}
		r.admit(requests(1, 2)...)
		done, err := r.correctSale(r.ctx(), sale, []order.Correction{{Sale: sale, UserID: 1, OrderID: 1001, GiveBack: true}})
		r.must(err)
		equal(t, []bool{true}, done.acted)
		r.set(fieldReturnedAt, 1)
	}
	r.apply(setting(1, order.SalePaused, r.hour(0)))
	r.sale = nonsense
	r.set(fieldStock, "nan")
	r.sale = text
	r.replaceByText(r.keys.buyers(text))
	r.sale = unsplit
	for _, field := range []string{fieldMovedOut, fieldMovedIn, fieldKeptUntil, fieldKeptSeq, fieldCorrected} {
		has, err := r.commands.HExists(r.ctx(), r.keys.sale(unsplit), field).Result()
		r.must(err)
		equal(t, false, has)
	}
	r.sale = share
	got, err := r.Look(r.ctx(), []order.SaleRef{share, missing, text, nonsense, paused})
	r.must(err)
	equal(t, split.Look{
		{Known: true, Open: true, Epoch: 1, Corrected: 1, Sellable: 1}, {}, {}, {}, {Known: true, Epoch: 1, Operation: 1, Corrected: 1, Sellable: 1},
	}, got)
	r.set(fieldServer, "another")
	if r.mini == nil {
		equal(t, split.Share{}, r.look())
	}
}
