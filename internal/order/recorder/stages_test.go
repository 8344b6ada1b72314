package recorder

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
)

// gates hold up a recorder's steps until the test opens them.
type gates struct {
	*ordertest.FakeStores
	insert, acknowledge, next chan struct{} // open if nil or closed
	waits                     chan struct{} // once closed, a caller waits for a row; nil: no caller waits
	contended                 *atomic.Bool  // while true, inserts fail with ErrContended; nil: they do not
}

func (g gates) Awaited(ctx context.Context) {
	select {
	case <-g.waits:
	case <-ctx.Done():
	}
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

func (g gates) Acknowledge(ctx context.Context, keys []string) (int, error) {
	if err := pass(ctx, g.acknowledge); err != nil {
		return 0, err
	}
	return g.FakeStores.Acknowledge(ctx, keys)
}

func (g gates) Next(ctx context.Context, n int, wait time.Duration) ([]order.Entry, error) {
	if err := pass(ctx, g.next); err != nil {
		return nil, err
	}
	return g.FakeStores.Next(ctx, n, wait)
}

// gatedLedger is the ledger behind the gates.
type gatedLedger struct {
	*ordertest.FakeStores

	insert    chan struct{}
	contended *atomic.Bool
	sizes     *[]int // of the batches inserted
}

func (l gatedLedger) Insert(ctx context.Context, claims []order.Claim) error {
	if err := pass(ctx, l.insert); err != nil {
		return err
	}
	if l.contended != nil && l.contended.Load() {
		time.Sleep(5 * time.Second)
		return order.ErrContended
	}
	l.Mu.Lock()
	*l.sizes = append(*l.sizes, len(claims))
	l.Mu.Unlock()
	return l.FakeStores.Insert(ctx, claims)
}

// running is a recorder at work behind gates.
type running struct {
	sizes []int // of the batches inserted
	stop  context.CancelFunc
	done  chan error
}

func run(t *testing.T, g gates, o Options) *running {
	t.Helper()
	run := &running{done: make(chan error, 1)}
	r := New(Stores{Queue: g, Heartbeat: g.Heartbeat, Leave: g.Leave, Ledger: gatedLedger{
		g.FakeStores, g.insert, g.contended, &run.sizes,
	}, Correct: g.Correct, Flush: g.Flush},
		o, g, g, ordertest.NopObserver{}, ordertest.Quiet())
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

// look runs f with the stores locked, as the recorder may be at work.
func (g gates) look(f func()) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	f()
}

func numbered(n int64) []order.Claim {
	var claims []order.Claim
	for id := int64(1); id <= n; id++ {
		claims = append(claims, ordertest.NewClaim(id, id, ordertest.VoucherA))
	}
	return claims
}

// While acknowledging is stuck, the next batch is committed and one more is read, and then none: three are in progress.
// Waiting callers are notified at once.
func TestRecorderHasThreeBatchesInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := ordertest.NewFakeStores(100, numbered(10)...)
		g := gates{FakeStores: f, acknowledge: make(chan struct{})}
		r := run(t, g, Options{Batch: 2})
		for range 30 { // while Redis executes everything except the acknowledgement
			time.Sleep(time.Second)
			g.look(func() {
				if len(f.Pending) != 6 || len(r.sizes) != 2 || len(f.Outcomes) != 4 || len(f.Acknowledged) != 0 {
					t.Errorf("%d delivered, %d batches committed, %d notified, %d acknowledged; want 6, 2, 4, 0",
						len(f.Pending), len(r.sizes), len(f.Outcomes), len(f.Acknowledged))
				}
			})
		}
		close(g.acknowledge)
		time.Sleep(time.Second)
		r.end(t)
		if len(f.Acknowledged) != 10 || !slices.IsSorted(f.Acknowledged) {
			t.Errorf("acknowledged %v", f.Acknowledged)
		}
	})
}

// While the ledger is away, one batch waits for it and another behind that one.
func TestRecorderStopsReadingWhileTheLedgerIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := ordertest.NewFakeStores(100, numbered(10)...)
		f.Before["insert"] = 1 << 30
		g := gates{FakeStores: f}
		r := run(t, g, Options{Batch: 2})
		time.Sleep(time.Minute)
		g.look(func() {
			if len(f.Pending) != 4 {
				t.Errorf("%d entries delivered, want 4", len(f.Pending))
			}
			f.Before["insert"] = 0
		})
		time.Sleep(time.Minute)
		r.end(t)
		if len(f.Acknowledged) != 10 || f.Inserts != 5 {
			t.Errorf("%d acknowledged by %d batches, want 10 by 5", len(f.Acknowledged), f.Inserts)
		}
	})
}

// A few entries are not read ahead in small batches: all that come during a commit share the next batch.
func TestRecorderGathersWhileItCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := ordertest.NewFakeStores(100, numbered(7)...)
		later := f.Fresh[1:]
		f.Fresh = f.Fresh[:1:1]
		g := gates{FakeStores: f, insert: make(chan struct{})}
		r := run(t, g, Options{Batch: 10})
		synctest.Wait()
		for _, e := range later {
			g.look(func() { f.Fresh = append(f.Fresh, e) })
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

// While no caller waits for a row, orders that come one by one share a transaction; all but the first are delayed for
// that. As soon as a caller waits, no order is delayed. The batch after a full one is read at once.
func TestRecorderGathersWhileNobodyWaits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		waitsAfter time.Duration // when a caller begins to wait; 0: from the start
		want       []int
	}{
		"a caller waits all the time": {0, slices.Repeat([]int{1}, 15)},
		"nobody waits":                {time.Hour, []int{1, 4, 5, 5}},
		"a caller waits after a while": {
			20200 * time.Microsecond, append([]int{1, 4, 2}, slices.Repeat([]int{1}, 8)...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := ordertest.NewFakeStores(100, numbered(15)...)
				later := f.Fresh[1:]
				f.Fresh = f.Fresh[:1:1]
				g := gates{FakeStores: f, waits: make(chan struct{})}
				time.AfterFunc(tc.waitsAfter, func() { close(g.waits) })
				r := run(t, g, Options{Batch: 100})
				time.Sleep(500 * time.Microsecond) // between two polls of the fake stream, which come every millisecond
				for _, e := range later {
					time.Sleep(3 * time.Millisecond)
					g.look(func() { f.Fresh = append(f.Fresh, e) })
				}
				time.Sleep(time.Second)
				r.end(t)
				if diff := cmp.Diff(tc.want, r.sizes); diff != "" {
					t.Errorf("sizes of the batches (-want +got):\n%s", diff)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := ordertest.NewFakeStores(100, numbered(20)...)
		began := time.Now()
		r := run(t, gates{FakeStores: f}, Options{Batch: 5})
		synctest.Wait()
		if took := time.Since(began); len(r.sizes) != 4 || took != 0 {
			t.Errorf("committed %d full batches within %s, want 4 at once", len(r.sizes), took)
		}
		r.end(t)
	})
}

// The answer of a read is lost while batches are in progress. Reading the own entries waits for these batches and finds
// the lost entries, and nothing is recorded twice.
func TestRecorderLooksThroughItsOwnWithEmptyHands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := ordertest.NewFakeStores(100, numbered(6)...)
		g := gates{
			FakeStores: f, next: make(chan struct{}), insert: make(chan struct{}), acknowledge: make(chan struct{}),
		}
		r := run(t, g, Options{Batch: 2})
		g.next <- struct{}{}   // the first batch is read,
		g.insert <- struct{}{} // committed, and being finished;
		g.next <- struct{}{}   // the second is being committed
		synctest.Wait()
		g.look(func() { f.After["next"] = 1 })
		close(g.next)
		time.Sleep(10 * time.Second)
		g.look(func() {
			if len(f.Pending) != 6 || f.Owns != 1 {
				t.Errorf("delivered %d entries, read own entries %d times; want 6 and once", len(f.Pending), f.Owns)
			}
		})
		close(g.insert)
		close(g.acknowledge)
		time.Sleep(10 * time.Second)
		r.end(t)
		if diff := cmp.Diff([]int{2, 2, 2}, r.sizes); diff != "" || f.Commits != 3 {
			t.Errorf("%d commits, sizes of the batches (-want +got):\n%s", f.Commits, diff)
		}
		if len(f.Acknowledged) != 6 {
			t.Errorf("acknowledged %v", f.Acknowledged)
		}
	})
}

// A recorder that is stopped while nothing can be acknowledged ends in time. What it has committed is delivered again.
func TestRecorderStopsWhileNothingCanBeAcknowledged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := ordertest.NewFakeStores(100, numbered(10)...)
		r := run(t, gates{FakeStores: f, acknowledge: make(chan struct{})}, Options{Batch: 2})
		time.Sleep(time.Second)
		began := time.Now()
		r.end(t)
		if took := time.Since(began); took != finishTimeout {
			t.Errorf("stopping took %s, want %s", took, finishTimeout)
		}
		if len(f.Pending) != 6 || len(f.Acknowledged) != 0 || !f.Left {
			t.Errorf("%d pending, %d acknowledged, left: %t", len(f.Pending), len(f.Acknowledged), f.Left)
		}
	})
}

// With Drain, Run records the rest of the stream before it ends, including entries whose delivery was not answered.
func TestRecorderDrains(t *testing.T) {
	t.Parallel()
	f := ordertest.NewFakeStores(100, numbered(9)...)
	f.Pending, f.Fresh = f.Fresh[:3:3], f.Fresh[3:]
	r := run(t, gates{FakeStores: f}, Options{Batch: 2, Drain: true})
	r.end(t)
	if len(f.Acknowledged) != 9 || len(f.Rows) != 9 {
		t.Errorf("%d acknowledged, %d recorded; want all 9", len(f.Acknowledged), len(f.Rows))
	}
}

// A recorder whose batch waits for another transaction keeps its heartbeat: others would only wait for that transaction
// as well, and neglect the orders of other sales.
func TestRecorderIsNotSilentBehindAnotherTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gates{FakeStores: ordertest.NewFakeStores(100, numbered(2)...), contended: new(atomic.Bool)}
		g.contended.Store(true)
		r := run(t, g, Options{Batch: 2})
		time.Sleep(3 * silentAfter)
		var before, after int
		g.look(func() { before = g.Heartbeats })
		time.Sleep(time.Minute)
		g.look(func() { after = g.Heartbeats })
		if n := after - before; n < 59 {
			t.Errorf("%d heartbeats within a minute, want one each second", n)
		}
		g.contended.Store(false)
		r.end(t)
	})
}

// A recorder whose ledger does not answer stops its heartbeat after a while, so that others take over, and resumes it
// once the ledger answers.
func TestRecorderIsSilentWhileItCannotCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := ordertest.NewFakeStores(100, numbered(2)...)
		g := gates{FakeStores: f, insert: make(chan struct{})}
		r := run(t, g, Options{Batch: 2})
		beats := func(during time.Duration) (n int) {
			g.look(func() { n = f.Heartbeats })
			time.Sleep(during)
			g.look(func() { n = f.Heartbeats - n })
			return n
		}
		if n := beats(silentAfter); n < 9 {
			t.Errorf("%d heartbeats within %v, want one each second", n, silentAfter)
		}
		time.Sleep(2 * heartbeatEvery)
		if n := beats(time.Minute); n != 0 {
			t.Errorf("%d heartbeats while nothing is committed, want none", n)
		}
		close(g.insert)
		synctest.Wait()
		if n := beats(5 * time.Second); n < 4 {
			t.Errorf("%d heartbeats within 5 s after the commit", n)
		}
		r.end(t)
	})
}
