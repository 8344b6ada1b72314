package recovery

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

func TestPlanOfARebuild(t *testing.T) {
	t.Parallel()
	opening := func(stock int64, mode order.SaleMode) order.Opening {
		return order.Opening{Stock: stock, Begin: ordertest.Begin, End: ordertest.End, Mode: mode, Operation: 3}
	}
	holder := func(user, id int64) order.Claim {
		return order.Claim{OrderID: id, UserID: user, VoucherID: ordertest.VoucherA}
	}
	accepted := func(id, user, sequence int64) order.Claim {
		return order.Claim{OrderID: id, UserID: user, VoucherID: ordertest.VoucherA, Epoch: 4, Sequence: sequence}
	}
	several := func(c order.Claim, units int64) order.Claim {
		c.Quantity = order.QuantityOf(units)
		return c
	}
	withExtra := func(o order.Opening, extra int64) order.Opening {
		o.Extra = extra
		return o
	}
	paused := ordertest.SaleVoucher(2)
	paused.Sale.Paused = true
	off := ordertest.SaleVoucher(2)
	off.Status = voucher.OffShelf
	calledOff := ordertest.SaleVoucher(2)
	calledOff.Sale.CalledOff = ordertest.Begin
	for name, tc := range map[string]struct {
		waiting  []order.Claim
		holders  map[int64]order.Held
		held     int64 // the epoch of the sale in Redis
		reported []order.Claim
		broken   []order.UnreadableHolderError
		ledger   order.Snapshot
		want     rebuildPlan
	}{
		"a new sale": {
			ledger: order.Snapshot{Voucher: ordertest.SaleVoucher(5)},
			want:   rebuildPlan{opening: opening(5, order.SaleOpen)},
		},
		"paused by an admin": {
			ledger: order.Snapshot{Voucher: paused}, want: rebuildPlan{opening: opening(2, order.SalePaused)},
		},
		"off the shelf": {
			ledger: order.Snapshot{Voucher: off}, want: rebuildPlan{opening: opening(2, order.SaleOffShelf)},
		},
		"called off: nothing opens it": {
			ledger: order.Snapshot{Voucher: calledOff}, want: rebuildPlan{opening: opening(2, order.SaleCalledOff)},
		},
		"an emptied Redis gets the ledger's buyers": {
			ledger: order.Snapshot{Voucher: ordertest.SaleVoucher(3), Live: one(map[int64]int64{1: 11, 2: 12})},
			want: rebuildPlan{
				setHolders: []order.Claim{holder(1, 11), holder(2, 12)}, opening: opening(3, order.SaleOpen),
			},
		},
		"waiting orders count as sold, recorded ones once": {
			waiting: []order.Claim{
				ordertest.NewClaim(11, 1, ordertest.VoucherA), ordertest.NewClaim(13, 3, ordertest.VoucherA),
			},
			holders: one(map[int64]int64{1: 11, 3: 13}),
			ledger:  order.Snapshot{Voucher: ordertest.SaleVoucher(3), Live: one(map[int64]int64{1: 11})},
			want:    rebuildPlan{opening: opening(2, order.SaleOpen)},
		},
		"an order whose holder alone is left is requeued": {
			holders: one(map[int64]int64{4: 14}),
			ledger:  order.Snapshot{Voucher: ordertest.SaleVoucher(3)},
			want: rebuildPlan{
				requeue: []order.Claim{{OrderID: 14, UserID: 4, VoucherID: ordertest.VoucherA, Epoch: 4}},
				opening: opening(2, order.SaleOpen),
			},
		},
		"a holder by an order that ended is removed": {
			holders: one(map[int64]int64{4: 14}),
			ledger:  order.Snapshot{Voucher: ordertest.SaleVoucher(3), Dead: map[int64]bool{14: true}},
			want:    rebuildPlan{removeHolders: []string{"4"}, opening: opening(3, order.SaleOpen)},
		},
		"an unreadable holder is removed, unless its user becomes a holder again": {
			waiting: []order.Claim{ordertest.NewClaim(11, 1, ordertest.VoucherA)},
			broken: []order.UnreadableHolderError{
				{Field: "1", Value: "xyz"}, {Field: "01", Value: "5"}, {Field: "999999", Value: "xyz"}, {Field: "x"},
			},
			ledger: order.Snapshot{Voucher: ordertest.SaleVoucher(3)},
			want: rebuildPlan{
				setHolders: []order.Claim{holder(1, 11)}, removeHolders: []string{"01", "999999", "x"},
				opening: opening(2, order.SaleOpen),
			},
		},
		"a holder by another order than the ledger's is corrected": {
			holders: one(map[int64]int64{4: 14}),
			ledger:  order.Snapshot{Voucher: ordertest.SaleVoucher(3), Live: one(map[int64]int64{4: 99})},
			want: rebuildPlan{
				setHolders: []order.Claim{holder(4, 99)}, opening: opening(3, order.SaleOpen),
				// The recorder will fail it, with a reason.
				requeue: []order.Claim{{OrderID: 14, UserID: 4, VoucherID: ordertest.VoucherA, Epoch: 4}},
			},
		},
		"orders that only reports know make holders and are requeued, once, in order": {
			reported: []order.Claim{accepted(16, 6, 9), accepted(15, 5, 8), accepted(16, 6, 9)},
			ledger:   order.Snapshot{Voucher: ordertest.SaleVoucher(3)},
			want: rebuildPlan{
				setHolders: []order.Claim{holder(5, 15), holder(6, 16)}, opening: opening(1, order.SaleOpen),
				requeue: []order.Claim{accepted(15, 5, 8), accepted(16, 6, 9)},
				lost:    []order.Claim{accepted(15, 5, 8), accepted(16, 6, 9)},
			},
		},
		"orders that are known elsewhere too change nothing": {
			waiting:  []order.Claim{ordertest.NewClaim(11, 1, ordertest.VoucherA)},
			holders:  one(map[int64]int64{1: 11, 4: 14}),
			reported: []order.Claim{accepted(11, 1, 1), accepted(12, 2, 2), accepted(13, 3, 3), accepted(14, 4, 4)},
			ledger: order.Snapshot{
				Voucher: ordertest.SaleVoucher(3), Live: one(map[int64]int64{2: 12}), Dead: map[int64]bool{13: true},
			},
			want: rebuildPlan{
				setHolders: []order.Claim{holder(2, 12)},
				requeue:    []order.Claim{{OrderID: 14, UserID: 4, VoucherID: ordertest.VoucherA, Epoch: 4}},
				opening:    opening(1, order.SaleOpen),
			},
		},
		"an order whose user has bought again gets its row, and makes no holder": {
			waiting:  []order.Claim{ordertest.NewClaim(11, 1, ordertest.VoucherA)},
			holders:  one(map[int64]int64{1: 11}),
			reported: []order.Claim{accepted(21, 1, 1), accepted(22, 2, 2)},
			ledger:   order.Snapshot{Voucher: ordertest.SaleVoucher(3), Live: one(map[int64]int64{2: 12})},
			want: rebuildPlan{
				setHolders: []order.Claim{holder(2, 12)},
				requeue:    []order.Claim{accepted(21, 1, 1), accepted(22, 2, 2)},
				lost:       []order.Claim{accepted(21, 1, 1), accepted(22, 2, 2)}, opening: opening(2, order.SaleOpen),
			},
		},
		"orders of several units come back whole from the ledger, the stream, holders and reports": {
			waiting:  []order.Claim{several(accepted(11, 1, 1), 2)},
			holders:  map[int64]order.Held{4: {OrderID: 14, Quantity: order.QuantityOf(3)}},
			reported: []order.Claim{several(accepted(15, 5, 2), 4)},
			ledger: order.Snapshot{Voucher: ordertest.SaleVoucher(20), Live: map[int64]order.Held{
				6: {OrderID: 16, Quantity: order.QuantityOf(5)},
			}},
			want: rebuildPlan{
				setHolders: []order.Claim{
					several(holder(1, 11), 2), several(holder(5, 15), 4), several(holder(6, 16), 5),
				},
				requeue: []order.Claim{
					several(order.Claim{OrderID: 14, UserID: 4, VoucherID: ordertest.VoucherA, Epoch: 4}, 3),
					several(accepted(15, 5, 2), 4),
				},
				lost:    []order.Claim{several(accepted(15, 5, 2), 4)},
				opening: withExtra(opening(20-2-3-4, order.SaleOpen), 1+2+3+4),
			},
		},
		"kept units are not on sale, and who has accepted one is no holder before it is decided": {
			holders: map[int64]order.Held{4: {OrderID: 14}},
			ledger:  order.Snapshot{Voucher: withKept(ordertest.SaleVoucher(3), 2), Dead: map[int64]bool{14: true}},
			want:    rebuildPlan{removeHolders: []string{"4"}, opening: opening(3, order.SaleOpen)},
		},
		"a holder with other units than the ledger's order is corrected": {
			holders: map[int64]order.Held{4: {OrderID: 14, Quantity: order.QuantityOf(3)}},
			ledger: order.Snapshot{Voucher: ordertest.SaleVoucher(3), Live: map[int64]order.Held{
				4: {OrderID: 14, Quantity: order.QuantityOf(2)},
			}},
			want: rebuildPlan{
				setHolders: []order.Claim{several(holder(4, 14), 2)}, opening: withExtra(opening(3, order.SaleOpen), 1),
			},
		},
		"what is of another voucher that had the id is dropped, what is of this sale is not": {
			waiting: []order.Claim{accepted(11, 1, 1), {
				OrderID: 12, UserID: 2, VoucherID: ordertest.VoucherA, Epoch: 3, Sequence: 8,
			}},
			holders:  one(map[int64]int64{1: 11, 2: 12, 3: 13}),
			held:     4,
			reported: []order.Claim{{OrderID: 14, UserID: 4, VoucherID: ordertest.VoucherA, Epoch: 3, Sequence: 9}},
			ledger:   order.Snapshot{Voucher: firstAt(ordertest.SaleVoucher(5), 4)},
			want: rebuildPlan{
				removeHolders: []string{"2"},
				requeue:       []order.Claim{{OrderID: 13, UserID: 3, VoucherID: ordertest.VoucherA, Epoch: 4}},
				opening:       opening(3, order.SaleOpen),
				foreign: []order.Claim{
					{OrderID: 12, UserID: 2, VoucherID: ordertest.VoucherA, Epoch: 3, Sequence: 8},
					{OrderID: 14, UserID: 4, VoucherID: ordertest.VoucherA, Epoch: 3, Sequence: 9},
				},
			},
		},
		"a first rebuild finds another voucher's holders": {
			holders: one(map[int64]int64{1: 11}), held: 4,
			ledger: order.Snapshot{Voucher: firstAt(ordertest.SaleVoucher(5), 5)},
			want: rebuildPlan{
				removeHolders: []string{"1"}, opening: opening(5, order.SaleOpen),
				foreign: []order.Claim{holder(1, 11)},
			},
		},
		"so does the next one if that died": {
			holders: one(map[int64]int64{1: 11}), held: 3,
			ledger: order.Snapshot{Voucher: firstAt(ordertest.SaleVoucher(5), 4)},
			want: rebuildPlan{
				removeHolders: []string{"1"}, opening: opening(5, order.SaleOpen),
				foreign: []order.Claim{holder(1, 11)},
			},
		},
		"more accepted than there is: the stock is 0, never negative": {
			waiting: []order.Claim{
				ordertest.NewClaim(11, 1, ordertest.VoucherA), ordertest.NewClaim(12, 2, ordertest.VoucherA),
			},
			holders: one(map[int64]int64{1: 11, 2: 12}),
			ledger:  order.Snapshot{Voucher: ordertest.SaleVoucher(1)},
			want:    rebuildPlan{opening: opening(0, order.SaleOpen)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.ledger.Operation = 3
			in := rebuildInput{
				waiting: tc.waiting, holders: tc.holders, held: tc.held, reported: tc.reported,
				unreadable: tc.broken, ledger: tc.ledger,
			}
			got := in.makePlan(5)
			slices.SortFunc(got.setHolders,
				func(a, plan order.Claim) int { return cmp.Compare(a.OrderID, plan.OrderID) })
			if diff := gocmp.Diff(tc.want, got, gocmp.AllowUnexported(rebuildPlan{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// one returns the holders of the orders with one unit each.
func one(orders map[int64]int64) map[int64]order.Held {
	held := make(map[int64]order.Held, len(orders))
	for user, id := range orders {
		held[user] = order.Held{OrderID: id}
	}
	return held
}

// unitsOf returns the quantity of the order with the id, the same in every source.
func unitsOf(id int64) order.Quantity { return order.QuantityOf(1 + id%4) }

func withUnits(orders map[int64]int64) map[int64]order.Held {
	held := one(orders)
	for user, h := range held {
		held[user] = order.Held{OrderID: h.OrderID, Quantity: unitsOf(h.OrderID)}
	}
	return held
}

// units returns the orders' units, and how many of them are beyond one per order.
func units(orders map[int64]order.Held) (all, extra int64) {
	for _, h := range orders {
		all, extra = all+h.Quantity.Units(), extra+h.Quantity.Extra()
	}
	return all, extra
}

// After a rebuild, the stock plus the units of orders still to be recorded equals the ledger's stock, as long as no
// more units were accepted than there are. No user is a holder twice, and none is removed whose order counts.
func TestPlanConserves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.Int64Range(100, 115)
		users := rapid.Int64Range(1, 8)
		in := rebuildInput{holders: withUnits(rapid.MapOfN(users, ids, 0, 8).Draw(t, "holders"))}
		for _, id := range rapid.SliceOfNDistinct(ids, 0, 8, rapid.ID[int64]).Draw(t, "waiting") {
			c := ordertest.NewClaim(id, users.Draw(t, "user"), ordertest.VoucherA)
			c.Quantity = unitsOf(id)
			in.waiting = append(in.waiting, c)
		}
		for _, id := range rapid.SliceOfN(ids, 0, 8).Draw(t, "reported") {
			in.reported = append(in.reported, order.Claim{
				OrderID: id, UserID: users.Draw(t, "whose"), VoucherID: ordertest.VoucherA,
				Epoch: 4, Quantity: unitsOf(id),
			})
		}
		in.ledger = order.Snapshot{
			Voucher: ordertest.SaleVoucher(rapid.Int64Range(0, 60).Draw(t, "stock")),
			Live:    withUnits(rapid.MapOfN(users, ids, 0, 5).Draw(t, "live")),
			Dead:    rapid.MapOfN(ids, rapid.Just(true), 0, 5).Draw(t, "dead"),
		}
		plan := in.makePlan(5)

		holders := map[int64]order.Held{}
		maps.Copy(holders, in.holders)
		for user := range holders {
			if slices.Contains(plan.removeHolders, strconv.FormatInt(user, 10)) {
				delete(holders, user)
			}
		}
		for _, c := range plan.setHolders {
			holders[c.UserID] = c.Held()
		}
		for user, held := range in.ledger.Live {
			if holders[user] != held {
				t.Fatalf("user %d holds %v, the ledger says %v", user, holders[user], held)
			}
		}
		unrecorded, _ := units(holders)
		recorded, _ := units(in.ledger.Live)
		if unrecorded -= recorded; plan.opening.Stock != max(0, in.ledger.Voucher.Sale.Stock-unrecorded) {
			t.Fatalf("the sale opens with %d of %d units, and %d units of holders are not recorded",
				plan.opening.Stock, in.ledger.Voucher.Sale.Stock, unrecorded)
		}
		if _, extra := units(holders); plan.opening.Extra != extra {
			t.Fatalf("the sale opens with %d units beyond one per holder, want %d", plan.opening.Extra, extra)
		}
		for user, held := range holders {
			if in.ledger.Live[user].OrderID == 0 && in.ledger.Dead[held.OrderID] {
				t.Fatalf("user %d holds the ended order %d", user, held.OrderID)
			}
		}
	})
}

// Every accepted order that any source knows is in the ledger, in the stream, or requeued.
func TestPlanLosesNobody(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids, users := rapid.Int64Range(100, 110), rapid.Int64Range(1, 6)
		in := rebuildInput{holders: map[int64]order.Held{}, ledger: order.Snapshot{
			Voucher: ordertest.SaleVoucher(9), Live: map[int64]order.Held{}, Dead: map[int64]bool{},
		}}
		traced := map[int64]bool{}
		for _, id := range rapid.SliceOfNDistinct(ids, 0, 8, rapid.ID[int64]).Draw(t, "accepted") {
			c := order.Claim{OrderID: id, UserID: users.Draw(t, "user"), VoucherID: ordertest.VoucherA, Epoch: 4}
			in.reported = append(in.reported, c)
			switch rapid.IntRange(0, 4).Draw(t, "trace") {
			case 0:
				in.waiting = append(in.waiting, c)
			case 1:
				in.holders[c.UserID] = c.Held()
			case 2:
				if in.ledger.Live[c.UserID].OrderID == 0 {
					in.ledger.Live[c.UserID] = c.Held()
				}
			case 3:
				in.ledger.Dead[id] = true
			}
		}
		for _, c := range slices.Concat(in.waiting, in.makePlan(5).requeue) {
			traced[c.OrderID] = true
		}
		for _, c := range in.reported {
			if !traced[c.OrderID] && in.ledger.Live[c.UserID].OrderID != c.OrderID && !in.ledger.Dead[c.OrderID] {
				t.Fatalf("order %d of user %d is lost", c.OrderID, c.UserID)
			}
		}
	})
}

func TestUnaccountedAdmissions(t *testing.T) {
	t.Parallel()
	mark := func(epoch, sequence int64) order.Mark { return order.Mark{Epoch: epoch, Sequence: sequence} }
	said := func(id, epoch, sequence int64) order.Claim {
		return order.Claim{OrderID: id, Epoch: epoch, Sequence: sequence}
	}
	for name, tc := range map[string]struct {
		seen     order.Mark
		reached  []order.Mark
		reported []order.Claim
		waiting  []order.Claim
		admitted []order.Mark // by operations
		void     int64
		first    int64 // epoch of the sale
		want     int64
		doubtful int64
	}{
		"of a lost voucher that had the id": {seen: mark(3, 9), reached: []order.Mark{{}, mark(3, 6)}, first: 4},
		"of the sale's own epoch": {
			seen: mark(3, 9), reached: []order.Mark{{}, mark(3, 6)}, first: 3, want: 3,
		},
		"nothing was lost":                 {seen: mark(3, 9), reached: []order.Mark{mark(3, 9), mark(3, 7)}},
		"nobody has seen anything":         {reached: []order.Mark{mark(3, 9), mark(3, 7)}},
		"the tail, and no report names it": {seen: mark(3, 9), reached: []order.Mark{mark(3, 6), mark(3, 4)}, want: 3},
		"the ledger knew more":             {seen: mark(3, 9), reached: []order.Mark{{}, mark(3, 8)}, want: 1},
		"the tail, half of it reported": {
			seen: mark(3, 9), reached: []order.Mark{mark(3, 5), mark(3, 4)}, want: 2,
			reported: []order.Claim{said(1, 3, 8), said(2, 3, 9), said(2, 3, 9), said(3, 3, 5), said(4, 2, 7)},
		},
		"a reported order has no sequence": {
			seen: mark(3, 9), reached: []order.Mark{mark(3, 8)}, reported: []order.Claim{said(1, 3, 0)},
		},
		"Redis was emptied after a rebuild began": {seen: mark(3, 9), reached: []order.Mark{{}, mark(4, 0)}},
		"only reports have the epoch":             {seen: mark(5, 9), reached: []order.Mark{mark(4, 2), mark(4, 1)}},
		"offers were accepted, and nothing was lost": {
			seen: mark(3, 9), reached: []order.Mark{{}, mark(3, 6)},
			admitted: []order.Mark{mark(3, 7), mark(3, 8), mark(3, 9), mark(2, 8), mark(3, 4)},
		},
		"a purchase below an accepted offer": {
			seen: mark(3, 8), reached: []order.Mark{{}, mark(3, 6)}, admitted: []order.Mark{mark(3, 8)}, want: 1,
		},
		"a purchase below an offer that no instance has seen": {
			seen: mark(3, 6), reached: []order.Mark{{}, mark(3, 6)}, admitted: []order.Mark{mark(3, 8)}, want: 1,
		},
		"a purchase, reported, that was revived": {
			seen: mark(3, 9), reached: []order.Mark{{}, mark(3, 6)},
			reported: []order.Claim{said(1, 3, 7)}, admitted: []order.Mark{mark(3, 9)}, want: 1,
		},
		"entries wait, and the sale is gone": {
			seen: mark(3, 8), reached: []order.Mark{{}, mark(3, 6)},
			waiting:  []order.Claim{said(1, 3, 7), said(2, 3, 8), said(3, 3, 10)},
			reported: []order.Claim{said(1, 3, 0)}, want: 1,
		},
		"operations are void": {
			seen: mark(3, 9), reached: []order.Mark{{}, mark(3, 6)}, void: 2, want: 1, doubtful: 2,
		},
		"more are void than is missing": {
			seen: mark(3, 9), reached: []order.Mark{{}, mark(3, 8)}, void: 2, doubtful: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := rebuildInput{
				seen: tc.seen, reached: tc.reached, reported: tc.reported, waiting: tc.waiting,
				ledger: order.Snapshot{
					Voucher: firstAt(ordertest.SaleVoucher(3), tc.first), Admitted: tc.admitted, Void: tc.void,
				},
			}
			if lost, doubtful := in.unaccounted(); lost != tc.want || doubtful != tc.doubtful {
				t.Errorf("%d unaccounted, %d in doubt, want %d and %d", lost, doubtful, tc.want, tc.doubtful)
			}
		})
	}
}

// firstAt returns the voucher with a sale that was first opened at the epoch.
func firstAt(v voucher.Voucher, epoch int64) voucher.Voucher {
	v.Sale.FirstEpoch = epoch
	return v
}

// withKept returns the voucher with units kept for those who wait.
func withKept(v voucher.Voucher, units int64) voucher.Voucher {
	v.Sale.Kept, v.Sale.InviteWindow = units, time.Minute
	return v
}
