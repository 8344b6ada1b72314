package store_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"seckill/internal/feature/guard/draw"
	"seckill/internal/feature/guard/store"
	"seckill/internal/kit/moment"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// begin is the begin of the sales here, an hour from now.
func begin() time.Time { return ledgertest.RecordedAt.Add(time.Hour) }

// announced is a draw that closes in half an hour.
func announced() *guards.Draw {
	closes := moment.Of(ledgertest.RecordedAt.Add(30 * time.Minute))
	return &guards.Draw{CloseTime: closes, Source: "drand", Round: "4711"}
}

// drawn makes a sale with a draw, in a ledger with the hooks of draws.
func drawn(t *testing.T, l ledgertest.Ledger) (*store.Ledger, int64) {
	t.Helper()
	draws := store.NewLedger(l.DB())
	l.Use(sqlkit.Hook{Feature: "guard", VoucherChanged: draws.VoucherChanged, Restored: draws.Restored})
	id := l.Seckill(t, 10)
	change(t, l, id, func(v *voucher.Voucher) {
		v.Sale.Begin, v.Sale.End = begin(), begin().Add(time.Hour)
		v.Sale.Guards = &guards.Settings{Tickets: &guards.Tickets{
			DelayMs: 20_000, LeadMinutes: 60, ExpiryMinutes: 60, Draw: announced(),
		}}
	})
	return draws, id
}

func change(t *testing.T, l ledgertest.Ledger, id int64, alter func(v *voucher.Voucher)) {
	t.Helper()
	_, err := l.ChangeVoucher(t.Context(), id, ledgertest.Admin, func(v *voucher.Voucher) error {
		alter(v)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tickets returns an alteration of the tickets of a sale.
func tickets(alter func(t *guards.Tickets)) func(v *voucher.Voucher) {
	return func(v *voucher.Voucher) {
		changed := *v.Sale.Guards.Tickets
		alter(&changed)
		v.Sale.Guards = &guards.Settings{Tickets: &changed}
	}
}

// last returns all draws of a sale, and the last one.
func last(t *testing.T, draws *store.Ledger, id int64) ([]store.DrawRow, *store.DrawRow) {
	t.Helper()
	all, err := draws.Draws(t.Context(), id)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d draws, %v", len(all), err)
	}
	return all, &all[len(all)-1]
}

// due has the close time of a sale's last draw come.
func due(t *testing.T, l ledgertest.Ledger, id int64) {
	t.Helper()
	l.Exec(t, "UPDATE tb_draw SET close_time = ? WHERE voucher_id = ? AND void_time IS NULL",
		ledgertest.Stored(ledgertest.RecordedAt), id)
}

func closeDraws(t *testing.T, draws *store.Ledger) {
	t.Helper()
	if _, err := draws.CloseDraws(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
}

// A draw is committed to its key. What it was committed to does not change: a change begins another draw, with another
// key and without entries, and both are listed. Other changes leave it as it is.
func TestChangesBeginAnotherDraw(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		draws, id := drawn(t, l)
		_, first := last(t, draws, id)
		if first.Number != 1 || draw.KeyHash([32]byte(first.Key)) != draw.Hash(first.KeyHash) || first.Decided() ||
			!first.Fits(begin(), &guards.Tickets{DelayMs: 20_000, Draw: announced()}) {
			t.Fatalf("%+v", first)
		}
		change(t, l, id, func(v *voucher.Voucher) { v.Title, v.Sale.End = "other", begin().Add(2*time.Hour) })
		change(t, l, id, tickets(func(s *guards.Tickets) { s.ExpiryMinutes = 90 }))
		if all, d := last(t, draws, id); len(all) != 1 || d.Void != nil {
			t.Fatalf("changes of other things: %+v", all)
		}
		keys := map[string]bool{string(first.Key): true}
		for i, alter := range []func(v *voucher.Voucher){
			func(v *voucher.Voucher) { v.Sale.Begin = begin().Add(time.Minute) },
			tickets(func(s *guards.Tickets) { s.DelayMs = 30_000 }),
			tickets(func(s *guards.Tickets) { s.Draw = &guards.Draw{CloseTime: announced().CloseTime} }),
			tickets(func(s *guards.Tickets) {
				later := moment.Of(s.Draw.CloseTime.Add(time.Second))
				s.Draw = &guards.Draw{CloseTime: later, Source: "other", Round: "1"}
			}),
		} {
			if _, err := draws.Enter(t.Context(), id, int64(i+1), []int64{3}); err != nil {
				t.Fatal(err)
			}
			change(t, l, id, alter)
			all, d := last(t, draws, id)
			was := all[len(all)-2]
			if len(all) != i+2 || d.Number != int64(i+2) || d.Void != nil || was.Void == nil ||
				was.VoidWhy != "changed" {
				t.Fatalf("change %d: %+v", i, all)
			}
			keys[string(d.Key)] = true
			if old, err := draws.Enter(t.Context(), id, was.Number, []int64{4}); err != nil || len(old) != 0 {
				t.Errorf("change %d: the old draw takes entries: %v, %v", i, old, err)
			}
			if in, err := draws.Entries(t.Context(), id, d.Number, []int64{3}); err != nil || len(in) != 0 {
				t.Errorf("change %d: the new draw has entries: %v, %v", i, in, err)
			}
		}
		if len(keys) != 5 {
			t.Errorf("%d keys of five draws", len(keys))
		}
	})
}

// Turned off, or moved once there is no time to enter anew, a draw is void and nothing takes its place, until another
// one is announced.
func TestDrawsThatAreVoid(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		draws, id := drawn(t, l)
		change(t, l, id, func(v *voucher.Voucher) { v.Sale.Begin = announced().CloseTime.Add(59 * time.Second) })
		if all, d := last(t, draws, id); len(all) != 1 || d.VoidWhy != "changed" {
			t.Fatalf("moved next to its close: %+v", all)
		}
		if err := draws.EnterBeacon(t.Context(), ledgertest.Admin, id, "c0ffee"); !errors.Is(err, store.ErrNoDraw) {
			t.Errorf("the beacon of a void draw: %v", err)
		}
		change(t, l, id, func(v *voucher.Voucher) { v.Sale.Begin = begin() })
		if all, d := last(t, draws, id); len(all) != 2 || d.Void != nil {
			t.Fatalf("moved back: %+v", all)
		}
		change(t, l, id, func(v *voucher.Voucher) { v.Sale.Guards = nil })
		if all, d := last(t, draws, id); len(all) != 2 || d.VoidWhy != "off" {
			t.Fatalf("off: %+v", all)
		}
		running, err := draws.RunningDraws(t.Context())
		if err != nil || running[id].Number != 2 || running[id].Void == nil {
			t.Errorf("instances know of %+v, %v", running, err)
		}
	})
}

// The list of a sale that is over is public: no change takes it back, nor does a restore if the sale was called off. A
// sale that is extended afterwards has its draw as it is set.
func TestDrawsOfSalesThatAreOver(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		draws, id := drawn(t, l)
		over := func(off bool) {
			t.Helper()
			l.Exec(t, "UPDATE tb_seckill_voucher SET begin_time = ?, end_time = ?, called_off = ?",
				ledgertest.Stored(ledgertest.RecordedAt.Add(-time.Hour)), ledgertest.Stored(ledgertest.RecordedAt),
				map[bool]any{true: ledgertest.Stored(ledgertest.RecordedAt), false: nil}[off])
		}
		over(true)
		change(t, l, id, func(v *voucher.Voucher) { v.Title = "called off" })
		if err := l.NoteRestored(t.Context(), ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		over(false)
		change(t, l, id, func(v *voucher.Voucher) { v.Sale.Guards = nil })
		if all, d := last(t, draws, id); len(all) != 1 || d.Void != nil {
			t.Fatalf("over: %+v", all)
		}
		change(t, l, id, func(v *voucher.Voucher) { v.Sale.End = begin() })
		if all, d := last(t, draws, id); len(all) != 1 || d.VoidWhy != "off" {
			t.Fatalf("extended: %+v", all)
		}
	})
}

// Whoever enters, however often and on how many instances, has one entry and keeps it. Once the close time has come
// nobody enters; who is in it still gets their entry. The root is that of all hashes, also if it is computed twice.
func TestEntries(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		draws, id := drawn(t, l)
		users := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
		var got [6]map[int64]int64
		var entering sync.WaitGroup
		for i := range got {
			entering.Go(func() {
				mixed := slices.Concat(users[i:], users[:i], users[:1])
				var err error
				if got[i], err = draws.Enter(t.Context(), id, 1, mixed); err != nil {
					t.Error(err)
				}
			})
		}
		entering.Wait()
		root, hashes := draw.NewRoot(), []string{}
		for _, user := range users {
			for _, one := range got {
				if one[user] == 0 || one[user] != got[0][user] {
					t.Fatalf("user %d has the entries %d and %d", user, got[0][user], one[user])
				}
			}
			hashes = append(hashes, string(hashOf(id, got[0][user])))
		}
		slices.Sort(hashes)
		for _, h := range hashes {
			root.Add(draw.Hash([]byte(h)))
		}
		if n, err := draws.CloseDraws(t.Context(), 1); n != 0 || err != nil {
			t.Fatalf("closed %d early, %v", n, err)
		}
		due(t, l, id)
		if late, err := draws.Enter(t.Context(), id, 1, []int64{3, 11}); err != nil || len(late) != 1 ||
			late[3] != got[0][3] {
			t.Errorf("after the close time: %v, %v", late, err)
		}
		for range 2 {
			closeDraws(t, draws)
			if _, d := last(t, draws, id); d.Closed == nil || d.Entries != 10 || draw.Hash(d.Root) != root.Sum() {
				t.Fatalf("%+v", d)
			}
		}
		l.Exec(t, "UPDATE tb_draw SET close_time = ?", ledgertest.Stored(announced().CloseTime.Time))
		if late, err := draws.Enter(t.Context(), id, 1, []int64{11}); err != nil || len(late) != 0 {
			t.Errorf("after it was closed: %v, %v", late, err)
		}
		page, err := draws.Entrants(t.Context(), id, 1, []byte{}, 100)
		if err != nil || len(page) != 10 {
			t.Fatalf("%d entrants, %v", len(page), err)
		}
		for i, e := range page {
			if string(e.Hash[:]) != hashes[i] || e.Outcome != draw.None {
				t.Errorf("line %d: %+v", i, e)
			}
		}
	})
}

func hashOf(id, entry int64) []byte {
	h := draw.EntryHash(draw.EntryText(id, 1, entry))
	return h[:]
}

// An instance that dies between the two steps of closing leaves a draw that nobody enters; another one finishes.
func TestClosingIsFinished(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		draws, id := drawn(t, l)
		if _, err := draws.Enter(t.Context(), id, 1, []int64{3}); err != nil {
			t.Fatal(err)
		}
		due(t, l, id)
		l.Exec(t, "UPDATE tb_draw SET closed_time = close_time")
		if _, d := last(t, draws, id); d.Decided() {
			t.Error("decided without a root")
		}
		closeDraws(t, draws)
		if _, d := last(t, draws, id); d.Entries != 1 || d.Root == nil || d.Decided() {
			t.Errorf("%+v", d)
		}
		if _, err := draws.CloseDraws(t.Context(), 0); err != nil {
			t.Errorf("nothing is due: %v", err)
		}
	})
}

// The beacon is entered once: after the root is public and before the sale begins. The same again is no change.
func TestBeacon(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		draws, id := drawn(t, l)
		enter := func(beacon string, want error) {
			t.Helper()
			if err := draws.EnterBeacon(t.Context(), ledgertest.Admin, id, beacon); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", beacon, err, want)
			}
		}
		enter("early", store.ErrBeaconEarly)
		due(t, l, id)
		enter("early", store.ErrBeaconEarly)
		closeDraws(t, draws)
		l.Exec(t, "UPDATE tb_draw SET begin_time = ?", ledgertest.Stored(ledgertest.RecordedAt))
		enter("late", store.ErrBeaconLate)
		l.Exec(t, "UPDATE tb_draw SET begin_time = ?", ledgertest.Stored(begin()))
		enter("c0ffee", nil)
		l.Exec(t, "UPDATE tb_draw SET begin_time = ?", ledgertest.Stored(ledgertest.RecordedAt))
		enter("c0ffee", nil) // the answer was lost
		enter("decaf", store.ErrBeaconEntered)
		if _, d := last(t, draws, id); d.Beacon != "c0ffee" || d.BeaconTime == nil || !d.Decided() {
			t.Errorf("%+v", d)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_audit WHERE changes LIKE '%c0ffee%'"); n != 1 {
			t.Errorf("%d lines of audit", n)
		}
		change(t, l, id, tickets(func(s *guards.Tickets) { s.Draw = &guards.Draw{CloseTime: s.Draw.CloseTime} }))
		enter("c0ffee", store.ErrNoBeacon)
		id++
		enter("c0ffee", store.ErrNoDraw)
	})
}

// A restored ledger may lack entries whose tickets are in use: draws whose moments are still to come begin anew, or are
// void if it is too late to enter.
func TestRestoredDraws(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		draws, id := drawn(t, l)
		restore := func() {
			t.Helper()
			if err := l.NoteRestored(t.Context(), ledgertest.Admin); err != nil {
				t.Fatal(err)
			}
		}
		restore()
		if all, d := last(t, draws, id); len(all) != 2 || all[0].VoidWhy != "restored" || d.Void != nil ||
			bytes.Equal(d.Key, all[0].Key) {
			t.Fatalf("while it is open: %+v", all)
		}
		due(t, l, id)
		closeDraws(t, draws)
		l.Exec(t, "UPDATE tb_draw SET begin_time = ? WHERE number = 2",
			ledgertest.Stored(ledgertest.RecordedAt.Add(-20*time.Second)))
		restore()
		if all, d := last(t, draws, id); len(all) != 2 || d.Void != nil {
			t.Fatalf("after all moments: %+v", all)
		}
		l.Exec(t, "UPDATE tb_draw SET begin_time = ? WHERE number = 2",
			ledgertest.Stored(ledgertest.RecordedAt.Add(-19*time.Second)))
		restore()
		if all, d := last(t, draws, id); len(all) != 2 || d.VoidWhy != "restored" || d.Decided() {
			t.Fatalf("after it was closed: %+v", all)
		}
	})
}

// The published outcomes are those of the ledger: the first order that did not fail, and how many bought without an
// entry.
func TestOutcomes(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		draws, id := drawn(t, l)
		orders := l.NewOrders(t, id, 4)
		in, err := draws.Enter(t.Context(), id, 1, []int64{orders[0].UserID, orders[1].UserID, 77_777})
		if err != nil {
			t.Fatal(err)
		}
		l.Force(t, order.Failed, orders[1].OrderID)
		want := map[string]string{
			string(hashOf(id, in[orders[0].UserID])): draw.Bought,
			string(hashOf(id, in[orders[1].UserID])): draw.Failed,
			string(hashOf(id, in[77_777])):           draw.None,
		}
		page, err := draws.Entrants(t.Context(), id, 1, []byte{}, 100)
		if err != nil || len(page) != 3 {
			t.Fatalf("%+v, %v", page, err)
		}
		for _, e := range page {
			if e.Outcome != want[string(e.Hash[:])] || (e.Outcome == draw.None) != e.Decided.IsZero() {
				t.Errorf("%+v, want %s", e, want[string(e.Hash[:])])
			}
		}
		n, first, err := draws.Others(t.Context(), id, 1)
		if n != 2 || !first.Equal(ledgertest.RecordedAt) || err != nil {
			t.Errorf("%d other orders, the first at %v, %v", n, first, err)
		}
		if n, first, err := draws.Others(t.Context(), id+1, 1); n != 0 || !first.IsZero() || err != nil {
			t.Errorf("of another sale: %d, %v, %v", n, first, err)
		}
	})
}

// While the ledger is away, nobody enters and nothing is closed.
func TestDrawsWithoutALedger(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		draws, id := drawn(t, l)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := draws.Enter(gone, id, 1, []int64{3}); err == nil {
			t.Error("entered")
		}
		if err := draws.EnterBeacon(gone, ledgertest.Admin, id, "x"); err == nil {
			t.Error("a beacon was entered")
		}
		if in, err := draws.Entries(t.Context(), id, 1, []int64{3}); err != nil || len(in) != 0 {
			t.Errorf("%v, %v", in, err)
		}
	})
}
