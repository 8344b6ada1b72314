package redisstore

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/gate"
)

// gateTests test scripts/seckill.lua.
var gateTests = behaviour{
	"accepted":                  testAccepted,
	"holders before everything": testHoldersFirst,
	"who may not enter":         testBarred,
	"refusals":                  testRefusals,
	"several units":             testSeveralUnits,
	"one unit each":             testOneUnitEach,
	"repeated batch":            testRepeatedBatch,
	"one user twice":            testOneUserTwice,
	"lost tail":                 testLostTail,
	"backlog":                   testBacklog,
	"a full batch":              testFullBatch,
	"ids beyond 2^53":           testLargeIDs,
	"unreadable sale":           testUnreadableSale,
	"unreadable holder":         testUnreadableHolder,
	"bad arguments":             testBadArguments,
	"scripts flushed":           testScriptsFlushed,
}

func testAccepted(t *testing.T, r *rig) {
	o := r.hour(3)
	r.open(4, o)
	got := r.admit(requests(1, 2)...)
	want := order.SaleView{
		Mode: order.SaleOpen, Mark: order.Mark{Epoch: 4, Sequence: 2}, Stock: 1, Buyers: 2,
		Begin: o.Begin.Truncate(time.Millisecond), End: o.End.Truncate(time.Millisecond),
	}
	if skew := r.now().Sub(got.View.Now); skew < -time.Millisecond || skew > time.Minute {
		t.Errorf("the answer's clock is off by %v", skew)
	}
	got.View.Now = time.Time{}
	equal(t, want, got.View)
	equal(t, []string{"0", "0"}, codes(got.Results))
	equal(t, []order.Claim{
		{OrderID: 1001, UserID: 1, VoucherID: 7, Epoch: 4, Sequence: 1},
		{OrderID: 1002, UserID: 2, VoucherID: 7, Epoch: 4, Sequence: 2},
	}, r.stream())
	equal(t, map[int64]int64{1: 1001, 2: 1002}, r.holders())
	after := r.view()
	after.Now = time.Time{}
	equal(t, want, after)
}

// testBarred: a barred user takes no unit in any state of the sale, and still learns of their order.
func testBarred(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	equal(t, []string{"0"}, codes(r.admit(gate.Request{UserID: 1, OrderID: 1001}).Results))
	before := r.view()
	holder, barred := gate.Request{UserID: 1}, gate.Request{UserID: 2}
	for _, fields := range [][]any{
		{fieldMode, modeOpen}, {fieldMode, modePaused}, {fieldMode, modeOff}, {fieldMode, modeRebuild}, {
			fieldMode, modeOpen, fieldStock, 0,
		},
	} {
		r.set(fields...)
		if diff := cmp.Diff([]string{"12", "1:1001", "12", "12"},
			codes(r.admit(barred, holder, gate.Request{UserID: 3}, barred).Results)); diff != "" {
			t.Errorf("%v: %s", fields, diff)
		}
	}
	r.set(fieldStock, before.Stock)
	equal(t, before.Mark, r.view().Mark)
	equal(t, map[int64]int64{1: 1001}, r.holders())
	// However many units they ask for, and whatever was written into buyers by hand.
	r.must(r.commands.HSet(r.ctx(), r.keys.buyers(r.sale), "8", "0", "9", "0:2").Err())
	several := []gate.Request{{UserID: 2, Quantity: order.QuantityOf(2)}, {UserID: 1, Quantity: order.QuantityOf(2)}, {
		UserID: 8,
	}, {UserID: 9, Quantity: order.QuantityOf(2)}}
	equal(t, []string{"12", "1:1001", "-1", "-1"}, codes(r.admit(several...).Results))
	r.must(r.commands.HDel(r.ctx(), r.keys.buyers(r.sale), "8", "9").Err())
	equal(t, before.Mark, r.view().Mark)
	equal(t, 1, len(r.stream()))
	// In one batch with a request of their own that may enter, only that request is accepted.
	equal(t, []string{"12", "0", "1:2002"},
		codes(r.admit(barred, gate.Request{UserID: 2, OrderID: 2002}, barred).Results))
}

// testHoldersFirst: a holder gets their order id in every state that the sale can be in (rule 2).
func testHoldersFirst(t *testing.T, r *rig) {
	r.open(1, r.hour(1))
	holder := gate.Request{UserID: 1, OrderID: 1001}
	again, other := gate.Request{UserID: 1, OrderID: 2001}, gate.Request{UserID: 2, OrderID: 1002}
	equal(t, []string{"0"}, codes(r.admit(holder).Results))
	now := r.now().UnixMilli()
	for _, state := range []struct {
		name   string
		fields []any
		other  string
	}{
		{"sold out", nil, "9"},
		{"paused", []any{fieldMode, modePaused}, "6"},
		{"off the shelf", []any{fieldMode, modeOff}, "5"},
		{"under rebuild", []any{fieldMode, modeRebuild}, "4"},
		{"not started", []any{fieldMode, modeOpen, fieldBegin, now + 100_000}, "7"},
		{"ended", []any{fieldBegin, now - 200_000, fieldEnd, now - 100_000}, "8"},
	} {
		if state.fields != nil {
			r.set(state.fields...)
		}
		got := r.admit(again, other, holder)
		if diff := cmp.Diff([]string{"1:1001", state.other, "0"}, codes(got.Results)); diff != "" {
			t.Errorf("%s: %s", state.name, diff)
		}
	}
	equal(t, 1, len(r.stream()))
}

// testRefusals: each refusal comes in the documented order, and leaves no trace.
func testRefusals(t *testing.T, r *rig) {
	equal(t, []string{"2", "2"}, codes(r.admit(requests(1, 2)...).Results))
	r.must(r.Begin(r.ctx(), r.sale, 1))
	got := r.admit(requests(1, 1)...)
	equal(t, []string{"4"}, codes(got.Results))
	equal(t, order.SaleRebuilding, got.View.Mode)
	for _, c := range []struct {
		name   string
		change func(*order.Opening)
		code   string
	}{
		{
			"off the shelf, ended, nothing left",
			func(o *order.Opening) { o.Mode, o.Stock, o.End = order.SaleOffShelf, 0, o.Begin.Add(1) }, "5",
		},
		{"paused, ended", func(o *order.Opening) { o.Mode, o.End = order.SalePaused, o.Begin.Add(1) }, "6"},
		{"not started, nothing left", func(o *order.Opening) { o.Stock, o.Begin = 0, o.End.Add(-time.Minute) }, "7"},
		{"ended, nothing left", func(o *order.Opening) { o.Stock, o.End = 0, o.Begin.Add(time.Minute) }, "8"},
		{"nothing left", func(o *order.Opening) { o.Stock = 0 }, "9"},
	} {
		o := r.hour(5)
		c.change(&o)
		r.open(r.view().Mark.Epoch+1, o)
		got := r.admitBatch(gate.Batch{Requests: requests(1, 1), MaxBacklog: -1})
		if diff := cmp.Diff([]string{c.code}, codes(got.Results)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	equal(t, 0, len(r.stream()))
	equal(t, 0, len(r.holders()))
}

// testSeveralUnits: units are taken together or not at all, and a remainder is reported as such, not as sold out.
func testSeveralUnits(t *testing.T, r *rig) {
	r.open(1, r.hour(10))
	several := func(user, units int64) gate.Request {
		return gate.Request{UserID: user, OrderID: 1000 + user, Quantity: order.QuantityOf(units)}
	}
	batch := []gate.Request{several(1, 3), several(2, 1), several(3, 5), several(4, 2), several(5, 1), several(6, 1)}
	got := r.admit(batch...)
	equal(t, []string{"0", "0", "0", "11", "0", "9"}, codes(got.Results))
	equal(t, int64(1), got.Results[3].Left)
	equal(t, []int64{0, 4, 4}, []int64{got.View.Stock, got.View.Buyers, got.View.Mark.Sequence})
	equal(t, []string{"1:1001", "9"}, codes(r.admit(gate.Request{UserID: 1, OrderID: 9}, several(4, 2)).Results))
	again := r.admit(several(1, 3), several(3, 5), gate.Request{UserID: 3, OrderID: 1003})
	equal(t, []string{"0", "0", "1:1003"}, codes(again.Results))
	equal(t, order.QuantityOf(5), again.Results[2].Quantity)
	equal(t, []order.Claim{
		{OrderID: 1001, UserID: 1, VoucherID: 7, Epoch: 1, Sequence: 1, Quantity: order.QuantityOf(3)},
		{OrderID: 1002, UserID: 2, VoucherID: 7, Epoch: 1, Sequence: 2},
		{OrderID: 1003, UserID: 3, VoucherID: 7, Epoch: 1, Sequence: 3, Quantity: order.QuantityOf(5)},
		{OrderID: 1005, UserID: 5, VoucherID: 7, Epoch: 1, Sequence: 4},
	}, r.stream())
	view := r.view()
	equal(t, []int64{0, 4, 6}, []int64{view.Stock, view.Buyers, view.Extra})
	// One user leaves, with all units; users who ask for more than that learn how many there are.
	r.correct(order.Correction{UserID: 1, OrderID: 1001, Quantity: order.QuantityOf(3), GiveBack: true})
	r.pass(testDelay)
	got = r.admit(several(7, 4), several(8, 20))
	equal(t, []gate.Result{{Outcome: gate.NotEnough, Left: 3}, {Outcome: gate.NotEnough, Left: 3}}, got.Results)
	equal(t, int64(3), got.View.Stock)
	equal(t, []string{"0"}, codes(r.admit(several(7, 3)).Results))
	equal(t, int64(6), r.view().Extra)
}

// testOneUnitEach: the data of orders of one unit has no trace of quantities.
func testOneUnitEach(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.admit(requests(1, 1)...)
	r.admit(requests(2, 1)...)
	equal(t, "", quantitiesOf(requests(1, 2)))
	fields, err := r.commands.HGetAll(r.ctx(), r.keys.sale(r.sale)).Result()
	r.must(err)
	for _, name := range []string{fieldExtra, fieldReservedUnits} {
		if value, has := fields[name]; has {
			t.Errorf("the sale has a field %s: %s", name, value)
		}
	}
	holder, err := r.commands.HGet(r.ctx(), r.keys.buyers(r.sale), "1").Result()
	r.must(err)
	equal(t, "1001", holder)
	entries, err := r.commands.XRange(r.ctx(), r.keys.orders(0), "-", "+").Result()
	r.must(err)
	equal(t, map[string]any{"v": "7", "u": "1", "o": "1001", "e": "1", "s": "1"}, entries[0].Values)
}

func testRepeatedBatch(t *testing.T, r *rig) {
	r.open(1, r.hour(2))
	batch := requests(1, 3)
	first := r.admit(batch...)
	equal(t, []string{"0", "0", "9"}, codes(first.Results))
	second := r.admit(batch...)
	first.View.Now, second.View.Now = time.Time{}, time.Time{}
	equal(t, first, second)
	equal(t, 2, len(r.stream()))
}

func testOneUserTwice(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	batch := []gate.Request{
		{UserID: 1, OrderID: 11}, {UserID: 1, OrderID: 12}, {UserID: 2, OrderID: 13}, {UserID: 1, OrderID: 11},
	}
	for range 2 {
		got := r.admit(batch...)
		equal(t, []string{"0", "1:11", "0", "0"}, codes(got.Results))
		equal(t, int64(3), got.View.Stock)
	}
	equal(t, 2, len(r.stream()))
}

func testLostTail(t *testing.T, r *rig) {
	r.open(3, r.hour(10))
	r.admit(requests(1, 2)...)
	ask := func(known order.Mark) []string {
		return codes(r.admitBatch(
			gate.Batch{Known: known, Requests: append(requests(1, 1), requests(50, 1)...)}).Results)
	}
	// The known mark may be older or equal.
	equal(t, []string{"0", "0"}, ask(order.Mark{Epoch: 2, Sequence: 99}))
	equal(t, []string{"0", "0"}, ask(order.Mark{Epoch: 3, Sequence: 3}))
	for _, known := range []order.Mark{{Epoch: 3, Sequence: 4}, {Epoch: 4}} {
		r.set(fieldMode, modeOpen)
		equal(t, []string{"3", "3"}, ask(known))
		equal(t, modeRebuild, r.field(fieldMode))
		// From now on no request is accepted, whatever mark its caller knows.
		equal(t, []string{"0", "4"}, codes(r.admit(append(requests(1, 1), requests(60, 1)...)...).Results))
	}
	equal(t, 3, len(r.stream()))
}

func testBacklog(t *testing.T, r *rig) {
	r.open(1, r.hour(10))
	got := r.admitBatch(gate.Batch{Requests: requests(1, 4), MaxBacklog: 3})
	equal(t, []string{"0", "0", "0", "10"}, codes(got.Results))
	got = r.admitBatch(gate.Batch{Requests: requests(1, 5), MaxBacklog: 3})
	equal(t, []string{"0", "0", "0", "10", "10"}, codes(got.Results))
	equal(t, int64(7), got.View.Stock)
}

func testFullBatch(t *testing.T, r *rig) {
	r.open(1, r.hour(200))
	batch := requests(1, gate.MaxBatch)
	got := r.admit(batch...)
	for i, o := range got.Results {
		want := gate.Accepted
		if i >= 200 {
			want = gate.SoldOut
		}
		if o.Outcome != want {
			t.Fatalf("request %d: %v", i, o)
		}
	}
	equal(t, int64(0), got.View.Stock)
	equal(t, int64(200), got.View.Buyers)
	claims := r.stream()
	equal(t, 200, len(claims))
	for i, c := range claims {
		equal(t, order.Claim{
			OrderID: batch[i].OrderID, UserID: batch[i].UserID, VoucherID: 7, Epoch: 1, Sequence: int64(i + 1),
		}, c)
	}
}

func testLargeIDs(t *testing.T, r *rig) {
	r.sale.VoucherID = math.MaxInt64 - 2
	r.open(1, r.hour(1))
	a := gate.Request{UserID: math.MaxInt64 - 1, OrderID: math.MaxInt64}
	equal(t, []string{"0"}, codes(r.admit(a).Results))
	a.OrderID = 5
	equal(t, []string{"1:9223372036854775807"}, codes(r.admit(a).Results))
	equal(t, []order.Claim{
		{OrderID: math.MaxInt64, UserID: math.MaxInt64 - 1, VoucherID: math.MaxInt64 - 2, Epoch: 1, Sequence: 1},
	}, r.stream())
	// The script treats marks and stock as numbers, exact up to 2^53.
	r.set(fieldSequence, int64(1)<<53-10, fieldStock, int64(1)<<53-10)
	got := r.admit(gate.Request{UserID: 2, OrderID: 6})
	equal(t, order.Mark{Epoch: 1, Sequence: 1<<53 - 9}, got.View.Mark)
	equal(t, int64(1)<<53-11, got.View.Stock)
	equal(t, "9007199254740983", r.field(fieldSequence))
}

func testUnreadableSale(t *testing.T, r *rig) {
	for name, fields := range map[string][]any{
		"no mode":      {fieldMode, ""},
		"unknown mode": {fieldMode, "selling"},
		"stock":        {fieldStock, "many"},
		"epoch":        {fieldEpoch, ""},
		"end":          {fieldEnd, "tomorrow"},
	} {
		r.open(r.view().Mark.Epoch+1, r.hour(5))
		r.set(fields...)
		got := r.admit(requests(1, 1)...)
		if diff := cmp.Diff([]string{"2"}, codes(got.Results)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		equal(t, order.SaleMissing, r.view().Mode)
		r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale)).Err())
	}
	equal(t, 0, len(r.stream()))
}

// testUnreadableHolder: only that user gets no answer; the others of the batch do.
func testUnreadableHolder(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	unreadable := []any{"2", "mine", "4", "0", "5", "-1", "6", "", "8", "99999999999999999999"}
	r.must(r.commands.HSet(r.ctx(), r.keys.buyers(r.sale), unreadable...).Err())
	for range 2 {
		got := r.admit(requests(1, 9)...)
		equal(t, []string{"0", "-1", "0", "-1", "-1", "-1", "0", "-1", "0"}, codes(got.Results))
		equal(t, int64(1), got.View.Stock)
	}
	equal(t, 4, len(r.stream()))
}

func testBadArguments(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	for name, batch := range map[string][]gate.Request{"nobody": nil, "too many": requests(1, gate.MaxBatch+1)} {
		if _, err := r.Admit(r.ctx(), gate.Batch{Sale: r.sale, Requests: batch, MaxBacklog: 10}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	keys := []string{r.keys.sale(r.sale), r.keys.buyers(r.sale), r.keys.orders(0)}
	for name, args := range map[string][]any{
		"nobody":      {7, 0, 0, 10},
		"half a pair": {7, 0, 0, 10, 1, 2, 3},
		"no units":    {7, 0, 0, 10, 1, 2, "units 0"},
		"many units":  {7, 0, 0, 10, 1, 2, "units 21"},
		"text":        {7, 0, 0, 10, 1, 2, "units two"},
		"too few":     {7, 0, 0, 10, 1, 2, 3, 4, "units 2"},
		"epoch":       {7, "x", 0, 10, 1, 2},
		"too many":    append([]any{7, 0, 0, 10}, make([]any, 2*gate.MaxBatch+2)...),
	} {
		for i, a := range args {
			if a == nil {
				args[i] = 1
			}
		}
		if _, err := r.scripts.seckill.Run(r.ctx(), r.commands, keys, args...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	equal(t, 0, len(r.stream()))
}

func testScriptsFlushed(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	for i := range 3 {
		equal(t, []string{"0"}, codes(r.admit(requests(int64(i+1), 1)...).Results))
		r.must(r.commands.ScriptFlush(r.ctx()).Err())
	}
	equal(t, 3, len(r.stream()))
}

// equal compares two values, want first.
func equal[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
