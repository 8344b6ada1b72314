package order

import (
	"cmp"
	"maps"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"seckill/internal/voucher"
)

var (
	begin = time.Date(2026, 1, 2, 20, 0, 0, 0, time.UTC)
	end   = begin.Add(time.Hour)
)

func saleVoucher(stock int64) voucher.Voucher {
	return voucher.Voucher{
		ID: voucherA, Kind: voucher.Seckill, Status: voucher.OnShelf,
		Sale: &voucher.Sale{Stock: stock, Issued: stock, Begin: begin, End: end, Epoch: 4},
	}
}

func TestPlanOfARebuild(t *testing.T) {
	t.Parallel()
	opening := func(stock int64, mode SaleMode) Opening {
		return Opening{Stock: stock, Begin: begin, End: end, Mode: mode, Operation: 3}
	}
	place := func(user, id int64) Claim { return Claim{OrderID: id, UserID: user, VoucherID: voucherA} }
	paused := saleVoucher(2)
	paused.Sale.Paused = true
	off := saleVoucher(2)
	off.Status = voucher.OffShelf
	for name, tc := range map[string]struct {
		waiting []Claim
		held    map[int64]int64
		ledger  Snapshot
		want    blueprint
	}{
		"a new sale": {
			ledger: Snapshot{Voucher: saleVoucher(5)},
			want:   blueprint{opening: opening(5, SaleOpen)},
		},
		"paused by an admin": {ledger: Snapshot{Voucher: paused}, want: blueprint{opening: opening(2, SalePaused)}},
		"off the shelf":      {ledger: Snapshot{Voucher: off}, want: blueprint{opening: opening(2, SaleOffShelf)}},
		"an emptied Redis gets the ledger's buyers": {
			ledger: Snapshot{Voucher: saleVoucher(3), Live: map[int64]int64{1: 11, 2: 12}},
			want:   blueprint{seat: []Claim{place(1, 11), place(2, 12)}, opening: opening(3, SaleOpen)},
		},
		"waiting orders count as sold, recorded ones once": {
			waiting: []Claim{claim(11, 1, voucherA), claim(13, 3, voucherA)},
			held:    map[int64]int64{1: 11, 3: 13},
			ledger:  Snapshot{Voucher: saleVoucher(3), Live: map[int64]int64{1: 11}},
			want:    blueprint{opening: opening(2, SaleOpen)},
		},
		"an order that only its place tells of goes into the stream again": {
			held:   map[int64]int64{4: 14},
			ledger: Snapshot{Voucher: saleVoucher(3)},
			want: blueprint{
				requeue: []Claim{{OrderID: 14, UserID: 4, VoucherID: voucherA, Epoch: 4}}, opening: opening(2, SaleOpen),
			},
		},
		"a place held by an order that ended is emptied": {
			held:   map[int64]int64{4: 14},
			ledger: Snapshot{Voucher: saleVoucher(3), Dead: map[int64]bool{14: true}},
			want:   blueprint{vacate: []int64{4}, opening: opening(3, SaleOpen)},
		},
		"a place held by another order than the ledger's is corrected": {
			held:   map[int64]int64{4: 14},
			ledger: Snapshot{Voucher: saleVoucher(3), Live: map[int64]int64{4: 99}},
			want:   blueprint{seat: []Claim{place(4, 99)}, opening: opening(3, SaleOpen)},
		},
		"more promised than there is: nothing left, never less than nothing": {
			waiting: []Claim{claim(11, 1, voucherA), claim(12, 2, voucherA)},
			held:    map[int64]int64{1: 11, 2: 12},
			ledger:  Snapshot{Voucher: saleVoucher(1)},
			want:    blueprint{opening: opening(0, SaleOpen)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.ledger.Operation = 3
			r := reconstruction{waiting: tc.waiting, held: tc.held, ledger: tc.ledger}
			got := r.plan(5)
			slices.SortFunc(got.seat, func(a, b Claim) int { return cmp.Compare(a.OrderID, b.OrderID) })
			if diff := gocmp.Diff(tc.want, got, gocmp.AllowUnexported(blueprint{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// After a rebuild, what is left plus what will still be recorded is exactly the ledger's stock, as long as no more was
// promised than there is; and nobody has two places or loses one that he holds by an order that counts.
func TestPlanConserves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.Int64Range(100, 115)
		users := rapid.Int64Range(1, 8)
		r := reconstruction{held: rapid.MapOfN(users, ids, 0, 8).Draw(t, "held")}
		for _, id := range rapid.SliceOfNDistinct(ids, 0, 8, rapid.ID[int64]).Draw(t, "waiting") {
			r.waiting = append(r.waiting, claim(id, users.Draw(t, "user"), voucherA))
		}
		r.ledger = Snapshot{
			Voucher: saleVoucher(rapid.Int64Range(0, 20).Draw(t, "stock")),
			Live:    rapid.MapOfN(users, ids, 0, 5).Draw(t, "live"),
			Dead:    rapid.MapOfN(ids, rapid.Just(true), 0, 5).Draw(t, "dead"),
		}
		b := r.plan(5)

		places := map[int64]int64{}
		maps.Copy(places, r.held)
		for _, user := range b.vacate {
			delete(places, user)
		}
		for _, c := range b.seat {
			places[c.UserID] = c.OrderID
		}
		for user, id := range r.ledger.Live {
			if places[user] != id {
				t.Fatalf("user %d holds %d, the ledger says %d", user, places[user], id)
			}
		}
		unrecorded := int64(len(places) - len(r.ledger.Live))
		if want := max(0, r.ledger.Voucher.Sale.Stock-unrecorded); b.opening.Stock != want {
			t.Fatalf("opens with %d, want %d: %d places are not recorded", b.opening.Stock, want, unrecorded)
		}
		for user, id := range places {
			if r.ledger.Live[user] == 0 && r.ledger.Dead[id] {
				t.Fatalf("user %d holds the ended order %d", user, id)
			}
		}
	})
}
