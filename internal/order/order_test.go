package order

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"seckill/internal/order/reason"
	"seckill/internal/voucher"
)

// Row ids are stored: with another derivation the ledger would not find rows that were written before.
func TestRowIDsNeverChange(t *testing.T) {
	t.Parallel()
	claim := Claim{OrderID: 655942735274934272, UserID: 42, VoucherID: 7, Epoch: 3, Sequence: 9}
	for try, want := range []int64{655942735274934272, 655942737403032509, 655942737352699652} {
		if got := claim.RowID(try); got != want {
			t.Errorf("row id at try %d: %d, want %d", try, got, want)
		}
	}
}

func TestRowIDsThatStandIn(t *testing.T) {
	t.Parallel()
	id := rapid.Int64Range(1<<32, math.MaxInt64-1)
	rapid.Check(t, func(t *rapid.T) {
		c := Claim{OrderID: id.Draw(t, "id"), UserID: id.Draw(t, "user"), VoucherID: id.Draw(t, "voucher")}
		other := c
		other.UserID++
		for try := 1; try < 4; try++ {
			if got := c.RowID(try); got>>32 != c.OrderID>>32 {
				t.Fatalf("row id %d at try %d is of another second than %d", got, try, c.OrderID)
			}
			if got := c.RowID(try); got == other.RowID(try) || got == c.RowID(try+1) {
				t.Fatalf("row id %d at try %d collides with another user's or with that of the next try", got, try)
			}
		}
		again := c
		again.Epoch, again.Sequence = c.Epoch+1, c.Sequence+1 // as when a rebuild queues it again
		if c.RowID(1) != again.RowID(1) {
			t.Fatal("a claim that was queued again has another row id")
		}
	})
}

func TestHasRow(t *testing.T) {
	t.Parallel()
	claim := Claim{OrderID: 100, UserID: 1, VoucherID: 7}
	for name, tc := range map[string]struct {
		row  Order
		want bool
	}{
		"its order": {Order{ID: 100, UserID: 1, VoucherID: 7, Status: Paid}, true},
		"forgotten": {
			Order{ID: 100, UserID: voucher.FirstForgotten, VoucherID: 7, Status: Redeemed}, true,
		},
		"forgotten, of another voucher":  {Order{ID: 100, UserID: voucher.FirstForgotten, VoucherID: 8}, false},
		"another user's":                 {Order{ID: 100, UserID: 2, VoucherID: 7}, false},
		"the user's for another voucher": {Order{ID: 100, UserID: 1, VoucherID: 8}, false},
		"its failed row": {
			Order{ID: claim.RowID(1), UserID: 1, VoucherID: 7, Status: Failed, Reason: reason.IDCollision}, true,
		},
		"another user's failed row": {
			Order{ID: claim.RowID(1), UserID: 2, VoucherID: 7, Status: Failed, Reason: reason.IDCollision}, false,
		},
		"an order of the user with that id": {
			Order{ID: claim.RowID(1), UserID: 1, VoucherID: 7, Status: Unpaid}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := claim.HasRow(tc.row); got != tc.want {
				t.Errorf("HasRow = %v, want %v", got, tc.want)
			}
		})
	}
}
