package redisstore

import (
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/gate"
)

// rebuildTests test the steps of a rebuild, and retiring.
var rebuildTests = behaviour{
	"from nothing":             testBuildFromNothing,
	"over a sale":              testRebuildOverSale,
	"many holders":             testManyHolders,
	"superseded":               testSuperseded,
	"redis emptied meanwhile":  testEmptiedMeanwhile,
	"what cannot be published": testUnpublishable,
	"sells at once":            testSellsAtOnce,
	"held back":                testHeldBack,
	"held back once more":      testHeldBackLonger,
	"drop":                     testDrop,
	"drop what still waits":    testDropWaiting,
	"drop what has moved":      testDropMoved,
}

func testBuildFromNothing(t *testing.T, r *rig) {
	if err := r.Begin(r.ctx(), r.sale, 0); !errors.Is(err, order.ErrSuperseded) || r.view().Mode != order.SaleMissing {
		t.Errorf("Begin at epoch 0: %v, want ErrSuperseded; the sale is %v", err, r.view().Mode)
	}
	for range 2 { // once more, as after a lost answer
		r.must(r.Begin(r.ctx(), r.sale, 1))
	}
	equal(t, order.SaleRebuilding, r.view().Mode)
	equal(t, "1", r.field(fieldBuilding))
	o := r.hour(5)
	o.Operation = 3
	r.must(r.Publish(r.ctx(), r.sale, 1, o))
	equal(t, order.Mark{Epoch: 1}, r.view().Mark)
	equal(t, []string{"3", "0", "5"}, []string{r.field(fieldOperation), r.field(fieldBuilding), r.field(fieldStock)})
}

func testRebuildOverSale(t *testing.T, r *rig) {
	r.open(1, r.hour(2))
	r.admit(requests(1, 2)...)
	r.correct(order.Correction{UserID: 2, OrderID: 1002, GiveBack: true}) // a unit that may not be sold yet
	r.must(r.Begin(r.ctx(), r.sale, 2))
	equal(t, []string{"0", "4"}, codes(r.admit(append(requests(1, 1), requests(9, 1)...)...).Results))
	equal(t, int64(1), r.view().Mark.Epoch)
	r.must(r.SetHolders(r.ctx(), r.sale, 2, []order.Claim{{UserID: 5, OrderID: math.MaxInt64}}, []string{"1"}))
	r.must(r.Requeue(r.ctx(), r.sale, 2,
		[]order.Claim{{UserID: 5, OrderID: math.MaxInt64, VoucherID: 7, Epoch: 1, Sequence: 0}}))
	o := r.hour(3)
	o.Mode = order.SalePaused
	r.must(r.Publish(r.ctx(), r.sale, 2, o))
	equal(t, map[int64]int64{5: math.MaxInt64}, r.holders())
	equal(t, order.Claim{UserID: 5, OrderID: math.MaxInt64, VoucherID: 7, Epoch: 1}, r.stream()[2])
	v := r.view()
	equal(t, order.SalePaused, v.Mode)
	equal(t, order.Mark{Epoch: 2}, v.Mark)
	equal(t, int64(3), v.Stock)
}

// rebuilt rebuilds the sale with units in stock, and returns the outcome of the next request.
func (r *rig) rebuilt(epoch int64) string {
	r.t.Helper()
	r.must(r.Begin(r.ctx(), r.sale, epoch))
	r.must(r.Publish(r.ctx(), r.sale, epoch, r.hour(3)))
	return codes(r.admit(requests(100*epoch, 1)...).Results)[0]
}

// testSellsAtOnce: no instance can have a new sale cached as sold out.
func testSellsAtOnce(t *testing.T, r *rig) {
	equal(t, "0", r.rebuilt(1))
	r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale)).Err())
	r.options.Alone = true // alone, so that instances that could remember it have ended
	equal(t, "0", r.rebuilt(5))
}

// testHeldBack: a sale that instances may remember as sold out does not sell the units that its rebuild has found, and
// answers that it is paused, until they have forgotten it (rule 11). This also holds for one that was selling: it may
// have sold out in the tail that it lost.
func testHeldBack(t *testing.T, r *rig) {
	r.returnDelay = longDelay
	soldOut := func() { r.set(fieldStock, 0) }
	for why, before := range map[string]func(){
		"on sale":  func() {},
		"sold out": soldOut,
		"sold out, a unit waits": func() {
			soldOut()
			r.apply(stock(1, 1))
		},
		"gone":       func() { r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale)).Err()) },
		"lost tail":  func() { r.admitBatch(gate.Batch{Known: order.Mark{Epoch: 99}, Requests: requests(1, 1)}) },
		"unreadable": func() { r.set(fieldStock, "?") },
	} {
		r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale), r.keys.buyers(r.sale)).Err())
		r.open(3, r.hour(5))
		before()
		from := r.now().Add(longDelay).UnixMilli()
		r.must(r.Begin(r.ctx(), r.sale, 4)) // this rebuild died
		if got := r.rebuilt(5); got != "6" {
			t.Errorf("%s: outcome %s, want 6", why, got)
		}
		until := r.now().Add(longDelay).UnixMilli()
		if resumes, err := strconv.ParseInt(r.field(fieldResumes), 10, 64); err != nil ||
			resumes < from || resumes > until {
			t.Errorf("%s: resumes at %d, want %d to %d, %v", why, resumes, from, until, err)
		}
		equal(t, order.SaleOpen, r.view().Mode)
		r.set(fieldResumes, r.now().UnixMilli()) // the sale may sell now
		equal(t, []string{"0", "0", "0", "9"}, codes(r.admit(requests(9000, 4)...).Results))
	}
}

// testHeldBackLonger: another rebuild does not release the units earlier, and a revival makes no holder earlier.
func testHeldBackLonger(t *testing.T, r *rig) {
	r.returnDelay = longDelay
	r.open(1, r.hour(0))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	r.must(r.Publish(r.ctx(), r.sale, 2, r.hour(3)))
	equal(t, "6", r.rebuilt(3))
	r.set(fieldResumes, r.now().Add(59*time.Second).UnixMilli())
	_, wait := r.once(r.ctx(), revival(1, 5))
	if wait <= 0 {
		t.Errorf("a revival waits for %v", wait)
	}
	equal(t, []string{"2", "0", "1"}, r.units())
	r.set(fieldResumes, r.now().Add(time.Hour).UnixMilli()) // as after a clock was set back
	equal(t, []string{"0"}, codes(r.admit(requests(1, 1)...).Results))
}

func testManyHolders(t *testing.T, r *rig) {
	r.must(r.Begin(r.ctx(), r.sale, 1))
	var claims []order.Claim
	var vacate []string
	for user := int64(1); user <= 2500; user++ {
		claims = append(claims, order.Claim{UserID: user, OrderID: user + 1000, VoucherID: 7, Epoch: 1})
		if user%2 == 0 {
			vacate = append(vacate, strconv.FormatInt(user, 10))
		}
	}
	r.must(r.SetHolders(r.ctx(), r.sale, 1, claims, nil))
	r.must(r.SetHolders(r.ctx(), r.sale, 1, claims[:5], vacate))
	r.must(r.SetHolders(r.ctx(), r.sale, 1, nil, nil))
	r.must(r.Requeue(r.ctx(), r.sale, 1, claims))
	equal(t, 1250, len(r.holders()))
	equal(t, claims, r.stream())
}

// testSuperseded: no step of an older rebuild writes anything once a newer one has begun or the sale is open.
func testSuperseded(t *testing.T, r *rig) {
	steps := func(epoch int64) map[string]error {
		claims := []order.Claim{{UserID: 66, OrderID: 1066}}
		return map[string]error{
			"begin":   r.Begin(r.ctx(), r.sale, epoch),
			"holders": r.SetHolders(r.ctx(), r.sale, epoch, claims, []string{"1"}),
			"requeue": r.Requeue(r.ctx(), r.sale, epoch, claims),
			"publish": r.Publish(r.ctx(), r.sale, epoch, r.hour(9)),
		}
	}
	check := func(name string, epoch int64) {
		t.Helper()
		before, holders, waiting := r.view(), r.holders(), r.stream()
		for step, err := range steps(epoch) {
			if !errors.Is(err, order.ErrSuperseded) {
				t.Errorf("%s: %s: %v", name, step, err)
			}
		}
		after := r.view()
		before.Now, after.Now = time.Time{}, time.Time{}
		equal(t, before, after)
		equal(t, holders, r.holders())
		equal(t, waiting, r.stream())
	}
	r.open(3, r.hour(2))
	r.admit(requests(1, 1)...)
	check("open at a higher epoch", 2)
	check("open at this epoch", 3)
	r.must(r.Begin(r.ctx(), r.sale, 5))
	check("a newer rebuild", 4)
	r.must(r.Publish(r.ctx(), r.sale, 5, r.hour(1)))
	check("published", 5)
}

// testEmptiedMeanwhile: a rebuild must not open a sale in a Redis that has forgotten its earlier steps.
func testEmptiedMeanwhile(t *testing.T, r *rig) {
	r.must(r.Begin(r.ctx(), r.sale, 2))
	r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale)).Err())
	claims := []order.Claim{{UserID: 66, OrderID: 1066}}
	for step, err := range map[string]error{
		"holders": r.SetHolders(r.ctx(), r.sale, 2, claims, nil),
		"requeue": r.Requeue(r.ctx(), r.sale, 2, claims),
		"publish": r.Publish(r.ctx(), r.sale, 2, r.hour(9)),
	} {
		if !errors.Is(err, errRebuildLost) {
			t.Errorf("%s: %v", step, err)
		}
	}
	equal(t, order.SaleMissing, r.view().Mode)
	equal(t, 0, len(r.holders()))
	equal(t, 0, len(r.stream()))
}

func testUnpublishable(t *testing.T, r *rig) {
	r.must(r.Begin(r.ctx(), r.sale, 1))
	for _, mode := range []order.SaleMode{order.SaleMissing, order.SaleRebuilding, 99} {
		o := r.hour(1)
		o.Mode = mode
		if err := r.Publish(r.ctx(), r.sale, 1, o); err == nil {
			t.Errorf("mode %d was published", mode)
		}
	}
}

// over opens a sale that has already ended.
func (r *rig) over() {
	r.t.Helper()
	o := r.hour(5)
	o.End = o.Begin.Add(time.Minute)
	r.open(1, o)
}

func (r *rig) drop() bool {
	r.t.Helper()
	gone, err := r.Drop(r.ctx(), r.sale, r.view())
	r.must(err)
	return gone
}

func testDrop(t *testing.T, r *rig) {
	for name, change := range map[string]func(*order.Opening){
		"on sale":       func(*order.Opening) {},
		"paused":        func(o *order.Opening) { o.Mode = order.SalePaused },
		"sold out":      func(o *order.Opening) { o.Stock = 0 },
		"not begun":     func(o *order.Opening) { o.Begin = o.End.Add(-time.Second) },
		"off the shelf": func(o *order.Opening) { o.Mode = order.SaleOffShelf },
	} {
		o := r.hour(5)
		change(&o)
		r.open(r.view().Mark.Epoch+1, o)
		if r.drop() {
			t.Errorf("%s: dropped before its end", name)
		}
	}
	r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale)).Err())
	r.over()
	r.must(r.commands.HSet(r.ctx(), r.keys.buyers(r.sale), "1", "1001").Err())
	for range 2 { // once more, as after a lost answer
		equal(t, true, r.drop())
		n, err := r.commands.Exists(r.ctx(), r.keys.sale(r.sale), r.keys.buyers(r.sale)).Result()
		r.must(err)
		equal(t, int64(0), n)
	}
}

// testDropWaiting: an order of the sale in the stream keeps the sale, however it got there and however late.
func testDropWaiting(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.admit(requests(1, 1)...)
	r.set(fieldEnd, r.now().Add(-time.Minute).UnixMilli())
	equal(t, false, r.drop())
	c := r.Consumer(0, "a")
	entries, err := c.Next(r.ctx(), 10, 0)
	r.must(err)
	equal(t, false, r.drop()) // delivered, not acknowledged
	_, err = c.Acknowledge(r.ctx(), []string{entries[0].Key})
	r.must(err)

	other := *r
	other.sale.VoucherID = 77 // an id that begins with 7
	other.open(1, r.hour(2000))
	for user := int64(1); user <= longestScan+1; user++ { // one entry per order
		other.admit(requests(user, 1)...)
	}
	equal(t, false, r.drop()) // the stream is too long to search
	first, err := r.commands.XRangeN(r.ctx(), r.keys.orders(0), "-", "+", 1).Result()
	r.must(err)
	r.must(r.commands.XDel(r.ctx(), r.keys.orders(0), first[0].ID).Err())
	equal(t, true, r.drop())
}

func testDropMoved(t *testing.T, r *rig) {
	r.over()
	seen := r.view()
	r.must(r.Begin(r.ctx(), r.sale, 2))
	gone, err := r.Drop(r.ctx(), r.sale, seen)
	r.must(err)
	equal(t, false, gone) // the sale is being rebuilt
	o := r.hour(5)
	o.End = o.Begin.Add(time.Minute)
	r.must(r.Publish(r.ctx(), r.sale, 2, o))
	gone, err = r.Drop(r.ctx(), r.sale, seen)
	r.must(err)
	equal(t, false, gone) // the sale was rebuilt
	equal(t, true, r.drop())
}
