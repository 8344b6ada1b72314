package sqlstore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/reason"
	"seckill/internal/testkit/ledgertest"
)

// look settles without deciding anything and returns the view.
func look(tb testing.TB, l ledger, cs []order.Claim) order.LedgerView {
	tb.Helper()
	var view order.LedgerView
	err := l.Settle(tb.Context(), cs, func(v order.LedgerView) []order.Decision {
		view = v
		return nil
	})
	if err != nil {
		tb.Fatalf("Settle: %v", err)
	}
	return view
}

// failed writes a failed row of the claim.
func (l ledger) failed(tb testing.TB, c order.Claim, id int64, reason reason.Failure) {
	tb.Helper()
	d := order.Decision{Claim: c, Verb: order.Fail, RowID: id, Reason: reason}
	if err := l.Settle(tb.Context(), []order.Claim{c},
		func(order.LedgerView) []order.Decision { return []order.Decision{d} }); err != nil {
		tb.Fatalf("Settle: %v", err)
	}
}

func TestSettleShowsTheLedger(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, w := l.Seckill(t, 100), l.Seckill(t, 50)
		recorded, cancelled, elsewhere := ledgertest.Claims(v, 1, 2), ledgertest.Claims(v, 3, 1),
			ledgertest.Claims(w, 1, 1)
		l.Record(t, slices.Concat(recorded, cancelled, elsewhere))
		l.Exec(t, "UPDATE tb_voucher_order SET status = 4, cancel_time = ? WHERE id = ?",
			ledgertest.Stored(ledgertest.RecordedAt), cancelled[0].OrderID)
		if _, err := l.RaiseEpoch(t.Context(), w, 0, order.SaleView{}); err != nil {
			t.Fatal(err)
		}
		// A second order of user 2.
		again := ledgertest.Claims(v, 2, 1)[0]
		taken := order.Claim{OrderID: recorded[0].OrderID, UserID: 9, VoucherID: v, Epoch: 1}     // another user's id
		collided := order.Claim{OrderID: recorded[1].OrderID, UserID: 10, VoucherID: v, Epoch: 1} // one settled before
		// Which met another order there.
		other := order.Claim{OrderID: collided.RowID(1), UserID: 11, VoucherID: w}
		l.failed(t, other, other.OrderID, reason.NoStock)
		l.failed(t, collided, collided.RowID(2), reason.IDCollision)
		nowhere := ledgertest.Claims(1<<50, 5, 1)[0]

		got := look(t, l, slices.Concat(recorded, cancelled, ledgertest.Claims(w, 6, 2),
			[]order.Claim{again, taken, collided, nowhere}))

		row := func(c order.Claim) order.Order {
			return order.Order{
				ID: c.OrderID, UserID: c.UserID, VoucherID: c.VoucherID, Amount: 1000, Status: order.Unpaid,
				CreatedAt: ledgertest.RecordedAt, PayBefore: ledgertest.PayBefore,
			}
		}
		dead := row(cancelled[0])
		dead.Status, dead.CancelledAt = order.Cancelled, ledgertest.RecordedAt
		want := order.LedgerView{
			Sales: map[int64]order.LedgerSale{
				v: {Stock: 97, Epoch: 1, FirstEpoch: 1}, w: {Stock: 49, Epoch: 2, FirstEpoch: 1},
			},
			Rows: map[int64]order.Order{
				recorded[0].OrderID: row(recorded[0]), recorded[1].OrderID: row(recorded[1]), dead.ID: dead,
			},
			Live: map[order.BuyerKey]order.Held{
				recorded[0].Buyer(): recorded[0].Held(), recorded[1].Buyer(): recorded[1].Held(),
			},
			Pending: map[int64]bool{},
		}
		for _, failed := range []order.Order{
			{ID: collided.RowID(1), UserID: 11, VoucherID: w, Reason: reason.NoStock},
			{ID: collided.RowID(2), UserID: 10, VoucherID: v, Reason: reason.IDCollision},
		} {
			failed.Amount, failed.Status, failed.CreatedAt, failed.FailedAt = 1000, order.Failed,
				ledgertest.RecordedAt, ledgertest.RecordedAt
			want.Rows[failed.ID] = failed
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("view (-want +got):\n%s", diff)
		}
	})
}

// The view has whether a pending operation is about to change the holder of a cancelled order.
func TestSettleShowsWhatIsPending(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		others := ledgertest.Claims(v, 2, 3)
		l.Record(t, others)
		late, completed, cancelled := l.late(t, v, 1), others[0], others[1]
		l.Transitioned(t, completed, order.Cancel)
		l.Transitioned(t, cancelled, order.Cancel)
		if err := l.CompleteOperations(t.Context(), v, []operation.Result{{Number: 3, Taken: true}}); err != nil {
			t.Fatal(err)
		}
		got := look(t, l, []order.Claim{late, completed, cancelled, others[2]})
		if diff := cmp.Diff(map[int64]bool{late.OrderID: true, cancelled.OrderID: true}, got.Pending); diff != "" {
			t.Errorf("pending (-want +got):\n%s", diff)
		}
		if got.Sales[v].Operation != 4 {
			t.Errorf("last operation %d, want 4", got.Sales[v].Operation)
		}
	})
}

func TestSettleAppliesDecisions(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, w := l.Seckill(t, 10), l.Seckill(t, 10)
		kept := ledgertest.Claims(v, 1, 1)
		l.Record(t, kept)
		fresh, failed, other := ledgertest.Claims(v, 2, 3), ledgertest.Claims(v, 5, 1)[0], ledgertest.Claims(w, 1, 1)
		fresh[2].Sequence, failed.Sequence = 30, 31
		older := ledgertest.Claims(v, 6, 1)[0]
		older.Epoch, older.Sequence = 0, 99 // honoured, but its sequence is of another epoch
		collided := order.Claim{OrderID: kept[0].OrderID, UserID: 8, VoucherID: v, Epoch: 1}
		nowhere := ledgertest.Claims(1<<50, 9, 1)[0]
		detail := strings.Repeat("详", 600) + "\x00\xff"
		ds := []order.Decision{
			{Claim: kept[0], Verb: order.Keep},
			{
				Claim: nowhere, Verb: order.Fail, RowID: nowhere.OrderID, Reason: reason.UnknownVoucher,
				Detail: "bad \xff\x00 text",
			},
			{Claim: collided, Verb: order.Fail, RowID: collided.RowID(1), Reason: reason.IDCollision, Detail: detail},
			{Claim: failed, Verb: order.Fail, RowID: failed.OrderID, Reason: reason.NoStock},
			{Claim: older, Verb: order.Insert},
			{Claim: other[0], Verb: order.Insert},
		}
		for _, c := range slices.Backward(fresh) {
			ds = append(ds, order.Decision{Claim: c, Verb: order.Insert})
		}
		cs := make([]order.Claim, len(ds))
		for i, d := range ds {
			cs[i] = d.Claim
		}
		if err := l.Settle(t.Context(), cs, func(order.LedgerView) []order.Decision { return ds }); err != nil {
			t.Fatal(err)
		}

		fail := func(id, user, voucherID, amount int64, reason reason.Failure) order.Order {
			return order.Order{
				ID: id, UserID: user, VoucherID: voucherID, Amount: amount, Status: order.Failed, Reason: reason,
				CreatedAt: ledgertest.RecordedAt, FailedAt: ledgertest.RecordedAt,
			}
		}
		for _, want := range []order.Order{
			fail(nowhere.OrderID, 9, 1<<50, 0, reason.UnknownVoucher),
			fail(collided.RowID(1), 8, v, 1000, reason.IDCollision),
			fail(failed.OrderID, 5, v, 1000, reason.NoStock),
			{
				ID: older.OrderID, UserID: 6, VoucherID: v, Amount: 1000, Status: order.Unpaid,
				CreatedAt: ledgertest.RecordedAt, PayBefore: ledgertest.PayBefore,
			},
		} {
			got, err := l.Order(t.Context(), want.ID)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("order %d: %v (-want +got):\n%s", want.ID, err, diff)
			}
		}
		// Inserted: three fresh ones and the older one. Highest sequence of epoch 1: the failed claim's.
		if sale := l.Sale(t, v); sale.Stock != 5 || sale.Sequence != 31 {
			t.Errorf("sale = %+v, want stock 5, sequence 31", sale)
		}
		l.Conserved(t, v)
		l.Conserved(t, w)
		if row, found := look(t, l, []order.Claim{collided}).Rows[collided.RowID(1)]; !found || !collided.HasRow(row) {
			t.Errorf("the failed row of the claim whose id was taken is not found again: %+v", row)
		}
		for id, want := range map[int64]string{
			collided.RowID(1): strings.Repeat("详", 512), nowhere.OrderID: "bad \uFFFD\uFFFD text",
		} {
			var got string
			if err := l.Raw.QueryRowContext(t.Context(), "SELECT detail FROM tb_voucher_order WHERE id = ?",
				id).Scan(&got); err != nil || got != want {
				t.Errorf("detail of %d: %q, %v; want %q", id, got, err, want)
			}
		}
	})
}

// Settling the same batch again, as after a lost reply, finds everything as decided.
func TestSettleTwice(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := ledgertest.Claims(v, 1, 3)
		if err := l.Settle(t.Context(), cs, ledgertest.DecideAll(cs, order.Insert, "")); err != nil {
			t.Fatal(err)
		}
		if got := len(look(t, l, cs).Rows); got != 3 {
			t.Errorf("%d rows are seen, want 3", got)
		}
		// A writer that does not look is stopped by the keys.
		for _, verb := range []order.Verb{order.Insert, order.Fail} {
			if err := l.Settle(t.Context(), cs,
				ledgertest.DecideAll(cs, verb, reason.NoStock)); !errors.Is(err, order.ErrConflict) {
				t.Errorf("verb %d: %v, want ErrConflict", verb, err)
			}
		}
		if stock := l.Sale(t, v).Stock; stock != 7 {
			t.Errorf("stock %d, want 7", stock)
		}
		l.Conserved(t, v)
	})
}

func TestSettleRollsBack(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 2)
		cs := ledgertest.Claims(v, 1, 3)
		tests := map[string]struct {
			decide func(order.LedgerView) []order.Decision
			want   error
		}{
			"too many":     {ledgertest.DecideAll(cs, order.Insert, ""), order.ErrConflict},
			"no such verb": {ledgertest.DecideAll(cs[:1], order.Verb(9), ""), cmpopts.AnyError},
			"no sale":      {ledgertest.DecideAll(ledgertest.Claims(1<<50, 1, 1), order.Insert, ""), order.ErrConflict},
		}
		for name, test := range tests {
			err := l.Settle(t.Context(), cs, test.decide)
			if !cmp.Equal(test.want, err, cmpopts.EquateErrors()) {
				t.Errorf("%s: %v, want %v", name, err, test.want)
			}
			if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order"); n != 0 {
				t.Errorf("%s: %d rows were written", name, n)
			}
			l.Conserved(t, v)
		}
		if err := l.Settle(t.Context(), nil, nil); err != nil {
			t.Errorf("nothing to settle: %v", err)
		}
	})
}

// What decide was shown stays true until the commit: an insert of the last unit, begun meanwhile, waits and loses.
func TestSettleHoldsTheSale(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 1)
		mine, theirs := ledgertest.Claims(v, 1, 1), ledgertest.Claims(v, 2, 1)
		inserted := make(chan error, 1)
		err := l.Settle(t.Context(), mine, func(view order.LedgerView) []order.Decision {
			go func() { inserted <- l.Insert(t.Context(), theirs) }()
			l.AwaitTake(t, v)
			return []order.Decision{{Claim: mine[0], Verb: order.Insert}}
		})
		if err != nil {
			t.Fatalf("Settle: %v", err)
		}
		if err := <-inserted; !errors.Is(err, order.ErrConflict) {
			t.Errorf("Insert: %v, want ErrConflict", err)
		}
		l.Conserved(t, v)
	})
}

// Batches of many sales in any order lock them in one order.
func TestSettleManySalesAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		var vs []int64
		for range 5 {
			vs = append(vs, l.Seckill(t, 100))
		}
		errs := make(chan error)
		for worker := range int64(4) {
			go func() {
				var err error
				for round := range int64(5) {
					var cs []order.Claim
					for i := range vs {
						cs = append(cs, ledgertest.Claims(vs[(i+int(worker))%len(vs)], 1000*worker+round+1, 1)...)
					}
					err = errors.Join(err, l.Settle(t.Context(), cs, ledgertest.DecideAll(cs, order.Insert, "")))
				}
				errs <- err
			}()
		}
		for range 4 {
			if err := <-errs; err != nil {
				t.Errorf("Settle: %v", err)
			}
		}
		for _, v := range vs {
			if stock := l.Sale(t, v).Stock; stock != 80 {
				t.Errorf("stock %d, want 80", stock)
			}
			l.Conserved(t, v)
		}
	})
}
