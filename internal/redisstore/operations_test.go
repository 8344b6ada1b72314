package redisstore

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/operation"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
)

// operationsTests test how operations of the ledger are applied.
var operationsTests = behaviour{
	"gives":                    testGives,
	"restock":                  testRestock,
	"revive":                   testRevive,
	"revive from what waits":   testReviveWaits,
	"a reservation overtaken":  testReservationOvertaken,
	"modes and windows":        testModes,
	"states":                   testApplyStates,
	"each once":                testEachOnce,
	"takes are remembered":     testTakesKept,
	"holders are admissions":   testAdmissions,
	"late arrival":             testLateApply,
	"after a rebuild":          testOperationsAfterRebuild,
	"a full call":              testFullCall,
	"bad operations":           testBadOperations,
	"a sale that is no hash":   testApplyWrongType,
	"a unit kept is in sight":  testReservedInView,
	"window and drop":          testDropAfterOperation,
	"clock set back and wait":  testReservedClockSetBack,
	"revive and gives at once": testReviveAfterCancelInOneCall,
	"kept for those who wait":  testKept,
	"acceptances":              testAcceptance,
	"an acceptance refused":    testAcceptanceRefused,
	"identities":               testIdentity,
}

// give returns the cancellation of the user's order, numbered as in requests.
func give(number, user int64) operation.Operation {
	return operation.Operation{
		Number: number, Kind: operation.Cancellation, Delta: 1, OrderID: user + 1000, UserID: user,
	}
}

// stock returns an admin's change of the stock.
func stock(number, delta int64) operation.Operation {
	return operation.Operation{Number: number, Kind: operation.Restock, Delta: delta}
}

// revival returns the revival of the user's order by a late payment.
func revival(number, user int64) operation.Operation {
	return operation.Operation{Number: number, Kind: operation.Revival, Delta: -1, OrderID: user + 1000, UserID: user}
}

// keptUnit is a cancellation of the user's order whose unit is kept.
func keptUnit(number, user int64) operation.Operation {
	return operation.Operation{
		Number: number, Kind: operation.Cancellation, Kept: 1, OrderID: user + 1000, UserID: user,
	}
}

// acceptance is that of a kept unit by the user.
func acceptance(number, user int64) operation.Operation {
	return operation.Operation{Number: number, Kind: operation.Acceptance, Kept: -1, OrderID: user + 1000, UserID: user}
}

// setting returns a change of mode and window.
func setting(number int64, mode order.SaleMode, o order.Opening) operation.Operation {
	return operation.Operation{Number: number, Kind: operation.Pausing, Mode: mode, Begin: o.Begin, End: o.End}
}

// of sets the operations' voucher to the rig's.
func (r *rig) of(ops []operation.Operation) []operation.Operation {
	sent := make([]operation.Operation, len(ops))
	for i, op := range ops {
		op.VoucherID = r.sale.VoucherID
		sent[i] = op
	}
	return sent
}

// latest is the number of a ledger's last operation that is above all.
const latest = 1 << 52

func (r *rig) applyResult(ops ...operation.Operation) operation.ApplyResult {
	r.t.Helper()
	a, err := r.Apply(r.ctx(), r.sale, r.of(ops), latest)
	r.must(err)
	return a
}

// apply applies the operations, expects that to succeed, and returns which of them took effect.
func (r *rig) apply(ops ...operation.Operation) []bool {
	r.t.Helper()
	a := r.applyResult(ops...)
	equal(r.t, operation.ApplyDone, a.State)
	taken := make([]bool, len(a.Results))
	for i, result := range a.Results {
		equal(r.t, ops[i].Number, result.Number)
		taken[i] = result.Taken
	}
	return taken
}

// units returns the sale's stock, its returned units, and whether one is reserved.
func (r *rig) units() []string {
	r.t.Helper()
	return []string{r.field(fieldStock), r.field(fieldReturned), r.field(fieldReserved)}
}

func testGives(t *testing.T, r *rig) {
	r.returnDelay = longDelay
	r.open(1, r.hour(3))
	r.admit(requests(1, 3)...)
	before := r.view().Mark
	equal(t, []bool{true}, r.apply(give(1, 1)))
	equal(t, []string{"0", "1", "0"}, r.units()) // sold out: it waits
	equal(t, map[int64]int64{2: 1002, 3: 1003}, r.holders())
	waits := r.field(fieldReturnedAt)
	r.pass(2 * time.Millisecond)
	// An order that no longer has a holder, and one whose user is a holder by another order, both give their unit back.
	other := give(3, 3)
	other.OrderID = 5
	equal(t, []bool{true, true}, r.apply(give(2, 1), other))
	equal(t, []string{"0", "3", "0"}, r.units())
	equal(t, waits, r.field(fieldReturnedAt)) // no unit waits longer because of it
	equal(t, map[int64]int64{2: 1002, 3: 1003}, r.holders())
	equal(t, []string{"9"}, codes(r.admit(requests(9, 1)...).Results))
	r.set(fieldReturnedAt, 1) // the units may be sold now
	equal(t, []bool{true}, r.apply(give(4, 2)))
	equal(t, []string{"4", "0", "0"}, r.units())
	v := r.view()
	equal(t, []int64{4, 4, 1}, []int64{v.Applied, v.Stock, v.Buyers})
	equal(t, before, v.Mark)
	// A user who cancelled may buy again.
	equal(t, []string{"0"}, codes(r.admit(gate.Request{UserID: 1, OrderID: 2001}).Results))
}

func testRestock(t *testing.T, r *rig) {
	r.stop()
	r.open(1, r.hour(5))
	equal(t, []bool{true, true, false, true}, r.apply(stock(1, 10), stock(2, -12), stock(3, -4), stock(4, -3)))
	equal(t, []string{"0", "0", "0"}, r.units())
	// Units that an admin adds to a sold-out sale wait like all others, and may be taken away again.
	equal(t, []bool{true, false, true}, r.apply(stock(5, 6), stock(6, -7), stock(7, -5)))
	equal(t, []string{"0", "1", "0"}, r.units())
	r.pass(testDelay)
	equal(t, []string{"0", "9"}, codes(r.admit(requests(1, 2)...).Results))
}

func testRevive(t *testing.T, r *rig) {
	r.open(1, r.hour(3))
	r.admit(requests(1, 1)...)
	equal(t, []bool{true, true}, r.apply(give(1, 1), revival(2, 1)))
	equal(t, map[int64]int64{1: 1001}, r.holders())
	equal(t, []string{"2", "0", "0"}, r.units())
	equal(t, order.Mark{Epoch: 1, Sequence: 2}, r.view().Mark) // so that instances load the winners again
	// The user is already a holder: by this very order, then by another.
	other := revival(4, 1)
	other.OrderID = 77
	equal(t, []bool{true, false}, r.apply(revival(3, 1), other))
	equal(t, []string{"2", "0", "0"}, r.units())
	equal(t, int64(2), r.view().Mark.Sequence)
	equal(t, []bool{true, false}, r.apply(stock(5, -2), revival(6, 9)))
	equal(t, map[int64]int64{1: 1001}, r.holders())
}

// testReviveWaits: a revival reserves a unit that no one else can have, but its user becomes a holder only when no
// instance can have cached the sale as sold out without them. Later operations wait too.
func testReviveWaits(t *testing.T, r *rig) {
	r.open(1, r.hour(2))
	r.admit(requests(1, 2)...)
	start := r.now()
	equal(t, []bool{true, true, true, false}, r.apply(give(1, 1), revival(2, 1), give(3, 2), stock(4, -2)))
	if took := r.now().Sub(start); took < testDelay-time.Millisecond { // Redis cuts its times to milliseconds
		t.Errorf("revived after %v, before %v", took, testDelay)
	}
	equal(t, map[int64]int64{1: 1001}, r.holders())
	equal(t, []string{"0", "1", "0"}, r.units())
	v := r.view()
	equal(t, []int64{4, 1, 3}, []int64{v.Applied, v.Stock, v.Mark.Sequence})
}

// once runs the script once, without waiting.
func (r *rig) once(ctx context.Context, ops ...operation.Operation) (operation.ApplyResult, time.Duration) {
	r.t.Helper()
	args, err := r.operationArgs(r.sale, r.of(ops), latest)
	r.must(err)
	raw, err := r.scripts.apply.Run(ctx, r.commands, []string{r.keys.sale(r.sale), r.keys.buyers(r.sale)}, args...)
	r.must(err)
	a, wait, err := readApplyResult(raw, ops)
	r.must(err)
	return a, wait
}

// testReservationOvertaken: an order that its user gets while a revival waits decides the revival, and the reserved
// unit goes back on sale.
func testReservationOvertaken(t *testing.T, r *rig) {
	r.stop()
	for _, by := range []struct {
		order int64
		taken bool
	}{{1001, true}, {2001, false}} { // a very late call; a new order
		r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale), r.keys.buyers(r.sale)).Err())
		r.open(1, r.hour(1))
		r.admit(requests(1, 1)...)
		a, wait := r.once(r.ctx(), give(1, 1), revival(2, 1))
		equal(t, operation.ApplyResult{Epoch: 1, Applied: 1}, a)
		if wait <= 0 || wait > testDelay {
			t.Errorf("waits for %v", wait)
		}
		equal(t, []string{"0", "0", "2"}, r.units())
		r.set(fieldStock, 1)
		equal(t, []string{"0"}, codes(r.admit(gate.Request{UserID: 1, OrderID: by.order}).Results))
		equal(t, []bool{true, by.taken}, r.apply(give(1, 1), revival(2, 1)))
		equal(t, map[int64]int64{1: by.order}, r.holders())
		equal(t, []string{"0", "1", "0"}, r.units())
	}
}

// testReservedInView: the view counts a unit that is reserved for a revival, so that no instance caches the sale as
// sold out, but it is not on sale.
func testReservedInView(t *testing.T, r *rig) {
	r.stop()
	r.open(1, r.hour(1))
	r.admit(requests(1, 1)...)
	r.once(r.ctx(), give(1, 1), revival(2, 1))
	equal(t, int64(1), r.view().Stock)
	r.pass(testDelay)
	got := r.admit(requests(2, 1)...)
	equal(t, []string{"9"}, codes(got.Results))
	equal(t, int64(1), got.View.Stock)
	equal(t, []bool{true}, r.apply(revival(2, 1)))
	equal(t, int64(0), r.view().Stock)
}

// testReservedClockSetBack: a revival does not wait for a time that is too far ahead, as after the clock was set back.
func testReservedClockSetBack(t *testing.T, r *rig) {
	r.open(1, r.hour(1))
	r.admit(requests(1, 1)...)
	r.once(r.ctx(), give(1, 1), revival(2, 1))
	r.set(fieldReservedAt, r.now().Add(time.Hour).UnixMilli())
	equal(t, []bool{true}, r.apply(revival(2, 1)))
	equal(t, map[int64]int64{1: 1001}, r.holders())
}

// testReviveAfterCancelInOneCall: operations of one user in one call build on each other.
func testReviveAfterCancelInOneCall(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.admit(requests(1, 1)...)
	second := revival(3, 1)
	second.OrderID = 9
	ops := []operation.Operation{give(1, 1), revival(2, 1), second, give(4, 1), revival(5, 1), give(6, 1)}
	equal(t, []bool{true, true, false, true, true, true}, r.apply(ops...))
	equal(t, 0, len(r.holders()))
	equal(t, []string{"5", "0", "0"}, r.units())
}

// testKept: units that the ledger keeps leave their holder and go on sale only once nobody took
// them.
func testKept(t *testing.T, r *rig) {
	r.returnDelay = longDelay
	r.open(1, r.hour(5))
	r.admit(requests(1, 1)...)
	r.admit(gate.Request{UserID: 2, OrderID: 1002, Quantity: order.QuantityOf(4)})
	several := operation.Operation{Number: 2, Kind: operation.Cancellation, Delta: 1, Kept: 3, OrderID: 1002, UserID: 2}
	equal(t, []bool{true, true}, r.apply(keptUnit(1, 1), several))
	equal(t, 0, len(r.holders()))
	equal(t, []string{"0", "1", "0"}, r.units())
	equal(t, "0", r.field(fieldExtra))
	equal(t, []bool{true}, r.apply(operation.Operation{Number: 3, Kind: operation.Releasing, Delta: 2, Kept: -2}))
	equal(t, []string{"0", "3", "0"}, r.units())
	equal(t, []bool{true, true, true},
		r.apply(several, operation.Operation{Number: 3, Kind: operation.Releasing, Delta: 2, Kept: -2}, stock(4, 1)))
	equal(t, []string{"0", "4", "0"}, r.units())
}

// testAcceptance: who accepts becomes a holder once no instance can have the sale cached as sold out, all of a
// call together; the stock is left alone, and what is reserved meanwhile is seen by the gate alone.
func testAcceptance(t *testing.T, r *rig) {
	r.open(1, r.hour(2))
	r.admit(requests(1, 2)...)
	ops := []operation.Operation{keptUnit(1, 1), keptUnit(2, 2), acceptance(3, 7), acceptance(4, 8), acceptance(5, 7)}
	a, wait := r.once(r.ctx(), ops...)
	equal(t, operation.ApplyResult{Epoch: 1, Applied: 2}, a)
	if wait <= 0 || wait > testDelay {
		t.Errorf("waits for %v", wait)
	}
	got := r.admit(requests(9, 1)...)
	equal(t, []string{"9"}, codes(got.Results))
	equal(t, int64(1), got.View.Stock) // so that it is not cached
	equal(t, int64(0), r.view().Stock)
	equal(t, 0, len(r.holders()))
	equal(t, []bool{true, true, true, true, true}, r.apply(ops...))
	equal(t, map[int64]int64{7: 1007, 8: 1008}, r.holders())
	equal(t, []string{"0", "0", "0"}, r.units())
	equal(t, int64(4), r.view().Mark.Sequence)
	equal(t, false, r.commands.HExists(r.ctx(), r.keys.sale(r.sale), fieldReservedKept).Val())
	equal(t, []bool{true, true, true}, r.apply(ops[2:]...)) // once
	// If there is something to sell, no instance has cached the sale as sold out.
	equal(t, []bool{true}, r.apply(stock(6, 1)))
	r.set(fieldReturnedAt, 1)
	_, wait = r.once(r.ctx(), acceptance(7, 5))
	equal(t, time.Duration(0), wait)
	equal(t, []string{"1", "0", "0"}, r.units())
}

// testAcceptanceRefused: a user who has another order is refused, also if they got it while the acceptance waited.
func testAcceptanceRefused(t *testing.T, r *rig) {
	r.open(1, r.hour(2))
	r.admit(requests(1, 2)...)
	other := acceptance(2, 2)
	other.OrderID = 77
	equal(t, []bool{true, false}, r.apply(keptUnit(1, 1), other))
	equal(t, map[int64]int64{2: 1002}, r.holders())
	_, wait := r.once(r.ctx(), acceptance(3, 7))
	equal(t, true, wait > 0)
	r.set(fieldStock, 1)
	equal(t, []string{"0"}, codes(r.admit(gate.Request{UserID: 7, OrderID: 2007}).Results))
	equal(t, []bool{false, true}, r.apply(acceptance(3, 7), stock(4, 1)))
	equal(t, []string{"0", "1", "0"}, r.units())
	equal(t, map[int64]int64{2: 1002, 7: 2007}, r.holders())
	equal(t, false, r.commands.HExists(r.ctx(), r.keys.sale(r.sale), fieldReservedKept).Val())
	equal(t, int64(1), r.view().Stock)
}

func testModes(t *testing.T, r *rig) {
	o := r.hour(5)
	r.open(1, o)
	for i, step := range []struct {
		mode order.SaleMode
		want string
	}{{order.SalePaused, "6"}, {order.SaleOffShelf, "5"}, {order.SaleOpen, "0"}, {order.SaleCalledOff, "13"}} {
		equal(t, []bool{true}, r.apply(setting(int64(i+1), step.mode, o)))
		equal(t, step.mode, r.view().Mode)
		equal(t, []string{step.want}, codes(r.admit(requests(int64(i+1), 1)...).Results))
	}
	later := order.Opening{Begin: o.Begin.Add(2 * time.Hour), End: o.End.Add(2 * time.Hour)}
	equal(t, []bool{true, true}, r.apply(setting(5, order.SaleOpen, later), stock(6, 1)))
	equal(t, []string{"7"}, codes(r.admit(requests(9, 1)...).Results))
	v := r.view()
	equal(t, []int64{later.Begin.UnixMilli(), later.End.UnixMilli(), 5, 6},
		[]int64{v.Begin.UnixMilli(), v.End.UnixMilli(), v.Stock, v.Applied})
	// The last setting counts.
	equal(t, []bool{true, true}, r.apply(setting(7, order.SalePaused, o), setting(8, order.SaleOpen, o)))
	equal(t, order.SaleOpen, r.view().Mode)
}

// testApplyStates: if Redis cannot apply operations, it says why and writes nothing.
func testApplyStates(t *testing.T, r *rig) {
	equal(t, operation.ApplyResult{State: operation.ApplyMissing}, r.applyResult())
	equal(t, operation.ApplyResult{State: operation.ApplyMissing}, r.applyResult(give(1, 1)))
	n, err := r.commands.Exists(r.ctx(), r.keys.sale(r.sale)).Result()
	r.must(err)
	equal(t, int64(0), n)

	r.must(r.Begin(r.ctx(), r.sale, 1))
	equal(t, operation.ApplyRebuilding, r.applyResult(give(1, 1)).State)
	o := r.hour(5)
	o.Operation = 3
	r.must(r.Publish(r.ctx(), r.sale, 1, o))
	equal(t, operation.ApplyResult{Epoch: 1, Applied: 3}, r.applyResult())
	equal(t, operation.ApplyResult{State: operation.ApplyGap, Epoch: 1, Applied: 3}, r.applyResult(stock(5, 1)))
	equal(t, []string{"5", "0", "0"}, r.units())
	r.must(r.Begin(r.ctx(), r.sale, 2))
	equal(t, operation.ApplyResult{State: operation.ApplyRebuilding, Epoch: 1, Applied: 3}, r.applyResult(stock(4, 1)))
	r.must(r.Publish(r.ctx(), r.sale, 2, o))
	// A sale that has stopped because it lost its tail will be rebuilt.
	r.admitBatch(gate.Batch{Known: order.Mark{Epoch: 9}, Requests: requests(1, 1)})
	equal(t, operation.ApplyRebuilding, r.applyResult(stock(4, 1)).State)
	r.must(r.Begin(r.ctx(), r.sale, 3))
	r.must(r.Publish(r.ctx(), r.sale, 3, o))
	r.set(fieldOperation, "what?")
	equal(t, operation.ApplyGap, r.applyResult(stock(4, 1)).State)
	r.set(fieldStock, "what?")
	equal(t, operation.ApplyMissing, r.applyResult(stock(4, 1)).State)
}

// testEachOnce: operations that are sent again, all, some or overlapping ones, are applied once and get the same
// results.
func testEachOnce(t *testing.T, r *rig) {
	r.open(1, r.hour(6))
	r.admit(requests(1, 3)...)
	ops := []operation.Operation{give(1, 1), stock(2, -9), revival(3, 1), stock(4, -2), give(5, 2), revival(6, 9)}
	want := []bool{true, false, true, true, true, true}
	for _, part := range [][2]int{{0, 2}, {0, 2}, {1, 4}, {0, 4}, {0, 6}, {0, 6}, {0, 3}, {3, 6}, {5, 6}} {
		equal(t, want[part[0]:part[1]], r.apply(ops[part[0]:part[1]]...))
	}
	equal(t, []string{"1", "0", "0"}, r.units())
	equal(t, map[int64]int64{1: 1001, 3: 1003, 9: 1009}, r.holders())
	v := r.view()
	equal(t, []int64{6, 5}, []int64{v.Applied, v.Mark.Sequence})
}

// testTakesKept: results are kept until a call applies something and its first operation shows that they are completed;
// a call that applies nothing forgets nothing.
func testTakesKept(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.apply(stock(1, -1), stock(2, -50), stock(3, 1), stock(4, -1))
	equal(t, "1=1 2=0 4=1", r.field(fieldTakes))
	equal(t, []bool{true}, r.apply(stock(4, -1)))
	equal(t, "1=1 2=0 4=1", r.field(fieldTakes))
	equal(t, []bool{false, true, true, true}, r.apply(stock(2, -50), stock(3, 1), stock(4, -1), stock(5, 1)))
	equal(t, "2=0 4=1", r.field(fieldTakes))
	// There is no result for an operation that was completed long ago, but for the others.
	a := r.applyResult(stock(1, -1), stock(2, -50), stock(3, 1))
	equal(t, []operation.Result{{Number: 2}, {Number: 3, Taken: true}}, a.Results)
	r.apply(stock(6, 1))
	equal(t, "", r.field(fieldTakes))
}

// testAdmissions: an operation that makes a holder is answered with the mark to which it raised the sale, also when it
// is sent again; one that makes none has no mark.
func testAdmissions(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.admit(requests(1, 2)...)
	ops := []operation.Operation{
		give(1, 1), revival(2, 1), stock(3, -1), acceptance(4, 7), acceptance(5, 2), acceptance(6, 7),
	}
	want := []operation.Result{
		{Number: 1, Taken: true},
		{Number: 2, Taken: true, Admission: order.Mark{Epoch: 1, Sequence: 3}},
		{Number: 3, Taken: true},
		{Number: 4, Taken: true, Admission: order.Mark{Epoch: 1, Sequence: 4}},
		{Number: 5, Taken: true},
		{Number: 6, Taken: true}, // who holds that very order already
	}
	for range 2 {
		equal(t, want, r.applyResult(ops...).Results)
	}
	equal(t, "2=1:3 3=1 4=1:4 5=1 6=1", r.field(fieldTakes))
	r.apply(ops[3], ops[4], ops[5], stock(7, 1))
	equal(t, want[3:4], r.applyResult(ops[3]).Results)
}

// testLateApply: a call that arrives after later ones changes nothing.
func testLateApply(t *testing.T, r *rig) {
	r.open(1, r.hour(4))
	r.admit(requests(1, 1)...)
	late := []operation.Operation{give(1, 1), stock(2, -1)}
	r.apply(late...)
	r.apply(stock(2, -1), revival(3, 1))
	equal(t, []bool{true}, r.apply(stock(4, 1)))
	before, holders := r.units(), r.holders()
	a := r.applyResult(late...)
	equal(t, operation.ApplyResult{Epoch: 1, Applied: 4, Results: []operation.Result{{Number: 1, Taken: true}}}, a)
	equal(t, before, r.units())
	equal(t, holders, r.holders())
}

// testOperationsAfterRebuild: a rebuild contains pending operations; if an earlier call arrives late, it finds them
// done.
func testOperationsAfterRebuild(t *testing.T, r *rig) {
	r.open(1, r.hour(1))
	r.admit(requests(1, 1)...)
	r.once(r.ctx(), give(1, 1), revival(2, 1)) // the revival now waits
	r.must(r.Begin(r.ctx(), r.sale, 2))
	o := r.hour(3)
	o.Operation = 4
	r.must(r.Publish(r.ctx(), r.sale, 2, o))
	equal(t, []string{"3", "0", "0"}, r.units())
	equal(t, "", r.field(fieldTakes))
	a := r.applyResult(give(1, 1), revival(2, 1), stock(3, 5))
	equal(t, operation.ApplyResult{
		Epoch: 2, Applied: 4, Results: []operation.Result{{Number: 1, Taken: true}, {Number: 3, Taken: true}},
	}, a)
	equal(t, []string{"3", "0", "0"}, r.units())
	equal(t, []bool{true}, r.apply(stock(5, -3)))
}

// testFullCall: a call with as many operations as fit, with the longest possible numbers.
func testFullCall(t *testing.T, r *rig) {
	const last = 1 << 50
	o := r.hour(500)
	o.Operation = last
	r.open(1, o)
	r.admit(requests(1, 250)...)
	var gives, takes []operation.Operation
	for i := range int64(250) {
		gives = append(gives, give(last+1+i, 1+i))
		takes = append(takes, operation.Operation{
			Number: last + 251 + i, Kind: operation.Revival, Delta: -1,
			UserID: 1<<53 - 1 - i, OrderID: math.MaxInt64 - i,
		})
	}
	for _, ops := range [][]operation.Operation{gives, takes, takes} {
		if taken := r.apply(ops...); len(taken) != 250 || !taken[0] || !taken[249] {
			t.Fatalf("applied %v", taken)
		}
	}
	equal(t, []string{"250", "0", "0"}, r.units())
	holders := r.holders()
	equal(t, 250, len(holders))
	equal(t, int64(math.MaxInt64), holders[1<<53-1])
	equal(t, 250, strings.Count(r.field(fieldTakes), "=1"))
	equal(t, int64(last+500), r.view().Applied)
}

func testBadOperations(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	for name, ops := range map[string][]operation.Operation{
		"a gap":               {stock(1, 1), stock(3, 1)},
		"number 0":            {stock(0, 1)},
		"no units":            {{Number: 1, OrderID: 5, UserID: 5}},
		"too many units":      {{Number: 1, Delta: -21, OrderID: 5, UserID: 5}},
		"no user's order":     {{Number: 1, Delta: 1, OrderID: 5}},
		"an order below 0":    {{Number: 1, Delta: 1, OrderID: -5, UserID: -1}},
		"half an acceptance":  {{Number: 1, Kind: operation.Acceptance, Delta: 1, Kept: -1, OrderID: 5, UserID: 5}},
		"nobody's acceptance": {{Number: 1, Kind: operation.Acceptance, Kept: -1}},
		"a lost unit":         {{Number: 1, Kind: operation.Releasing, Delta: 1, Kept: -2}},
		"a mode":              {setting(1, order.SaleRebuilding, r.hour(1))},
		"too many":            make([]operation.Operation, operation.MaxBatch+1),
	} {
		if _, err := r.Apply(r.ctx(), r.sale, r.of(ops), latest); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	other := []operation.Operation{{VoucherID: 8, Number: 1, Delta: 1}}
	if _, err := r.Apply(r.ctx(), r.sale, other, latest); err == nil {
		t.Error("an operation of another voucher was accepted")
	}
	equal(t, int64(0), r.view().Applied)
}

// testApplyWrongType: if holders cannot be read, nothing changes.
func testApplyWrongType(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.must(r.commands.Set(r.ctx(), r.keys.buyers(r.sale), "not a hash", 0).Err())
	if _, err := r.Apply(r.ctx(), r.sale, r.of([]operation.Operation{give(1, 1)}), latest); err == nil {
		t.Error("operations were applied to a string")
	}
	r.must(r.commands.Del(r.ctx(), r.keys.buyers(r.sale)).Err())
	equal(t, int64(0), r.view().Applied)
	equal(t, []string{"5"}, r.units()[:1])
}

// testDropAfterOperation: a sale that has changed since it was checked is not dropped.
func testDropAfterOperation(t *testing.T, r *rig) {
	r.open(1, order.Opening{
		Stock: 1, Begin: r.now().Add(-2 * time.Hour), End: r.now().Add(-time.Hour), Mode: order.SaleOpen,
	})
	seen := r.view()
	r.apply(stock(1, 1))
	gone, err := r.Drop(r.ctx(), r.sale, seen)
	r.must(err)
	equal(t, false, gone)
	gone, err = r.Drop(r.ctx(), r.sale, r.view())
	r.must(err)
	equal(t, true, gone)
}

// TestApplyReplyLost: the script ran, but its answer did not arrive; sending the same operations again returns it
// (F03).
func TestApplyReplyLost(t *testing.T) {
	t.Parallel()
	proxy := testkit.NewProxy(t, testkit.StartRedis(t).Addr)
	r := rigOn(t, newClients(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{proxy.Addr}}), "")
	r.open(1, r.hour(5))
	r.admit(requests(1, 1)...)
	r.applyResult() // so that Redis has the script
	ops := []operation.Operation{give(1, 1), stock(2, -9), revival(3, 2), stock(4, -1)}
	proxy.DropRepliesTo("evalsha", 1)
	if _, err := r.Apply(r.ctx(), r.sale, r.of(ops), latest); err == nil || errors.Is(err, order.ErrUnavailable) {
		t.Fatalf("the answer was lost: %v", err)
	}
	equal(t, 1, proxy.Lost())
	equal(t, int64(4), r.view().Applied)
	equal(t, []bool{true, false, true, true}, r.apply(ops...))
	equal(t, []string{"3", "0", "0"}, r.units())
	equal(t, map[int64]int64{2: 1002}, r.holders())
}

// TestApplyGivenUp: the next call completes a revival whose caller did not wait for it.
func TestApplyGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(1, r.hour(1))
	r.admit(requests(1, 1)...)
	ops := r.of([]operation.Operation{give(1, 1), revival(2, 1)})
	r.once(r.ctx(), ops...)
	r.set(fieldReservedAt, r.now().Add(30*time.Second).UnixMilli())
	ctx, cancel := context.WithTimeout(r.ctx(), 50*time.Millisecond)
	defer cancel()
	// A call that is under way when the time is over ends with the connection's error.
	if _, err := r.Apply(ctx, r.sale, ops, latest); !errors.Is(err, context.DeadlineExceeded) &&
		!errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error = %v", err)
	}
	equal(t, 0, len(r.holders()))
	r.set(fieldReservedAt, r.now().UnixMilli())
	equal(t, []bool{true, true}, r.apply(ops...))
}

// TestApplyRefused: a Redis that takes no writes applies all operations of a call or none, and says so. A call that has
// nothing to write succeeds.
func TestApplyRefused(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, testkit.StartRedis(t))
	r.open(1, r.hour(3))
	r.admit(requests(1, 3)...)
	done := []operation.Operation{give(1, 1), stock(2, -1)}
	r.apply(done...)
	r.must(r.commands.ConfigSet(r.ctx(), "maxmemory", "1").Err())
	before, holders := r.units(), r.holders()
	for _, op := range []operation.Operation{
		give(3, 2), stock(3, 5), stock(3, -1), revival(3, 9), setting(3, order.SalePaused, r.hour(1)),
	} {
		if _, err := r.Apply(r.ctx(), r.sale, r.of([]operation.Operation{op}), latest); op.Number == 3 &&
			!errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%+v: %v, want one that wraps ErrUnavailable", op, err)
		}
		equal(t, before, r.units())
		equal(t, holders, r.holders())
		equal(t, int64(2), r.view().Applied)
	}
	equal(t, []bool{true, true}, r.apply(done...))
	r.must(r.commands.ConfigSet(r.ctx(), "maxmemory", "0").Err())
	equal(t, []bool{true}, r.apply(give(3, 2)))
}
