package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/order/recovery"
)

var saleIDTests = behaviour{
	"shares are sales of their own":  testSharesApart,
	"rounds name the share":          testRoundsOfShares,
	"a share of an entry can be bad": testNamesOfShares,
}

// share is the rig for one share of its sale.
func (r *rig) share(number int) *rig {
	share := *r
	share.sale.Share = number
	return &share
}

// testSharesApart: shares of one voucher in one partition have nothing in common but the stream, in which each finds its own.
func testSharesApart(t *testing.T, r *rig) {
	zero, two := r, r.share(2)
	zero.open(1, r.hour(5))
	two.open(3, r.hour(7))
	zero.admit(requests(1, 2)...)
	two.admit(requests(11, 3)...)

	var names []string
	messages, err := r.commands.XRange(r.ctx(), r.keys.orders(0), "-", "+").Result()
	r.must(err)
	for _, m := range messages {
		names = append(names, m.Values[entryVoucher].(string))
	}
	equal(t, []string{"7", "7", "7.2", "7.2", "7.2"}, names)
	for _, c := range []struct {
		of           *rig
		stock, users int64
		epoch        int64
	}{{zero, 3, 2, 1}, {two, 4, 3, 3}} {
		view := c.of.view()
		equal(t, []int64{c.stock, c.users, c.epoch}, []int64{view.Stock, view.Buyers, view.Mark.Epoch})
		inventory, err := r.Inventory(r.ctx(), c.of.sale)
		r.must(err)
		equal(t, []int64{c.stock, c.users, c.users}, []int64{inventory.Stock, inventory.Holders, inventory.Waiting})
		var waiting int64
		for claim, err := range r.Waiting(r.ctx(), c.of.sale) {
			r.must(err)
			if claim.Sale() != c.of.sale.SaleID {
				t.Errorf("%s has the claim %+v", c.of.sale, claim)
			}
			waiting++
		}
		equal(t, c.users, waiting)
		for claim, err := range r.Holders(r.ctx(), c.of.sale) {
			r.must(err)
			if claim.Sale() != c.of.sale.SaleID {
				t.Errorf("%s has the holder %+v", c.of.sale, claim)
			}
		}
	}
	// An operation of one is not for the other.
	op := order.Operation{VoucherID: 7, Share: 2, Number: 1, Kind: order.Restock, Delta: 10}
	if _, err := r.Apply(r.ctx(), zero.sale, []order.Operation{op}); err == nil {
		t.Error("share 0 took an operation of share 2")
	}
	_, err = r.Apply(r.ctx(), two.sale, []order.Operation{op})
	r.must(err)
	equal(t, []int64{3, 14}, []int64{zero.view().Stock, two.view().Stock})
	// Nor a correction: the same user may be asked about in both.
	_, err = r.Correct(r.ctx(), []order.Correction{{Sale: zero.sale, UserID: 11, OrderID: 1011, GiveBack: true}})
	r.must(err)
	equal(t, []int64{3, 14}, []int64{zero.view().Stock, two.view().Stock})
}

// testRoundsOfShares: a rebuild of a share is told to reporters by its name, and their reports go to it alone.
func testRoundsOfShares(t *testing.T, r *rig) {
	zero, two := r, r.share(2)
	zero.open(1, r.hour(5))
	two.open(1, r.hour(5))
	heard, err := r.Heartbeat(r.ctx(), 0, "a", recovery.Heard{})
	r.must(err)
	r.must(r.Begin(r.ctx(), two.sale, 2))
	heard.Ago = time.Second
	heard, err = r.Heartbeat(r.ctx(), 0, "a", heard)
	r.must(err)
	var round recovery.Round
	for _, told := range heard.Rounds {
		if told.Sale == two.sale {
			round = told
		}
	}
	if round.Stopped == 0 {
		t.Fatalf("the rebuild of %s is not among the rounds %+v", two.sale, heard.Rounds)
	}
	report := recovery.Report{Seen: order.Mark{Epoch: 1, Sequence: 9}, Claims: []order.Claim{
		{OrderID: 1005, UserID: 5, VoucherID: 7, Share: 2, Epoch: 1, Sequence: 9},
	}}
	if inTime, _, err := r.SubmitReport(r.ctx(), round, "a", report); err != nil || !inTime {
		t.Fatalf("SubmitReport: %v, %v", inTime, err)
	}
	var claims []order.Claim
	for claim, err := range r.Reported(r.ctx(), two.sale) {
		r.must(err)
		claims = append(claims, claim)
	}
	equal(t, report.Claims, claims)
	for claim, err := range r.Reported(r.ctx(), zero.sale) {
		r.must(err)
		t.Errorf("share 0 has the report %+v", claim)
	}
	r.must(r.Requeue(r.ctx(), two.sale, 2, claims))
	equal(t, claims, r.stream())
	u, err := r.Unrecorded(r.ctx(), 0)
	r.must(err)
	if len(u.Rebuilt) != 2 { // both were stopped lately: share 0 when it was created
		t.Errorf("rebuilt lately: %v", u.Rebuilt)
	}
}

// testNamesOfShares: the dead letter of a share's entry is named by it; what names no sale concerns all of them, as ever.
func testNamesOfShares(t *testing.T, r *rig) {
	two := r.share(2)
	two.open(1, r.hour(5))
	two.admit(requests(1, 1)...)
	for _, name := range []string{"7.2", "7.99", "seven"} {
		r.must(r.commands.XAdd(r.ctx(), addArgs(r, entryVoucher, name, entryUser, "5", entryOrder, "1005")).Err())
	}
	inventory, err := r.Inventory(r.ctx(), two.sale)
	r.must(err)
	equal(t, int64(3), inventory.Waiting) // its own, the one without epoch, and the one that may be anybody's
	claim := func(name string) order.Claim {
		return letterOf(redis.XMessage{ID: "1-1", Values: map[string]any{
			letterRaw + entryVoucher: name, letterRaw + entryUser: "5", letterRaw + entryOrder: "1005",
		}}).Claim
	}
	equal(t, order.Claim{OrderID: 1005, UserID: 5, VoucherID: 7, Share: 2}, claim("7.2"))
	equal(t, order.Claim{OrderID: 1005, UserID: 5}, claim("7.99"))
}
