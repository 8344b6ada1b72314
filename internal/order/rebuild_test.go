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
	accepted := func(id, user, sequence int64) Claim {
		return Claim{OrderID: id, UserID: user, VoucherID: voucherA, Epoch: 4, Sequence: sequence}
	}
	paused := saleVoucher(2)
	paused.Sale.Paused = true
	off := saleVoucher(2)
	off.Status = voucher.OffShelf
	for name, tc := range map[string]struct {
		waiting   []Claim
		held      map[int64]int64
		testified []Claim
		ledger    Snapshot
		want      blueprint
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
			want: blueprint{
				seat: []Claim{place(4, 99)}, opening: opening(3, SaleOpen),
				requeue: []Claim{{OrderID: 14, UserID: 4, VoucherID: voucherA, Epoch: 4}}, // it will fail, and say why
			},
		},
		"what only instances remember has a place and goes into the stream again, once, in its order": {
			testified: []Claim{accepted(16, 6, 9), accepted(15, 5, 8), accepted(16, 6, 9)},
			ledger:    Snapshot{Voucher: saleVoucher(3)},
			want: blueprint{
				seat: []Claim{place(5, 15), place(6, 16)}, opening: opening(1, SaleOpen),
				requeue: []Claim{accepted(15, 5, 8), accepted(16, 6, 9)}, lost: []Claim{accepted(15, 5, 8), accepted(16, 6, 9)},
			},
		},
		"what instances remember and others tell of as well changes nothing": {
			waiting:   []Claim{claim(11, 1, voucherA)},
			held:      map[int64]int64{1: 11, 4: 14},
			testified: []Claim{accepted(11, 1, 1), accepted(12, 2, 2), accepted(13, 3, 3), accepted(14, 4, 4)},
			ledger:    Snapshot{Voucher: saleVoucher(3), Live: map[int64]int64{2: 12}, Dead: map[int64]bool{13: true}},
			want: blueprint{
				seat:    []Claim{place(2, 12)},
				requeue: []Claim{{OrderID: 14, UserID: 4, VoucherID: voucherA, Epoch: 4}}, opening: opening(1, SaleOpen),
			},
		},
		"an order whose user has bought again gets its row, and no place": {
			waiting:   []Claim{claim(11, 1, voucherA)},
			held:      map[int64]int64{1: 11},
			testified: []Claim{accepted(21, 1, 1), accepted(22, 2, 2)},
			ledger:    Snapshot{Voucher: saleVoucher(3), Live: map[int64]int64{2: 12}},
			want: blueprint{
				seat: []Claim{place(2, 12)}, requeue: []Claim{accepted(21, 1, 1), accepted(22, 2, 2)},
				lost: []Claim{accepted(21, 1, 1), accepted(22, 2, 2)}, opening: opening(2, SaleOpen),
			},
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
			r := reconstruction{waiting: tc.waiting, held: tc.held, testified: tc.testified, ledger: tc.ledger}
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
		for _, id := range rapid.SliceOfN(ids, 0, 8).Draw(t, "testified") {
			r.testified = append(r.testified, Claim{OrderID: id, UserID: users.Draw(t, "whose"), VoucherID: voucherA, Epoch: 4})
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

// Every accepted order that anybody tells of is in the ledger, in the stream, or queued again.
func TestPlanLosesNobody(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids, users := rapid.Int64Range(100, 110), rapid.Int64Range(1, 6)
		r := reconstruction{held: map[int64]int64{}, ledger: Snapshot{Voucher: saleVoucher(9), Live: map[int64]int64{}, Dead: map[int64]bool{}}}
		traced := map[int64]bool{}
		for _, id := range rapid.SliceOfNDistinct(ids, 0, 8, rapid.ID[int64]).Draw(t, "accepted") {
			c := Claim{OrderID: id, UserID: users.Draw(t, "user"), VoucherID: voucherA, Epoch: 4}
			r.testified = append(r.testified, c)
			switch rapid.IntRange(0, 4).Draw(t, "trace") {
			case 0:
				r.waiting = append(r.waiting, c)
			case 1:
				r.held[c.UserID] = id
			case 2:
				if r.ledger.Live[c.UserID] == 0 {
					r.ledger.Live[c.UserID] = id
				}
			case 3:
				r.ledger.Dead[id] = true
			}
		}
		for _, c := range slices.Concat(r.waiting, r.plan(5).requeue) {
			traced[c.OrderID] = true
		}
		for _, c := range r.testified {
			if !traced[c.OrderID] && r.ledger.Live[c.UserID] != c.OrderID && !r.ledger.Dead[c.OrderID] {
				t.Fatalf("order %d of user %d is lost", c.OrderID, c.UserID)
			}
		}
	})
}

func TestUnaccountedAdmissions(t *testing.T) {
	t.Parallel()
	mark := func(epoch, sequence int64) Mark { return Mark{Epoch: epoch, Sequence: sequence} }
	said := func(id, epoch, sequence int64) Claim { return Claim{OrderID: id, Epoch: epoch, Sequence: sequence} }
	for name, tc := range map[string]struct {
		seen      Mark
		reached   []Mark
		testified []Claim
		want      int64
	}{
		"nothing was lost":               {seen: mark(3, 9), reached: []Mark{mark(3, 9), mark(3, 7)}},
		"nobody has seen anything":       {reached: []Mark{mark(3, 9), mark(3, 7)}},
		"the tail, and nobody says what": {seen: mark(3, 9), reached: []Mark{mark(3, 6), mark(3, 4)}, want: 3},
		"the ledger knew more":           {seen: mark(3, 9), reached: []Mark{{}, mark(3, 8)}, want: 1},
		"the tail, half of it is told of": {
			seen: mark(3, 9), reached: []Mark{mark(3, 5), mark(3, 4)}, want: 2,
			testified: []Claim{said(1, 3, 8), said(2, 3, 9), said(2, 3, 9), said(3, 3, 5), said(4, 2, 7)},
		},
		"one whose place is not known":              {seen: mark(3, 9), reached: []Mark{mark(3, 8)}, testified: []Claim{said(1, 3, 0)}},
		"Redis was emptied after a rebuild began":   {seen: mark(3, 9), reached: []Mark{{}, mark(4, 0)}},
		"an older epoch, and nobody knows this one": {seen: mark(5, 9), reached: []Mark{mark(4, 2), mark(4, 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reconstruction{seen: tc.seen, reached: tc.reached, testified: tc.testified}
			if got := r.unaccounted(); got != tc.want {
				t.Errorf("%d unaccounted, want %d", got, tc.want)
			}
		})
	}
}
