package sqlstore_test

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/testkit/ledgertest"
)

func TestInsert(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, other := l.Seckill(t, 2000), l.Seckill(t, 5)
		cs := ledgertest.Claims(v, 1, 1203) // more than two statements
		slices.Reverse(cs)
		l.Record(t, slices.Concat(cs[:700], ledgertest.Claims(other, 1, 5), cs[700:]))

		got, err := l.Order(t.Context(), cs[1000].OrderID)
		if err != nil {
			t.Fatal(err)
		}
		want := order.Order{
			ID: cs[1000].OrderID, UserID: cs[1000].UserID, VoucherID: v, Amount: 1000, Status: order.Unpaid,
			CreatedAt: ledgertest.RecordedAt, PayBefore: ledgertest.PayBefore,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if sale := l.Sale(t, v); sale.Stock != 797 || sale.Sequence != 1203 || sale.Epoch != 1 {
			t.Errorf("sale = %+v, want stock 797, sequence 1203, epoch 1", sale)
		}
		if sale := l.Sale(t, other); sale.Stock != 0 || sale.Sequence != 5 {
			t.Errorf("other sale = %+v, want stock 0, sequence 5", sale)
		}
		l.Conserved(t, v)
		l.Conserved(t, other)
	})
}

func TestInsertNothing(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) { l.Record(t, nil) })
}

func TestInsertKeepsTheHighestSequence(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := ledgertest.Claims(v, 1, 3)
		l.Record(t, cs[2:])
		l.Record(t, cs[:2]) // an older delivery, recorded later
		if got := l.Sale(t, v).Sequence; got != 3 {
			t.Errorf("sequence %d, want 3", got)
		}
	})
}

func TestInsertTakesExtremeNumbers(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 3)
		cs := []order.Claim{
			{OrderID: math.MaxInt64, UserID: math.MaxInt64, VoucherID: v, Epoch: 1, Sequence: math.MaxInt64},
			{OrderID: 1, UserID: 1, VoucherID: v, Epoch: 1, Sequence: 1},
		}
		l.Record(t, cs)
		if o, err := l.LiveOrder(t.Context(), cs[0].Buyer()); err != nil || o.ID != math.MaxInt64 {
			t.Errorf("LiveOrder = %+v, %v", o, err)
		}
	})
}

// Each batch holds good claims of another sale and of the same one before and after the bad one: none may be written.
func TestInsertConflictWritesNothing(t *testing.T) {
	tests := map[string]func(t *testing.T, l ledger, v int64, bad order.Claim) order.Claim{
		"the order was recorded": func(t *testing.T, l ledger, v int64, bad order.Claim) order.Claim {
			l.Record(t, []order.Claim{bad})
			return bad
		},
		"the id is another user's": func(t *testing.T, l ledger, v int64, bad order.Claim) order.Claim {
			l.Record(t, []order.Claim{bad})
			bad.UserID = 888
			return bad
		},
		"the id is a failed order's": func(t *testing.T, l ledger, v int64, bad order.Claim) order.Claim {
			cs := []order.Claim{bad}
			if err := l.Settle(t.Context(), cs, ledgertest.DecideAll(cs, order.Fail, reason.NoStock)); err != nil {
				t.Fatal(err)
			}
			return bad
		},
		"the user has a live order": func(t *testing.T, l ledger, v int64, bad order.Claim) order.Claim {
			l.Record(t, ledgertest.Claims(v, bad.UserID, 1))
			return bad
		},
		"an older epoch": func(t *testing.T, l ledger, v int64, bad order.Claim) order.Claim {
			bad.Epoch = 0
			return bad
		},
		"the sale was rebuilt": func(t *testing.T, l ledger, v int64, bad order.Claim) order.Claim {
			if _, err := l.RaiseEpoch(t.Context(), v, 0, order.SaleView{}); err != nil {
				t.Fatal(err)
			}
			return bad
		},
		"one unit is missing": func(t *testing.T, l ledger, v int64, bad order.Claim) order.Claim {
			l.Exec(t, "UPDATE tb_seckill_voucher SET stock = 4, issued = 4 WHERE voucher_id = ?", v)
			return bad
		},
		"no such voucher": func(t *testing.T, l ledger, v int64, bad order.Claim) order.Claim {
			bad.VoucherID = 1 << 50
			return bad
		},
		"an ordinary voucher": func(t *testing.T, l ledger, v int64, bad order.Claim) order.Claim {
			d := ledgertest.Draft()
			if err := l.CreateVoucher(t.Context(), &d, ledgertest.Admin); err != nil {
				t.Fatal(err)
			}
			bad.VoucherID = d.ID
			return bad
		},
	}
	eachDialect(t, func(t *testing.T, l ledger) {
		for name, prepare := range tests {
			v, other := l.Seckill(t, 10), l.Seckill(t, 10)
			good := ledgertest.Claims(v, 1, 4)
			bad := prepare(t, l, v, ledgertest.Claims(v, 777, 1)[0])
			batch := slices.Concat(ledgertest.Claims(other, 1, 2), good[:2], []order.Claim{bad}, good[2:],
				ledgertest.Claims(other, 3, 2))
			before := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order")
			stock := l.Sale(t, v).Stock

			err := l.Insert(t.Context(), batch)

			if !errors.Is(err, order.ErrConflict) || errors.Is(err, order.ErrRejected) {
				t.Errorf("%s: %v, want ErrConflict", name, err)
			}
			if after := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order"); after != before {
				t.Errorf("%s: %d rows were written", name, after-before)
			}
			if sale := l.Sale(t, v); sale.Stock != stock {
				t.Errorf("%s: stock went from %d to %d", name, stock, sale.Stock)
			}
			if sale := l.Sale(t, other); sale.Stock != 10 || sale.Sequence != 0 {
				t.Errorf("%s: the other sale has become %+v", name, sale)
			}
			l.Conserved(t, v)
		}
	})
}

// Batches that meet have orders of the same sales, in any order, and never wait for each other in a circle.
func TestInsertManySalesAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		const sales, batches, each = 30, 8, 3
		var of [][]order.Claim
		for range sales {
			of = append(of, ledgertest.Claims(l.Seckill(t, batches*each+1), 1, batches*each))
		}
		var group errgroup.Group
		for b := range batches {
			var batch []order.Claim
			for _, cs := range of {
				batch = append(batch, cs[b*each:(b+1)*each]...)
			}
			if b%2 == 1 {
				slices.Reverse(batch)
			}
			group.Go(func() error { return l.Insert(t.Context(), batch) })
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		for _, cs := range of {
			v := cs[0].VoucherID
			if sale := l.Sale(t, v); sale.Stock != 1 || sale.Sequence != batches*each {
				t.Errorf("sale = %+v, want stock 1, sequence %d", sale, batches*each)
			}
			l.Conserved(t, v)
		}
	})
}

func TestInsertRepeatedClaimConflicts(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := ledgertest.Claims(v, 1, 2)
		if err := l.Insert(t.Context(), append(cs, cs[0])); !errors.Is(err, order.ErrConflict) {
			t.Errorf("the same claim twice in a batch: %v, want ErrConflict", err)
		}
		l.Conserved(t, v)
	})
}

func TestBuyingAgain(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		for status := order.Unpaid; status <= order.Failed; status++ {
			v := l.Seckill(t, 2)
			first, second := ledgertest.Claims(v, 42, 1), ledgertest.Claims(v, 42, 1)
			l.Record(t, first)
			l.Exec(t, "UPDATE tb_voucher_order SET status = ? WHERE id = ?", status, first[0].OrderID)
			err := l.Insert(t.Context(), second)
			if status.Live() && !errors.Is(err, order.ErrConflict) {
				t.Errorf("while the first order is %s: %v, want ErrConflict", status, err)
			}
			if !status.Live() && err != nil {
				t.Errorf("after the first order is %s: %v", status, err)
			}
			// The database agrees with Status.Live.
			live := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order WHERE id = ? AND live = 1", first[0].OrderID)
			if (live == 1) != status.Live() {
				t.Errorf("%s: live = %d in the table", status, live)
			}
			// And back: a cancelled order cannot come alive again beside the second.
			if !status.Live() {
				_, err := l.Raw.ExecContext(t.Context(), "UPDATE tb_voucher_order SET status = 2 WHERE id = ?",
					first[0].OrderID)
				if err == nil {
					t.Errorf("%s: two live orders of one user", status)
				}
			}
		}
	})
}

// A user may have any number of rows of ordinary vouchers.
func TestOrdinaryOrdersHaveNoHolder(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		for id := range 2 {
			l.Exec(t, "INSERT INTO tb_voucher_order (id, user_id, voucher_id, kind, amount, status, create_time) "+
				"VALUES (?, 1, 1, 0, 0, 2, '2026-06-01 20:00:00')", id+1)
		}
		if _, err := l.LiveOrder(t.Context(),
			order.BuyerKey{VoucherID: 1, UserID: 1}); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("LiveOrder: %v, want ErrNotFound", err)
		}
	})
}

func TestInsertNeverOversells(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		const stock, buyers = 57, 20
		v := l.Seckill(t, stock)
		var wg sync.WaitGroup
		var mu sync.Mutex
		sold := 0
		for b := range buyers {
			wg.Go(func() {
				for round := range 5 {
					err := l.Insert(t.Context(), ledgertest.Claims(v, int64(1000*b+round+1), 1))
					switch {
					case err == nil:
						mu.Lock()
						sold++
						mu.Unlock()
					case !errors.Is(err, order.ErrConflict):
						t.Errorf("Insert: %v, want ErrConflict", err)
					}
				}
			})
		}
		wg.Wait()
		if sold != stock {
			t.Errorf("sold %d of %d to 100 buyers", sold, stock)
		}
		if left := l.Sale(t, v).Stock; left != 0 {
			t.Errorf("%d units are left", left)
		}
		l.Conserved(t, v)
	})
}

// The recorder that was stopped and the one that took its entries over write the same batch (F11): one of them writes
// all of it, the other gets an error, and neither deadlocks, in whatever order their claims stand.
func TestInsertSameBatchTwiceAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10_000)
		const rounds, size = 8, 100
		for round := range rounds {
			batch := ledgertest.Claims(v, int64(round*size+1), size)
			backwards := slices.Clone(batch)
			slices.Reverse(backwards)
			var errs [2]error
			var wg sync.WaitGroup
			for i, b := range [][]order.Claim{batch, backwards} {
				wg.Go(func() { errs[i] = l.Insert(t.Context(), b) })
			}
			wg.Wait()
			if errs[0] != nil {
				errs[0], errs[1] = errs[1], errs[0]
			}
			if errs[0] != nil || !errors.Is(errs[1], order.ErrConflict) {
				t.Fatalf("round %d: %v and %v, want one success and one ErrConflict", round, errs[0], errs[1])
			}
		}
		if got := l.Sale(t, v).Stock; got != 10_000-rounds*size {
			t.Errorf("stock %d, want %d", got, 10_000-rounds*size)
		}
		l.Conserved(t, v)
	})
}

// Different orders of the same users, in an order that makes the unique keys cross: a deadlock is an honest answer
// here, a part of a batch is not.
func TestInsertCrossingBuyers(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10_000)
		for round := range 5 {
			one, two := ledgertest.Claims(v, int64(round*100+1), 100), ledgertest.Claims(v, int64(round*100+1), 100)
			for i := range two {
				two[i].UserID = one[len(one)-1-i].UserID
			}
			var errs [2]error
			var wg sync.WaitGroup
			for i, b := range [][]order.Claim{one, two} {
				wg.Go(func() { errs[i] = l.Insert(t.Context(), b) })
			}
			wg.Wait()
			if errs[0] == nil && errs[1] == nil {
				t.Fatal("both batches were recorded")
			}
			if errors.Is(errs[0], order.ErrRejected) || errors.Is(errs[1], order.ErrRejected) {
				t.Fatalf("%v and %v, want no ErrRejected", errs[0], errs[1])
			}
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order"); n%100 != 0 {
			t.Errorf("%d rows: a part of a batch was recorded", n)
		}
		l.Conserved(t, v)
	})
}

func TestInsertRejected(t *testing.T) {
	eachOwnSchema(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		for _, statement := range refuseUser13[l.Dialect] {
			l.Exec(t, statement)
		}
		cs := ledgertest.Claims(v, 10, 5)
		err := l.Insert(t.Context(), cs)
		if !errors.Is(err, order.ErrRejected) || errors.Is(err, order.ErrConflict) {
			t.Errorf("%v, want ErrRejected", err)
		}
		if err := l.Settle(t.Context(), cs,
			ledgertest.DecideAll(cs, order.Insert, "")); !errors.Is(err, order.ErrRejected) {
			t.Errorf("Settle: %v, want ErrRejected", err)
		}
		l.Conserved(t, v)
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order"); n != 0 {
			t.Errorf("%d rows were written", n)
		}
		l.Record(t, slices.Concat(cs[:3], cs[4:]))
	})
}

// refuseUser13 makes the tables refuse that user's live orders for good.
var refuseUser13 = map[string][]string{
	"mysql": {"ALTER TABLE tb_voucher_order ADD CONSTRAINT ck_test CHECK (user_id <> 13 OR status = 7)"},
	"sqlite": {"CREATE TRIGGER test BEFORE INSERT ON tb_voucher_order WHEN NEW.user_id = 13 AND NEW.status <> 7 " +
		"BEGIN SELECT RAISE(ABORT, 'no'); END"},
}

// A schema that does not fit is no order's fault.
func TestInsertIntoBrokenSchema(t *testing.T) {
	eachOwnSchema(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		l.Exec(t, "ALTER TABLE tb_voucher_order RENAME TO tb_elsewhere")
		err := l.Insert(t.Context(), ledgertest.Claims(v, 1, 1))
		if err == nil || errors.Is(err, order.ErrRejected) || errors.Is(err, order.ErrConflict) {
			t.Errorf("%v, want neither ErrRejected nor ErrConflict", err)
		}
	})
}

// The price is copied when the order is recorded; one that was corrected by hand is seen within a minute.
func TestInsertCopiesThePrice(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		amounts := func(v, user int64) int64 {
			l.Record(t, ledgertest.Claims(v, user, 1))
			o, err := l.LiveOrder(t.Context(), order.BuyerKey{VoucherID: v, UserID: user})
			if err != nil {
				t.Fatal(err)
			}
			return o.Amount
		}
		v := l.Seckill(t, 10)
		got := []int64{amounts(v, 1)}
		l.Exec(t, "UPDATE tb_voucher SET pay_value = 5 WHERE id = ?", v)
		got = append(got, amounts(v, 2))
		l.Clock.Add(int64(2 * time.Minute))
		got = append(got, amounts(v, 3))
		if diff := cmp.Diff([]int64{1000, 1000, 5}, got); diff != "" {
			t.Errorf("amounts (-want +got):\n%s", diff)
		}
	})
}

func TestInsertEndsWithItsContext(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		ctx := ledgertest.Cancelled(t)
		err := l.Insert(ctx, ledgertest.Claims(v, 1, 1))
		if !errors.Is(err, ctx.Err()) || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%v, want %v", err, ctx.Err())
		}
		l.Record(t, ledgertest.Claims(v, 1, 1)) // nothing is held
	})
}
