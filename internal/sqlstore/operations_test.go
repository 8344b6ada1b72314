package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

func TestPending(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, other := l.Seckill(t, 10), l.Seckill(t, 10)
		for _, c := range l.NewOrders(t, v, 4) {
			l.Transitioned(t, c, order.Cancel)
		}
		l.Restock(t, v, -2, "take")
		l.Restock(t, other, 1, "give")
		ops, last, err := l.Pending(t.Context(), v, 3)
		if err != nil || len(ops) != 3 || ops[0].Number != 1 || ops[2].Number != 3 || last != 5 {
			t.Errorf("Pending = %v, %d, %v; want the first three of five", ops, last, err)
		}
		if err := l.CompleteOperations(t.Context(), v, ledgertest.Results(ops, true)); err != nil {
			t.Fatal(err)
		}
		want := operation.Operation{VoucherID: v, Number: 5, Kind: operation.Restock, Delta: -2}
		if diff := cmp.Diff(want, l.ReadPending(t, v)[1]); diff != "" {
			t.Errorf("operation (-want +got):\n%s", diff)
		}
		l.ApplyAll(t, v)
		if ops, last, err := l.Pending(t.Context(), v, 3); err != nil || len(ops) != 0 || last != 5 {
			t.Errorf("Pending = %v, %d, %v; want none, and 5 in all", ops, last, err)
		}
		for _, id := range []int64{l.Ordinary(t), 4711} {
			if ops, last, err := l.Pending(t.Context(), id, 3); err != nil || len(ops) != 0 || last != 0 {
				t.Errorf("no sale: %v, %d, %v", ops, last, err)
			}
		}
	})
}

func TestSalesWithPending(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		var vs []int64
		for i := range 4 {
			vs = append(vs, l.Seckill(t, 10))
			for n := range 3 {
				l.Restock(t, vs[i], 1, fmt.Sprint(n))
			}
		}
		age := func(voucherID int64, minutes int) {
			l.Exec(t, "UPDATE tb_voucher_operation SET create_time = ? WHERE voucher_id = ? AND number = 1",
				ledgertest.Stored(ledgertest.RecordedAt.Add(-time.Duration(minutes)*time.Minute)), voucherID)
		}
		age(vs[0], 1)
		age(vs[1], 3)
		age(vs[2], 2)
		age(vs[3], 4)
		l.ApplyAll(t, vs[3])
		for n, want := range map[int][]int64{2: {vs[1], vs[2]}, 10: {vs[1], vs[2], vs[0]}} {
			got, err := l.SalesWithPending(t.Context(), n)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
	})
}

// What takes units changes the ledger only when Redis had them, and when the ledger has them too.
func TestCompleteStock(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		for name, test := range map[string]struct {
			delta         int64
			taken         bool
			stock, issued int64
			state         voucher.StockState
			conflict      bool
		}{
			"added":            {5, true, 15, 15, voucher.StockDone, false},
			"taken":            {-10, true, 0, 0, voucher.StockDone, false},
			"refused":          {-3, false, 10, 10, voucher.StockRefused, false},
			"not in our books": {-11, true, 10, 10, voucher.StockRefused, true},
		} {
			v := l.Seckill(t, 10)
			if got := l.Restock(t, v, test.delta, "key"); got.State != voucher.StockPending || got.Number != 1 ||
				got.Delta != test.delta {
				t.Errorf("%s: %+v", name, got)
			}
			if sale := l.Sale(t, v); sale.Stock != 10+max(0, test.delta) || sale.Issued != sale.Stock {
				t.Errorf("%s: begun, the sale is %+v", name, sale)
			}
			rs := ledgertest.Results(l.ReadPending(t, v), test.taken)
			for range 2 {
				if err := l.CompleteOperations(t.Context(), v,
					rs); errors.Is(err, order.ErrConflict) != test.conflict || !test.conflict && err != nil {
					t.Errorf("%s: %v", name, err)
				}
				test.conflict = false // completed before
				if sale := l.Sale(t, v); sale.Stock != test.stock || sale.Issued != test.issued {
					t.Errorf("%s: the sale is %+v", name, sale)
				}
			}
			if got := l.Restock(t, v, test.delta, "key"); got.State != test.state || got.Number != 1 {
				t.Errorf("%s: asked again: %+v, want state %d", name, got, test.state)
			}
			l.Conserved(t, v)
		}
	})
}

// Settling with many instances at once counts once.
func TestCompleteAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 100)
		late := l.late(t, v, 1)
		for i := range 5 {
			l.Restock(t, v, -3, fmt.Sprintf("take %d", i))
			l.Restock(t, v, 2, fmt.Sprintf("give %d", i))
		}
		rs := ledgertest.Results(l.ReadPending(t, v), true)
		complete := func() error { return l.CompleteOperations(t.Context(), v, rs) }
		if err := errors.Join(ledgertest.Both(complete,
			func() error { return errors.Join(ledgertest.Both(complete, complete)) })); err != nil {
			t.Fatal(err)
		}
		if sale := l.Sale(t, v); sale.Stock != 94 || sale.Issued != 95 ||
			l.ReadOrder(t, late.OrderID).Status != order.Paid {
			t.Errorf("sale %+v, order %+v; want 5 units less, of which the order has one",
				sale, l.ReadOrder(t, late.OrderID))
		}
		l.Conserved(t, v)
	})
}

// Settled leaves alone what has no result, and what is not there.
func TestCompleteOfOthers(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		l.Restock(t, v, -1, "first")
		l.Restock(t, v, -2, "second")
		rs := []operation.Result{{Number: 2, Taken: true}, {Number: 9, Taken: true}}
		if err := errors.Join(l.CompleteOperations(t.Context(), v, rs),
			l.CompleteOperations(t.Context(), v, nil)); err != nil {
			t.Fatal(err)
		}
		if got := l.States(t, v); got != [5]int64{1, 1} || l.Sale(t, v).Stock != 8 {
			t.Errorf("operations %v, stock %d; want one pending, one applied", got, l.Sale(t, v).Stock)
		}
	})
}

// late makes an order of the user whose payment arrived after it was cancelled; what came before is completed.
func (l ledger) late(tb testing.TB, voucherID, user int64) order.Claim {
	tb.Helper()
	c := ledgertest.Claims(voucherID, user, 1)[0]
	l.Record(tb, []order.Claim{c})
	p := l.Pays(tb, c)
	l.Transitioned(tb, c, order.Cancel)
	l.ApplyAll(tb, voucherID)
	if got, o := l.Receives(tb, p); got.State != payment.Late || o.Status != order.Cancelled {
		tb.Fatalf("received: %+v, %+v", got, o)
	}
	return c
}

// Redis says whether there is a unit for a late payment, and the ledger has to agree.
func TestCompleteRevival(t *testing.T) {
	const arrived = "cancelled by owner: \ncancelled by payment provider: PAID_LATE\n"
	const refused = "cancelled by payments: NO_UNIT_FOR_LATE_PAYMENT"
	eachDialect(t, func(t *testing.T, l ledger) {
		for name, test := range map[string]struct {
			before   func(c order.Claim) // and the operation is completed
			taken    bool
			conflict bool
			stock    int64
		}{
			"taken":   {taken: true, stock: 9},
			"refused": {stock: 10},
			"no stock": {
				taken: true, conflict: true,
				before: func(c order.Claim) { l.Record(t, ledgertest.Claims(c.VoucherID, 100, 10)) },
			},
			"live order": {taken: true, conflict: true, stock: 9, before: func(c order.Claim) {
				l.Record(t, ledgertest.Claims(c.VoucherID, c.UserID, 1))
			}},
		} {
			v := l.Seckill(t, 10)
			c := l.late(t, v, 1)
			if test.before != nil {
				test.before(c)
			}
			other := l.Restock(t, v, 0, "beside it") // is completed in any case
			err := l.CompleteOperations(t.Context(), v, ledgertest.Results(l.ReadPending(t, v), test.taken))
			if errors.Is(err, order.ErrConflict) != test.conflict || !test.conflict && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			status, p, event := order.Paid, payment.Received, "paid by payments: UNIT_FOR_LATE_PAYMENT"
			if test.conflict || !test.taken {
				status, p, event = order.Cancelled, payment.Refunding, refused
			}
			o := l.ReadOrder(t, c.OrderID)
			if o.Status != status || l.ReadPayment(t, fmt.Sprintf("pay_%d", c.OrderID)) != p ||
				(status == order.Paid) == o.PaidAt.IsZero() {
				t.Errorf("%s: order %+v, payment %s", name, o, l.ReadPayment(t, fmt.Sprintf("pay_%d", c.OrderID)))
			}
			if got := l.ReadHistory(t, c.OrderID); got != arrived+event {
				t.Errorf("%s: history\n%s", name, got)
			}
			if got := l.Restock(t, v, 0, "beside it"); got.State != voucher.StockDone || got.Number != other.Number {
				t.Errorf("%s: the other operation is %+v", name, got)
			}
			if len(l.ReadPending(t, v)) != 0 || l.Sale(t, v).Stock != test.stock {
				t.Errorf("%s: sale %+v, pending %v", name, l.Sale(t, v), l.ReadPending(t, v))
			}
			l.Conserved(t, v)
		}
	})
}

// What completing writes has the time at which it got the rows, however long it waited for them.
func TestCompleteAfterWaiting(t *testing.T) {
	t.Parallel()
	dsn := ledgertest.MigratedMySQL(t)
	l := openMySQL(t, dsn)
	running, err := sqlstore.OpenMySQL(t.Context(), dsn, ledgertest.Options(l.Clock)) // its clock does not stand still
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Close() })
	clock := ledgertest.RawPool(t, "mysql", dsn)
	v := l.Seckill(t, 10)
	c := l.late(t, v, 1)
	ops := l.ReadPending(t, v)
	holder := l.holding(t, v)
	done := make(chan error, 1)
	go func() {
		ctx := context.WithoutCancel(t.Context())
		done <- running.Operations.CompleteOperations(ctx, v, ledgertest.Results(ops, true))
	}()
	l.AwaitQuery(t, "SELECT * FROM `tb_seckill_voucher` % FOR UPDATE")
	var released string
	if err := clock.QueryRowContext(t.Context(), "SELECT CAST(UTC_TIMESTAMP(3) AS CHAR)").Scan(&released); err != nil {
		t.Fatal(err)
	}
	if err := holder.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if o := l.ReadOrder(t, c.OrderID); ledgertest.Stored(o.PaidAt) < released {
		t.Errorf("paid at %s, before %s", ledgertest.Stored(o.PaidAt), released)
	}
}

// A rebuild gives Redis all units of the ledger: what wanted to take some has not, and may be asked for anew.
func TestSnapshotVoidsWhatTakes(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		c := l.late(t, v, 1)
		l.Restock(t, v, 5, "give")
		taking := l.Restock(t, v, -2, "take")
		rs := ledgertest.Results(l.ReadPending(t, v), true)
		snap, err := l.Snapshot(t.Context(), v, 1)
		if err != nil || snap.Operation != 4 || snap.Voucher.Sale.Stock != 15 || !snap.Dead[c.OrderID] {
			t.Errorf("snapshot %+v, %v", snap, err)
		}
		if got := l.States(t, v); got != [5]int64{1: 1, 2: 1, 4: 2} { // the cancel was applied before
			t.Errorf("operations %v, want one absorbed and two void", got)
		}
		if err := l.CompleteOperations(t.Context(), v, rs); err != nil { // Redis's word of before the rebuild
			t.Error(err)
		}
		if sale := l.Sale(t, v); sale.Stock != 15 || sale.Issued != 15 ||
			l.ReadOrder(t, c.OrderID).Status != order.Cancelled {
			t.Errorf("sale %+v, order %+v", sale, l.ReadOrder(t, c.OrderID))
		}
		if got := l.Restock(t, v, 5, "give"); got.State != voucher.StockDone || got.Number != 3 {
			t.Errorf("what gave: %+v", got)
		}
		if got := l.Restock(t, v, -2, "take"); got.State != voucher.StockPending || got.Number != taking.Number+1 {
			t.Errorf("what took, asked for again: %+v", got)
		}
		for _, want := range [][]int64{{v}, nil} {
			if got, err := l.ReviveLate(t.Context(), 10); err != nil || !cmp.Equal(want, got) {
				t.Errorf("ReviveLate = %v, %v; want %v", got, err, want)
			}
		}
		l.ApplyAll(t, v)
		if o := l.ReadOrder(t, c.OrderID); o.Status != order.Paid || l.Sale(t, v).Stock != 12 {
			t.Errorf("order %+v, sale %+v", o, l.Sale(t, v))
		}
		if got := l.ReadHistory(t, c.OrderID); strings.Count(got, "\n") != 2 {
			t.Errorf("history\n%s", got)
		}
		l.Conserved(t, v)
	})
}
