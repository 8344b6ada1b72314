package admission

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/ordertest"
	"seckill/internal/order/split"
	"seckill/internal/voucher"
)

// fakeShares are the shares of a split sale, with slow ways there and back. Its clock is the test's.
type fakeShares struct {
	mu       sync.Mutex
	shares   split.Look
	seqs     []int64 // how many each has sold
	keptSeqs []int64
	kept     []time.Time
	moving   int64
	moves    int
	calls    int // of the script
	slowness *rand.Rand
	away     error // moving fails
	late     bool  // it fails, and the units move all the same
	unread   map[int]bool

	noneSince time.Time // since when nothing is free; zero: something is
}

func newFakeShares(units ...int64) *fakeShares {
	f := &fakeShares{
		seqs: make([]int64, len(units)), kept: make([]time.Time, len(units)), keptSeqs: make([]int64, len(units)),
		slowness: rand.New(rand.NewPCG(1, 2)), unread: map[int]bool{},
	}
	for _, n := range units {
		f.shares = append(f.shares, split.Share{Known: true, Open: true, Epoch: 1, Sellable: n})
	}
	f.changed()
	return f
}

// changed is called with mu held, as are all below that do not take it.
func (f *fakeShares) changed() {
	switch free := f.moving + f.shares.Sellable(); {
	case free > 0:
		f.noneSince = time.Time{}
	case f.noneSince.IsZero():
		f.noneSince = time.Now()
	}
}

func (f *fakeShares) travel() {
	f.mu.Lock()
	d := time.Duration(f.slowness.Int64N(int64(3 * time.Millisecond)))
	f.mu.Unlock()
	time.Sleep(d)
}

func (f *fakeShares) Look(context.Context, []order.SaleRef) (split.Look, error) {
	look := make(split.Look, len(f.shares))
	var failed error
	for i := range look {
		f.travel()
		f.mu.Lock()
		look[i] = f.shares[i]
		look[i].Kept = f.keeps(i)
		if f.unread[i] {
			look[i], failed = split.Share{}, errors.New("away")
		}
		f.mu.Unlock()
	}
	return look, failed
}

// keeps reports whether a share keeps what it was given last.
func (f *fakeShares) keeps(share int) bool {
	return f.keptSeqs[share] == f.seqs[share] && time.Now().Before(f.kept[share])
}

func (f *fakeShares) Move(_ context.Context, from, to order.SaleRef, units int64) error {
	giving, getting := from.Share, to.Share
	f.travel()
	f.mu.Lock()
	f.moves++
	failed := f.away
	if failed != nil && !f.late {
		f.mu.Unlock()
		return failed
	}
	f.shares[giving].Operation++
	if f.shares[giving].Sellable < units || f.keeps(giving) {
		f.mu.Unlock()
		return failed
	}
	f.shares[giving].Sellable -= units
	f.shares[giving].MovedOut += units
	f.moving += units
	f.mu.Unlock()
	f.travel()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shares[getting].Operation++
	f.shares[getting].Sellable += units
	f.shares[getting].MovedIn += units
	f.moving -= units
	f.kept[getting], f.keptSeqs[getting] = time.Now().Add(split.KeepFor), f.seqs[getting]
	return failed
}

// sell is what the script does with one request.
func (f *fakeShares) sell(share int, quantity int64) order.Result {
	f.travel()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.shares[share]
	switch {
	case s.Sellable == 0:
		return order.Result{Outcome: order.SoldOut}
	case s.Sellable < quantity:
		return order.Result{Outcome: order.NotEnough, Left: s.Sellable}
	}
	s.Sellable -= quantity
	f.seqs[share]++
	f.changed()
	return order.Result{Outcome: order.Accepted}
}

// pullers are one for each share.
func (f *fakeShares) pullers(running *sync.WaitGroup) []*puller {
	var refs []order.SaleRef
	for i := range f.shares {
		refs = append(refs, order.SaleRef{SaleID: order.SaleID{VoucherID: 1, Share: i}})
	}
	var pullers []*puller
	for i := range refs {
		pullers = append(pullers, newPuller(f, f, refs, i, &outcomeCounts{}, running, ordertest.Quiet()))
	}
	return pullers
}

// buy is one request to a share, as Admission makes it.
func (f *fakeShares) buy(ctx context.Context, p *puller, quantity int64) (order.Result, error) {
	again := func(context.Context) (order.Result, error) { return f.sell(p.share, quantity), nil }
	if result, _ := again(ctx); !lacksUnits(result) {
		return result, nil
	}
	return p.admit(ctx, quantity, again)
}

// All want units at once, most of them of one share: all units sell, and SOLD_OUT is said only when there is none.
func TestPullsSellTheLastUnit(t *testing.T) {
	t.Parallel()
	for name, units := range map[string][]int64{
		"level": {50, 50, 50, 50}, "all in another": {0, 0, 0, 200}, "fewer than shares": {0, 1, 0, 1}, "one share of two": {1, 0}, "none": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFakeShares(units...)
				var running, buyers sync.WaitGroup
				var sold int64
				pullers := f.pullers(&running)
				for i := range 400 {
					p := pullers[0]
					if i%8 == 0 {
						p = pullers[i/8%len(pullers)]
					}
					buyers.Go(func() {
						for {
							time.Sleep(time.Duration(i%50) * time.Millisecond)
							asked := time.Now()
							result, err := f.buy(t.Context(), p, 1)
							if err != nil {
								t.Error(err)
								return
							}
							if took := time.Since(asked); took > pullTimeout+moveTimeout {
								t.Errorf("an answer took %s", took)
							}
							f.mu.Lock()
							none := f.noneSince
							if result.Outcome == order.Accepted {
								sold++
							}
							f.mu.Unlock()
							if result.Outcome == order.Paused {
								continue // the buyer comes back
							}
							if result.Outcome == order.SoldOut && none.IsZero() {
								t.Error("SOLD_OUT while there are units")
							}
							return
						}
					})
				}
				buyers.Wait()
				running.Wait()
				var total int64
				for _, n := range units {
					total += n
				}
				if sold != total {
					t.Errorf("sold %d of %d", sold, total)
				}
				if f.moves > 200 {
					t.Errorf("%d moves for %d units", f.moves, total)
				}
			})
		})
	}
}

// Each of 16 shares has a unit and a buyer who wants all 16: one of them has them soon, as others leave to a share what it gathers.
func TestPullsGatherForOneBuyer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeShares(slices.Repeat([]int64{1}, 16)...)
		var running, buyers sync.WaitGroup
		var sold atomic.Int64
		began := time.Now()
		for i, p := range f.pullers(&running) {
			buyers.Go(func() {
				for result := (order.Result{Outcome: order.Paused}); result.Outcome == order.Paused; { // the buyer comes back
					time.Sleep(time.Duration(i) * time.Millisecond)
					var err error
					if result, err = f.buy(t.Context(), p, 16); err != nil {
						t.Error(err)
						return
					}
					if result.Outcome == order.Accepted {
						sold.Add(16)
					}
				}
			})
		}
		buyers.Wait()
		running.Wait()
		if took := time.Since(began); sold.Load() != 16 || took > 15*time.Second {
			t.Errorf("%d units are sold after %s", sold.Load(), took)
		}
	})
}

// One request at a time, and what it hears.
func TestPullAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		units    []int64
		quantity int64
		spoil    func(f *fakeShares)
		want     order.Result
		remember bool
		moves    int
	}{
		"a unit of another share":      {units: []int64{0, 1}, quantity: 1, want: order.Result{Outcome: order.Accepted}, moves: 1},
		"units of two others":          {units: []int64{0, 1, 1}, quantity: 2, want: order.Result{Outcome: order.Accepted}, moves: 2},
		"its own and another's":        {units: []int64{1, 2}, quantity: 3, want: order.Result{Outcome: order.Accepted}, moves: 1},
		"sold out":                     {units: []int64{0, 0}, quantity: 1, want: order.Result{Outcome: order.SoldOut}, remember: true},
		"a unit waits":                 {units: []int64{0, 0}, quantity: 1, spoil: func(f *fakeShares) { f.shares[1].Waiting = 1 }, want: order.Result{Outcome: order.SoldOut}},
		"too few in all":               {units: []int64{1, 1}, quantity: 3, want: order.Result{Outcome: order.NotEnough, Left: 2}},
		"a unit is on its way":         {units: []int64{0, 0}, quantity: 1, spoil: func(f *fakeShares) { f.shares[1].MovedOut = 1 }, want: order.Result{Outcome: order.Paused}},
		"another is being rebuilt":     {units: []int64{0, 0}, quantity: 1, spoil: func(f *fakeShares) { f.shares[1].Known = false }, want: order.Result{Outcome: order.Paused}},
		"its own cannot be read":       {units: []int64{0, 9}, quantity: 1, spoil: func(f *fakeShares) { f.unread[0] = true }, want: order.Result{Outcome: order.Paused}},
		"another cannot be read":       {units: []int64{0, 0}, quantity: 1, spoil: func(f *fakeShares) { f.unread[1] = true }, want: order.Result{Outcome: order.Paused}},
		"that one, and a third gives":  {units: []int64{0, 0, 4}, quantity: 1, spoil: func(f *fakeShares) { f.unread[1] = true }, want: order.Result{Outcome: order.Accepted}, moves: 1},
		"another sells later":          {units: []int64{0, 9}, quantity: 1, spoil: func(f *fakeShares) { f.shares[1].Open = false }, want: order.Result{Outcome: order.Paused}},
		"what is moved arrives late":   {units: []int64{0, 9}, quantity: 1, spoil: func(f *fakeShares) { f.away, f.late = errors.New("the reply was lost"), true }, want: order.Result{Outcome: order.Accepted}, moves: 1},
		"another keeps what it has":    {units: []int64{0, 9}, quantity: 1, spoil: func(f *fakeShares) { f.kept[1] = time.Now().Add(split.KeepFor) }, want: order.Result{Outcome: order.Paused}},
		"another keeps it for a while": {units: []int64{0, 9}, quantity: 1, spoil: func(f *fakeShares) { f.kept[1] = time.Now().Add(pullTimeout / 2) }, want: order.Result{Outcome: order.Accepted}, moves: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFakeShares(tc.units...)
				if tc.spoil != nil {
					tc.spoil(f)
				}
				var running sync.WaitGroup
				p := f.pullers(&running)[0]
				got, err := f.buy(t.Context(), p, tc.quantity)
				if err != nil || got != tc.want || p.soldOut() != tc.remember || f.moves != tc.moves {
					t.Errorf("%+v, %v, remembered %t, %d moves; want %+v, %t, %d", got, err, p.soldOut(), f.moves, tc.want, tc.remember, tc.moves)
				}
				time.Sleep(order.SoldOutTTL)
				if p.soldOut() {
					t.Error("it is remembered for more than a second")
				}
				running.Wait()
			})
		})
	}
}

// The last unit was sold to the same user, by another request of theirs that was under way: they are told their order (rule 2), and not
// that the sale is sold out.
func TestPullForOneWhoHasBoughtMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeShares(0, 0)
		var running sync.WaitGroup
		p := f.pullers(&running)[0]
		bought := order.Result{Outcome: order.AlreadyBought, OrderID: 7}
		got, err := p.admit(t.Context(), 1, func(context.Context) (order.Result, error) { return bought, nil })
		if err != nil || got != bought {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := p.admit(t.Context(), 1, func(context.Context) (order.Result, error) {
			return order.Result{}, order.ErrUnknownOutcome
		}); !errors.Is(err, order.ErrUnknownOutcome) {
			t.Errorf("the script does not answer: %v", err)
		}
		running.Wait()
	})
}

// Without the database nothing moves: buyers are told to come back, in time.
func TestPullWithoutTheLedger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeShares(0, 5)
		f.away = order.ErrUnavailable
		var running sync.WaitGroup
		p := f.pullers(&running)[0]
		asked := time.Now()
		if got, err := f.buy(t.Context(), p, 1); err != nil || got.Outcome != order.Paused {
			t.Errorf("%+v, %v", got, err)
		}
		if took := time.Since(asked); took < pullTimeout || took > pullTimeout+pullTimeout/10 {
			t.Errorf("it took %s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), pullTimeout/2)
		defer cancel()
		if got, err := f.buy(ctx, p, 1); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("the buyer has gone: %+v, %v", got, err)
		}
		running.Wait()
	})
}

// Admit implements Gate, and Holders HolderLister.
func (f *fakeShares) Admit(_ context.Context, b order.Batch) (order.BatchResult, error) {
	var decided order.BatchResult
	for _, r := range b.Requests {
		decided.Results = append(decided.Results, f.sell(b.Sale.Share, r.Quantity.Units()))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	decided.View = order.SaleView{
		Mode: order.SaleOpen, Mark: order.Mark{Epoch: 1, Sequence: f.seqs[b.Sale.Share]}, Stock: f.shares[b.Sale.Share].Sellable,
		Begin: time.Now().Add(-time.Hour), End: time.Now().Add(time.Hour), Now: time.Now(),
	}
	return decided, nil
}

func (f *fakeShares) Holders(context.Context, order.SaleRef) iter.Seq2[order.Claim, error] {
	return func(func(order.Claim, error) bool) {}
}

// A split sale as callers of Admission see it: each user is asked for in their share, units come from others, each request is
// counted once, and SOLD_OUT is said from memory only while two looks have shown it.
func TestAdmissionToShares(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeShares(0, 4)
		catalog := catalog.New(&ordertest.FakeSales{})
		t.Cleanup(catalog.Close)
		a := New(Stores{Gate: f, Holders: f, Looker: f, Mover: f}, catalog, ordertest.NewFakeStores(0), ordertest.NopObserver{}, 100, ordertest.Quiet())
		one := ordertest.VoucherAt(1, 0)
		one.Sale.SplitIn = 2
		other := one
		sale := *one.Sale
		sale.Share = 1
		other.Sale = &sale
		v := voucher.Whole([]voucher.Voucher{one, other})
		sharesOf := map[int]int64{}
		for user := int64(1); len(sharesOf) < 2; user++ {
			sharesOf[split.ShareOf(v.ID, user, 2)] = user
		}
		ask := func(share int) error {
			return a.Admit(t.Context(), v, order.Request{UserID: sharesOf[share], OrderID: 9})
		}
		for i := range 4 {
			if err := ask(0); err != nil {
				t.Fatalf("buyer %d: %v", i+1, err)
			}
		}
		if err := ask(1); !errors.Is(err, order.ErrSoldOut) {
			t.Fatalf("the fifth buyer: %v", err)
		}
		if err := ask(0); !errors.Is(err, order.ErrSoldOut) {
			t.Fatalf("the sixth buyer: %v", err)
		}
		synctest.Wait() // for the winners
		calls := f.calls
		if err := ask(0); !errors.Is(err, order.ErrSoldOut) || f.calls != calls {
			t.Errorf("the seventh buyer: %v, after %d more calls", err, f.calls-calls)
		}
		// A unit waits: it may be sold sooner than it would be forgotten that the sale was sold out.
		time.Sleep(order.SoldOutTTL)
		f.mu.Lock()
		f.shares[1].Waiting = 1
		f.mu.Unlock()
		for range 2 {
			calls := f.calls
			if err := ask(0); !errors.Is(err, order.ErrSoldOut) || f.calls == calls {
				t.Errorf("while a unit waits: %v, after %d calls", err, f.calls-calls)
			}
		}
		f.mu.Lock()
		f.shares[1].Waiting, f.shares[1].MovedOut = 0, f.shares[1].MovedOut+1
		f.mu.Unlock()
		if err := ask(0); !errors.Is(err, order.ErrPaused) {
			t.Errorf("while a unit is on its way: %v", err)
		}
		counts := order.Counts{}
		for share := range 2 {
			b, _ := a.batchers.Load(order.SaleID{VoucherID: v.ID, Share: share})
			all, _, _ := b.(*batcher).counts.counts()
			for answer, n := range all {
				counts[answer] += n
			}
		}
		want := order.Counts{order.Accepted.Answer(): 4, order.SoldOut.Answer(): 5, order.Paused.Answer(): 1}
		if diff := cmp.Diff(want, counts); diff != "" {
			t.Errorf("counted (-want +got):\n%s", diff)
		}
		a.Close()
	})
}
