package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/histogram"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// fakeStats keeps counts, and fails on demand.
type fakeStats struct {
	counts gate.Counts
	took   histogram.Counts
	calls  int
	fails  error // returned by the next call
	lost   bool  // the next call adds the counts and fails all the same
}

func (b *fakeStats) Add(_ context.Context, sale order.SaleRef, since gate.Counts, took histogram.Counts) error {
	b.calls++
	err := b.fails
	b.fails = nil
	if sale.VoucherID != soldOutSale {
		return fmt.Errorf("asked about sale %d", sale.VoucherID)
	}
	if err == nil || b.lost {
		for i, n := range since {
			b.counts[i] += n
		}
		b.took = b.took.Plus(took)
	}
	b.lost = false
	return err
}

// fakeTimeline keeps the counts of all seconds as one sum.
type fakeTimeline struct {
	counts gate.Counts
	took   histogram.Counts
}

func newFakeTimeline() *fakeTimeline { return &fakeTimeline{counts: gate.Counts{}} }

func (l *fakeTimeline) Add(_ int64, _ time.Time, since gate.Counts, took histogram.Counts) {
	for answer, n := range since {
		l.counts[answer] += n
	}
	l.took = l.took.Plus(took)
}

// cacheObserver counts refusals from the cache.
type cacheObserver struct {
	ordertest.NopObserver
	soldOut, notStarted int64
}

func (e *cacheObserver) RefusedFromCache(soldOut, notStarted int64) {
	e.soldOut += soldOut
	e.notStarted += notStarted
}

// Each refusal is counted once, whether it comes from Redis or from the cache, and flushed once a second.
func TestStatsFlusherAddsEachAnswerOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := soldOutOf(t, 10)
		b, e, line := &fakeStats{counts: gate.Counts{}}, &cacheObserver{}, newFakeTimeline()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := NewStatsFlusher(a, b.Add, line.Add, e, ordertest.Quiet()).Run(ctx); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(flushEvery / 2) // so that the counts are checked between two flushes
		flush := func(refused int) {
			for range refused {
				refuse(t, a, 3)
			}
			time.Sleep(flushEvery)
			synctest.Wait() // for the flush, too
		}
		flush(50)
		before := b.counts[gate.SoldOut.Answer()] // soldOutOf itself has caused some refusals
		flush(7)
		flush(0)
		if got := b.counts[gate.SoldOut.Answer()] - before; got != 7 || b.calls != 2 {
			t.Errorf("%d of 7 refusals are counted, in %d calls", got, b.calls)
		}
		b.fails = fmt.Errorf("%w: no connection", order.ErrUnavailable)
		flush(3) // certainly not added: added later
		flush(0)
		b.fails, b.lost = errors.New("no reply"), true
		flush(2) // perhaps added: not added again
		flush(0)
		refuse(t, a, 3)
		cancel()
		<-ended // after a last flush
		if got := b.counts[gate.SoldOut.Answer()] - before; got != 7+3+2+1 {
			t.Errorf("%d refusals are counted, want 13", got)
		}
		if got := line.counts[gate.SoldOut.Answer()] - before; got != 7+3+2+1 {
			t.Errorf("%d refusals are in the timeline, want 13", got)
		}
		// Redis answers within no time here, so all are in the lowest bucket.
		for _, timed := range []histogram.Counts{b.took, line.took} {
			if len(timed) != 1 || timed[0] != line.counts[gate.SoldOut.Answer()] {
				t.Errorf("%d refusals took %v", line.counts[gate.SoldOut.Answer()], timed)
			}
		}
		if e.soldOut == 0 || e.soldOut > b.counts[gate.SoldOut.Answer()] || e.notStarted != 0 {
			t.Errorf("the observer counted %+v, of %d refusals in all", *e, b.counts[gate.SoldOut.Answer()])
		}
	})
}

// A request is timed from when it comes until its answer: it waits for the call before it, too. An answer from the
// cache counts as one that took no time.
func TestAnswersAreTimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := newSoldOut(t, &fakeHolders{users: evenUsers(10)}, 10*time.Millisecond)
		for user := range int64(3) { // the first alone; the others share the next call
			go refuse(t, a, 2*user+1)
			synctest.Wait()
		}
		time.Sleep(time.Second / 10)
		synctest.Wait()
		refuse(t, a, 7) // from the cache
		line := newFakeTimeline()
		b := &fakeStats{counts: gate.Counts{}}
		NewStatsFlusher(a, b.Add, line.Add, &cacheObserver{}, ordertest.Quiet()).flush(t.Context())
		got := []time.Duration{line.took.Quantile(0.25), line.took.Quantile(0.5), line.took.Quantile(0.99)}
		want := []time.Duration{250 * time.Microsecond, 12 * time.Millisecond, 24 * time.Millisecond}
		if !slices.Equal(got, want) || line.counts[gate.SoldOut.Answer()] != 4 {
			t.Errorf("of %v, a quarter, half and nearly all took less than %v, want %v", line.counts, got, want)
		}
	})
}

func TestOutcomeCounts(t *testing.T) {
	t.Parallel()
	var c outcomeCounts
	var results []gate.Result
	want := gate.Counts{"sold_out": 10, "not_started": 20, "unavailable": 2, "unknown_outcome": 3}
	for _, o := range gate.Outcomes() {
		results = append(results, gate.Result{Outcome: o})
		want[o.Answer()]++
	}
	delete(want, gate.NoAnswer)
	c.outcomes(results)
	c.add(outcomeOf(fmt.Errorf("call: %w", order.ErrUnavailable)), 2)
	c.add(outcomeOf(errors.New("no reply")), 3)
	c.soldOutFromCache.Add(10)
	c.notStartedFromCache.Add(20)
	c.took.Observe(time.Millisecond)
	got, soldOut, notStarted := c.counts()
	if took := (histogram.Counts{30, 0, 0, 0, 0, 1}); !slices.Equal(got.took, took) {
		t.Errorf("answers took %v, want %v", got.took, took)
	}
	if diff := cmp.Diff(want, got.counts); diff != "" || soldOut != 10 || notStarted != 20 {
		t.Errorf("%d and %d from the cache; counts (-want +got):\n%s", soldOut, notStarted, diff)
	}
}

// The winners of a retired sale are freed although nobody asks for it again. A sale stays that the catalog does not
// know yet, or that has counts to flush.
func TestStatsFlusherReleasesRetiredSales(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := soldOutOf(t, 10)
		b := &fakeStats{counts: gate.Counts{}}
		f := NewStatsFlusher(a, b.Add, newFakeTimeline().Add, &cacheObserver{}, ordertest.Quiet())
		held := func() bool { _, has := a.sales.Load(soldOutSale); return has }
		flush := func(want bool) {
			t.Helper()
			f.flush(t.Context())
			f.flush(t.Context())
			if held() != want {
				t.Errorf("is the sale remembered? %t", held())
			}
		}
		flush(true)
		a.catalog.SetSales([]voucher.Voucher{{ID: soldOutSale, Sale: &voucher.Sale{}}})
		flush(true)
		refuse(t, a, 3)
		a.catalog.SetSales(nil)
		b.fails = order.ErrUnavailable
		f.flush(t.Context())
		if !held() {
			t.Error("forgotten before it was flushed")
		}
		flush(false)
	})
}

// The timeline has each second of a sale and of a few minutes around it. Answers at other times are entered at the full
// hour.
func TestTimelineOutsideOfTheSale(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 6, 1, 20, 0, 0, 0, time.UTC)
	s := &sale{}
	if now := begin.Add(-time.Hour + time.Second); !s.timelineAt(now).Equal(now) {
		t.Errorf("a sale that was never observed is entered at %v", s.timelineAt(now))
	}
	s.latest.Store(&observation{view: order.SaleView{Begin: begin, End: begin.Add(time.Hour)}})
	for now, want := range map[time.Duration]time.Duration{
		0: 0, -5 * time.Minute: -5 * time.Minute, 65*time.Minute - 1: 65*time.Minute - 1,
		-5*time.Minute - 1: -time.Hour, 65 * time.Minute: time.Hour, 25*time.Hour + 59*time.Minute: 25 * time.Hour,
	} {
		if got := s.timelineAt(begin.Add(now)); !got.Equal(begin.Add(want)) {
			t.Errorf("%v after the begin: entered at %v, want %v", now, got, begin.Add(want))
		}
	}
}

// hangingStats are counts to which nothing can be added in partition 1.
type hangingStats struct{ added chan order.SaleRef }

func (h hangingStats) Add(ctx context.Context, sale order.SaleRef, _ gate.Counts, _ histogram.Counts) error {
	if sale.Partition == 1 {
		<-ctx.Done()
		return order.ErrUnavailable
	}
	h.added <- sale
	return nil
}

// While partition 1 hangs, the counts of the others are added as always, and its own wait.
func TestStatsFlusherGoesPastAHungPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := soldOutOf(t, 10)
		found, _ := a.sales.Load(soldOutSale)
		for id := range int64(20) {
			b := &sale{ref: order.SaleRef{VoucherID: 1000 + id, Partition: 1}}
			b.counts.add(gate.SoldOut, 1)
			a.sales.Store(b.ref.VoucherID, b)
		}
		store := hangingStats{make(chan order.SaleRef, 100)}
		f := NewStatsFlusher(a, store.Add, newFakeTimeline().Add, &cacheObserver{}, ordertest.Quiet())
		start := time.Now()
		f.flush(t.Context())
		if len(store.added) != 1 || <-store.added != found.(*sale).ref || time.Since(start) > flushTimeout {
			t.Errorf("the counts of %d sales were added after %v", len(store.added), time.Since(start))
		}
		f.flush(t.Context())
		if n := len(store.added); n != 0 {
			t.Errorf("the counts of %d sales were added again", n)
		}
		for id := range int64(20) {
			a.sales.Delete(1000 + id)
		}
	})
}
