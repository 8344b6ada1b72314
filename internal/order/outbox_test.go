package order

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

	"seckill/internal/voucher"
)

type outboxParts struct {
	outbox *Outbox
	ops    *fakeOperations
	asked  *fakeStores // as the mender and the audience
	saw    *countingObserver
}

// cleaner is a test, or one try of a property.
type cleaner interface {
	Helper()
	Cleanup(f func())
}

func newOutbox(t cleaner, ops *fakeOperations, vs ...voucher.Voucher) *outboxParts {
	t.Helper()
	if vs == nil {
		vs = []voucher.Voucher{at(1, 0)}
	}
	p := &outboxParts{ops: ops, asked: newFakeStores(0), saw: &countingObserver{}}
	catalog := NewCatalog(&fakeSales{kept: vs, faults: faults{before: map[string]int{}, after: map[string]int{}}})
	t.Cleanup(catalog.Close)
	p.outbox = NewOutbox(OutboxStores{Ledger: ops, Sales: ops}, catalog, p.asked, p.asked, p.saw, quiet())
	return p
}

func TestFollowAppliesInOrderAndSettles(t *testing.T) {
	t.Parallel()
	ops := newFakeOperations(1)
	ops.commit(Restock, 2, 0)
	ops.commit(Revival, -1, 55)
	ops.commit(Restock, -9, 0)
	ops.commit(Pausing, 0, 0)
	for range applyBatch {
		ops.commit(Cancellation, 1, 0)
	}
	p := newOutbox(t, ops)
	if err := p.outbox.Follow(t.Context(), voucherA); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(ops.effects) || len(ops.effects) != len(ops.ops) {
		t.Errorf("took effect: %v", ops.effects)
	}
	if diff := cmp.Diff([]int{appliedOp, appliedOp, refusedOp, appliedOp}, ops.states[:4]); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if want := int64(2 + applyBatch); ops.stock != want || ops.sale != want {
		t.Errorf("ledger %d, Redis %d, want %d", ops.stock, ops.sale, want)
	}
	if diff := cmp.Diff(map[int64]Status{55: Paid}, p.asked.told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if p.saw.applied != len(ops.ops)-1 || p.saw.refused != 1 || p.saw.failed != 0 {
		t.Errorf("observed %d applied, %d refused, %d failed", p.saw.applied, p.saw.refused, p.saw.failed)
	}
	if len(p.asked.mended) != 0 {
		t.Errorf("mended %v", p.asked.mended)
	}
}

// Whatever fails, before or after it took effect: the caller is told, and the next round comes to the same end.
func TestFollowThroughFaults(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"pending", "apply", "settled"} {
		for _, when := range []string{"before", "after"} {
			t.Run(step+" fails "+when, func(t *testing.T) {
				t.Parallel()
				ops := newFakeOperations(1)
				ops.commit(Restock, -1, 0)
				ops.commit(Cancellation, 1, 0)
				p := newOutbox(t, ops)
				if when == "before" {
					ops.before[step] = 1
				} else {
					ops.after[step] = 1
				}
				if err := p.outbox.Follow(t.Context(), voucherA); !errors.Is(err, ErrUnavailable) {
					t.Errorf("error = %v, want ErrUnavailable", err)
				}
				if err := p.outbox.Follow(t.Context(), voucherA); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff([]int64{1, 2}, ops.effects); diff != "" || ops.stock != 1 || ops.sale != 1 {
					t.Errorf("stock %d and %d, effects (-want +got):\n%s", ops.stock, ops.sale, diff)
				}
			})
		}
	}
}

func TestFollowWhenRedisCannot(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(f *fakeOperations)
		mend  []mendCall
	}{
		"the sale is missing":          {spoil: func(f *fakeOperations) { f.redis = ApplicationMissing }, mend: []mendCall{{voucherA, NotBroken}}},
		"it is being rebuilt":          {spoil: func(f *fakeOperations) { f.redis = ApplicationRebuilding }, mend: []mendCall{{voucherA, NotBroken}}},
		"it has lost what was applied": {spoil: func(f *fakeOperations) { f.applied, f.states[0], f.epoch = 0, appliedOp, 4 }, mend: []mendCall{{voucherA, 4}}},
		"and nothing more is pending":  {spoil: func(f *fakeOperations) { f.states[0], f.states[1], f.epoch = appliedOp, appliedOp, 4 }, mend: []mendCall{{voucherA, 4}}},
		"it says something unheard of": {spoil: func(f *fakeOperations) { f.redis = 99 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ops := newFakeOperations(1)
			ops.commit(Cancellation, 1, 0)
			ops.commit(Cancellation, 1, 0)
			tc.spoil(ops)
			p := newOutbox(t, ops)
			if err := p.outbox.Follow(t.Context(), voucherA); !errors.Is(err, ErrUnavailable) {
				t.Errorf("error = %v, want ErrUnavailable", err)
			}
			if diff := cmp.Diff(tc.mend, p.asked.mended, cmp.AllowUnexported(mendCall{})); diff != "" {
				t.Errorf("mended (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFollowWhatNeedsNoFollowing(t *testing.T) {
	t.Parallel()
	retired := at(1, 0)
	retired.Sale.Retired = true
	for name, v := range map[string]voucher.Voucher{"an ordinary voucher": ordinary(), "a retired sale": retired, "a sale without operations": at(1, 0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newOutbox(t, newFakeOperations(1), v)
			if err := p.outbox.Follow(t.Context(), v.ID); err != nil {
				t.Error(err)
			}
			if err := p.outbox.Follow(t.Context(), 404); err != nil {
				t.Errorf("a voucher that does not exist: %v", err)
			}
			if p.ops.applies != 0 {
				t.Errorf("Redis was asked %d times", p.ops.applies)
			}
		})
	}
}

// That there is no such voucher is remembered for a second. Whoever has just changed it is not told that Redis follows.
func TestFollowANewVoucher(t *testing.T) {
	t.Parallel()
	ops, sales := newFakeOperations(1), &fakeSales{faults: faults{before: map[string]int{}, after: map[string]int{}}}
	catalog := NewCatalog(sales)
	t.Cleanup(catalog.Close)
	asked := newFakeStores(0)
	outbox := NewOutbox(OutboxStores{Ledger: ops, Sales: ops}, catalog, asked, asked, &countingObserver{}, quiet())
	if _, err := catalog.Find(t.Context(), voucherA); !errors.Is(err, voucher.ErrNotFound) {
		t.Fatal(err)
	}
	sales.kept = []voucher.Voucher{at(1, 0)}
	ops.commit(Pausing, 0, 0)
	if err := outbox.Follow(t.Context(), voucherA); err != nil || ops.states[0] != appliedOp {
		t.Errorf("the operation is in state %d, %v", ops.states[0], err)
	}
}

// The ledger lacks what Redis gave: the operation is refused there, the sale is rebuilt, and the others go on.
func TestFollowWhenTheLedgerLacksUnits(t *testing.T) {
	t.Parallel()
	ops := newFakeOperations(3)
	ops.clashes = 1
	ops.commit(Revival, -1, 55)
	for range applyBatch {
		ops.commit(Cancellation, 1, 0)
	}
	p := newOutbox(t, ops)
	if err := p.outbox.Follow(t.Context(), voucherA); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(ops.states, pendingOp) {
		t.Error("operations are still pending")
	}
	if diff := cmp.Diff([]mendCall{{voucherA, 1}}, p.asked.mended, cmp.AllowUnexported(mendCall{})); diff != "" {
		t.Errorf("mended (-want +got):\n%s", diff)
	}
	if len(p.asked.told) != 0 {
		t.Errorf("told of %v, which was not revived", p.asked.told)
	}
}

// A ledger that settles nothing is not asked for ever.
func TestFollowEndsWhenNothingIsSettled(t *testing.T) {
	t.Parallel()
	ops := newFakeOperations(1)
	for range applyBatch + 1 {
		ops.commit(Cancellation, 1, 0)
	}
	p := newOutbox(t, ops)
	p.outbox.stores.Ledger = idleLedger{ops}
	if err := p.outbox.Follow(t.Context(), voucherA); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error = %v, want ErrUnavailable", err)
	}
	if ops.pendings > 3 {
		t.Errorf("asked %d times", ops.pendings)
	}
}

// Redis has forgotten what came of an operation. If somebody else has settled it meanwhile, that is as it should be; if it
// is pending still, the ledger has lost that it was settled, and the sale is rebuilt.
func TestFollowWhatRedisHasForgotten(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"settled by another": false, "lost by the ledger": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ops := newFakeOperations(5)
			ops.commit(Restock, -2, 0)
			ops.applied, ops.forgot = 1, 1
			p := newOutbox(t, ops)
			if !lost {
				p.outbox.stores.Ledger = overtakenLedger{ops}
			}
			err := p.outbox.Follow(t.Context(), voucherA)
			if errors.Is(err, ErrUnavailable) != lost || (len(p.asked.mended) > 0) != lost {
				t.Errorf("error = %v, mended %v", err, p.asked.mended)
			}
		})
	}
}

// overtakenLedger has everything settled by another instance just before it is asked to.
type overtakenLedger struct{ *fakeOperations }

func (l overtakenLedger) Settled(context.Context, int64, []OperationResult) error {
	return l.fakeOperations.Settled(context.Background(), voucherA, []OperationResult{{Number: 1, Taken: true}})
}

// idleLedger settles nothing and says it did.
type idleLedger struct{ *fakeOperations }

func (idleLedger) Settled(context.Context, int64, []OperationResult) error { return nil }

// A thousand callers share two rounds: the one under way, which is too early for them, and the next.
func TestFollowersShareRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOperations(0)
		ops.arrived, ops.leave = make(chan struct{}), make(chan struct{})
		p := newOutbox(t, ops)
		var wg sync.WaitGroup
		follow := func() {
			ops.commit(Cancellation, 1, 0)
			mine := int64(len(ops.ops))
			wg.Go(func() {
				if err := p.outbox.Follow(t.Context(), voucherA); err != nil {
					t.Error(err)
				}
				ops.mu.Lock()
				defer ops.mu.Unlock()
				if ops.applied < mine {
					t.Errorf("operation %d is not applied", mine)
				}
			})
		}
		follow()
		<-ops.arrived // the first round has read
		for range 999 {
			follow()
		}
		synctest.Wait()
		close(ops.leave)
		go func() {
			for range ops.arrived { // lets everybody pass
			}
		}()
		wg.Wait()
		p.outbox.Close()
		close(ops.arrived)
		if ops.pendings != 5 { // one for the first, and four pages for the others
			t.Errorf("%d reads for 1000 callers", ops.pendings)
		}
		if len(p.outbox.tours) != 0 {
			t.Errorf("%d tours are left", len(p.outbox.tours))
		}
		p.outbox.catalog.Close()
	})
}

// A caller who gives up leaves the round to the others.
func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ops := newFakeOperations(0)
	ops.arrived, ops.leave = make(chan struct{}), make(chan struct{})
	ops.commit(Cancellation, 1, 0)
	p := newOutbox(t, ops)
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() { gaveUp <- p.outbox.Follow(ctx, voucherA) }()
	<-ops.arrived
	cancel()
	if err := <-gaveUp; !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	ops.leave <- struct{}{}
	p.outbox.Close()
	if ops.states[0] != appliedOp {
		t.Error("the round ended with its first caller")
	}
	if err := p.outbox.follow(t.Context(), voucherA); !errors.Is(err, ErrUnavailable) {
		t.Errorf("after closing: %v", err)
	}
}

// What a crash left, and what it is notified of, is applied by Run.
func TestRunAppliesWhatWasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOperations(0)
		ops.commit(Cancellation, 1, 0)
		ops.before["sales"], ops.before["apply"] = 1, 1
		p := newOutbox(t, ops)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.outbox.Run(ctx) }()
		time.Sleep(2500 * time.Millisecond) // the first look fails, then the first round
		synctest.Wait()
		if ops.states[0] != appliedOp || p.saw.behind != 1 {
			t.Errorf("state %d, %d sales behind", ops.states[0], p.saw.behind)
		}
		ops.commit(Cancellation, 1, 0)
		p.outbox.Notify(voucherA)
		synctest.Wait()
		if ops.states[1] != appliedOp {
			t.Error("notified, and nothing was applied")
		}
		for range 2 * noticeQueue {
			p.outbox.Notify(voucherA) // never blocks
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.outbox.Close()
		p.outbox.catalog.Close()
	})
}

// Operations are committed, two instances follow at once, they die between any two steps, the sale is rebuilt: each
// operation takes effect once, in order, and in the end Redis has what the ledger has.
func TestOutboxKeepsLedgerAndRedisInStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ops := newFakeOperations(rapid.Int64Range(0, 3).Draw(t, "stock"))
		a, b := newOutbox(t, ops), newOutbox(t, ops)
		both := func(ctx context.Context) (errs [2]error) {
			var wg sync.WaitGroup
			for i, p := range []*outboxParts{a, b} {
				wg.Go(func() { errs[i] = p.outbox.Follow(ctx, voucherA) })
			}
			wg.Wait()
			return errs
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1:
				ops.commit(Cancellation, 1, 0)
			case 2:
				ops.commit(Restock, -rapid.Int64Range(1, 3).Draw(t, "take"), 0)
			case 3:
				step := rapid.SampledFrom([]string{"pending", "apply", "settled"}).Draw(t, "fault")
				ops.mu.Lock()
				if rapid.Bool().Draw(t, "before") {
					ops.before[step]++
				} else {
					ops.after[step]++
				}
				ops.mu.Unlock()
			case 4:
				both(t.Context())
			case 5:
				ops.rebuild()
			}
		}
		ops.mu.Lock()
		clear(ops.before)
		clear(ops.after)
		ops.mu.Unlock()
		for _, err := range both(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if slices.Contains(ops.states, pendingOp) {
			t.Fatalf("pending in the end: %v", ops.states)
		}
		if !slices.IsSorted(ops.effects) || len(slices.Compact(slices.Clone(ops.effects))) != len(ops.effects) {
			t.Fatalf("took effect in the order %v", ops.effects)
		}
		if ops.stock != ops.sale || ops.stock < 0 {
			t.Fatalf("the ledger has %d, Redis %d", ops.stock, ops.sale)
		}
		for i, op := range ops.ops {
			if !op.Takes() && ops.states[i] == refusedOp {
				t.Fatalf("operation %d gives and was refused", op.Number)
			}
		}
	})
}
