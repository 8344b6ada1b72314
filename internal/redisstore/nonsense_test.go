package redisstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/histogram"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

// nonsenseTests test what follows when somebody writes into one sale by hand: only that sale stands still, until it is
// rebuilt.
var nonsenseTests = behaviour{
	"a sale key of another type harms no other sale": nonsenseIn(
		func(r *rig) { r.replaceByText(r.keys.sale(r.sale)) }),
	"a buyers key of another type harms no other sale": nonsenseIn(
		func(r *rig) { r.replaceByText(r.keys.buyers(r.sale)) }),
	"both": nonsenseIn(func(r *rig) {
		r.replaceByText(r.keys.sale(r.sale), r.keys.buyers(r.sale))
	}),
	"an epoch of sixteen digits":  nonsenseIn(func(r *rig) { r.set(fieldEpoch, "9007199254740991") }),
	"an epoch of thirty digits":   nonsenseIn(func(r *rig) { r.set(fieldEpoch, strings.Repeat("9", 30)) }),
	"a rebuild that nobody began": nonsenseIn(func(r *rig) { r.set(fieldBuilding, "9007199254740991") }),
	"an epoch that is no number":  nonsenseIn(func(r *rig) { r.set(fieldEpoch, "nan") }),
	"stock without end":           nonsenseIn(func(r *rig) { r.set(fieldStock, "inf") }),
	"stock below zero":            nonsenseIn(func(r *rig) { r.set(fieldStock, "-5") }),
	"a sequence without end":      nonsenseIn(func(r *rig) { r.set(fieldSequence, "1e300") }),
	"an epoch far ahead":          testEpochOfNobodys,
	"reports of another type":     testReportsOfAnotherType,
	"holders that cannot be read": testUnreadableHolders,
	"counts of another type":      testCountsOfAnotherType,
	"durations that are nonsense": testUnreadableDurations,
}

// replaceByText writes text where a hash belongs.
func (r *rig) replaceByText(keys ...string) {
	r.t.Helper()
	for _, key := range keys {
		r.must(r.commands.Set(r.ctx(), key, "x", 0).Err())
	}
}

// nonsenseIn returns a test in which nonsense is written into sale 7 while sale 8 goes on. Sale 7 then reads as one to
// be rebuilt, and the next rebuild repairs it.
func nonsenseIn(write func(*rig)) func(*testing.T, *rig) {
	return func(t *testing.T, r *rig) {
		bad, good := r.sale, order.SaleRef{VoucherID: 8}
		for _, sale := range []order.SaleRef{bad, good} {
			r.sale = sale
			r.open(3, r.hour(5))
			equal(t, []string{"0"}, codes(r.admit(requests(1, 1)...).Results))
		}
		r.sale = bad
		write(r)

		views, err := r.Views(r.ctx(), []order.SaleRef{bad, good})
		r.must(err)
		if mode, epoch := views[0].Mode, views[0].Mark.Epoch; mode != order.SaleMissing &&
			mode != order.SaleRebuilding && epoch <= 3 {
			t.Errorf("the sale reads as mode %d at epoch %d", mode, epoch)
		}
		equal(t, order.Mark{Epoch: 3, Sequence: 1}, views[1].Mark)
		for _, sale := range []order.SaleRef{bad, good} {
			_, err := r.Inventory(r.ctx(), sale)
			r.must(err)
		}
		r.sale = good
		equal(t, []string{"0"}, codes(r.admit(requests(2, 1)...).Results))

		r.sale = bad
		r.must(r.Begin(r.ctx(), bad, 4))
		r.holders()
		r.must(r.SetHolders(r.ctx(), bad, 4, []order.Claim{{UserID: 1, OrderID: 1001}}, nil))
		r.must(r.Publish(r.ctx(), bad, 4, r.hour(4)))
		r.set(fieldResumes, 0)
		equal(t, order.SaleOpen, r.view().Mode)
		equal(t, []string{"1:1001", "0"},
			codes(r.admit(gate.Request{UserID: 1, OrderID: 77}, gate.Request{UserID: 9, OrderID: 78}).Results))
	}
}

// A sale whose keys have another type reads as missing: nothing is bought, and it is reported for repair.
func TestWrongTypeReadsAsNoSale(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]func(*rig) string{
		"sale":   func(r *rig) string { return r.keys.sale(r.sale) },
		"buyers": func(r *rig) string { return r.keys.buyers(r.sale) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.open(1, r.hour(5))
			r.replaceByText(key(r))
			equal(t, []string{"2", "2"}, codes(r.admit(requests(1, 2)...).Results))
			equal(t, 0, len(r.stream()))
		})
	}
}

// testEpochOfNobodys: callers do not adopt an epoch that was written by hand, which no rebuild would exceed. They do
// adopt one that only a ledger restored from a backup may lack.
func testEpochOfNobodys(t *testing.T, r *rig) {
	r.open(3, r.hour(5))
	known := order.Mark{Epoch: 3}
	for epoch, want := range map[int64]string{3 + 1e9: "0", 4 + 1e9: "2", 1<<53 - 1: "2"} {
		r.set(fieldEpoch, epoch)
		got := r.admitBatch(gate.Batch{Known: known, Requests: requests(1, 1)})
		equal(t, []string{want}, codes(got.Results))
		if want == "2" {
			equal(t, order.Mark{}, got.View.Mark)
		}
	}
}

// testReportsOfAnotherType: if something written by hand spoils a recovery round, the next round works.
func testReportsOfAnotherType(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	r.replaceByText(r.keys.reports(r.sale), r.keys.reported(r.sale), r.keys.stops(0))
	if _, err := r.RoundProgress(r.ctx(), r.sale, 2); err == nil {
		t.Error("a round without reports was read")
	}
	r.must(r.Begin(r.ctx(), r.sale, 3))
	_, err := r.RoundProgress(r.ctx(), r.sale, 3)
	r.must(err)
}

// testUnreadableHolders: each unreadable holder is yielded as an error, the others follow, and a rebuild can remove it
// under the name in the error.
func testUnreadableHolders(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.admit(requests(1, 2)...)
	nonsense := map[string]string{"999999": "xyz", "no user": "5", "007": "8", "-3": "9", "4": "-4", "5": "0", "": "1"}
	r.must(r.commands.HSet(r.ctx(), r.keys.buyers(r.sale), nonsense).Err())
	r.must(r.Begin(r.ctx(), r.sale, 2))
	got, read := map[string]string{}, 0
	var fields []string
	for _, err := range r.Holders(r.ctx(), r.sale) {
		var unreadable *order.UnreadableHolderError
		switch {
		case errors.As(err, &unreadable):
			got[unreadable.Field] = unreadable.Value
			fields = append(fields, unreadable.Field)
		case err != nil:
			t.Fatal(err)
		default:
			read++
		}
	}
	equal(t, 2, read)
	if diff := cmp.Diff(nonsense, got); diff != "" {
		t.Errorf("unreadable (-want +got):\n%s", diff)
	}
	r.must(r.SetHolders(r.ctx(), r.sale, 2, nil, fields))
	left, err := r.commands.HLen(r.ctx(), r.keys.buyers(r.sale)).Result()
	r.must(err)
	equal(t, int64(2), left)
}

// testCountsOfAnotherType: counts serve only people who watch; anything else under their key is replaced.
func testCountsOfAnotherType(t *testing.T, r *rig) {
	r.replaceByText(r.keys.outcomes(r.sale))
	r.must(r.Add(r.ctx(), r.sale, gate.Counts{"accepted": 2}, nil))
	r.must(r.commands.HSet(r.ctx(), r.keys.outcomes(r.sale), "accepted", "many").Err())
	r.must(r.Add(r.ctx(), r.sale, gate.Counts{"accepted": 3}, nil))
	n, err := r.commands.HGet(r.ctx(), r.keys.outcomes(r.sale), "accepted").Result()
	r.must(err)
	equal(t, "3", n)
}

// testUnreadableDurations: nonsense among the durations takes only them from the sale's view.
func testUnreadableDurations(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.must(r.Add(r.ctx(), r.sale, gate.Counts{"accepted": 2}, histogram.Counts{1, 1}))
	for _, nonsense := range []string{"x", "-5", strings.Repeat("9", 30)} {
		r.must(r.commands.HSet(r.ctx(), r.keys.outcomes(r.sale), tookField(histogram.Buckets-1), nonsense).Err())
		got, err := r.LiveStats(r.ctx(), voucher.Voucher{ID: 7, Status: voucher.OnShelf, Sale: &voucher.Sale{}})
		r.must(err)
		if got.View.Stock != 5 || got.Answers["accepted"] != 2 || got.Took != nil {
			t.Errorf("with %q: %+v", nonsense, got)
		}
	}
}
