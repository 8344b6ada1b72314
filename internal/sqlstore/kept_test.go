package sqlstore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// units fails the test unless the sale has so many units, and they add up.
func (l ledger) units(tb testing.TB, voucherID int64, want string) {
	tb.Helper()
	s := l.Sale(tb, voucherID)
	got := fmt.Sprintf("stock %d, kept %d, accepted %d, issued %d", s.Stock, s.Kept, s.Accepted, s.Issued)
	if got != want {
		tb.Errorf("the sale has %s; want %s", got, want)
	}
	l.Conserved(tb, voucherID)
}

// soldOut creates a sale of which users 1 to n have an order each.
func (l ledger) soldOut(tb testing.TB, n int) (int64, []order.Claim) {
	tb.Helper()
	v := l.Seckill(tb, int64(n))
	return v, l.NewOrders(tb, v, n)
}

// While a list is open, what comes back or is added is kept, and never on sale; a commit that keeps units is told.
func TestUnitsAreKept(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		var kept []int64
		l.Use(sqlkit.Hook{Feature: "list", Kept: func(voucherID int64) { kept = append(kept, voucherID) }})
		v, cs := l.soldOut(t, 3)
		l.Transitioned(t, cs[0], order.Cancel) // nobody waits
		l.units(t, v, "stock 1, kept 0, accepted 0, issued 3")
		l.OpenList(t, v)
		l.Transitioned(t, cs[1], order.Cancel)
		l.Restock(t, v, 2, "more")
		l.units(t, v, "stock 1, kept 3, accepted 0, issued 5")
		if len(kept) != 2 || kept[0] != v {
			t.Errorf("kept: told of %v, want %d twice", kept, v)
		}
		ops := l.ReadPending(t, v)
		if got := fmt.Sprint(ops[1].Delta, ops[1].Kept, ops[2].Delta, ops[2].Kept); got != "0 1 0 2" {
			t.Errorf("operations %+v", ops)
		}
		if c := l.Restock(t, v, 2, "more"); c.Delta != 2 {
			t.Errorf("the change of stock, asked for again: %+v", c)
		}
		l.KeptSale(t, v, func(s sqlkit.KeptSale) error { return s.Release(2, ledgertest.RecordedAt) })
		l.units(t, v, "stock 3, kept 1, accepted 0, issued 5")
		l.Over(t, v) // nobody can be invited any more
		l.Transitioned(t, cs[2], order.Cancel)
		l.units(t, v, "stock 4, kept 1, accepted 0, issued 5")
	})
}

// What is rolled back tells nobody.
func TestKeptIsToldAfterTheCommit(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		told, rolledBack := 0, errors.New("no")
		l.Use(sqlkit.Hook{Feature: "list", Kept: func(int64) { told++ }})
		v, cs := l.soldOut(t, 2)
		l.OpenList(t, v)
		err := l.DB().Write(t.Context(), func(tx *gorm.DB) error {
			sqlkit.AfterCommit(tx, func() { told++ })
			return rolledBack
		})
		if !errors.Is(err, rolledBack) || told != 0 {
			t.Errorf("%v; told %d times of what was rolled back", err, told)
		}
		l.Transitioned(t, cs[0], order.Cancel)
		if told != 1 {
			t.Errorf("told %d times, want once", told)
		}
	})
}

// An acceptance becomes an order when Redis has given its user the unit; refused, it leaves the unit kept.
func TestAcceptance(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.soldOut(t, 3)
		l.OpenList(t, v)
		for _, c := range cs[:2] {
			l.Transitioned(t, c, order.Cancel)
		}
		l.ApplyAll(t, v)
		l.Accepts(t, v, 11, 911)
		l.Accepts(t, v, 12, 912)
		l.units(t, v, "stock 0, kept 2, accepted 2, issued 3")
		ops := l.ReadPending(t, v)
		err := l.CompleteOperations(t.Context(), v, []operation.Result{
			{Number: ops[0].Number, Taken: true}, {Number: ops[1].Number},
		})
		if err != nil {
			t.Fatal(err)
		}
		l.units(t, v, "stock 0, kept 1, accepted 0, issued 3")
		if o := l.ReadOrder(t, 911); o.UserID != 11 || o.Status != order.Unpaid || o.Amount != 1000 {
			t.Errorf("order %+v", o)
		}
		if got := l.ReadHistory(t, 911); got != "unpaid by waiting list: INVITATION_ACCEPTED" {
			t.Errorf("history %s", got)
		}
		if _, err := l.Order(t.Context(), 912); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("a refused acceptance: %v", err)
		}
		l.KeptSale(t, v, func(s sqlkit.KeptSale) error {
			got, err := s.Outcomes([]int64{ops[0].Number, ops[1].Number})
			if got[ops[0].Number] != sqlkit.Taken || got[ops[1].Number] != sqlkit.Refused {
				t.Errorf("outcomes %v", got)
			}
			return err
		})
	})
}

// What Redis gave and the ledger does not have is refused, and the sale is to be rebuilt.
func TestAcceptanceThatConflicts(t *testing.T) {
	for name, breaks := range map[string]func(t *testing.T, l ledger, v int64){
		"the user has another order": func(t *testing.T, l ledger, v int64) {
			t.Helper()
			l.Exec(t, "UPDATE tb_seckill_voucher SET stock = 1, issued = issued + 1 WHERE voucher_id = ?", v)
			l.Record(t, ledgertest.Claims(v, 11, 1))
		},
		"the id is another order's": func(t *testing.T, l ledger, v int64) {
			t.Helper()
			l.Exec(t, "UPDATE tb_seckill_voucher SET stock = 1, issued = issued + 1 WHERE voucher_id = ?", v)
			c := ledgertest.Claims(v, 77, 1)
			c[0].OrderID = 911
			l.Record(t, c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachDialect(t, func(t *testing.T, l ledger) {
				v, cs := l.soldOut(t, 1)
				l.OpenList(t, v)
				l.Transitioned(t, cs[0], order.Cancel)
				l.Accepts(t, v, 11, 911)
				breaks(t, l, v)
				err := l.CompleteOperations(t.Context(), v, ledgertest.Results(l.ReadPending(t, v), true))
				if !errors.Is(err, order.ErrConflict) {
					t.Errorf("completed: %v", err)
				}
				l.units(t, v, "stock 0, kept 1, accepted 0, issued 2")
			})
		})
	}
}

// Stock that an admin removes and that is not on sale comes from what is kept and promised to nobody.
func TestKeptStockIsRemoved(t *testing.T) {
	for name, tc := range map[string]struct {
		delta, promised int64
		state           voucher.StockState
		want            string
	}{
		"what is kept":           {-2, 0, voucher.StockDone, "stock 0, kept 1, accepted 1, issued 2"},
		"less than that":         {-1, 1, voucher.StockDone, "stock 0, kept 2, accepted 1, issued 3"},
		"what is accepted":       {-3, 0, voucher.StockRefused, "stock 0, kept 3, accepted 1, issued 4"},
		"what somebody may take": {-2, 1, voucher.StockRefused, "stock 0, kept 3, accepted 1, issued 4"},
	} {
		t.Run(name, func(t *testing.T) {
			eachDialect(t, func(t *testing.T, l ledger) {
				promised := func(*gorm.DB, int64) (int64, error) { return tc.promised, nil }
				l.Use(sqlkit.Hook{Feature: "list", Promised: promised})
				v, cs := l.soldOut(t, 4)
				l.OpenList(t, v)
				for _, c := range cs[:3] {
					l.Transitioned(t, c, order.Cancel)
				}
				l.ApplyAll(t, v)
				l.Accepts(t, v, 11, 911)
				c := l.Restock(t, v, tc.delta, "less")
				err := l.CompleteOperations(t.Context(), v, []operation.Result{{Number: c.Number}})
				if err != nil {
					t.Fatal(err)
				}
				l.units(t, v, tc.want)
				if again := l.Restock(t, v, tc.delta, "less"); again.State != tc.state || again.Delta != tc.delta {
					t.Errorf("asked for again: %+v, want %v", again, tc.state)
				}
			})
		})
	}
}

// A rebuild voids an acceptance and leaves both numbers. It sells no kept unit, and takes nobody for a buyer whose
// acceptance is undecided, also when it is the second in a row. What Redis said before it is too late.
func TestRebuildWithAcceptances(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.soldOut(t, 3)
		l.OpenList(t, v)
		l.Transitioned(t, cs[0], order.Cancel)
		l.Transitioned(t, cs[1], order.Cancel)
		l.Accepts(t, v, 11, 901)
		late := ledgertest.Results(l.ReadPending(t, v), true)
		for range 2 {
			snap, err := l.Snapshot(t.Context(), v, 1)
			if err != nil || snap.Voucher.Sale.Stock != 0 || !snap.Dead[901] || len(snap.Live) != 1 {
				t.Errorf("snapshot %+v, %v", snap, err)
			}
		}
		if err := l.CompleteOperations(t.Context(), v, late); err != nil {
			t.Fatal(err)
		}
		l.units(t, v, "stock 0, kept 2, accepted 1, issued 3")
		l.KeptSale(t, v, func(s sqlkit.KeptSale) error {
			_, err := s.Ask([]sqlkit.Acceptance{{UserID: 11, OrderID: 901, Again: true}}, ledgertest.RecordedAt)
			return err
		})
		l.units(t, v, "stock 0, kept 2, accepted 1, issued 3")
		l.ApplyAll(t, v)
		l.units(t, v, "stock 0, kept 1, accepted 0, issued 3")
		if snap, err := l.Snapshot(t.Context(), v, 1); err != nil || snap.Dead[901] || snap.Live[11].OrderID != 901 {
			t.Errorf("snapshot %+v, %v", snap, err)
		}
	})
}

// The audit's sums hold at each step of a kept unit, whether Redis has applied the operation or not.
func TestTotalsWithKeptUnits(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.soldOut(t, 3)
		l.OpenList(t, v)
		redis := int64(3) // units and holders there
		check := func(step string, applied int64) {
			t.Helper()
			got, err := l.LedgerTotals(t.Context(), v, applied)
			if err != nil || got.Stock+got.Kept+got.LiveUnits() != got.Issued {
				t.Errorf("%s: %+v, %v", step, got, err)
			}
			if want := got.Stock + got.LiveUnits() - got.Ahead; got.Open == 0 && want != redis {
				t.Errorf("%s: Redis has %d units, the ledger says %d: %+v", step, redis, want, got)
			}
		}
		l.Transitioned(t, cs[0], order.Cancel)
		check("kept, not applied", 0)
		redis = 2
		check("kept, applied", 1)
		l.ApplyAll(t, v)
		check("kept, completed", 1)
		l.Accepts(t, v, 11, 901)
		check("accepted, not applied", 1)
		if got, _ := l.LedgerTotals(t.Context(), v, 2); got.Open != 1 {
			t.Errorf("accepted, applied: %+v", got)
		}
		l.ApplyAll(t, v)
		check("an order, of which an earlier Redis knows nothing", 1)
		redis = 3
		check("an order", 2)
		l.Transitioned(t, cs[1], order.Cancel)
		l.Transitioned(t, cs[2], order.Cancel)
		l.ApplyAll(t, v)
		redis = 1
		check("two more are kept", 4)
		c := l.Restock(t, v, -1, "less")
		if err := l.CompleteOperations(t.Context(), v, []operation.Result{{Number: c.Number}}); err != nil {
			t.Fatal(err)
		}
		check("one of them is removed", 5)
		l.KeptSale(t, v, func(s sqlkit.KeptSale) error { return s.Release(1, ledgertest.RecordedAt) })
		check("one is on sale, not applied", 5)
		redis = 2
		check("one is on sale", 6)
	})
}

// A sale with an open list does not retire: its units are to be released first.
func TestOpenListKeepsTheSale(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 1)
		l.OpenList(t, v)
		l.Over(t, v)
		if retired, err := l.Retire(t.Context(), v, 0); err != nil || retired {
			t.Errorf("retired with an open list: %t, %v", retired, err)
		}
		l.KeptSale(t, v, func(s sqlkit.KeptSale) error { return s.SetOpen(false) })
		if retired, err := l.Retire(t.Context(), v, 0); err != nil || !retired {
			t.Errorf("retired: %t, %v", retired, err)
		}
	})
}

// An operation's row keeps which admission it was in Redis, whether the ledger has what Redis gave or not, and a
// rebuild's snapshot has all of them; the sale's own mark stays where recorded orders brought it.
func TestAdmissionsOfOperations(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.soldOut(t, 3)
		l.OpenList(t, v)
		for _, c := range cs {
			l.Transitioned(t, c, order.Cancel)
		}
		l.ApplyAll(t, v)
		mark := l.Sale(t, v).Sequence
		l.Accepts(t, v, 11, 901)
		l.Accepts(t, v, 12, cs[0].OrderID) // which is another order's
		l.Accepts(t, v, 13, 903)
		at := func(sequence int64) order.Mark { return order.Mark{Epoch: 1, Sequence: sequence} }
		err := l.CompleteOperations(t.Context(), v, []operation.Result{
			{Number: 4, Taken: true, Admission: at(7)}, {Number: 5, Taken: true, Admission: at(9)},
		})
		if !errors.Is(err, order.ErrConflict) {
			t.Errorf("completing: %v", err)
		}
		if got := l.Sale(t, v).Sequence; got != mark {
			t.Errorf("the sale's mark rose from %d to %d", mark, got)
		}
		snap, err := l.Snapshot(t.Context(), v, 1)
		if diff := cmp.Diff([]order.Mark{at(7), at(9)}, snap.Admitted); diff != "" || snap.Void != 1 || err != nil {
			t.Errorf("%d are void, %v; admitted (-want +got):\n%s", snap.Void, err, diff)
		}
		if snap, err = l.Snapshot(t.Context(), v, 1); err != nil || snap.Void != 0 {
			t.Errorf("once more: %d are void, %v", snap.Void, err)
		}
	})
}
