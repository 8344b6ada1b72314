package redisstore

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/order/gate"
)

// holdersTests are the behaviour of holders and of the units that come back.
var holdersTests = behaviour{
	"holdings":                   testHoldings,
	"unrecorded":                 testUnrecorded,
	"users of queued orders":     testUserOf,
	"corrections":                testCorrections,
	"corrections of many sales":  testCorrectionsOfManySales,
	"a missing sale":             testCorrectMissingSale,
	"returned units wait":        testReturnedUnitsWait,
	"returned units join a wait": testReturnedUnitsJoin,
	"clock set back":             testClockSetBack,
	"returns during a rebuild":   testReturnsDuringRebuild,
	"a sale beyond repair":       testRejectedCorrection,
	"corrections out of date":    testOutdatedCorrection,
}

// testCorrections: each acts only while its order makes the user a holder, so repeating changes nothing.
func testCorrections(t *testing.T, r *rig) {
	r.open(1, r.hour(10))
	r.admit(requests(1, 5)...)
	batch := []order.Correction{
		{UserID: 1, OrderID: 1001, GiveBack: true}, // failed, its unit goes back
		{UserID: 2, OrderID: 1002},                 // failed, there was no unit
		// Another order is live.
		{UserID: 3, OrderID: 1003, GiveBack: true, New: order.Held{OrderID: math.MaxInt64}},
		{UserID: 4, OrderID: 99, GiveBack: true, New: order.Held{OrderID: 98}}, // not their order
		{UserID: 77, OrderID: 1077, GiveBack: true},                            // not a holder
		// The first once more.
		{UserID: 1, OrderID: 1001, GiveBack: true},
		{UserID: 3, OrderID: math.MaxInt64, New: order.Held{OrderID: 5}},
		{UserID: 3, OrderID: 5}, // step by step
	}
	equal(t, []bool{true, true, true, false, false, false, true, true}, r.correct(batch...))
	holders := map[int64]int64{4: 1004, 5: 1005}
	equal(t, holders, r.holders())
	equal(t, int64(7), r.view().Stock)
	equal(t, "7", r.field(fieldStock))
	equal(t, make([]bool, len(batch)), r.correct(batch...))
	equal(t, holders, r.holders())
	equal(t, int64(7), r.view().Stock)
	equal(t, order.Mark{Epoch: 1, Sequence: 5}, r.view().Mark)

	r.correct(order.Correction{UserID: 4, OrderID: 1004, New: order.Held{OrderID: math.MaxInt64}})
	equal(t, map[int64]int64{4: math.MaxInt64, 5: 1005}, r.holders())
	// A user who was removed may buy again.
	equal(t, []string{"0"}, codes(r.admit(gate.Request{UserID: 1, OrderID: 2001}).Results))
}

func testCorrectionsOfManySales(t *testing.T, r *rig) {
	var corrections []order.Correction
	for voucher := int64(1); voucher <= 3; voucher++ {
		r.sale.VoucherID = voucher
		r.open(1, r.hour(400))
		for from := int64(1); from < 400; from += 200 {
			r.admit(requests(from, 200)...)
		}
		for _, a := range requests(1, 400) {
			corrections = append(corrections,
				order.Correction{Sale: r.sale, UserID: a.UserID, OrderID: a.OrderID, GiveBack: a.UserID%2 == 0})
		}
	}
	for range 2 {
		r.must(second(r.Correct(r.ctx(), corrections)))
	}
	for voucher := int64(1); voucher <= 3; voucher++ {
		r.sale.VoucherID = voucher
		equal(t, 0, len(r.holders()))
		equal(t, int64(200), r.view().Stock)
	}
	r.must(second(r.Correct(r.ctx(), nil)))
}

// testCorrectMissingSale: the ledger has the unit of a sale that Redis has lost; correcting it must not create half a
// sale.
func testCorrectMissingSale(t *testing.T, r *rig) {
	r.must(r.commands.HSet(r.ctx(), r.keys.buyers(r.sale), "1", "1001").Err())
	equal(t, []bool{true}, r.correct(order.Correction{UserID: 1, OrderID: 1001, GiveBack: true}))
	equal(t, 0, len(r.holders()))
	n, err := r.commands.Exists(r.ctx(), r.keys.sale(r.sale)).Result()
	r.must(err)
	equal(t, int64(0), n)
}

// testOutdatedCorrection: an order that was revived after the ledger was read keeps its holder and its unit, and the
// caller gets order.ErrOutdated. A correction that was decided with the revival known acts, and so does one that no
// operation can outdate.
func testOutdatedCorrection(t *testing.T, r *rig) {
	r.open(1, r.hour(2))
	r.admit(requests(1, 2)...)
	r.apply(give(1, 1))
	r.pass(testDelay)
	equal(t, []bool{true, true}, r.apply(stock(2, 1), revival(3, 1)))
	back := func(until int64) (map[int64]int64, error) {
		return r.Correct(r.ctx(), []order.Correction{
			{Sale: r.sale, UserID: 1, OrderID: 1001, GiveBack: true, Until: until},
			{Sale: r.sale, UserID: 2, OrderID: 1002, GiveBack: true},
		})
	}
	before := r.view().Stock
	if _, err := back(2); !errors.Is(err, order.ErrOutdated) {
		t.Errorf("Correct: %v", err)
	}
	equal(t, map[int64]int64{1: 1001}, r.holders())
	equal(t, before+1, r.view().Stock) // the other order's unit
	r.must(second(back(3)))
	equal(t, map[int64]int64{}, r.holders())
	r.must(r.commands.HSet(r.ctx(), r.keys.buyers(r.sale), "1", "1001").Err())
	r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale)).Err())
	if _, err := back(3); !errors.Is(err, order.ErrOutdated) { // nobody knows which operations a missing sale contained
		t.Errorf("Correct of a missing sale: %v", err)
	}
}

// Holdings returns the user's orders, and whether each sale is whole: only then a missing order is not elsewhere.
func testHoldings(t *testing.T, r *rig) {
	r.open(3, r.hour(5))
	r.admit(requests(5, 1)...) // user 5, order 1005
	sales := []order.SaleRef{
		r.sale, {VoucherID: 8}, {VoucherID: 9}, {VoucherID: 10}, {VoucherID: 11}, {VoucherID: 12}, {VoucherID: 13},
	}
	at := func(i int) *rig {
		other := *r
		other.sale = sales[i]
		return &other
	}
	at(2).must(r.Begin(r.ctx(), sales[2], 4)) // being rebuilt
	r.must(r.commands.Set(r.ctx(), r.keys.sale(sales[3]), "x", 0).Err())
	at(4).open(1, r.hour(1))
	r.must(r.commands.Set(r.ctx(), r.keys.buyers(sales[4]), "x", 0).Err())
	at(5).open(1, r.hour(1))
	r.must(r.commands.HSet(r.ctx(), r.keys.buyers(sales[5]), "5", "nonsense").Err())
	at(6).open(1, r.hour(1))
	at(6).set("server", "another")

	held, err := r.Holdings(r.ctx(), 5, sales)
	r.must(err)
	others := held[6]
	if r.mini != nil { // miniredis does not show its run id
		others = order.Holding{}
	}
	equal(t, []order.Holding{
		{OrderID: 1005, Whole: true, Mark: order.Mark{Epoch: 3, Sequence: 1}}, {}, {}, {}, {}, {}, {},
	},
		append(held[:6:6], others))
	held, err = r.Holdings(r.ctx(), 6, sales[:1])
	r.must(err)
	equal(t, []order.Holding{{Whole: true, Mark: order.Mark{Epoch: 3, Sequence: 1}}}, held)
	held, err = r.Holdings(r.ctx(), 6, nil)
	r.must(err)
	equal(t, 0, len(held))
}

func testUnrecorded(t *testing.T, r *rig) {
	start := r.now().Truncate(time.Millisecond).UTC()
	u, err := r.Unrecorded(r.ctx(), 0)
	r.must(err)
	if u.Since.Before(start) || u.DeadLetters || len(u.Rebuilt) > 0 {
		t.Errorf("nothing waits: %+v", u)
	}
	r.open(1, r.hour(5))
	r.admit(requests(1, 2)...)
	u, err = r.Unrecorded(r.ctx(), 0)
	r.must(err)
	entries, err := r.commands.XRange(r.ctx(), r.keys.orders(0), "-", "+").Result()
	r.must(err)
	added, _ := addedAt(entries[0].ID)
	if age := r.now().Sub(u.Now); age < -time.Millisecond || age > time.Minute {
		t.Errorf("the clock is off by %v", age)
	}
	u.Now = time.Time{}
	equal(t, order.Unrecorded{Since: added, Rebuilt: []int64{r.sale.VoucherID}}, u)

	r.must(r.commands.XAdd(r.ctx(), &redis.XAddArgs{Stream: r.keys.dead(0), Values: []any{"a", "b"}}).Err())
	r.must(r.commands.ZAdd(r.ctx(), r.keys.stops(0),
		redis.Z{Member: "99", Score: float64(start.Add(-time.Hour).UnixMilli())}).Err())
	u, err = r.Unrecorded(r.ctx(), 0)
	r.must(err)
	if age := r.now().Sub(u.Now); age < -time.Millisecond || age > time.Minute {
		t.Errorf("the clock is off by %v", age)
	}
	u.Now = time.Time{}
	equal(t, order.Unrecorded{Since: added, Rebuilt: []int64{r.sale.VoucherID}, DeadLetters: true}, u)

	// The clock was set back, so the entry's age is unknown.
	r.must(r.commands.Del(r.ctx(), r.keys.orders(0)).Err())
	r.must(r.commands.XAdd(r.ctx(),
		&redis.XAddArgs{Stream: r.keys.orders(0), ID: "99999999999999-0", Values: []any{"v", "1"}}).Err())
	u, err = r.Unrecorded(r.ctx(), 0)
	r.must(err)
	if !u.Since.IsZero() {
		t.Errorf("an entry of the future: since %v", u.Since)
	}
}

// The user of an order is found in any page of the stream, in packed entries, and in dead letters, packed or not.
func testUserOf(t *testing.T, r *rig) {
	add := func(key string, values ...any) {
		t.Helper()
		r.must(r.commands.XAdd(r.ctx(), &redis.XAddArgs{Stream: key, Values: values}).Err())
	}
	for i := range rangePage {
		add(r.keys.orders(0), "v", r.sale.VoucherID, "u", 10_000+i, "o", 20_000+i, "e", 1, "s", i+1)
	}
	add(r.keys.orders(0), "v", r.sale.VoucherID, "e", 1, "s", 7000, "p", "1001 5001 1002 5002:3")
	add(r.keys.dead(0), "raw.v", r.sale.VoucherID, "raw.u", 1003, "raw.o", 5003)
	add(r.keys.dead(0), "raw.v", r.sale.VoucherID, "raw.p", "1004 5004 1005 5005:2")
	for orderID, want := range map[int64]int64{
		20_000: 10_000, 20_000 + rangePage - 1: 10_000 + rangePage - 1, 5001: 1001, 5002: 1002, 5003: 1003, 5005: 1005,
		5006: 0,
	} {
		got, err := r.UserOf(r.ctx(), 0, orderID)
		r.must(err)
		if got != want {
			t.Errorf("order %d is of user %d, want %d", orderID, got, want)
		}
	}
}

// pass lets time pass: on the in-process server by setting its clock, on a real one by waiting.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	until := r.now().Add(d)
	if r.mini != nil {
		r.mini.SetTime(until)
		return
	}
	for r.now().Before(until) {
		time.Sleep(time.Millisecond) // no signal tells of Redis's clock
	}
}

// stop stops the in-process server's clock, so that tests decide when a time has come.
func (r *rig) stop() {
	if r.mini != nil {
		r.mini.SetTime(time.Now())
	}
}

func (r *rig) correct(corrections ...order.Correction) []bool {
	r.t.Helper()
	c, err := r.correctSale(r.ctx(), r.sale, corrections)
	r.must(err)
	return c.acted
}

// testReturnedUnitsWait: the view shows a unit that comes back to a sold-out sale at once, but it can be sold only
// after the delay (rule 11).
func testReturnedUnitsWait(t *testing.T, r *rig) {
	r.returnDelay = longDelay
	r.open(1, r.hour(1))
	r.admit(requests(1, 1)...)
	equal(t, []bool{true}, r.correct(order.Correction{UserID: 1, OrderID: 1001, GiveBack: true}))
	equal(t, int64(1), r.view().Stock)
	equal(t, []string{"9"}, codes(r.admit(requests(2, 1)...).Results))
	r.set(fieldReturnedAt, r.now().UnixMilli()) // the units may be sold now
	got := r.admit(requests(3, 2)...)
	equal(t, []string{"0", "9"}, codes(got.Results))
	equal(t, int64(0), got.View.Stock)
	equal(t, []string{"0", "0"}, []string{r.field(fieldStock), r.field(fieldReturned)})
}

// testReturnedUnitsJoin: units that come back one after another do not delay each other.
func testReturnedUnitsJoin(t *testing.T, r *rig) {
	r.returnDelay = longDelay
	r.open(1, r.hour(3))
	r.admit(requests(1, 3)...)
	r.correct(order.Correction{UserID: 1, OrderID: 1001, GiveBack: true})
	first := r.field(fieldReturnedAt)
	r.pass(2 * time.Millisecond)
	r.correct(order.Correction{UserID: 2, OrderID: 1002, GiveBack: true})
	equal(t, first, r.field(fieldReturnedAt))
	equal(t, "2", r.field(fieldReturned))
	r.set(fieldReturnedAt, r.now().UnixMilli())
	// The units may be sold now, so the next one joins the stock at once.
	r.correct(order.Correction{UserID: 3, OrderID: 1003, GiveBack: true})
	equal(t, []string{"3", "0"}, []string{r.field(fieldStock), r.field(fieldReturned)})
}

// testClockSetBack: units that came back while the clock was ahead can be sold, both by a purchase and by the next
// return. A plausible time is waited for.
func testClockSetBack(t *testing.T, r *rig) {
	for _, c := range []struct {
		ahead time.Duration
		want  string
		stock string // after a return
	}{
		{30 * time.Second, "9", "0"},
		{time.Hour, "0", "2"},
	} {
		r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale), r.keys.buyers(r.sale)).Err())
		r.open(1, r.hour(2))
		r.admit(requests(1, 2)...)
		ahead := []any{fieldReturned, 1, fieldReturnedAt, r.now().Add(c.ahead).UnixMilli()}
		r.set(ahead...)
		equal(t, []string{c.want}, codes(r.admit(requests(3, 1)...).Results))
		r.set(ahead...)
		equal(t, []bool{true}, r.correct(order.Correction{UserID: 1, OrderID: 1001, GiveBack: true}))
		equal(t, c.stock, r.field(fieldStock))
	}
}

// testReturnsDuringRebuild: a rebuild may lose a unit that comes back meanwhile. So the caller gets the rebuild's
// epoch, even if the first answer was lost, until the next rebuild has repaired that.
func testReturnsDuringRebuild(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.admit(requests(1, 5)...)
	give := func(want int64, user int64, back bool) {
		t.Helper()
		got, err := r.Correct(r.ctx(),
			[]order.Correction{{Sale: r.sale, UserID: user, OrderID: user + 1000, GiveBack: back}})
		r.must(err)
		var rebuilding map[int64]int64
		if want > 0 {
			rebuilding = map[int64]int64{r.sale.VoucherID: want}
		}
		equal(t, rebuilding, got)
	}
	give(0, 1, true) // no rebuild is under way
	r.must(r.Begin(r.ctx(), r.sale, 2))
	give(0, 2, false) // no unit came back
	give(0, 2, true)  // the correction did not act either
	give(2, 3, true)
	give(2, 3, true) // this answer was lost
	r.must(r.Publish(r.ctx(), r.sale, 2, r.hour(1)))
	give(2, 3, true) // the caller died before it could request a rebuild
	give(2, 4, true)
	r.must(r.Begin(r.ctx(), r.sale, 3))
	give(0, 4, true)
	r.must(r.Publish(r.ctx(), r.sale, 3, r.hour(1)))
	give(0, 4, true)
	give(0, 5, true)
}

// testRejectedCorrection: an error about a sale's data differs from a temporary one, and does not keep other sales from
// being corrected.
func testRejectedCorrection(t *testing.T, r *rig) {
	var corrections []order.Correction
	for voucher := int64(1); voucher <= 5; voucher++ {
		r.sale.VoucherID = voucher
		r.open(1, r.hour(1))
		r.admit(requests(1, 1)...)
		corrections = append(corrections, order.Correction{Sale: r.sale, UserID: 1, OrderID: 1001, GiveBack: true})
		r.must(r.Begin(r.ctx(), r.sale, 2))
	}
	r.sale.VoucherID = 3
	r.must(r.commands.Set(r.ctx(), r.keys.buyers(r.sale), "not a hash", 0).Err())
	for range 2 {
		rebuilding, err := r.Correct(r.ctx(), corrections)
		if !errors.Is(err, order.ErrRejected) || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("Correct: %v, want one that wraps only ErrRejected", err)
		}
		equal(t, map[int64]int64{1: 2, 2: 2, 4: 2, 5: 2}, rebuilding)
	}
	for _, voucher := range []int64{1, 2, 4, 5} {
		r.sale.VoucherID = voucher
		equal(t, 0, len(r.holders()))
		equal(t, "1", r.field(fieldReturned))
	}
}

func TestHeldText(t *testing.T) {
	t.Parallel()
	for text, h := range map[string]order.Held{
		"1":                      {OrderID: 1},
		"123:3":                  {OrderID: 123, Quantity: order.QuantityOf(3)},
		"9223372036854775807:20": {OrderID: math.MaxInt64, Quantity: order.QuantityOf(20)},
	} {
		equal(t, text, heldText(h))
		equal(t, h, parseHeld(text))
	}
	for _, text := range []string{
		"", ":", "0", "-1", "01", "1:", ":2", "1:0", "1:1", "1:-2", "1:21", "1:02", "1:2:3", "1: 2", "x:2", "0:2",
		"1:99999999999999999999",
	} {
		equal(t, order.Held{}, parseHeld(text))
	}
}
