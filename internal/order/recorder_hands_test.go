package order

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// gates hold up a recorder's steps until they are opened.
type gates struct {
	*fakeStores
	insert, settle, next chan struct{} // nil ones hold up nobody; a closed one is open
}

func pass(ctx context.Context, gate chan struct{}) error {
	if gate == nil {
		return nil
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gates) Settle(ctx context.Context, keys []string) (int, error) {
	if err := pass(ctx, g.settle); err != nil {
		return 0, err
	}
	return g.fakeStores.Settle(ctx, keys)
}

func (g gates) Next(ctx context.Context, n int, wait time.Duration) ([]Entry, error) {
	if err := pass(ctx, g.next); err != nil {
		return nil, err
	}
	return g.fakeStores.Next(ctx, n, wait)
}

// gatedLedger is the ledger behind the gates.
type gatedLedger struct {
	fakeLedger

	insert chan struct{}
	sizes  *[]int // of the batches inserted
}

func (l gatedLedger) Insert(ctx context.Context, claims []Claim) error {
	if err := pass(ctx, l.insert); err != nil {
		return err
	}
	l.mu.Lock()
	*l.sizes = append(*l.sizes, len(claims))
	l.mu.Unlock()
	return l.fakeLedger.Insert(ctx, claims)
}

// running is a recorder at work behind gates.
type running struct {
	sizes []int // of the batches inserted
	stop  context.CancelFunc
	done  chan error
}

func run(t *testing.T, g gates, o RecorderOptions) *running {
	t.Helper()
	run := &running{done: make(chan error, 1)}
	r := NewRecorder(RecorderStores{Queue: g, Membership: g, Ledger: gatedLedger{fakeLedger{g.fakeStores}, g.insert, &run.sizes}, Places: g, Outbox: g},
		o, &fakeIDs{}, g, g, deaf{}, quiet())
	ctx, stop := context.WithCancel(t.Context())
	run.stop = stop
	go func() { run.done <- r.Run(ctx) }()
	return run
}

// end stops the recorder and waits for it.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		t.Error(err)
	}
}

// look has a look at the stores while the recorder may be at work.
func (g gates) look(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

func numbered(n int64) []Claim {
	var claims []Claim
	for id := int64(1); id <= n; id++ {
		claims = append(claims, claim(id, id, voucherA))
	}
	return claims
}

// While settling does not get on, the batch behind is committed and the next one read, and then no more: three are in
// hand. Who waits is told at once.
func TestRecorderHasThreeBatchesInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStores(100, numbered(10)...)
		g := gates{fakeStores: f, settle: make(chan struct{})}
		r := run(t, g, RecorderOptions{Batch: 2})
		for range 30 { // as long as Redis takes everything except this
			time.Sleep(time.Second)
			g.look(func() {
				if len(f.pending) != 6 || len(r.sizes) != 2 || len(f.told) != 4 || len(f.settled) != 0 {
					t.Errorf("%d delivered, %d batches committed, %d told, %d settled; want 6, 2, 4, 0",
						len(f.pending), len(r.sizes), len(f.told), len(f.settled))
				}
			})
		}
		close(g.settle)
		time.Sleep(time.Second)
		r.end(t)
		if len(f.settled) != 10 || !slices.IsSorted(f.settled) {
			t.Errorf("settled %v", f.settled)
		}
	})
}

// With the ledger away, one batch waits for it and one behind that.
func TestRecorderStopsReadingWhileTheLedgerIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStores(100, numbered(10)...)
		f.before["insert"] = 1 << 30
		g := gates{fakeStores: f}
		r := run(t, g, RecorderOptions{Batch: 2})
		time.Sleep(time.Minute)
		g.look(func() {
			if len(f.pending) != 4 {
				t.Errorf("%d entries delivered, want 4", len(f.pending))
			}
			f.before["insert"] = 0
		})
		time.Sleep(time.Minute)
		r.end(t)
		if len(f.settled) != 10 || f.inserts != 5 {
			t.Errorf("%d settled by %d batches, want 10 by 5", len(f.settled), f.inserts)
		}
	})
}

// What is not much is not read ahead in little batches: what comes during a commit travels together.
func TestRecorderGathersWhileItCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStores(100, numbered(7)...)
		later := f.fresh[1:]
		f.fresh = f.fresh[:1:1]
		g := gates{fakeStores: f, insert: make(chan struct{})}
		r := run(t, g, RecorderOptions{Batch: 10})
		synctest.Wait()
		for _, e := range later {
			g.look(func() { f.fresh = append(f.fresh, e) })
			time.Sleep(time.Second)
		}
		close(g.insert)
		time.Sleep(time.Second)
		r.end(t)
		if diff := cmp.Diff([]int{1, 6}, r.sizes); diff != "" {
			t.Errorf("sizes of the batches (-want +got):\n%s", diff)
		}
	})
}

// The answer of a read is lost while batches are in hand: the look through the own entries waits for these, finds the
// lost ones, and nothing is recorded twice.
func TestRecorderLooksThroughItsOwnWithEmptyHands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStores(100, numbered(6)...)
		g := gates{fakeStores: f, next: make(chan struct{}), insert: make(chan struct{}), settle: make(chan struct{})}
		r := run(t, g, RecorderOptions{Batch: 2})
		g.next <- struct{}{}   // the first batch is read,
		g.insert <- struct{}{} // committed, and being settled;
		g.next <- struct{}{}   // the second is being committed
		synctest.Wait()
		g.look(func() { f.after["next"] = 1 })
		close(g.next)
		time.Sleep(10 * time.Second)
		g.look(func() {
			if len(f.pending) != 6 || f.owns != 1 {
				t.Errorf("%d entries delivered, %d looks through the own ones; want 6 and the first look", len(f.pending), f.owns)
			}
		})
		close(g.insert)
		close(g.settle)
		time.Sleep(10 * time.Second)
		r.end(t)
		if diff := cmp.Diff([]int{2, 2, 2}, r.sizes); diff != "" || f.commits != 3 {
			t.Errorf("%d commits, sizes of the batches (-want +got):\n%s", f.commits, diff)
		}
		if len(f.settled) != 6 {
			t.Errorf("settled %v", f.settled)
		}
	})
}

// Told to stop while nothing can be settled, it ends in time. What it committed is delivered again.
func TestRecorderStopsWhileNothingCanBeSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStores(100, numbered(10)...)
		r := run(t, gates{fakeStores: f, settle: make(chan struct{})}, RecorderOptions{Batch: 2})
		time.Sleep(time.Second)
		began := time.Now()
		r.end(t)
		if took := time.Since(began); took != finishTime {
			t.Errorf("it took %s, want %s", took, finishTime)
		}
		if len(f.pending) != 6 || len(f.settled) != 0 || !f.left {
			t.Errorf("%d pending, %d settled, left: %t", len(f.pending), len(f.settled), f.left)
		}
	})
}

// With Drain, what is in the stream is recorded before Run ends, also what was delivered and its answer lost.
func TestRecorderDrains(t *testing.T) {
	t.Parallel()
	f := newFakeStores(100, numbered(9)...)
	f.pending, f.fresh = f.fresh[:3:3], f.fresh[3:]
	r := run(t, gates{fakeStores: f}, RecorderOptions{Batch: 2, Drain: true})
	r.end(t)
	if len(f.settled) != 9 || len(f.rows) != 9 {
		t.Errorf("%d settled, %d recorded; want all 9", len(f.settled), len(f.rows))
	}
}
