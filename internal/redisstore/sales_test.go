package redisstore

import (
	"errors"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/voucher"
)

// salesTests test how sales are read.
var salesTests = behaviour{
	"views":          testViews,
	"live":           testLive,
	"spoilt sales":   testSpoiltSales,
	"lists":          testLists,
	"missing sales":  testMissing,
	"waiting":        testWaiting,
	"holders":        testHolders,
	"broken holders": testBrokenHolders,
}

func testViews(t *testing.T, r *rig) {
	var sales []order.SaleRef
	for id := int64(1); id <= 600; id++ { // more than one call reads
		sales = append(sales, order.SaleRef{VoucherID: id})
	}
	r.sale = sales[599]
	o := r.hour(5)
	r.open(3, o)
	r.admit(requests(1, 1)...)
	r.sale = sales[0]
	r.must(r.Begin(r.ctx(), r.sale, 2))
	// A holder of a sale that is missing still counts.
	r.must(r.commands.HSet(r.ctx(), r.keys.buyers(sales[1]), "1", "2").Err())

	views, err := r.Views(r.ctx(), sales)
	r.must(err)
	for i := range views {
		if skew := r.now().Sub(views[i].Now); skew < -time.Millisecond || skew > time.Minute {
			t.Fatalf("view %d: the clock is off by %v", i, skew)
		}
		views[i].Now = time.Time{}
	}
	equal(t, order.SaleView{
		Mode: order.SaleRebuilding, Building: 2, Begin: time.UnixMilli(0).UTC(), End: time.UnixMilli(0).UTC(),
	}, views[0])
	equal(t, order.SaleView{Mode: order.SaleMissing, Buyers: 1}, views[1])
	equal(t, order.SaleView{Mode: order.SaleMissing}, views[2])
	equal(t, order.SaleView{
		Mode: order.SaleOpen, Mark: order.Mark{Epoch: 3, Sequence: 1}, Stock: 4, Buyers: 1,
		Begin: o.Begin.Truncate(time.Millisecond).UTC(), End: o.End.Truncate(time.Millisecond).UTC(),
	}, views[599])

	views, err = r.Views(r.ctx(), nil)
	r.must(err)
	equal(t, 0, len(views))
}

// A key of the wrong type spoils its own sale's view only.
func testSpoiltSales(t *testing.T, r *rig) {
	r.open(1, r.hour(2))
	spoilt, noHolders := order.SaleRef{VoucherID: 8}, order.SaleRef{VoucherID: 9}
	r.must(r.commands.Set(r.ctx(), r.keys.sale(spoilt), "x", 0).Err())
	good := r.sale
	r.sale = noHolders
	r.open(1, r.hour(2))
	r.sale = good
	r.must(r.commands.Set(r.ctx(), r.keys.buyers(noHolders), "x", 0).Err())
	live, _, err := r.Live(r.ctx(), []voucher.Voucher{
		{ID: 8, Status: voucher.OnShelf, Sale: &voucher.Sale{}},
		{ID: 7, Status: voucher.OnShelf, Sale: &voucher.Sale{}},
		{ID: 9, Status: voucher.OnShelf, Sale: &voucher.Sale{}},
	})
	r.must(err)
	equal(t, []voucher.Live{
		{State: voucher.StatePreparing, Missing: true},
		{State: voucher.StateOnSale, Stock: 2},
		{State: voucher.StatePreparing, Missing: true},
	}, live)
}

func testLists(t *testing.T, r *rig) {
	r.open(1, r.hour(2))
	now := r.now()
	at := func(id int64, end time.Time) voucher.Voucher {
		return voucher.Voucher{ID: id, Status: voucher.OnShelf, Sale: &voucher.Sale{Stock: 9, End: end}}
	}
	vs := []voucher.Voucher{at(8, now.Add(time.Hour)), at(7, now.Add(time.Hour)), at(9, now.Add(-time.Hour))}
	for id := int64(100); id < 400; id++ { // more than one call reads
		vs = append(vs, at(id, now.Add(time.Hour)))
	}
	got, err := r.ListState(r.ctx(), vs, []int64{1, 2})
	r.must(err)
	equal(t, []voucher.Live{
		{State: voucher.StatePreparing, Missing: true},
		{State: voucher.StateOnSale, Stock: 2},
		{State: voucher.StateEnded, Stock: 9, Missing: true},
	}, got.Live[:3])
	equal(t, 303, len(got.Live))
	equal(t, []string{"", ""}, got.Versions)
	if skew := r.now().Sub(got.Now); skew < -time.Millisecond || skew > time.Minute {
		t.Errorf("the clock is off by %v", skew)
	}
	seen := map[string]bool{"": true}
	for range 3 {
		r.must(r.ReplaceListVersion(r.ctx(), 2))
		got, err = r.ListState(r.ctx(), nil, []int64{1, 2})
		r.must(err)
		if got.Versions[0] != "" || seen[got.Versions[1]] {
			t.Errorf("versions %q after %v", got.Versions, seen)
		}
		seen[got.Versions[1]] = true
	}
	kept, err := r.commands.PTTL(r.ctx(), r.keys.list(2)).Result()
	r.must(err)
	if kept < listVersionTTL-time.Minute || kept > listVersionTTL {
		t.Errorf("the version is kept for %v", kept)
	}
	// A key of another type is no version, and the next replacement repairs it.
	r.must(r.commands.Del(r.ctx(), r.keys.list(1)).Err())
	r.must(r.commands.HSet(r.ctx(), r.keys.list(1), "a", "b").Err())
	got, err = r.ListState(r.ctx(), vs[:2], []int64{1})
	r.must(err)
	equal(t, []string{""}, got.Versions)
	r.must(r.ReplaceListVersion(r.ctx(), 1))
	if _, err := r.ListState(r.ctx(), []voucher.Voucher{{ID: 9}}, nil); !errors.Is(err, voucher.ErrNotSeckill) {
		t.Errorf("a voucher without a sale: %v", err)
	}
}

func testLive(t *testing.T, r *rig) {
	r.open(1, r.hour(2))
	open := voucher.Voucher{ID: 7, Status: voucher.OnShelf, Sale: &voucher.Sale{}}
	off := open
	off.Status = voucher.OffShelf
	missing := voucher.Voucher{ID: 8, Status: voucher.OnShelf, Sale: &voucher.Sale{}}
	live, now, err := r.Live(r.ctx(), []voucher.Voucher{missing, open, off})
	r.must(err)
	equal(t, []voucher.Live{
		{State: voucher.StatePreparing, Missing: true},
		{State: voucher.StateOnSale, Stock: 2},
		{State: voucher.StateOffShelf, Stock: 2},
	}, live)
	if skew := r.now().Sub(now); skew < -time.Millisecond || skew > time.Minute {
		t.Errorf("the clock is off by %v", skew)
	}
	if _, _, err := r.Live(r.ctx(), []voucher.Voucher{{ID: 9}}); !errors.Is(err, voucher.ErrNotSeckill) {
		t.Errorf("a voucher without a sale: %v", err)
	}
}

// testMissing: a sale of which Redis lost something says so, although it is shown as ended, with the ledger's stock.
func testMissing(t *testing.T, r *rig) {
	v := voucher.Voucher{
		ID: 7, Status: voucher.OnShelf, Sale: &voucher.Sale{Stock: 2, End: r.now().Add(-time.Hour)},
	}
	for name, write := range map[string]func(){
		"as it was opened":           func() {},
		"being rebuilt":              func() { r.must(r.Begin(r.ctx(), r.sale, 2)) },
		"text":                       func() { r.replaceByText(r.keys.sale(r.sale)) },
		"buyers that are text":       func() { r.replaceByText(r.keys.buyers(r.sale)) },
		"deleted":                    func() { r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale)).Err()) },
		"an epoch that is no number": func() { r.set(fieldEpoch, "nan") },
		"of a later version":         func() { r.set(fieldMode, "another") },
	} {
		r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale), r.keys.buyers(r.sale)).Err())
		r.open(1, r.hour(2))
		write()
		live, _, err := r.Live(r.ctx(), []voucher.Voucher{v})
		r.must(err)
		if want := name != "as it was opened"; live[0].Missing != want || live[0].Stock != 2 {
			t.Errorf("%s: %+v, missing should be %v", name, live[0], want)
		}
	}
}

func TestStateOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 20, 0, 0, 0, time.UTC)
	open := order.SaleView{
		Mode: order.SaleOpen, Mark: order.Mark{Epoch: 1}, Stock: 1, Begin: now.Add(-time.Hour),
		End: now.Add(time.Hour), Now: now,
	}
	for _, c := range []struct {
		name   string
		change func(*order.SaleView)
		shelf  voucher.Status
		want   voucher.SaleState
	}{
		{"open", func(*order.SaleView) {}, voucher.OnShelf, voucher.StateOnSale},
		{"first instant", func(v *order.SaleView) { v.Begin = now }, voucher.OnShelf, voucher.StateOnSale},
		{"sold out", func(v *order.SaleView) { v.Stock = 0 }, voucher.OnShelf, voucher.StateSoldOut},
		{"ended, sold out", func(v *order.SaleView) { v.Stock, v.End = 0, now }, voucher.OnShelf, voucher.StateEnded},
		{
			"not started, sold out", func(v *order.SaleView) { v.Stock, v.Begin = 0, now.Add(1) }, voucher.OnShelf,
			voucher.StateNotStarted,
		},
		{
			"paused, ended", func(v *order.SaleView) { v.Mode, v.End = order.SalePaused, now },
			voucher.OnShelf, voucher.StatePaused,
		},
		{"rebuilding", func(v *order.SaleView) { v.Mode = order.SaleRebuilding }, voucher.OnShelf, voucher.StatePaused},
		{
			"off, ended", func(v *order.SaleView) { v.Mode, v.End = order.SaleOffShelf, now },
			voucher.OnShelf, voucher.StateOffShelf,
		},
		{
			"called off, off the shelf", func(v *order.SaleView) { v.Mode = order.SaleCalledOff }, voucher.OffShelf,
			voucher.StateCalledOff,
		},
		{
			"off the shelf in the ledger", func(v *order.SaleView) { v.Mode = order.SalePaused },
			voucher.OffShelf, voucher.StateOffShelf,
		},
		{
			"first build", func(v *order.SaleView) { v.Mode, v.Mark = order.SaleRebuilding, order.Mark{} },
			voucher.OffShelf, voucher.StatePreparing,
		},
		{"missing", func(v *order.SaleView) { v.Mode = order.SaleMissing }, voucher.OffShelf, voucher.StatePreparing},
	} {
		view := open
		c.change(&view)
		if got := stateOf(view, c.shelf); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// testWaiting: Waiting reads several pages, with delivered entries, and without other sales' entries and broken ones.
func testWaiting(t *testing.T, r *rig) {
	r.open(1, r.hour(10_000))
	other := *r
	other.sale.VoucherID = 8
	other.open(1, r.hour(10_000))
	for from := int64(1); from <= 600; from += 200 {
		r.admit(requests(from, 200)...)
		other.admit(requests(from, 200)...)
	}
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "v", "7")).Err())
	r.admit(requests(601, 1)...)
	_, err := r.Consumer(0, "a").Next(r.ctx(), 300, 0)
	r.must(err)
	user := int64(0)
	for c, err := range r.Waiting(r.ctx(), r.sale) {
		r.must(err)
		user++
		equal(t, order.Claim{OrderID: user + 1000, UserID: user, VoucherID: 7, Epoch: 1, Sequence: user}, c)
	}
	equal(t, int64(601), user)
	for range r.Waiting(r.ctx(), r.sale) {
		break // stopping early must not panic
	}
	other.sale.VoucherID = 9
	for c, err := range other.Waiting(r.ctx(), other.sale) {
		t.Errorf("a sale without orders has %v, %v", c, err)
	}
}

func testHolders(t *testing.T, r *rig) {
	r.open(1, r.hour(10_000))
	for from := int64(1); from <= 3000; from += 250 {
		r.admit(requests(from, 250)...)
	}
	holders := r.holders()
	equal(t, 3000, len(holders))
	for user, id := range holders {
		if id != user+1000 {
			t.Fatalf("user %d holds %d", user, id)
		}
	}
	for range r.Holders(r.ctx(), r.sale) {
		break
	}
}

// testBrokenHolders: a holder that was spoilt by hand must not keep the sale from being rebuilt.
func testBrokenHolders(t *testing.T, r *rig) {
	r.must(r.commands.HSet(r.ctx(), r.keys.buyers(r.sale), "1", "1001", "x", "1002", "3", "").Err())
	read := map[int64]int64{}
	for claim, err := range r.Holders(r.ctx(), r.sale) {
		if _, unreadable := errors.AsType[*order.UnreadableHolderError](err); !unreadable {
			r.must(err)
			read[claim.UserID] = claim.OrderID
		}
	}
	equal(t, map[int64]int64{1: 1001}, read)
}

var inventoryTests = behaviour{
	"holdings of a sale":            testInventory,
	"holdings of no sale":           testInventoryMissing,
	"holdings during a rebuild":     testInventoryRebuild,
	"holdings beside others":        testInventoryOthers,
	"holdings behind a long stream": testInventoryLong,
}

func (r *rig) holdings() audit.Inventory {
	r.t.Helper()
	h, err := r.Inventory(r.ctx(), r.sale)
	r.must(err)
	return h
}

// testInventory: returned and reserved units count, and so do dead letters and delivered entries.
func testInventory(t *testing.T, r *rig) {
	r.open(3, r.hour(10))
	r.admit(requests(1, 4)...)
	r.next(r.Consumer(0, "a"), 2)
	r.set(fieldReturned, 2, fieldReserved, 12, fieldOperation, 12)
	r.deadLetter("x", "y")
	want := audit.Inventory{
		Mode: order.SaleOpen, Mark: order.Mark{Epoch: 3, Sequence: 4}, Applied: 12, Stock: 6 + 2 + 1, Holders: 4,
		Waiting: 4, DeadLetters: 1,
	}
	equal(t, want, r.holdings())
}

func testInventoryMissing(t *testing.T, r *rig) {
	equal(t, audit.Inventory{Waiting: audit.NotCounted}, r.holdings())
	r.open(1, r.hour(1))
	r.set(fieldStock, "many")
	equal(t, audit.Inventory{Waiting: audit.NotCounted}, r.holdings())
}

func testInventoryRebuild(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	equal(t, order.SaleRebuilding, r.holdings().Mode)
	r.set(fieldMode, modeOpen) // only its epoch shows that it is being rebuilt
	equal(t, order.SaleRebuilding, r.holdings().Mode)
	r.must(r.Publish(r.ctx(), r.sale, 2, r.hour(5)))
	equal(t, order.SaleOpen, r.holdings().Mode)
}

// testInventoryOthers: other sales' entries do not count; those that do not name their sale do.
func testInventoryOthers(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.admit(requests(1, 2)...)
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "v", 70, "u", 1, "o", 1)).Err())
	equal(t, int64(2), r.holdings().Waiting)
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "u", 1, "o", 1)).Err())
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "v", "seven", "u", 1, "o", 1)).Err())
	equal(t, int64(4), r.holdings().Waiting)
}

func testInventoryLong(t *testing.T, r *rig) {
	r.queued(longestScan)
	equal(t, int64(longestScan), r.holdings().Waiting)
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "v", 70)).Err())
	equal(t, audit.NotCounted, r.holdings().Waiting)
}
