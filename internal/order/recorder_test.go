package order

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// record runs a recorder over the stores until every entry is settled or dead, and a little of what the ledger and
// Redis then hold is compared with want.
func record(t *testing.T, f *fakeStores, batch int) {
	t.Helper()
	r := NewRecorder(RecorderStores{Queue: f, Membership: f, Ledger: fakeLedger{f}, Places: f, Outbox: f}, RecorderOptions{Batch: batch},
		&fakeIDs{last: 900}, f, f, deaf{}, quiet())
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	waitUntil(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.fresh)+len(f.pending) == 0
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !f.left {
		t.Error("the recorder has not left the group")
	}
}

func statuses(f *fakeStores) map[int64]Status {
	got := map[int64]Status{}
	for id, row := range f.rows {
		got[id] = row.Status
	}
	return got
}

// Whatever single step fails, before or after it took effect, every claim becomes one row and takes one unit.
func TestRecorderSettlesThroughFaults(t *testing.T) {
	t.Parallel()
	claims := []Claim{claim(1, 1, voucherA), claim(2, 2, voucherA), claim(3, 3, voucherA), claim(4, 4, voucherA)}
	want := map[int64]Status{1: Unpaid, 2: Unpaid, 3: Unpaid, 4: Unpaid}
	for _, step := range []string{"own", "next", "insert", "decide", "settle"} {
		for _, when := range []string{"before", "after"} {
			t.Run(step+" fails "+when, func(t *testing.T) {
				t.Parallel()
				f := newFakeStores(10, claims...)
				if when == "before" {
					f.before[step] = 2
				} else {
					f.after[step] = 2
				}
				record(t, f, 3)
				if diff := cmp.Diff(want, statuses(f)); diff != "" {
					t.Errorf("rows (-want +got):\n%s", diff)
				}
				if f.stock[voucherA] != 6 || f.given != 0 || len(f.places) != 4 {
					t.Errorf("stock %d, given back %d, places %v", f.stock[voucherA], f.given, f.places)
				}
			})
		}
	}
}

func TestRecorderTellsWhoWaits(t *testing.T) {
	t.Parallel()
	f := newFakeStores(1, claim(1, 1, voucherA), claim(2, 2, voucherA))
	record(t, f, 10)
	if diff := cmp.Diff(map[int64]Status{1: Unpaid, 2: Failed}, f.told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// Redis promised two more than the ledger has: stream order decides, the places of the others are emptied, no unit
// that never existed is put on sale, and the sale is rebuilt. Also when the correction of Redis fails at first.
func TestRecorderWhenRedisPromisedTooMuch(t *testing.T) {
	t.Parallel()
	f := newFakeStores(2, claim(1, 1, voucherA), claim(2, 2, voucherA), claim(3, 3, voucherA), claim(4, 4, voucherA))
	f.before["correct"], f.after["correct"] = 1, 1
	record(t, f, 10)
	if diff := cmp.Diff(map[int64]Status{1: Unpaid, 2: Unpaid, 3: Failed, 4: Failed}, statuses(f)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if f.given != 0 || len(f.places) != 2 || f.stock[voucherA] != 0 {
		t.Errorf("given back %d, places %v, stock %d", f.given, f.places, f.stock[voucherA])
	}
	if len(f.mended) == 0 {
		t.Error("nobody was asked to rebuild the sale")
	}
}

// Redis lost the user's place and let him in again: his first order stays, the second fails, its unit goes back once.
func TestRecorderWhenTheUserHasAnOrder(t *testing.T) {
	t.Parallel()
	f := newFakeStores(5, claim(2, 1, voucherA))
	f.rows[1] = Order{ID: 1, UserID: 1, VoucherID: voucherA, Status: Paid}
	f.after["correct"], f.after["settle"] = 1, 1
	record(t, f, 10)
	if diff := cmp.Diff(map[int64]Status{1: Paid, 2: Failed}, statuses(f)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if place := f.places[BuyerKey{voucherA, 1}]; place != 1 || f.given != 1 || f.stock[voucherA] != 5 {
		t.Errorf("place %d, given back %d, stock %d", place, f.given, f.stock[voucherA])
	}
}

func TestRecorderWhenIDsCollide(t *testing.T) {
	t.Parallel()
	f := newFakeStores(5, claim(7, 1, voucherA))
	f.rows[7] = Order{ID: 7, UserID: 2, VoucherID: voucherA, Status: Unpaid}
	f.after["decide"] = 1 // committed, the answer lost: the second try must not write a second row
	record(t, f, 10)
	if diff := cmp.Diff(map[int64]Status{7: Unpaid, 901: Failed}, statuses(f)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if len(f.places) != 0 || f.given != 1 {
		t.Errorf("places %v, given back %d", f.places, f.given)
	}
}

// One order that the ledger refuses for good does not hold up the others: the batch is halved down to it.
func TestRecorderBisects(t *testing.T) {
	t.Parallel()
	var claims []Claim
	for id := int64(1); id <= 9; id++ {
		claims = append(claims, claim(id, id, voucherA))
	}
	f := newFakeStores(20, claims...)
	f.refuses[6] = true
	record(t, f, 9)
	for id := int64(1); id <= 9; id++ {
		want := Unpaid
		if id == 6 {
			want = Failed
		}
		if got := f.rows[id].Status; got != want {
			t.Errorf("order %d is %s, want %s", id, got, want)
		}
	}
	if f.rows[6].Reason != RejectedByLedger || f.given != 1 || f.stock[voucherA] != 12 {
		t.Errorf("reason %q, given back %d, stock %d", f.rows[6].Reason, f.given, f.stock[voucherA])
	}
}

// A batch that contradicts itself for ever is halved as well.
func TestRecorderHalvesWhatContradictsItself(t *testing.T) {
	t.Parallel()
	f := newFakeStores(5, claim(1, 1, voucherA), claim(2, 2, voucherA))
	f.epoch, f.clash = 2, 1<<30
	record(t, f, 10)
	if diff := cmp.Diff(map[int64]Status{1: Unpaid, 2: Unpaid}, statuses(f)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Whoever wrote the failed row may have died before he asked for the sale to be rebuilt.
func TestRecorderAsksForARebuildAgain(t *testing.T) {
	t.Parallel()
	f := newFakeStores(5, claim(1, 1, voucherA))
	f.rows[1] = Order{ID: 1, UserID: 1, VoucherID: voucherA, Status: Failed, Reason: NoStock}
	record(t, f, 10)
	if diff := cmp.Diff([]mendCall{{voucherA, 1}}, f.mended, cmp.AllowUnexported(mendCall{})); diff != "" {
		t.Errorf("mended (-want +got):\n%s", diff)
	}
}

// A unit that is given back while the sale is being rebuilt may be missing in what the rebuild opens.
func TestRecorderAsksForAnotherRebuild(t *testing.T) {
	t.Parallel()
	f := newFakeStores(5, claim(6, 1, voucherA))
	f.rebuilding = map[int64]int64{voucherA: 9}
	f.rows[6] = Order{ID: 6, UserID: 1, VoucherID: voucherA, Status: Cancelled}
	record(t, f, 10)
	if diff := cmp.Diff([]mendCall{{voucherA, 9}}, f.mended, cmp.AllowUnexported(mendCall{})); diff != "" {
		t.Errorf("mended (-want +got):\n%s", diff)
	}
}

// The unit of a cancelled order is given back by an operation. Redis is corrected only after that, and only for what the
// order still holds then: a unit that a late call of admission took.
func TestRecorderLetsOperationsGoFirst(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status Status
		follow func(f *fakeStores) // what the operations do
		given  int
		place  int64
	}{
		"the operation has emptied the place": {
			status: Cancelled, follow: func(f *fakeStores) { delete(f.places, BuyerKey{voucherA, 1}) },
		},
		"a late call has taken it again": {status: Refunded, follow: func(*fakeStores) {}, given: 1},
		"the order was revived meanwhile": {
			status: Cancelled, place: 6,
			follow: func(f *fakeStores) { f.rows[6] = Order{ID: 6, UserID: 1, VoucherID: voucherA, Status: Paid} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeStores(5, claim(6, 1, voucherA))
			f.rows[6] = Order{ID: 6, UserID: 1, VoucherID: voucherA, Status: tc.status}
			f.before["follow"], f.after["follow"] = 1, 1
			f.onFollow = func() { tc.follow(f) }
			record(t, f, 10)
			if f.given != tc.given || f.places[BuyerKey{voucherA, 1}] != tc.place {
				t.Errorf("given back %d, place %d; want %d and %d", f.given, f.places[BuyerKey{voucherA, 1}], tc.given, tc.place)
			}
			if diff := cmp.Diff([]int64{voucherA, voucherA}, f.followed); diff != "" { // the first answer was lost
				t.Errorf("followed (-want +got):\n%s", diff)
			}
		})
	}
}

// A cancelled order that another instance brings back to life, after the ledger was asked and before Redis is corrected,
// keeps its place: neither what is only pending is passed over, nor what Redis has applied since.
func TestRecorderLeavesARevivedOrderItsPlace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		unsettled bool // the ledger tells that the revival was written
	}{
		"a revival that was pending": {unsettled: true},
		"a revival that came since":  {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeStores(5, claim(6, 1, voucherA))
			f.rows[6] = Order{ID: 6, UserID: 1, VoucherID: voucherA, Status: Cancelled}
			f.operation, f.applied = 1, 1
			f.onFollow = func() {
				switch len(f.followed) {
				case 1: // Redis applies the revival at once; the ledger does not know yet
					f.applied = 2
					if tc.unsettled {
						f.operation, f.unsettled = 2, map[int64]bool{6: true}
					}
				case 2:
					f.rows[6] = Order{ID: 6, UserID: 1, VoucherID: voucherA, Status: Paid}
					f.operation, f.unsettled = 2, nil
				}
			}
			record(t, f, 10)
			if f.given != 0 || f.places[BuyerKey{voucherA, 1}] != 6 || len(f.followed) != 2 {
				t.Errorf("given back %d, place %d, followed %v", f.given, f.places[BuyerKey{voucherA, 1}], f.followed)
			}
		})
	}
}

// A sale that cannot follow its operations holds up its own orders only.
func TestRecorderGoesOnWhileASaleCannotFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStores(5, claim(1, 1, voucherA), claim(2, 2, voucherA))
		f.rows[1] = Order{ID: 1, UserID: 1, VoucherID: voucherA, Status: Cancelled}
		f.before["follow"] = 1 << 30
		r := NewRecorder(RecorderStores{Queue: f, Membership: f, Ledger: fakeLedger{f}, Places: f, Outbox: f}, RecorderOptions{Batch: 10},
			&fakeIDs{}, f, f, deaf{}, quiet())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(2 * followGrace)
		f.mu.Lock()
		if len(f.pending) != 1 || f.pending[0].Claim.OrderID != 1 || len(f.settled) != 1 || f.given != 0 {
			t.Errorf("pending %v, settled %v, given back %d", f.pending, f.settled, f.given)
		}
		f.before["follow"] = 0
		f.mu.Unlock()
		time.Sleep(ownEvery + time.Second)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(f.pending) != 0 || f.given != 1 {
			t.Errorf("pending %v, given back %d", f.pending, f.given)
		}
	})
}

// After it has seen that the sale is at another epoch, it no longer tries what must fail.
func TestRecorderSparesInsertsThatMustFail(t *testing.T) {
	t.Parallel()
	f := newFakeStores(5, claim(1, 1, voucherA), claim(2, 2, voucherA), claim(3, 3, voucherA))
	f.epoch = 2
	record(t, f, 1)
	if f.inserts != 1 || f.commits != 3 {
		t.Errorf("%d inserts and %d commits, want 1 and 3", f.inserts, f.commits)
	}
}

// A correction that Redis refuses for good holds up nobody else; its entry stays pending.
func TestRecorderGoesOnAfterARefusedCorrection(t *testing.T) {
	t.Parallel()
	f := newFakeStores(5, claim(1, 1, voucherA), claim(2, 2, voucherA))
	f.rows[1] = Order{ID: 1, UserID: 1, VoucherID: voucherA, Status: Cancelled}
	f.stuck = map[int64]bool{1: true}
	r := NewRecorder(RecorderStores{Queue: f, Membership: f, Ledger: fakeLedger{f}, Places: f, Outbox: f}, RecorderOptions{Batch: 1},
		&fakeIDs{}, f, f, deaf{}, quiet())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	waitUntil(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.settled) == 1
	})
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(f.pending) != 1 || f.pending[0].Claim.OrderID != 1 || f.rows[2].Status != Unpaid {
		t.Errorf("pending %v, rows %v", f.pending, f.rows)
	}
}

func TestRecorderBuriesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	f := newFakeStores(5, claim(1, 1, voucherA), claim(2, 2, voucherA))
	f.fresh[0] = Entry{Key: "000-1", Malformed: errors.New("no order id"), Raw: map[string]string{"x": "y"}}
	f.before["bury"] = 1
	record(t, f, 10)
	if diff := cmp.Diff([]string{"000-1"}, f.buried); diff != "" {
		t.Errorf("buried (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int64]Status{2: Unpaid}, statuses(f)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// An entry of an older epoch is a claim: honoured while stock is left (rule 10).
func TestRecorderHonoursClaimsOfAnOlderEpoch(t *testing.T) {
	t.Parallel()
	f := newFakeStores(1, claim(1, 1, voucherA), claim(2, 2, voucherA))
	f.epoch = 2
	record(t, f, 10)
	if diff := cmp.Diff(map[int64]Status{1: Unpaid, 2: Failed}, statuses(f)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// With the ledger away and the recorder told to stop, Run ends, and what it had in hand stays pending for others.
func TestRecorderStopsWhileTheLedgerIsAway(t *testing.T) {
	t.Parallel()
	f := newFakeStores(5, claim(1, 1, voucherA))
	f.before["insert"] = 1 << 30
	r := NewRecorder(RecorderStores{Queue: f, Membership: f, Ledger: fakeLedger{f}, Places: f, Outbox: f}, RecorderOptions{Batch: 10},
		&fakeIDs{}, f, f, deaf{}, quiet())
	r.finishTime = 50 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	waitUntil(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.before["insert"] < 1<<30
	})
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(f.pending) != 1 || len(f.settled) != 0 {
		t.Errorf("pending %d, settled %v", len(f.pending), f.settled)
	}
}
