package outbox

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/operation"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

type outboxParts struct {
	outbox *Outbox
	ops    *fakeOperations
	asked  *ordertest.FakeStores // for repairs, and who is notified
	saw    *ordertest.CountingObserver
}

// cleaner is a test, or one try of a property.
type cleaner interface {
	Helper()
	Cleanup(f func())
}

func newOutbox(t cleaner, ops *fakeOperations, vs ...voucher.Voucher) *outboxParts {
	t.Helper()
	if vs == nil {
		vs = []voucher.Voucher{ordertest.VoucherAt(1, 0)}
	}
	p := &outboxParts{ops: ops, asked: ordertest.NewFakeStores(0), saw: &ordertest.CountingObserver{}}
	catalog := catalog.New(&ordertest.FakeSales{
		Kept: vs, Faults: ordertest.Faults{Before: map[string]int{}, After: map[string]int{}},
	})
	t.Cleanup(catalog.Close)
	p.outbox = New(Stores{Ledger: ops, Apply: ops.Apply}, catalog, p.asked, p.asked, p.saw, ordertest.Quiet())
	return p
}

func TestFlushAppliesInOrderAndCompletes(t *testing.T) {
	t.Parallel()
	ops := newFakeOperations(1)
	ops.Commit(operation.Restock, 2, 0)
	ops.Commit(operation.Revival, -1, 55)
	ops.Commit(operation.Restock, -9, 0)
	ops.Commit(operation.Pausing, 0, 0)
	for range operation.MaxBatch {
		ops.Commit(operation.Cancellation, 1, 0)
	}
	p := newOutbox(t, ops)
	if err := p.outbox.Flush(t.Context(), ordertest.VoucherA); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(ops.Effects) || len(ops.Effects) != len(ops.Ops) {
		t.Errorf("took effect: %v", ops.Effects)
	}
	if diff := cmp.Diff([]int{appliedOp, appliedOp, refusedOp, appliedOp},
		ops.States[:4]); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if want := int64(2 + operation.MaxBatch); ops.Stock != want || ops.Sale != want {
		t.Errorf("ledger %d, Redis %d, want %d", ops.Stock, ops.Sale, want)
	}
	if diff := cmp.Diff(map[int64]order.Status{55: order.Paid}, p.asked.Outcomes); diff != "" {
		t.Errorf("notified (-want +got):\n%s", diff)
	}
	if p.saw.Applied != len(ops.Ops)-1 || p.saw.Refused != 1 || p.saw.Failed != 0 {
		t.Errorf("observed %d applied, %d refused, %d failed", p.saw.Applied, p.saw.Refused, p.saw.Failed)
	}
	if len(p.asked.Repairs) != 0 {
		t.Errorf("repairs requested: %v", p.asked.Repairs)
	}
}

// Whatever fails, before or after it took effect: the caller gets an error, and the next flush has the same result.
func TestFlushThroughFaults(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"pending", "apply", "settled"} {
		for _, when := range []string{"before", "after"} {
			t.Run(step+" fails "+when, func(t *testing.T) {
				t.Parallel()
				ops := newFakeOperations(1)
				ops.Commit(operation.Restock, -1, 0)
				ops.Commit(operation.Cancellation, 1, 0)
				p := newOutbox(t, ops)
				if when == "before" {
					ops.Before[step] = 1
				} else {
					ops.After[step] = 1
				}
				if err := p.outbox.Flush(t.Context(), ordertest.VoucherA); !errors.Is(err, order.ErrUnavailable) {
					t.Errorf("error = %v, want ErrUnavailable", err)
				}
				if err := p.outbox.Flush(t.Context(), ordertest.VoucherA); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff([]int64{1, 2}, ops.Effects); diff != "" || ops.Stock != 1 || ops.Sale != 1 {
					t.Errorf("stock %d and %d, effects (-want +got):\n%s", ops.Stock, ops.Sale, diff)
				}
			})
		}
	}
}

func TestFlushWhenRedisCannot(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil   func(f *fakeOperations)
		repairs []ordertest.RepairCall
	}{
		"the sale is missing": {
			spoil:   func(f *fakeOperations) { f.Redis = operation.ApplyMissing },
			repairs: []ordertest.RepairCall{{VoucherID: ordertest.VoucherA, BadEpoch: order.NoBadEpoch}},
		},
		"it is being rebuilt": {
			spoil:   func(f *fakeOperations) { f.Redis = operation.ApplyRebuilding },
			repairs: []ordertest.RepairCall{{VoucherID: ordertest.VoucherA, BadEpoch: order.NoBadEpoch}},
		},
		"it has lost what was applied": {
			spoil:   func(f *fakeOperations) { f.Applied, f.States[0], f.Epoch = 0, appliedOp, 4 },
			repairs: []ordertest.RepairCall{{VoucherID: ordertest.VoucherA, BadEpoch: 4}},
		},
		"and nothing more is pending": {spoil: func(f *fakeOperations) {
			f.States[0], f.States[1], f.Epoch = appliedOp, appliedOp, 4
		}, repairs: []ordertest.RepairCall{{VoucherID: ordertest.VoucherA, BadEpoch: 4}}},
		"it returns an unknown answer": {spoil: func(f *fakeOperations) { f.Redis = 99 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ops := newFakeOperations(1)
			ops.Commit(operation.Cancellation, 1, 0)
			ops.Commit(operation.Cancellation, 1, 0)
			tc.spoil(ops)
			p := newOutbox(t, ops)
			if err := p.outbox.Flush(t.Context(), ordertest.VoucherA); !errors.Is(err, order.ErrUnavailable) {
				t.Errorf("error = %v, want ErrUnavailable", err)
			}
			if diff := cmp.Diff(tc.repairs, p.asked.Repairs, cmp.AllowUnexported(ordertest.RepairCall{})); diff != "" {
				t.Errorf("repairs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFlushOfWhatNeedsNone(t *testing.T) {
	t.Parallel()
	retired := ordertest.VoucherAt(1, 0)
	retired.Sale.Retired = true
	for name, v := range map[string]voucher.Voucher{
		"an ordinary voucher": ordertest.Ordinary(), "a retired sale": retired,
		"a sale without operations": ordertest.VoucherAt(1, 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newOutbox(t, newFakeOperations(1), v)
			if err := p.outbox.Flush(t.Context(), v.ID); err != nil {
				t.Error(err)
			}
			if err := p.outbox.Flush(t.Context(), 404); err != nil {
				t.Errorf("a voucher that does not exist: %v", err)
			}
			if p.ops.Applies != 0 {
				t.Errorf("Redis was called %d times", p.ops.Applies)
			}
			p.outbox.flushes.Range(func(id, _ any) bool {
				if id != v.ID || v.Sale == nil || v.Sale.Retired {
					t.Errorf("the batcher of sale %v is kept", id)
				}
				return true
			})
		})
	}
}

// A caller changes a voucher just after its absence was cached, for a second. Its operations are applied all the same.
func TestFlushANewVoucher(t *testing.T) {
	t.Parallel()
	ops, sales := newFakeOperations(1),
		&ordertest.FakeSales{Faults: ordertest.Faults{Before: map[string]int{}, After: map[string]int{}}}
	catalog := catalog.New(sales)
	t.Cleanup(catalog.Close)
	asked := ordertest.NewFakeStores(0)
	outbox := New(Stores{Ledger: ops, Apply: ops.Apply}, catalog, asked, asked,
		&ordertest.CountingObserver{}, ordertest.Quiet())
	if _, err := catalog.Find(t.Context(), ordertest.VoucherA); !errors.Is(err, voucher.ErrNotFound) {
		t.Fatal(err)
	}
	sales.Kept = []voucher.Voucher{ordertest.VoucherAt(1, 0)}
	ops.Commit(operation.Pausing, 0, 0)
	if err := outbox.Flush(t.Context(), ordertest.VoucherA); err != nil || ops.States[0] != appliedOp {
		t.Errorf("the operation is in state %d, %v", ops.States[0], err)
	}
}

// The ledger lacks what Redis gave: it completes the operation as refused, the sale is rebuilt, and the other
// operations go on.
func TestFlushWhenTheLedgerLacksUnits(t *testing.T) {
	t.Parallel()
	ops := newFakeOperations(3)
	ops.Clashes = 1
	ops.Commit(operation.Revival, -1, 55)
	for range operation.MaxBatch {
		ops.Commit(operation.Cancellation, 1, 0)
	}
	p := newOutbox(t, ops)
	if err := p.outbox.Flush(t.Context(), ordertest.VoucherA); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(ops.States, pendingOp) {
		t.Error("operations are still pending")
	}
	if diff := cmp.Diff([]ordertest.RepairCall{{VoucherID: ordertest.VoucherA, BadEpoch: 1}}, p.asked.Repairs,
		cmp.AllowUnexported(ordertest.RepairCall{})); diff != "" {
		t.Errorf("repairs (-want +got):\n%s", diff)
	}
	if len(p.asked.Outcomes) != 0 {
		t.Errorf("notified of %v, which was not revived", p.asked.Outcomes)
	}
}

// A ledger that completes nothing does not make the flush loop for ever.
func TestFlushEndsWhenNothingIsCompleted(t *testing.T) {
	t.Parallel()
	ops := newFakeOperations(1)
	for range operation.MaxBatch + 1 {
		ops.Commit(operation.Cancellation, 1, 0)
	}
	p := newOutbox(t, ops)
	p.outbox.stores.Ledger = idleLedger{ops}
	if err := p.outbox.Flush(t.Context(), ordertest.VoucherA); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("error = %v, want ErrUnavailable", err)
	}
	if ops.Pendings > 3 {
		t.Errorf("asked %d times", ops.Pendings)
	}
}

// Redis has forgotten an operation's result. If another instance has completed the operation meanwhile, all is well. If
// it is still pending, the ledger has lost its completion, and the sale is rebuilt.
func TestFlushWhatRedisHasForgotten(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"completed by another": false, "lost by the ledger": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ops := newFakeOperations(5)
			ops.Commit(operation.Restock, -2, 0)
			ops.Applied, ops.Forgot = 1, 1
			p := newOutbox(t, ops)
			if !lost {
				p.outbox.stores.Ledger = overtakenLedger{ops}
			}
			err := p.outbox.Flush(t.Context(), ordertest.VoucherA)
			if errors.Is(err, order.ErrUnavailable) != lost || (len(p.asked.Repairs) > 0) != lost {
				t.Errorf("error = %v, repairs %v", err, p.asked.Repairs)
			}
		})
	}
}

// overtakenLedger lets another instance complete everything just before its own CompleteOperations.
type overtakenLedger struct{ *fakeOperations }

func (l overtakenLedger) CompleteOperations(context.Context, int64, []operation.Result) error {
	return l.fakeOperations.CompleteOperations(context.Background(), ordertest.VoucherA,
		[]operation.Result{{Number: 1, Taken: true}})
}

// idleLedger completes nothing and reports success.
type idleLedger struct{ *fakeOperations }

func (idleLedger) CompleteOperations(context.Context, int64, []operation.Result) error {
	return nil
}

// A thousand callers share the flush after the one under way, which has read before they came.
func TestCallersShareFlushes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOperations(0)
		ops.Arrived, ops.Leave = make(chan struct{}), make(chan struct{})
		p := newOutbox(t, ops)
		var wg sync.WaitGroup
		flush := func() {
			ops.Commit(operation.Cancellation, 1, 0)
			mine := int64(len(ops.Ops))
			wg.Go(func() {
				if err := p.outbox.Flush(t.Context(), ordertest.VoucherA); err != nil {
					t.Error(err)
				}
				ops.Mu.Lock()
				defer ops.Mu.Unlock()
				if ops.Applied < mine {
					t.Errorf("operation %d is not applied", mine)
				}
			})
		}
		flush()
		<-ops.Arrived // the first flush has read
		for range 999 {
			flush()
		}
		synctest.Wait()
		close(ops.Leave)
		go func() {
			for range ops.Arrived { // lets all later reads pass
			}
		}()
		wg.Wait()
		p.outbox.Close()
		close(ops.Arrived)
		if ops.Pendings != 5 { // one of the first flush, four pages of the second
			t.Errorf("%d reads for 1000 callers", ops.Pendings)
		}
		p.outbox.catalog.Close()
	})
}

// A caller who gives up leaves the flush to the others.
func TestFlushEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ops := newFakeOperations(0)
	ops.Arrived, ops.Leave = make(chan struct{}), make(chan struct{})
	ops.Commit(operation.Cancellation, 1, 0)
	p := newOutbox(t, ops)
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() { gaveUp <- p.outbox.Flush(ctx, ordertest.VoucherA) }()
	<-ops.Arrived
	cancel()
	if err := <-gaveUp; !errors.Is(err, order.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	ops.Leave <- struct{}{}
	p.outbox.Close()
	if ops.States[0] != appliedOp {
		t.Error("the flush ended with its first caller")
	}
	if err := p.outbox.flush(t.Context(), ordertest.VoucherA); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("after closing: %v", err)
	}
}

// Run applies operations that a crash has left, and flushes sales on request.
func TestRunAppliesWhatWasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOperations(0)
		ops.Commit(operation.Cancellation, 1, 0)
		ops.Before["sales"], ops.Before["apply"] = 1, 1
		p := newOutbox(t, ops)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.outbox.Run(ctx) }()
		time.Sleep(2500 * time.Millisecond) // the first sweep fails, then the first flush
		synctest.Wait()
		if ops.States[0] != appliedOp || p.saw.SalesBehind != 1 {
			t.Errorf("the operation is in state %d, %d sales are behind", ops.States[0], p.saw.SalesBehind)
		}
		ops.Commit(operation.Cancellation, 1, 0)
		p.outbox.RequestFlush(ordertest.VoucherA)
		synctest.Wait()
		if ops.States[1] != appliedOp {
			t.Error("a flush was requested, and nothing was applied")
		}
		for range 2 * requestQueue {
			p.outbox.RequestFlush(ordertest.VoucherA) // never blocks
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.outbox.Close()
		p.outbox.catalog.Close()
	})
}

// Operations are committed, two instances flush at once, they die between any two steps, the sale is rebuilt: each
// operation takes effect once, in order, and in the end Redis has the ledger's stock.
func TestOutboxKeepsLedgerAndRedisInStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ops := newFakeOperations(rapid.Int64Range(0, 3).Draw(t, "stock"))
		a, b := newOutbox(t, ops), newOutbox(t, ops)
		both := func(ctx context.Context) (errs [2]error) {
			var wg sync.WaitGroup
			for i, p := range []*outboxParts{a, b} {
				wg.Go(func() { errs[i] = p.outbox.Flush(ctx, ordertest.VoucherA) })
			}
			wg.Wait()
			return errs
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1:
				ops.Commit(operation.Cancellation, 1, 0)
			case 2:
				ops.Commit(operation.Restock, -rapid.Int64Range(1, 3).Draw(t, "take"), 0)
			case 3:
				step := rapid.SampledFrom([]string{"pending", "apply", "settled"}).Draw(t, "fault")
				ops.Mu.Lock()
				if rapid.Bool().Draw(t, "before") {
					ops.Before[step]++
				} else {
					ops.After[step]++
				}
				ops.Mu.Unlock()
			case 4:
				both(t.Context())
			case 5:
				ops.Rebuild()
			}
		}
		ops.Mu.Lock()
		clear(ops.Before)
		clear(ops.After)
		ops.Mu.Unlock()
		for _, err := range both(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if slices.Contains(ops.States, pendingOp) {
			t.Fatalf("pending at the end: %v", ops.States)
		}
		if !slices.IsSorted(ops.Effects) || len(slices.Compact(slices.Clone(ops.Effects))) != len(ops.Effects) {
			t.Fatalf("operations took effect in the order %v", ops.Effects)
		}
		if ops.Stock != ops.Sale || ops.Stock < 0 {
			t.Fatalf("the ledger has %d, Redis %d", ops.Stock, ops.Sale)
		}
		for i, op := range ops.Ops {
			if !op.Takes() && ops.States[i] == refusedOp {
				t.Fatalf("operation %d gives units and was refused", op.Number)
			}
		}
	})
}

// Takes whose result Redis has forgotten are missing in the results: the results of later operations must not be
// attributed to them.
func TestNotifiesByNumber(t *testing.T) {
	t.Parallel()
	ops := newFakeOperations(0)
	p := newOutbox(t, ops)
	p.outbox.notifyTaken([]operation.Operation{
		{Number: 4, Kind: operation.Revival, Delta: -1, OrderID: 54},
		{Number: 5, Kind: operation.Revival, Delta: -1, OrderID: 55},
		{Number: 6, Kind: operation.Revival, Delta: -1, OrderID: 56},
		{Number: 7, Kind: operation.Cancellation, Delta: 1, OrderID: 57},
	}, []operation.Result{{Number: 5, Taken: true}, {Number: 6}, {Number: 7, Taken: true}})
	if diff := cmp.Diff(map[int64]order.Status{55: order.Paid}, p.asked.Outcomes); diff != "" {
		t.Errorf("notified (-want +got):\n%s", diff)
	}
}

// toldLists are the vouchers whose lists were notified.
type toldLists []int64

func (l *toldLists) Changed(_ context.Context, v voucher.Voucher) { *l = append(*l, v.ID) }

// Once Redis has a change, the lists that show it are notified, unless lists read it from Redis anyway.
func TestListsAreTold(t *testing.T) {
	t.Parallel()
	for kind, want := range map[operation.Kind]int{
		operation.Shelving: 1, operation.Rescheduling: 1, operation.Restock: 0, operation.Cancellation: 0,
	} {
		ops := newFakeOperations(1)
		ops.Commit(kind, 1, 0)
		if want > 0 {
			ops.Ops[0].Mode = order.SaleOffShelf
		}
		p := newOutbox(t, ops)
		var told toldLists
		p.outbox.stores.Changed = told.Changed
		if err := p.outbox.Flush(t.Context(), ordertest.VoucherA); err != nil || len(told) != want {
			t.Errorf("%s: the lists of %v were notified, want %d, %v", kind, told, want, err)
		}
	}
}
