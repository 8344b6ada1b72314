package admission

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/ordertest"
)

// write remembers a batch's accepted orders.
func write(r *recentAccepts, b gate.Batch, v gate.BatchResult, twice bool) {
	r.write(&b, &v, new(outcomeCounts).outcomes(v.Results), twice)
}

func TestRecentAcceptsRemembersOrders(t *testing.T) {
	t.Parallel()
	recent := newRecentAccepts()
	write(recent, ordertest.BatchOf(ordertest.VoucherA, 1, 4),
		ordertest.VerdictOf(12, gate.Accepted, gate.SoldOut, gate.AlreadyBought, gate.Accepted), false)
	write(recent, ordertest.BatchOf(ordertest.VoucherA, 5, 2),
		ordertest.VerdictOf(12, gate.SoldOut, gate.SoldOut), false)
	write(recent, ordertest.BatchOf(ordertest.VoucherA+1, 7, 1), ordertest.VerdictOf(1, gate.Accepted), false)
	write(recent, ordertest.BatchOf(ordertest.VoucherA, 8, 2),
		ordertest.VerdictOf(14, gate.Accepted, gate.Doubtful), true)
	claim := func(user, sequence int64) order.Claim {
		return order.Claim{
			OrderID: user + 100, UserID: user, VoucherID: ordertest.VoucherA, Epoch: 3, Sequence: sequence,
		}
	}
	if diff := cmp.Diff([]order.Claim{claim(1, 11), claim(4, 12), claim(8, 0)},
		recent.of(ordertest.VoucherA)[ordertest.VoucherA]); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
	if got := recent.of(99)[99]; got != nil {
		t.Errorf("a sale without accepted orders has %v", got)
	}
}

// Young orders are kept up to recentMax; beyond that the oldest are dropped.
func TestRecentAcceptsIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recent := newRecentAccepts()
		user := int64(0)
		fill := func(n int) {
			for range n {
				user++
				write(recent, ordertest.BatchOf(ordertest.VoucherA, user, 1),
					ordertest.VerdictOf(user, gate.Accepted), false)
			}
		}
		kept := func(want int, first int64) {
			t.Helper()
			got := recent.of(ordertest.VoucherA)[ordertest.VoucherA]
			if len(got) != want || got[0].UserID != first || got[want-1].UserID != user {
				t.Fatalf("kept %d, the first of user %d; want %d, of users %d to %d",
					len(got), got[0].UserID, want, first, user)
			}
			for i, c := range got {
				if c.UserID != first+int64(i) {
					t.Fatalf("user %d at index %d", c.UserID, i)
				}
			}
		}
		fill(recentStart + 10)
		kept(recentStart+10, 1) // the ring has grown
		time.Sleep(recentAge)
		kept(recentStart+10, 1) // old ones stay until others need their room
		fill(2 * recentStart)
		kept(2*recentStart, recentStart+11)
		fill(recentMax)
		kept(recentMax, user-recentMax+1)
		fill(5)
		kept(recentMax, user-recentMax+1)
	})
}
