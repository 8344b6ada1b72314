package sqlstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

func TestSalesToKeep(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		if vs, err := l.SalesToKeep(t.Context()); err != nil || len(vs) != 0 {
			t.Errorf("no sales: %v, %v", vs, err)
		}
		first, second, gone := l.Seckill(t, 1), l.Seckill(t, 2), l.Seckill(t, 3)
		plain := ledgertest.Draft()
		if err := l.CreateVoucher(t.Context(), &plain, ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		l.Exec(t, "UPDATE tb_seckill_voucher SET paused = 1, partition_no = 3 WHERE voucher_id = ?", second)
		l.Exec(t, "UPDATE tb_voucher SET status = 2 WHERE id = ?", second) // off the shelf is still a sale to keep
		l.Exec(t, "UPDATE tb_seckill_voucher SET begin_time = ?, end_time = ? WHERE voucher_id = ?",
			ledgertest.Stored(ledgertest.RecordedAt.Add(-time.Hour)), ledgertest.Stored(ledgertest.RecordedAt), gone)
		for range 2 {
			if retired, err := l.Retire(t.Context(), gone, 0); err != nil || !retired {
				t.Fatalf("Retire: %v, %v", retired, err)
			}
		}
		if above, err := l.SalesAbove(t.Context(), 0); err != nil || len(above) == 0 {
			t.Errorf("above 0: %+v, %v", above, err)
		} else if last := above[len(above)-1]; last > 0 {
			if rest, err := l.SalesAbove(t.Context(), last); err != nil || len(rest) != 0 {
				t.Errorf("above %d: %+v, %v", last, rest, err)
			}
		}
		vs, err := l.SalesToKeep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := ledgertest.Draft()
		want.Kind, want.Status, want.ID, want.Version, want.CreatedAt, want.UpdatedAt = voucher.Seckill,
			voucher.OffShelf, second, 1, ledgertest.RecordedAt, ledgertest.RecordedAt
		want.Sale = &voucher.Sale{
			Stock: 2, Issued: 2, Begin: ledgertest.RecordedAt, End: ledgertest.RecordedAt.Add(time.Hour),
			Paused: true, Epoch: 1, FirstEpoch: 1, Partition: 3,
		}
		if len(vs) != 2 || vs[0].ID != first {
			t.Fatalf("sales %+v, want those of %d and %d", vs, first, second)
		}
		if diff := cmp.Diff(want, vs[1]); diff != "" {
			t.Errorf("sale (-want +got):\n%s", diff)
		}
		if sale := l.Sale(t, gone); !sale.Retired {
			t.Errorf("sale = %+v, want it retired", sale)
		}
	})
}

func TestRaiseEpoch(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, other := l.Seckill(t, 10), l.Seckill(t, 10)
		l.Record(t, ledgertest.Claims(v, 1, 4))
		if raised, err := l.RaiseEpoch(t.Context(), v, 0, order.SaleView{}); err != nil || raised.Epoch != 2 {
			t.Errorf("RaiseEpoch = %+v, %v; want 2", raised, err)
		}
		if sale := l.Sale(t, v); sale.Epoch != 2 || sale.Sequence != 0 || sale.Stock != 6 {
			t.Errorf("sale = %+v, want epoch 2, sequence 0, stock 6", sale)
		}
		// A Redis that is ahead (of a ledger that was restored from a copy) is overtaken.
		if raised, err := l.RaiseEpoch(t.Context(), other, 8, order.SaleView{}); err != nil || raised.Epoch != 9 {
			t.Errorf("RaiseEpoch above 8 = %+v, %v; want 9", raised, err)
		}
		if raised, err := l.RaiseEpoch(t.Context(), other, 3, order.SaleView{}); err != nil || raised.Epoch != 10 {
			t.Errorf("RaiseEpoch above 3 = %+v, %v; want 10", raised, err)
		}
		third := l.Seckill(t, 1)
		if sale := l.Sale(t, third); sale.Epoch != 1 || sale.FirstEpoch != 1 {
			t.Errorf("the other sale = %+v", sale)
		}
		// What another voucher with the id had in Redis, which the ledger has lost, is of earlier epochs.
		l.Exec(t, "UPDATE tb_seckill_voucher SET epoch = 0, first_epoch = 0 WHERE voucher_id = ?", third)
		for _, want := range []int64{6, 7} {
			raised, err := l.RaiseEpoch(t.Context(), third, 5, order.SaleView{})
			if sale := l.Sale(t, third); err != nil || raised.Epoch != want || sale.FirstEpoch != 6 {
				t.Errorf("opened at %d, %v: %+v; want %d, first 6", raised.Epoch, err, sale, want)
			}
		}
		old := ledgertest.Claims(v, 10, 1)
		if err := l.Insert(t.Context(), old); !errors.Is(err, order.ErrConflict) {
			t.Errorf("inserting a claim of epoch 1: %v, want ErrConflict", err)
		}
		old[0].Epoch = 2
		l.Record(t, old)
	})
}

func TestRaiseEpochAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 1)
		const callers = 8
		epochs := make(chan int64, callers)
		for range callers {
			go func() {
				raised, err := l.RaiseEpoch(t.Context(), v, 0, order.SaleView{})
				if err != nil {
					t.Errorf("RaiseEpoch: %v", err)
				}
				epochs <- raised.Epoch
			}()
		}
		seen := make(map[int64]bool)
		for range callers {
			seen[<-epochs] = true
		}
		if len(seen) != callers || l.Sale(t, v).Epoch != callers+1 {
			t.Errorf("epochs %v, the sale is at %d; want %d different ones", seen, l.Sale(t, v).Epoch, callers)
		}
	})
}

func TestSnapshot(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, other := l.Seckill(t, 100), l.Seckill(t, 10)
		cs := ledgertest.Claims(v, 1, 7)
		l.Record(t, cs)
		l.Record(t, ledgertest.Claims(other, 1, 3))
		want := order.Snapshot{
			Operation: 5, Live: map[int64]order.Held{}, Dead: map[int64]bool{}, Admitted: []order.Mark{},
		}
		for i, c := range cs { // one in each state
			status := order.Status(i + 1)
			l.Exec(t, "UPDATE tb_voucher_order SET status = ? WHERE id = ?", status, c.OrderID)
			if status.Live() {
				want.Live[c.UserID] = c.Held()
			} else {
				want.Dead[c.OrderID] = true
			}
		}
		again := ledgertest.Claims(v, 4, 1) // the cancelled one's user bought again
		l.Record(t, again)
		want.Live[4] = again[0].Held()
		for number, state := range []int{1, 2, 1, 3} {
			for _, id := range []int64{v, other} {
				l.Exec(t,
					"INSERT INTO tb_voucher_operation (voucher_id, number, kind, delta, actor, state, create_time) "+
						"VALUES (?, ?, 'cancel', 1, 'owner', ?, '2026-06-01 20:00:00')", id, number+1, state)
			}
		}
		l.Exec(t, "UPDATE tb_seckill_voucher SET last_operation = 5 WHERE voucher_id = ?", v)

		got, err := l.Snapshot(t.Context(), v, 1)
		if err != nil {
			t.Fatal(err)
		}
		want.Decided.Kind = order.NoDecision
		if want.Voucher, err = l.Voucher(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("snapshot (-want +got):\n%s", diff)
		}
		states := func(id, state int64) int64 {
			return l.Number(t,
				"SELECT COUNT(*) FROM tb_voucher_operation WHERE voucher_id = ? AND state = ?", id, state)
		}
		if states(v, 1) != 0 || states(v, 2) != 1 || states(v, 3) != 3 {
			t.Errorf("operations: %d pending, %d applied, %d absorbed; want 0, 1, 3",
				states(v, 1), states(v, 2), states(v, 3))
		}
		if states(other, 1) != 2 {
			t.Errorf("the other sale has %d pending operations, want 2", states(other, 1))
		}
	})
}

func TestSnapshotOfAnotherEpoch(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		l.Exec(t, "INSERT INTO tb_voucher_operation (voucher_id, number, kind, delta, actor, state, create_time) "+
			"VALUES (?, 1, 'cancel', 1, 'owner', 1, '2026-06-01 20:00:00')", v)
		for _, epoch := range []int64{0, 2} {
			if _, err := l.Snapshot(t.Context(), v, epoch); !errors.Is(err, order.ErrSuperseded) {
				t.Errorf("epoch %d: %v, want ErrSuperseded", epoch, err)
			}
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_operation WHERE state = 1"); n != 1 {
			t.Error("the operation was absorbed by a rebuild that must stop")
		}
	})
}

// A snapshot and the batches around it: what it counts as sold and as left is always what was issued.
func TestSnapshotWhileRecording(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 1000)
		done := make(chan error, 1)
		go func() {
			var err error
			for i := range 12 {
				err = errors.Join(err, l.Insert(t.Context(), ledgertest.Claims(v, int64(1000*i+1), 10)))
			}
			done <- err
		}()
		for finished := false; !finished; {
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("Insert: %v", err)
				}
				finished = true
			default:
			}
			snap, err := l.Snapshot(t.Context(), v, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := snap.Voucher.Sale.Stock + int64(len(snap.Live)); got != 1000 {
				t.Fatalf("stock %d + live %d = %d, want 1000", snap.Voucher.Sale.Stock, len(snap.Live), got)
			}
		}
	})
}

// The rebuild's fence: nothing of an older epoch gets in after its snapshot.
func TestInsertAfterARebuild(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 1000)
		cs := ledgertest.Claims(v, 1, 10)
		done := make(chan error, 1)
		go func() { done <- l.Insert(t.Context(), cs) }()
		raised, err := l.RaiseEpoch(t.Context(), v, 0, order.SaleView{})
		if err != nil {
			t.Fatal(err)
		}
		snap, err := l.Snapshot(t.Context(), v, raised.Epoch)
		if err != nil {
			t.Fatal(err)
		}
		inserted := <-done
		if inserted != nil && !errors.Is(inserted, order.ErrConflict) {
			t.Fatalf("Insert: %v", inserted)
		}
		if (inserted == nil) != (len(snap.Live) == 10) {
			t.Errorf("Insert: %v, but the snapshot has %d orders", inserted, len(snap.Live))
		}
	})
}

func TestSaleNotFound(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		plain := ledgertest.Draft()
		if err := l.CreateVoucher(t.Context(), &plain, ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[int64]error{1 << 50: voucher.ErrNotFound, plain.ID: voucher.ErrNotSeckill} {
			_, raiseErr := l.RaiseEpoch(t.Context(), id, 0, order.SaleView{})
			_, snapshotErr := l.Snapshot(t.Context(), id, 0)
			_, retireErr := l.Retire(t.Context(), id, 0)
			for name, err := range map[string]error{
				"RaiseEpoch": raiseErr, "Snapshot": snapshotErr, "Retire": retireErr,
			} {
				if !errors.Is(err, want) {
					t.Errorf("%s(%d): %v, want %v", name, id, err, want)
				}
			}
		}
	})
}

// Four of ten units are sold, one of those is given back by operation 1. Operation 2 adds five units, 3 takes two, 4
// takes one, and other sales have orders and operations of their own.
func TestLedgerTotals(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		other := l.Seckill(t, 10)
		l.Transitioned(t, l.NewOrders(t, other, 2)[0], order.Cancel)
		l.Restock(t, other, 3, "other")

		v := l.Seckill(t, 10)
		l.Transitioned(t, l.NewOrders(t, v, 4)[0], order.Cancel)
		l.Restock(t, v, 5, "give")
		l.Restock(t, v, -2, "take")
		l.Restock(t, v, -1, "take more")
		check := func(when string, applied int64, want audit.LedgerTotals) {
			t.Helper()
			sale := l.Sale(t, v)
			want.Mark, want.Operation, want.Live = order.Mark{Epoch: sale.Epoch, Sequence: sale.Sequence}, 4, 3
			got, err := l.LedgerTotals(t.Context(), v, applied)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, applied up to %d (-want +got):\n%s", when, applied, diff)
			}
		}
		given := audit.LedgerTotals{Stock: 12, Issued: 15, Pending: 4}
		for applied, add := range []audit.LedgerTotals{{Ahead: 5}, {Ahead: 5}, {}, {Open: 1}, {Open: 2}} {
			want := given
			want.Ahead, want.Open = add.Ahead, add.Open
			check("all pending", int64(applied), want)
		}
		if err := l.CompleteOperations(t.Context(), v, ledgertest.Results(l.ReadPending(t, v)[:3], true)); err != nil {
			t.Fatal(err)
		}
		taken := audit.LedgerTotals{Stock: 10, Issued: 13, Pending: 1}
		for applied, add := range []audit.LedgerTotals{{Ahead: 3}, {Ahead: 3}, {Ahead: -2}, {}, {Open: 1}} {
			want := taken
			want.Ahead, want.Open = add.Ahead, add.Open
			check("three completed", int64(applied), want)
		}
		for _, id := range []int64{l.Ordinary(t), 4711} {
			if _, err := l.LedgerTotals(t.Context(), id, 0); !errors.Is(err, voucher.ErrNotSeckill) {
				t.Errorf("no sale: %v", err)
			}
		}
	})
}
