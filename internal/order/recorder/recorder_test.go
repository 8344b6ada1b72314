package recorder

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/order/reason"
)

// storesOf returns the stores of a recorder that reads from the queue.
func storesOf(f *ordertest.FakeStores, queue Queue) Stores {
	return Stores{
		Queue: queue, Heartbeat: f.Heartbeat, Leave: f.Leave, Ledger: f,
		Correct: f.Correct, Flush: f.Flush,
	}
}

// record runs a recorder over the stores until every entry is acknowledged or a dead letter, and checks that it leaves
// the group.
func record(t *testing.T, f *ordertest.FakeStores, batch int) {
	t.Helper()
	r := New(storesOf(f, f),
		Options{Batch: batch}, f, f, ordertest.NopObserver{}, ordertest.Quiet())
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	ordertest.WaitUntil(t, func() bool {
		f.Mu.Lock()
		defer f.Mu.Unlock()
		return len(f.Fresh)+len(f.Pending) == 0
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !f.Left {
		t.Error("the recorder has not left the group")
	}
}

func statuses(f *ordertest.FakeStores) map[int64]order.Status {
	got := map[int64]order.Status{}
	for id, row := range f.Rows {
		got[id] = row.Status
	}
	return got
}

// Whichever single step fails, before or after it took effect, every claim becomes one row and takes one unit.
func TestRecorderSettlesThroughFaults(t *testing.T) {
	t.Parallel()
	claims := []order.Claim{
		ordertest.NewClaim(1, 1, ordertest.VoucherA), ordertest.NewClaim(2, 2, ordertest.VoucherA),
		ordertest.NewClaim(3, 3, ordertest.VoucherA), ordertest.NewClaim(4, 4, ordertest.VoucherA),
	}
	want := map[int64]order.Status{1: order.Unpaid, 2: order.Unpaid, 3: order.Unpaid, 4: order.Unpaid}
	for _, step := range []string{"own", "next", "insert", "settle", "acknowledge"} {
		for _, when := range []string{"before", "after"} {
			t.Run(step+" fails "+when, func(t *testing.T) {
				t.Parallel()
				f := ordertest.NewFakeStores(10, claims...)
				if when == "before" {
					f.Before[step] = 2
				} else {
					f.After[step] = 2
				}
				record(t, f, 3)
				if diff := cmp.Diff(want, statuses(f)); diff != "" {
					t.Errorf("rows (-want +got):\n%s", diff)
				}
				if f.Stock[ordertest.VoucherA] != 6 || f.Given != 0 || len(f.Holders) != 4 {
					t.Errorf("stock %d, given back %d, holders %v", f.Stock[ordertest.VoucherA], f.Given, f.Holders)
				}
			})
		}
	}
}

func TestRecorderNotifies(t *testing.T) {
	t.Parallel()
	f := ordertest.NewFakeStores(1, ordertest.NewClaim(1, 1, ordertest.VoucherA),
		ordertest.NewClaim(2, 2, ordertest.VoucherA))
	record(t, f, 10)
	if diff := cmp.Diff(map[int64]order.Status{1: order.Unpaid, 2: order.Failed}, f.Outcomes); diff != "" {
		t.Errorf("notified (-want +got):\n%s", diff)
	}
}

// Redis accepted two orders more than the ledger has units for: stream order decides, the last two users are removed as
// holders, no unit that never existed is put on sale, and the sale is rebuilt. All this also happens if the correction
// of Redis fails at first.
func TestRecorderWhenRedisPromisedTooMuch(t *testing.T) {
	t.Parallel()
	f := ordertest.NewFakeStores(2, ordertest.NewClaim(1, 1, ordertest.VoucherA),
		ordertest.NewClaim(2, 2, ordertest.VoucherA), ordertest.NewClaim(3, 3, ordertest.VoucherA),
		ordertest.NewClaim(4, 4, ordertest.VoucherA))
	f.Before["correct"], f.After["correct"] = 1, 1
	record(t, f, 10)
	if diff := cmp.Diff(map[int64]order.Status{1: order.Unpaid, 2: order.Unpaid, 3: order.Failed, 4: order.Failed},
		statuses(f)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if f.Given != 0 || len(f.Holders) != 2 || f.Stock[ordertest.VoucherA] != 0 {
		t.Errorf("given back %d, holders %v, stock %d", f.Given, f.Holders, f.Stock[ordertest.VoucherA])
	}
	if len(f.Repairs) == 0 {
		t.Error("no rebuild of the sale was requested")
	}
}

// Redis lost the holder and accepted the user again: the first order stays, the second fails, and its unit goes back
// once.
func TestRecorderWhenTheUserHasAnOrder(t *testing.T) {
	t.Parallel()
	f := ordertest.NewFakeStores(5, ordertest.NewClaim(2, 1, ordertest.VoucherA))
	f.Rows[1] = order.Order{ID: 1, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Paid}
	f.After["correct"], f.After["acknowledge"] = 1, 1
	record(t, f, 10)
	if diff := cmp.Diff(map[int64]order.Status{1: order.Paid, 2: order.Failed}, statuses(f)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if holder := f.Holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 1}]; holder != 1 ||
		f.Given != 1 || f.Stock[ordertest.VoucherA] != 5 {
		t.Errorf("holder %d, given back %d, stock %d", holder, f.Given, f.Stock[ordertest.VoucherA])
	}
}

func TestRecorderWhenIDsCollide(t *testing.T) {
	t.Parallel()
	claim := ordertest.NewClaim(7, 1, ordertest.VoucherA)
	f := ordertest.NewFakeStores(5, claim)
	f.Rows[7] = order.Order{ID: 7, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid}
	f.After["settle"] = 1 // committed, the answer lost: the second try must not write a second row
	record(t, f, 10)
	if diff := cmp.Diff(map[int64]order.Status{7: order.Unpaid, claim.RowID(1): order.Failed},
		statuses(f)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if len(f.Holders) != 0 || f.Given != 1 {
		t.Errorf("holders %v, given back %d", f.Holders, f.Given)
	}
}

// One order that the ledger refuses for good does not hold up the others: the recorder halves the batch until that
// order is alone.
func TestRecorderBisects(t *testing.T) {
	t.Parallel()
	var claims []order.Claim
	for id := int64(1); id <= 9; id++ {
		claims = append(claims, ordertest.NewClaim(id, id, ordertest.VoucherA))
	}
	f := ordertest.NewFakeStores(20, claims...)
	f.Refuses[6] = true
	record(t, f, 9)
	for id := int64(1); id <= 9; id++ {
		want := order.Unpaid
		if id == 6 {
			want = order.Failed
		}
		if got := f.Rows[id].Status; got != want {
			t.Errorf("order %d is %s, want %s", id, got, want)
		}
	}
	if f.Rows[6].Reason != reason.RejectedByLedger || f.Given != 1 || f.Stock[ordertest.VoucherA] != 12 {
		t.Errorf("reason %q, given back %d, stock %d", f.Rows[6].Reason, f.Given, f.Stock[ordertest.VoucherA])
	}
}

// A batch that the ledger keeps contradicting is halved as well.
func TestRecorderHalvesWhatContradictsItself(t *testing.T) {
	t.Parallel()
	f := ordertest.NewFakeStores(5, ordertest.NewClaim(1, 1, ordertest.VoucherA),
		ordertest.NewClaim(2, 2, ordertest.VoucherA))
	f.Epoch, f.Clash = 2, 1<<30
	record(t, f, 10)
	if diff := cmp.Diff(map[int64]order.Status{1: order.Unpaid, 2: order.Unpaid}, statuses(f)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// The recorder requests a repair also for a failed row that exists: the instance that wrote it may have died before.
func TestRecorderAsksForARebuildAgain(t *testing.T) {
	t.Parallel()
	f := ordertest.NewFakeStores(5, ordertest.NewClaim(1, 1, ordertest.VoucherA))
	f.Rows[1] = order.Order{
		ID: 1, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Failed, Reason: reason.NoStock,
	}
	record(t, f, 10)
	if diff := cmp.Diff([]ordertest.RepairCall{{VoucherID: ordertest.VoucherA, BadEpoch: 1}}, f.Repairs,
		cmp.AllowUnexported(ordertest.RepairCall{})); diff != "" {
		t.Errorf("repairs (-want +got):\n%s", diff)
	}
}

// A unit that is given back during a rebuild may be missing in the sale that the rebuild opens.
func TestRecorderAsksForAnotherRebuild(t *testing.T) {
	t.Parallel()
	f := ordertest.NewFakeStores(5, ordertest.NewClaim(6, 1, ordertest.VoucherA))
	f.Rebuilding = map[int64]int64{ordertest.VoucherA: 9}
	f.Rows[6] = order.Order{ID: 6, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Cancelled}
	record(t, f, 10)
	if diff := cmp.Diff([]ordertest.RepairCall{{VoucherID: ordertest.VoucherA, BadEpoch: 9}}, f.Repairs,
		cmp.AllowUnexported(ordertest.RepairCall{})); diff != "" {
		t.Errorf("repairs (-want +got):\n%s", diff)
	}
}

// An operation gives back the unit of a cancelled order. The recorder corrects Redis only after that, and only for a
// unit that the order then still has because a late call of admission took it.
func TestRecorderLetsOperationsGoFirst(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status order.Status
		follow func(f *ordertest.FakeStores) // what the operations do
		given  int
		holder int64
	}{
		"the operation has removed the holder": {
			status: order.Cancelled, follow: func(f *ordertest.FakeStores) {
				delete(f.Holders, order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 1})
			},
		},
		"a late call has taken it again": {status: order.Refunded, follow: func(*ordertest.FakeStores) {}, given: 1},
		"the order was revived meanwhile": {
			status: order.Cancelled, holder: 6,
			follow: func(f *ordertest.FakeStores) {
				f.Rows[6] = order.Order{ID: 6, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Paid}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := ordertest.NewFakeStores(5, ordertest.NewClaim(6, 1, ordertest.VoucherA))
			f.Rows[6] = order.Order{ID: 6, UserID: 1, VoucherID: ordertest.VoucherA, Status: tc.status}
			f.Before["flush"], f.After["flush"] = 1, 1
			f.OnFlush = func() { tc.follow(f) }
			record(t, f, 10)
			if f.Given != tc.given || f.Holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 1}] != tc.holder {
				t.Errorf("given back %d, holder %d; want %d and %d",
					f.Given, f.Holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 1}], tc.given, tc.holder)
			}
			// The first answer was lost, so the flush is repeated.
			if diff := cmp.Diff([]int64{ordertest.VoucherA, ordertest.VoucherA}, f.Flushed); diff != "" {
				t.Errorf("followed (-want +got):\n%s", diff)
			}
		})
	}
}

// Another instance revives a cancelled order after the recorder has read the ledger and before it corrects Redis. The
// order keeps its holder, whether its revival is only pending or already applied in Redis.
func TestRecorderKeepsTheHolderOfARevivedOrder(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		unsettled bool // the ledger has the revival as pending
	}{
		"a revival that was pending": {unsettled: true},
		"a revival that came since":  {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := ordertest.NewFakeStores(5, ordertest.NewClaim(6, 1, ordertest.VoucherA))
			f.Rows[6] = order.Order{ID: 6, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Cancelled}
			f.Operation, f.Applied = 1, 1
			f.OnFlush = func() {
				switch len(f.Flushed) {
				case 1: // Redis applies the revival at once; the ledger does not know yet
					f.Applied = 2
					if tc.unsettled {
						f.Operation, f.Unsettled = 2, map[int64]bool{6: true}
					}
				case 2:
					f.Rows[6] = order.Order{ID: 6, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Paid}
					f.Operation, f.Unsettled = 2, nil
				}
			}
			record(t, f, 10)
			if f.Given != 0 || f.Holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 1}] != 6 ||
				len(f.Flushed) != 2 {
				t.Errorf("given back %d, holder %d, flushed %v",
					f.Given, f.Holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 1}], f.Flushed)
			}
		})
	}
}

// A sale whose operations cannot be applied holds up its own orders only.
func TestRecorderGoesOnWhileASaleCannotFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := ordertest.NewFakeStores(5, ordertest.NewClaim(1, 1, ordertest.VoucherA),
			ordertest.NewClaim(2, 2, ordertest.VoucherA))
		f.Rows[1] = order.Order{ID: 1, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Cancelled}
		f.Before["flush"] = 1 << 30
		r := New(storesOf(f, f),
			Options{Batch: 10}, f, f, ordertest.NopObserver{}, ordertest.Quiet())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(2 * correctGrace)
		f.Mu.Lock()
		if len(f.Pending) != 1 || f.Pending[0].Claim.OrderID != 1 || len(f.Acknowledged) != 1 || f.Given != 0 {
			t.Errorf("pending %v, acknowledged %v, given back %d", f.Pending, f.Acknowledged, f.Given)
		}
		f.Before["flush"] = 0
		f.Mu.Unlock()
		time.Sleep(ownEvery + time.Second)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(f.Pending) != 0 || f.Given != 1 {
			t.Errorf("pending %v, given back %d", f.Pending, f.Given)
		}
	})
}

// After it has seen that the sale is at another epoch, the recorder skips the plain insert, which must fail.
func TestRecorderSparesInsertsThatMustFail(t *testing.T) {
	t.Parallel()
	f := ordertest.NewFakeStores(5, ordertest.NewClaim(1, 1, ordertest.VoucherA),
		ordertest.NewClaim(2, 2, ordertest.VoucherA), ordertest.NewClaim(3, 3, ordertest.VoucherA))
	f.Epoch = 2
	record(t, f, 1)
	if f.Inserts != 1 || f.Commits != 3 {
		t.Errorf("%d inserts and %d commits, want 1 and 3", f.Inserts, f.Commits)
	}
}

// A correction that fails in one sale keeps no other sale's orders in the stream, and succeeds once Redis accepts it.
func TestRecorderGoesOnWhileACorrectionFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := ordertest.NewFakeStores(0, ordertest.NewClaim(1, 1, ordertest.VoucherA),
			ordertest.NewClaim(2, 2, ordertest.VoucherB))
		f.Stock[ordertest.VoucherB] = 5
		f.Before["correct"] = 1 << 30
		r := New(storesOf(f, f),
			Options{Batch: 10}, f, f, ordertest.NopObserver{}, ordertest.Quiet())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(2 * correctGrace)
		f.Mu.Lock()
		if len(f.Pending) != 1 || f.Pending[0].Claim.OrderID != 1 || len(f.Acknowledged) != 1 {
			t.Errorf("pending %v, acknowledged %v", f.Pending, f.Acknowledged)
		}
		f.Before["correct"] = 0
		f.Mu.Unlock()
		time.Sleep(againAfter + time.Second)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(f.Pending) != 0 || len(f.Holders) != 1 {
			t.Errorf("pending %v, holders %v", f.Pending, f.Holders)
		}
	})
}

// When fewer entries are acknowledged than were sent, Redis may have lost more, so own entries are read again at once.
func TestRecorderReadsAgainWhenAcknowledgementsWereLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := ordertest.NewFakeStores(5, ordertest.NewClaim(1, 1, ordertest.VoucherA),
			ordertest.NewClaim(2, 2, ordertest.VoucherA))
		g := &forgetful{FakeStores: f}
		r := New(storesOf(f, g),
			Options{Batch: 1}, f, f, ordertest.NopObserver{}, ordertest.Quiet())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(5 * time.Second)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(f.Pending) != 0 {
			t.Errorf("pending %v", f.Pending)
		}
	})
}

// forgetful is a Redis that fails over after the first acknowledgement. It loses that one, and the second entry's
// delivery.
type forgetful struct {
	*ordertest.FakeStores

	calls int
}

func (g *forgetful) Acknowledge(ctx context.Context, keys []string) (int, error) {
	g.calls++
	switch g.calls {
	case 1:
		return len(keys), nil // and the failover loses it: the entry is pending
	case 2:
		_, err := g.FakeStores.Acknowledge(ctx, keys)
		return 0, err
	default:
		return g.FakeStores.Acknowledge(ctx, keys)
	}
}

// A correction that Redis refuses for good is retried every few seconds. The log says so once, and once more when Redis
// accepts it.
func TestRecorderSaysOnceThatACorrectionIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := ordertest.NewFakeStores(5, ordertest.NewClaim(1, 1, ordertest.VoucherA))
		f.Rows[1] = order.Order{ID: 1, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Cancelled}
		f.Stuck = map[int64]bool{1: true}
		var text bytes.Buffer
		r := New(storesOf(f, f),
			Options{Batch: 1}, f, f, ordertest.NopObserver{}, slog.New(slog.NewTextHandler(&text, nil)))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(5 * againAfter)
		f.Mu.Lock()
		f.Stuck = nil
		f.Mu.Unlock()
		time.Sleep(2 * againAfter)
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if n, again := strings.Count(text.String(), "Redis rejects"),
			strings.Count(text.String(), "corrections of the sale again"); n != 1 || again != 1 {
			t.Errorf("the refusal is logged %d times and its end %d times, want 1 each:\n%s", n, again, text.String())
		}
	})
}

// A correction that Redis refuses for good holds up no other order; its entry stays pending.
func TestRecorderGoesOnAfterARefusedCorrection(t *testing.T) {
	t.Parallel()
	f := ordertest.NewFakeStores(5, ordertest.NewClaim(1, 1, ordertest.VoucherA),
		ordertest.NewClaim(2, 2, ordertest.VoucherA))
	f.Rows[1] = order.Order{ID: 1, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Cancelled}
	f.Stuck = map[int64]bool{1: true}
	r := New(storesOf(f, f),
		Options{Batch: 1}, f, f, ordertest.NopObserver{}, ordertest.Quiet())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	ordertest.WaitUntil(t, func() bool {
		f.Mu.Lock()
		defer f.Mu.Unlock()
		return len(f.Acknowledged) == 1
	})
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(f.Pending) != 1 || f.Pending[0].Claim.OrderID != 1 || f.Rows[2].Status != order.Unpaid {
		t.Errorf("pending %v, rows %v", f.Pending, f.Rows)
	}
}

func TestRecorderBuriesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	f := ordertest.NewFakeStores(5, ordertest.NewClaim(1, 1, ordertest.VoucherA),
		ordertest.NewClaim(2, 2, ordertest.VoucherA))
	f.Fresh[0] = order.Entry{Key: "000-1", Malformed: errors.New("no order id"), Raw: map[string]string{"x": "y"}}
	f.Before["dead letter"] = 1
	record(t, f, 10)
	if diff := cmp.Diff([]string{"000-1"}, f.DeadLetters); diff != "" {
		t.Errorf("buried (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int64]order.Status{2: order.Unpaid}, statuses(f)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// An entry of an older epoch is a claim: it gets its row while stock is left (rule 10).
func TestRecorderHonoursClaimsOfAnOlderEpoch(t *testing.T) {
	t.Parallel()
	f := ordertest.NewFakeStores(1, ordertest.NewClaim(1, 1, ordertest.VoucherA),
		ordertest.NewClaim(2, 2, ordertest.VoucherA))
	f.Epoch = 2
	record(t, f, 10)
	if diff := cmp.Diff(map[int64]order.Status{1: order.Unpaid, 2: order.Failed}, statuses(f)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// When the recorder is stopped while the ledger is away, Run ends, and its batches stay pending for others.
func TestRecorderStopsWhileTheLedgerIsAway(t *testing.T) {
	t.Parallel()
	f := ordertest.NewFakeStores(5, ordertest.NewClaim(1, 1, ordertest.VoucherA))
	f.Before["insert"] = 1 << 30
	r := New(storesOf(f, f),
		Options{Batch: 10}, f, f, ordertest.NopObserver{}, ordertest.Quiet())
	r.finishTimeout = 50 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	ordertest.WaitUntil(t, func() bool {
		f.Mu.Lock()
		defer f.Mu.Unlock()
		return f.Before["insert"] < 1<<30
	})
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(f.Pending) != 1 || len(f.Acknowledged) != 0 {
		t.Errorf("pending %d, acknowledged %v", len(f.Pending), f.Acknowledged)
	}
}
