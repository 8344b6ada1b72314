package sqlstore_test

import (
	"testing"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// applied returns the sale as a Redis shows it that has applied all operations of the ledger.
func (l ledger) applied(t *testing.T, id int64) order.SaleView {
	t.Helper()
	v, err := l.Voucher(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	view := order.SaleView{
		Mode: order.ModeOf(v.Status, *v.Sale), Mark: order.Mark{Epoch: v.Sale.Epoch}, Applied: v.Sale.LastOperation,
		AppliedIdentity: v.Sale.LastIdentity, Stock: v.Sale.Stock, Begin: v.Sale.Begin, End: v.Sale.End,
	}
	for _, op := range l.ReadPending(t, id) {
		if op.Kind.Decided() {
			view.Decided = order.Decided{OperationRef: op.Ref(), Kind: string(op.Kind)}
		}
	}
	return view
}

// forget makes the ledger lose a sale's operations above a number, and what they did to the sale.
func (l ledger) forget(t *testing.T, id, above int64) {
	t.Helper()
	l.Exec(t, "DELETE FROM tb_voucher_operation WHERE voucher_id = ? AND number > ?", id, above)
	l.Exec(t, "UPDATE tb_seckill_voucher SET last_operation = ?, paused = FALSE WHERE voucher_id = ?", above, id)
}

func (l ledger) paused(t *testing.T, id int64, paused bool) {
	t.Helper()
	_, err := l.ChangeVoucher(t.Context(), id, ledgertest.Admin,
		func(v *voucher.Voucher) error { v.Sale.Paused = paused; return nil })
	if err != nil {
		t.Fatal(err)
	}
}

// A rebuild whose Redis has a decision that the ledger has lost pauses the sale, keeps both sides, and takes numbers
// above Redis's, also where the lost number was given again. A lost cancellation pauses nothing.
func TestLostDecision(t *testing.T) {
	for name, tc := range map[string]struct {
		lose   func(t *testing.T, l ledger, id int64)
		pauses bool
		last   int64
	}{
		"a pause": {func(t *testing.T, l ledger, id int64) { l.forget(t, id, 1) }, true, 3},
		"a pause whose number was given again": {func(t *testing.T, l ledger, id int64) {
			l.forget(t, id, 1)
			l.Transitioned(t, l.NewOrders(t, id, 1)[0], order.Cancel)
		}, true, 3},
		"nothing": {func(*testing.T, ledger, int64) {}, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			eachDialect(t, func(t *testing.T, l ledger) {
				l.NameOperations()
				id := l.Seckill(t, 10)
				if _, err := l.ChangeStock(t.Context(), id, ledgertest.Admin, 5, "more"); err != nil {
					t.Fatal(err)
				}
				l.paused(t, id, true)
				seen := l.applied(t, id)
				tc.lose(t, l, id)
				raised, err := l.RaiseEpoch(t.Context(), id, 0, seen)
				if err != nil || raised.Decision != tc.pauses || raised.Paused != tc.pauses || raised.Epoch != 2 {
					t.Fatalf("raised %+v, %v", raised, err)
				}
				sale := l.Sale(t, id)
				if !sale.Paused || sale.LastOperation != tc.last {
					t.Errorf("sale %+v, want it paused by operation %d", sale, tc.last)
				}
				lost, err := l.LostDecisions(t.Context(), id)
				if err != nil || (len(lost) == 1) != tc.pauses {
					t.Fatalf("evidence %+v, %v", lost, err)
				}
				if !tc.pauses {
					return
				}
				if e := lost[0]; !e.Paused || e.Kind != string(operation.Pausing) || e.Redis.Mode != "paused" ||
					e.Ledger.Mode != "open" || e.Redis.Operation != 2 {
					t.Errorf("evidence %+v", e)
				}
				if n := l.Number(t, "SELECT COUNT(*) FROM tb_audit WHERE action = 'decision_lost'"); n != 1 {
					t.Errorf("%d audit entries", n)
				}
				snap, err := l.Snapshot(t.Context(), id, 2)
				if err != nil || snap.Operation != 3 || snap.Identity == 0 ||
					snap.Decided.Number != 3 || snap.Decided.Kind != string(operation.Pausing) {
					t.Errorf("snapshot %+v, %v", snap, err)
				}
				// A rebuild that did not end is repeated.
				if raised, err := l.RaiseEpoch(t.Context(), id, 0, seen); err != nil || raised.Paused {
					t.Errorf("repeated: %+v, %v", raised, err)
				}
				n, last := l.Number(t, "SELECT COUNT(*) FROM tb_lost_decision"), l.Sale(t, id).LastOperation
				if n != 1 || last != 3 {
					t.Errorf("repeated: %d rows, operation %d", n, last)
				}
				// The next rebuild finds nothing more to be lost, and a person ends it.
				if raised, err := l.RaiseEpoch(t.Context(), id, 0, l.applied(t, id)); err != nil || raised.Lost {
					t.Errorf("again: %+v, %v", raised, err)
				}
				l.paused(t, id, false)
				if lost, err := l.LostDecisions(t.Context(), 0); err != nil || len(lost) > 0 {
					t.Errorf("after it was resumed: %+v, %v", lost, err)
				}
			})
		})
	}
}

// Lost cancellations are caught up with: no sale pauses, and the next operation has a number above Redis's.
func TestLostCancellations(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.NameOperations()
		id := l.Seckill(t, 10)
		if snap, err := l.Snapshot(t.Context(), id, 1); err != nil || snap.Decided.Kind != order.NoDecision {
			t.Errorf("before the first: %+v, %v", snap.Decided, err)
		}
		l.paused(t, id, true)
		l.paused(t, id, false)
		seen := l.applied(t, id)
		decided := seen.Decided
		for _, c := range l.NewOrders(t, id, 3) {
			l.Transitioned(t, c, order.Cancel)
		}
		seen = l.applied(t, id)
		seen.Decided = decided
		l.forget(t, id, 2)
		raised, err := l.RaiseEpoch(t.Context(), id, 0, seen)
		if err != nil || !raised.Lost || raised.Decision {
			t.Errorf("raised %+v, %v", raised, err)
		}
		if sale := l.Sale(t, id); sale.Paused || sale.LastOperation != 5 {
			t.Errorf("sale %+v, want it open, at Redis's operation 5", sale)
		}
		l.paused(t, id, true)
		if sale := l.Sale(t, id); sale.LastOperation != 6 {
			t.Errorf("the next operation is %d", sale.LastOperation)
		}
	})
}

// After a restore every sale that has not ended is paused, once, with the evidence of what is lost.
func TestPauseRestored(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.NameOperations()
		open, paused, lost, over := l.Seckill(t, 1), l.Seckill(t, 1), l.Seckill(t, 1), l.Seckill(t, 1)
		l.paused(t, paused, true)
		l.paused(t, lost, true)
		seen := l.applied(t, lost)
		l.forget(t, lost, 0)
		l.Over(t, over)
		by := voucher.Author{Request: "server migrate"}
		for id, want := range map[int64]bool{open: true, paused: false, lost: true, over: false} {
			view := l.applied(t, id)
			if id == lost {
				view = seen
			}
			for _, want := range []bool{want, false} {
				if got, err := l.PauseRestored(t.Context(), id, view, by); err != nil || got != want {
					t.Errorf("sale %d: paused %v, %v; want %v", id, got, err, want)
				}
				view = l.applied(t, id)
			}
		}
		if found, err := l.LostDecisions(t.Context(), 0); err != nil || len(found) != 1 || found[0].VoucherID != lost {
			t.Errorf("evidence %+v, %v", found, err)
		}
		if err := l.NoteRestored(t.Context(), by); err != nil {
			t.Error(err)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_audit WHERE action = 'ledger_restored'"); n != 1 {
			t.Errorf("%d audit entries", n)
		}
	})
}

// Operations have no identity until all living instances read them; each has another one then.
func TestNameOperations(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		id := l.Seckill(t, 10)
		l.paused(t, id, true)
		l.NameOperations()
		l.paused(t, id, false)
		l.paused(t, id, true)
		ops := l.ReadPending(t, id)
		if len(ops) != 3 || ops[0].Identity != 0 || ops[1].Identity == 0 || ops[2].Identity == ops[1].Identity {
			t.Errorf("operations %+v", ops)
		}
	})
}
