package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// moves asks for units of one share for another.
func (l ledger) moves(tb testing.TB, from order.SaleID, to int, units int64) {
	tb.Helper()
	if err := l.RequestMove(tb.Context(), from, to, units); err != nil {
		tb.Fatal(err)
	}
}

// pendingOf returns the pending operations of a share.
func (l ledger) pendingOf(tb testing.TB, id order.SaleID) []order.Operation {
	tb.Helper()
	ops, _, err := l.Pending(tb.Context(), id, 1000)
	if err != nil {
		tb.Fatal(err)
	}
	return ops
}

// shareOf returns what the ledger has of a share that moves change.
func (l ledger) shareOf(tb testing.TB, id order.SaleID) voucher.Share {
	tb.Helper()
	sale := l.sale(tb, id.VoucherID)
	share := sale.At(id.Share)
	return voucher.Share{Stock: share.Stock, Issued: share.Issued, MovedIn: share.MovedIn, MovedOut: share.MovedOut}
}

// Redis decides whether a share has the units. Completing what takes moves them in the ledger and writes what gives, once.
func TestMove(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.split(t, 2, 10)
		zero, one := order.SaleID{VoucherID: v}, order.SaleID{VoucherID: v, Share: 1}
		insert(t, l, claimsOf(one, 1, 1))
		for range 2 {
			l.moves(t, one, 0, 3)
		}
		takes := order.Operation{VoucherID: v, Share: 1, Number: 1, Kind: order.Move, Delta: -3, Peer: 0}
		if diff := cmp.Diff([]order.Operation{takes}, l.pendingOf(t, one)); diff != "" {
			t.Fatalf("asked for twice (-want +got):\n%s", diff)
		}
		if got := l.shareOf(t, one); got != (voucher.Share{Stock: 4, Issued: 5}) {
			t.Errorf("before Redis has decided: %+v", got)
		}
		taken := results([]order.Operation{takes}, true)
		for range 2 {
			if err := l.CompleteOperations(t.Context(), one, taken); err != nil {
				t.Fatal(err)
			}
			l.moves(t, one, 0, 1)  // what was taken has not arrived
			l.moves(t, zero, 1, 1) // and what would go back would meet it
			gives := order.Operation{VoucherID: v, Number: 1, Kind: order.Move, Delta: 3, Peer: 1}
			if diff := cmp.Diff([]order.Operation{gives}, l.pendingOf(t, zero)); diff != "" || len(l.pendingOf(t, one)) != 0 {
				t.Errorf("completed, share 1 has %+v; of share 0 (-want +got):\n%s", l.pendingOf(t, one), diff)
			}
			got := []voucher.Share{l.shareOf(t, zero), l.shareOf(t, one)}
			if diff := cmp.Diff([]voucher.Share{{Stock: 8, Issued: 8, MovedIn: 3}, {Stock: 1, Issued: 2, MovedOut: 3}}, got); diff != "" {
				t.Errorf("completed (-want +got):\n%s", diff)
			}
			l.stocks(t, v)
		}
		for range 2 { // applied, and asked once more
			if err := l.CompleteOperations(t.Context(), zero, []order.OperationResult{{Number: 1, Taken: true}}); err != nil {
				t.Fatal(err)
			}
		}
		l.moves(t, one, 0, 1)
		if err := l.CompleteOperations(t.Context(), one, []order.OperationResult{{Number: 2}}); err != nil {
			t.Fatal(err)
		}
		if got := l.stocks(t, v); !slices.Equal(got, []int64{8, 1}) || len(l.pendingOf(t, zero))+len(l.pendingOf(t, one)) != 0 {
			t.Errorf("refused: stock %v, pending %+v, %+v", got, l.pendingOf(t, zero), l.pendingOf(t, one))
		}
	})
}

// The crash points of ADR 37, and what else can come between a move's two halves: the late results of before change nothing.
func TestMoveWithFaults(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		rebuild := func(id order.SaleID, stock int64, moved order.Moved) {
			t.Helper()
			snap, err := l.Snapshot(t.Context(), id, 1)
			if err != nil {
				t.Fatal(err)
			}
			sale := snap.Voucher.Sale
			if got := (order.Moved{Out: sale.MovedOut, In: sale.MovedIn}); sale.Stock != stock || got != moved || snap.Operation != 1 {
				t.Errorf("share %d is rebuilt with %d units, %+v, operation %d; want %d, %+v, 1", id.Share, sale.Stock, got, snap.Operation, stock, moved)
			}
		}
		for name, test := range map[string]struct {
			before   func(zero, one order.SaleID) // of completing what share 1 is to give
			after    func(zero, one order.SaleID)
			conflict bool
			stocks   []int64
			states   [5]int64 // of both shares: pending, applied, absorbed, refused, void
		}{
			"nothing": {stocks: []int64{8, 2}, states: [5]int64{1, 1}},
			"the giving share is rebuilt before": {
				before: func(_, one order.SaleID) { rebuild(one, 5, order.Moved{}) },
				stocks: []int64{5, 5}, states: [5]int64{4: 1},
			},
			"it is rebuilt after": {
				after:  func(_, one order.SaleID) { rebuild(one, 2, order.Moved{Out: 3}) },
				stocks: []int64{8, 2}, states: [5]int64{1, 1},
			},
			"the other is rebuilt before it is given": {
				after:  func(zero, _ order.SaleID) { rebuild(zero, 8, order.Moved{In: 3}) },
				stocks: []int64{8, 2}, states: [5]int64{1: 1, 2: 1},
			},
			"the ledger lacks the units": {
				before:   func(_, one order.SaleID) { insert(t, l, claimsOf(one, 1, 3)) },
				conflict: true, stocks: []int64{5, 2}, states: [5]int64{3: 1},
			},
			"nobody knows where to": {
				before: func(_, one order.SaleID) {
					l.exec(t, "UPDATE tb_voucher_operation SET peer = NULL WHERE voucher_id = ?", one.VoucherID)
				},
				conflict: true, stocks: []int64{5, 5}, states: [5]int64{3: 1},
			},
			"to a share that is not there": {
				before: func(_, one order.SaleID) {
					l.exec(t, "UPDATE tb_voucher_operation SET peer = 7 WHERE voucher_id = ?", one.VoucherID)
				},
				conflict: true, stocks: []int64{5, 5}, states: [5]int64{3: 1},
			},
			"the other is retired": {
				before: func(zero, _ order.SaleID) {
					l.exec(t, "UPDATE tb_seckill_voucher SET retired = ? WHERE voucher_id = ? AND share = 0", true, zero.VoucherID)
				},
				stocks: []int64{8, 2}, states: [5]int64{1: 1, 2: 1},
			},
		} {
			v := l.split(t, 2, 10)
			zero, one := order.SaleID{VoucherID: v}, order.SaleID{VoucherID: v, Share: 1}
			l.moves(t, one, 0, 3)
			if test.before != nil {
				test.before(zero, one)
			}
			taken := []order.OperationResult{{Number: 1, Taken: true}}
			for range 2 {
				if err := l.CompleteOperations(t.Context(), one, taken); errors.Is(err, order.ErrConflict) != test.conflict || !test.conflict && err != nil {
					t.Errorf("%s: %v", name, err)
				}
				test.conflict = false // completed before
				if test.after != nil {
					test.after(zero, one)
					test.after = nil
				}
			}
			if diff := cmp.Diff(test.stocks, l.stocks(t, v)); diff != "" {
				t.Errorf("%s: stock (-want +got):\n%s", name, diff)
			}
			if got := l.states(t, v); got != test.states {
				t.Errorf("%s: operations %v, want %v", name, got, test.states)
			}
			in, out := l.shareOf(t, zero).MovedIn, l.shareOf(t, one).MovedOut
			if want := test.stocks[0] - 5; in != want || out != want {
				t.Errorf("%s: %d units came and %d went, want %d", name, in, out, want)
			}
		}
	})
}

// What cannot be moved, and what need not be.
func TestMoveOfNothing(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, single := l.split(t, 3, 9), l.seckill(t, 5)
		for name, err := range map[string]error{
			"no units":          l.RequestMove(t.Context(), order.SaleID{VoucherID: v}, 1, 0),
			"fewer":             l.RequestMove(t.Context(), order.SaleID{VoucherID: v}, 1, -1),
			"to itself":         l.RequestMove(t.Context(), order.SaleID{VoucherID: v, Share: 1}, 1, 1),
			"below all":         l.RequestMove(t.Context(), order.SaleID{VoucherID: v}, -1, 1),
			"above all":         l.RequestMove(t.Context(), order.SaleID{VoucherID: v}, 3, 1),
			"of a single share": l.RequestMove(t.Context(), saleID(single), 1, 1),
			"of no sale":        l.RequestMove(t.Context(), saleID(l.ordinary(t)), 1, 1),
		} {
			if err == nil {
				t.Errorf("%s: asked for", name)
			}
		}
		if err := l.RequestMove(t.Context(), saleID(4711), 1, 1); !errors.Is(err, voucher.ErrNotFound) {
			t.Errorf("of no voucher: %v", err)
		}
		if err := l.RequestMove(cancelled(t), order.SaleID{VoucherID: v}, 1, 1); err == nil {
			t.Error("asked for although nobody waits")
		}
		l.exec(t, "UPDATE tb_seckill_voucher SET retired = ? WHERE voucher_id = ? AND share = 1", true, v)
		l.moves(t, order.SaleID{VoucherID: v, Share: 1}, 0, 1)
		if n := l.number(t, "SELECT COUNT(*) FROM tb_voucher_operation WHERE voucher_id IN (?, ?)", v, single); n != 0 {
			t.Errorf("%d operations", n)
		}
	})
}

// Moves to and from all shares are completed while each records orders: locks are taken in one order, and each counts once.
func TestMovesAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		const shares = 3
		v := l.split(t, shares, 90)
		var work []func() error
		for from := range shares {
			id := order.SaleID{VoucherID: v, Share: from}
			for to := range shares {
				if to != from {
					l.exec(t, "INSERT INTO tb_voucher_operation (voucher_id, number, kind, delta, actor, state, create_time, share, peer) VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?)",
						v, to+1, order.Move, -(to + 1), order.ByService, stored(recordedAt), from, to)
				}
			}
			l.exec(t, "UPDATE tb_seckill_voucher SET last_operation = ? WHERE voucher_id = ? AND share = ?", shares, v, from)
			rs := results(l.pendingOf(t, id), true)
			for range 2 {
				work = append(work, func() error { return l.CompleteOperations(t.Context(), id, rs) })
			}
			cs := claimsOf(id, int64(100*from), 5)
			work = append(work, func() error { return l.Insert(t.Context(), cs) })
		}
		failed := make(chan error, len(work))
		for i, do := range work {
			go func() {
				if err := do(); err != nil {
					failed <- fmt.Errorf("work %d: %w", i, err)
					return
				}
				failed <- nil
			}()
		}
		for range work {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		// Share n is given n+1 by each other, and gives what the others get.
		if diff := cmp.Diff([]int64{30 - 5 + 2 - 5, 30 - 5 + 4 - 4, 30 - 5 + 6 - 3}, l.stocks(t, v)); diff != "" {
			t.Errorf("stock (-want +got):\n%s", diff)
		}
		if got := l.states(t, v); got != [5]int64{6, 6} {
			t.Errorf("operations %v, want 6 that gave and 6 that give", got)
		}
	})
}

// The audit compares a share with its Redis while units are on their way.
func TestTotalsWhileUnitsMove(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.split(t, 2, 10)
		zero, one := order.SaleID{VoucherID: v}, order.SaleID{VoucherID: v, Share: 1}
		check := func(what string, id order.SaleID, applied, ahead, open int64) {
			t.Helper()
			totals, err := l.LedgerTotals(t.Context(), id, applied)
			if err != nil || totals.Ahead != ahead || totals.Open != open {
				t.Errorf("%s: %+v, %v; want ahead %d, open %d", what, totals, err, ahead, open)
			}
		}
		l.moves(t, one, 0, 3)
		check("not taken", one, 0, 0, 0)
		check("perhaps taken", one, 1, 0, 1)
		l.complete(t, one)
		check("taken", one, 1, 0, 0)
		check("taken from a Redis that has lost it", one, 0, -3, 0)
		check("not given", zero, 0, 3, 0)
		check("given", zero, 1, 0, 0)
	})
}
