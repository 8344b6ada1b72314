package sqlstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/testkit/ledgertest"
)

func (l ledger) expires(tb testing.TB, token int64, n int) []int64 {
	tb.Helper()
	expired, err := l.ExpireDue(tb.Context(), token, n)
	if err != nil {
		tb.Fatal(err)
	}
	var ids []int64
	for i, o := range expired {
		ids = append(ids, o.ID)
		if i > 20 {
			continue // the others are like these
		}
		if diff := cmp.Diff(l.ReadOrder(tb, o.ID), o); o.Status != order.Cancelled ||
			!o.CancelledAt.Equal(ledgertest.RecordedAt) || diff != "" {
			tb.Errorf("expired %+v (-read +got):\n%s", o, diff)
		}
		if event := l.ReadHistory(tb, o.ID); event != "cancelled by expirer: NOT_PAID_IN_TIME" {
			tb.Errorf("history %q", event)
		}
	}
	return ids
}

func ids(cs ...order.Claim) []int64 {
	var ids []int64
	for _, c := range cs {
		ids = append(ids, c.OrderID)
	}
	return ids
}

// What is due expires, the longest overdue first, whatever its voucher; nothing else does.
func TestExpireDue(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, w, over, plain := l.Seckill(t, 10), l.Seckill(t, 10), l.Seckill(t, 10), l.Ordinary(t)
		first, second := l.NewOrders(t, v, 5), l.NewOrders(t, w, 1)
		free, gone := l.Bought(t, plain, 1), l.NewOrders(t, over, 1)[0]
		l.RetireSale(t, over)
		l.Due(t, time.Millisecond, first[0]) // not yet
		l.Due(t, 0, first[1])
		l.Due(t, -time.Second, first[2])
		l.Due(t, -time.Hour, second[0])
		l.Due(t, -time.Minute, free, gone)
		l.Due(t, -time.Minute, first[4])
		l.Transitioned(t, first[4], order.Pay)

		if diff := cmp.Diff(ids(second[0], free), l.expires(t, 1, 2)); diff != "" {
			t.Errorf("the first two (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(ids(gone, first[2], first[1]), l.expires(t, 1, 9)); diff != "" {
			t.Errorf("the others (-want +got):\n%s", diff)
		}
		if got := l.expires(t, 1, 9); got != nil {
			t.Errorf("expired once more: %v", got)
		}
		op := func(number int64, c order.Claim) operation.Operation {
			return operation.Operation{
				VoucherID: c.VoucherID, Number: number, Kind: operation.Expiration, Delta: 1,
				OrderID: c.OrderID, UserID: c.UserID,
			}
		}
		if diff := cmp.Diff([]operation.Operation{op(1, first[2]), op(2, first[1])}, l.ReadPending(t, v)); diff != "" {
			t.Errorf("operations (-want +got):\n%s", diff)
		}
		if got := l.States(t, over); got != [5]int64{2: 1} {
			t.Errorf("operations of the retired sale: %v", got)
		}
		for id, want := range map[int64]int64{v: 7, w: 10, over: 10} {
			if stock := l.Sale(t, id).Stock; stock != want {
				t.Errorf("stock %d, want %d", stock, want)
			}
			l.Conserved(t, id)
		}
	})
}

// A batch of several statements' length, and of more than there are.
func TestExpireDueMany(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 1200)
		cs := l.NewOrders(t, v, 1200)
		l.Due(t, -time.Minute, cs[:1100]...)
		if got := len(l.expires(t, 1, 1050)) + len(l.expires(t, 1, 1050)); got != 1100 {
			t.Errorf("%d were expired, want 1100", got)
		}
		if sale := l.Sale(t, v); sale.Stock != 1100 || sale.LastOperation != 1100 || l.States(t, v) != [5]int64{1100} {
			t.Errorf("sale %+v, operations %v", sale, l.States(t, v))
		}
		l.Conserved(t, v)
	})
}

// Who was overtaken by a higher token changes nothing any more.
func TestExpireDueFence(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := l.NewOrders(t, v, 3)
		l.Due(t, -time.Minute, cs...)
		l.expires(t, 5, 1)
		l.expires(t, 5, 1)
		if _, err := l.ExpireDue(t.Context(), 4, 1); !errors.Is(err, order.ErrSuperseded) {
			t.Errorf("token 4: %v, want ErrSuperseded", err)
		}
		if got := l.States(t, v); got != [5]int64{2} {
			t.Errorf("operations %v, want 2", got)
		}
		l.expires(t, 7, 1)
		if _, err := l.ExpireDue(t.Context(), 5, 1); !errors.Is(err, order.ErrSuperseded) {
			t.Errorf("token 5: %v, want ErrSuperseded", err)
		}
	})
}

// A locked order does not hold up the others.
func TestExpireDueSkipsLockedOrders(t *testing.T) {
	t.Parallel()
	l := openMySQL(t, ledgertest.MigratedMySQL(t))
	cs := l.NewOrders(t, l.Seckill(t, 10), 3)
	l.Due(t, -time.Minute, cs...)
	holder, err := l.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var id int64
	if err := holder.QueryRowContext(t.Context(), "SELECT id FROM tb_voucher_order WHERE id = ? FOR UPDATE",
		cs[1].OrderID).Scan(&id); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ids(cs[0], cs[2]), l.expires(t, 1, 3)); diff != "" {
		t.Errorf("expired (-want +got):\n%s", diff)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ids(cs[1]), l.expires(t, 1, 3)); diff != "" {
		t.Errorf("expired then (-want +got):\n%s", diff)
	}
}

// After more than five seconds in which nobody could look, nothing expires for half a minute, once in five minutes.
func TestExpireDueAfterGap(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		c := l.NewOrders(t, l.Seckill(t, 10), 1)[0]
		earlier := func(name string, by time.Duration) {
			l.Exec(t, "UPDATE tb_fence SET token = token - ? WHERE name = ?", by.Milliseconds(), name)
		}
		expires := func(when string, want ...int64) {
			t.Helper()
			if diff := cmp.Diff(want, l.expires(t, 1, 9)); diff != "" {
				t.Errorf("%s: expired (-want +got):\n%s", when, diff)
			}
		}
		expires("before it is due")
		l.Due(t, -time.Minute, c)
		earlier("deadlines", 6*time.Second)
		expires("after a gap")
		expires("a moment later")
		earlier("deadlines stopped", 30*time.Second)
		earlier("deadlines", 6*time.Second)
		expires("after half a minute, and another gap", c.OrderID)
	})
}

// Owners pay and cancel while orders expire: each order goes one way.
func TestExpireDueAgainstTransitions(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		const n = 40
		v := l.Seckill(t, n)
		cs := l.NewOrders(t, v, n)
		l.Due(t, -time.Minute, cs...)
		var paid, cancelled, expired int64
		expiring := func() error { // the one in transition, unless it is locked
			os, err := l.ExpireDue(t.Context(), 1, 1)
			expired += int64(len(os))
			return err
		}
		for i, c := range cs {
			action, count := order.Pay, &paid
			if i%2 == 0 {
				action, count = order.Cancel, &cancelled
			}
			moving := func() error {
				_, err := l.Transition(t.Context(), c.OrderID, 0, action, order.Owner)
				if err == nil {
					*count++
				} else if ledgertest.InState(err, order.Cancelled) {
					err = nil
				}
				return err
			}
			if err := errors.Join(ledgertest.Both(moving, expiring)); err != nil {
				t.Fatal(err)
			}
		}
		expired += int64(len(l.expires(t, 1, n)))
		if paid+cancelled+expired != n {
			t.Errorf("%d paid, %d cancelled, %d expired; want %d in all", paid, cancelled, expired, n)
		}
		ops := l.ReadPending(t, v)
		if int64(len(ops)) != cancelled+expired || l.Sale(t, v).Stock != cancelled+expired {
			t.Errorf("%d operations, stock %d; want %d units back", len(ops), l.Sale(t, v).Stock, cancelled+expired)
		}
		for i, op := range ops {
			if op.Number != int64(i)+1 {
				t.Fatalf("operation %d has number %d", i, op.Number)
			}
		}
		l.Conserved(t, v)
	})
}
