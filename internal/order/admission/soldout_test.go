package admission

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/kit/batch"
	"seckill/internal/kit/retry"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/gate"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// soldOutView is Redis's view of a sale that is sold out to the users 2, 4, 6 and so on.
func soldOutView(buyers int64) order.SaleView {
	now := time.Now()
	return order.SaleView{
		Mode: order.SaleOpen, Mark: order.Mark{Epoch: 3, Sequence: buyers}, Buyers: buyers,
		Begin: now.Add(-time.Hour), End: now.Add(time.Hour), Now: now,
	}
}

func evenUsers(n int64) []int64 {
	users := make([]int64, n)
	for i := range users {
		users[i] = 2 * (int64(i) + 1)
	}
	return users
}

// cached returns a sale that was just observed as sold out, with its winners.
func cached(buyers int64) *sale {
	s := &sale{
		cache: soldOutCache{log: ordertest.Quiet(), running: new(batch.Running), backOff: retry.NewBackOff()},
	}
	view := soldOutView(buyers)
	s.latest.Store(&observation{view: view, sentAt: time.Now(), receivedAt: time.Now()})
	s.cache.winners.Store(&winnerSet{mark: view.Mark, users: evenUsers(buyers)})
	return s
}

func TestLookup(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change   func(*observation)
		user     int64
		recorded order.Mark
		want     lookupResult
	}{
		"a stranger":      {user: 3, want: answerSoldOut},
		"a winner":        {user: 4, want: askRedis},
		"the last winner": {user: 20, want: askRedis},
		"beyond the last": {user: 21, want: answerSoldOut},
		"another epoch": {
			user: 3, change: func(o *observation) { o.view.Mark.Epoch++ }, want: askRedis,
		},
		"another sequence": {
			user: 3, change: func(o *observation) { o.view.Mark.Sequence-- }, want: askRedis,
		},
		"the ledger knows a later mark":  {user: 3, recorded: order.Mark{Epoch: 4}, want: askRedis},
		"the ledger knows the same mark": {user: 3, recorded: order.Mark{Epoch: 3, Sequence: 10}, want: answerSoldOut},
		"a unit is left or waits":        {user: 3, change: func(o *observation) { o.view.Stock = 1 }, want: askRedis},
		"paused": {
			user: 3, change: func(o *observation) { o.view.Mode = order.SalePaused }, want: askRedis,
		},
		"being rebuilt": {
			user: 3, change: func(o *observation) { o.view.Mode = order.SaleRebuilding }, want: askRedis,
		},
		"not begun": {
			user: 3, change: func(o *observation) { o.view.Now = o.view.Begin.Add(-1) }, want: askRedis,
		},
		"ended":                  {user: 3, change: func(o *observation) { o.view.Now = o.view.End }, want: askRedis},
		"a holder is unreadable": {user: 3, change: func(o *observation) { o.view.Buyers = 11 }, want: askRedis},
		"a holder less":          {user: 3, change: func(o *observation) { o.view.Buyers = 9 }, want: answerSoldOut},
		"half of the time is over": {
			user: 3, change: func(o *observation) { o.sentAt = time.Now().Add(-order.SoldOutTTL * 3 / 4) },
			want: renewCache,
		},
		"the time is over": {
			user: 3, change: func(o *observation) { o.sentAt = time.Now().Add(-order.SoldOutTTL) }, want: askRedis,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := cached(10)
			if tc.change != nil {
				tc.change(b.latest.Load())
			}
			if got := b.lookup(tc.user, tc.recorded, time.Now()); got != tc.want {
				t.Errorf("lookup = %d, want %d", got, tc.want)
			}
		})
	}
}

// fakeHolders is a source of winners that tests hold up and break.
type fakeHolders struct {
	users []int64
	loads atomic.Int64
	fails atomic.Int64  // this many readings fail
	held  chan struct{} // not nil: readings wait for it, or for their context
}

func (h *fakeHolders) Holders(ctx context.Context, _ order.SaleRef) iter.Seq2[order.Claim, error] {
	return func(yield func(order.Claim, error) bool) {
		h.loads.Add(1)
		if h.held != nil {
			select {
			case <-h.held:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil || h.fails.Add(-1) >= 0 {
			yield(order.Claim{}, ordertest.ErrAway)
			return
		}
		for _, user := range append(h.users, h.users...) { // one may come twice
			if !yield(order.Claim{UserID: user}, nil) {
				return
			}
		}
	}
}

// soldOutGate answers slowly that the sale is sold out; or, while units are left, that a request wants more than those.
type soldOutGate struct {
	calls  atomic.Int64
	buyers atomic.Int64
	left   int64
	slow   time.Duration
}

func (g *soldOutGate) Admit(_ context.Context, b gate.Batch) (gate.BatchResult, error) {
	g.calls.Add(1)
	time.Sleep(g.slow)
	v := gate.BatchResult{View: soldOutView(g.buyers.Load()), Results: make([]gate.Result, len(b.Requests))}
	v.View.Stock = g.left
	for i, r := range b.Requests {
		switch {
		case g.left <= 0:
			v.Results[i].Outcome = gate.SoldOut
		case g.left < r.Quantity.Units():
			v.Results[i] = gate.Result{Outcome: gate.NotEnough, Left: g.left}
		}
	}
	return v, nil
}

func newSoldOut(t testing.TB, h *fakeHolders, slow time.Duration) (*Admission, *soldOutGate) {
	t.Helper()
	gate := &soldOutGate{slow: slow}
	gate.buyers.Store(int64(len(h.users)))
	v := ordertest.VoucherAt(1, 0)
	v.ID, v.PerUser = soldOutSale, 3
	catalog := catalog.New(&ordertest.FakeSales{Kept: []voucher.Voucher{v}})
	t.Cleanup(catalog.Close)
	stores := Stores{Gate: ordertest.EachSale(gate.Admit), Holders: h.Holders, Rows: &ordertest.FakeOrders{}}
	a := New(stores, catalog, noRepairs{},
		ordertest.NopObserver{}, 100, ordertest.Quiet())
	return a, gate
}

// admitTo asks for a unit of the voucher as the catalog has it, as Purchases does.
func admitTo(ctx context.Context, a *Admission, voucherID int64, r gate.Request) error {
	v, err := a.catalog.Find(ctx, voucherID)
	if err != nil {
		return err
	}
	return a.Admit(ctx, v, r)
}

// soldOutSale is the voucher of the sold-out sale. Storing so large an id in an interface allocates, which would show.
const soldOutSale int64 = 1 << 40

// refuse expects a user to be refused with ErrSoldOut.
func refuse(t testing.TB, a *Admission, user int64) {
	t.Helper()
	if err := admitTo(t.Context(), a, soldOutSale,
		gate.Request{UserID: user, OrderID: 1000 + user}); !errors.Is(err, gate.ErrSoldOut) {
		t.Errorf("user %d: error = %v, want ErrSoldOut", user, err)
	}
}

// While a sale is sold out, one request goes to Redis in each half of SoldOutTTL, and requests that come during that
// call are answered at once.
func TestSoldOutAsksOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, gate := newSoldOut(t, &fakeHolders{users: evenUsers(5)}, 10*time.Millisecond)
		refuse(t, a, 1)
		synctest.Wait() // the winners are loaded
		gate.calls.Store(0)
		var slow atomic.Int64
		for range 200 { // two seconds
			time.Sleep(10 * time.Millisecond)
			for user := range int64(20) {
				go func() {
					start := time.Now()
					refuse(t, a, 2*user+1)
					if time.Since(start) > 0 {
						slow.Add(1)
					}
				}()
			}
			synctest.Wait()
		}
		if calls := gate.calls.Load(); calls < 3 || calls > 4 || slow.Load() != calls {
			t.Errorf("%d calls, and %d of 4000 requests waited for one; want 3 or 4 of each", calls, slow.Load())
		}
		gate.calls.Store(0)
		for user := range int64(5) {
			refuse(t, a, 2*user+2)
		}
		if gate.calls.Load() != 5 {
			t.Errorf("%d calls for five winners", gate.calls.Load())
		}
		a.Close()
	})
}

// When the request that renews the cache gets no answer, another may renew it, and none is answered from the cache
// after SoldOutTTL.
func TestRenewalFails(t *testing.T) {
	t.Parallel()
	b := cached(10)
	b.latest.Load().sentAt = time.Now().Add(-order.SoldOutTTL * 3 / 4)
	now := time.Now()
	if got := []lookupResult{b.lookup(1, order.Mark{}, now), b.lookup(3, order.Mark{}, now)}; !slices.Equal(got,
		[]lookupResult{renewCache, answerSoldOut}) {
		t.Errorf("lookup = %v", got)
	}
	b.cache.renewing.Store(false)
	if got := b.lookup(5, order.Mark{}, time.Now()); got != renewCache {
		t.Errorf("after the first has given up: lookup = %d", got)
	}
}

// Too few units for one request may be enough for another: the refusal is not cached, and nobody is answered "sold
// out".
func TestNotEnoughIsNotRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHolders{users: evenUsers(5)}
		a, g := newSoldOut(t, h, 0)
		g.left = 2
		ask := func(user, units int64) error {
			err := admitTo(t.Context(), a, soldOutSale,
				gate.Request{UserID: user, OrderID: 1000 + user, Quantity: order.QuantityOf(units)})
			synctest.Wait() // for whatever is read because of the answer
			return err
		}
		for range 3 {
			if lacking, is := errors.AsType[*gate.NotEnoughError](ask(1, 3)); !is || lacking.Left != 2 {
				t.Errorf("asked for three of two units: %v, want that two are left", lacking)
			}
		}
		if err := ask(3, 2); err != nil {
			t.Errorf("asked for two of two units, after others wanted three: %v", err)
		}
		if calls, loads := g.calls.Load(), h.loads.Load(); calls != 4 || loads != 0 {
			t.Errorf("%d calls and %d readings of holders, want 4 and none", calls, loads)
		}
		a.Close()
	})
}

// Winners are loaded by one reading at a time, once per mark, not before the pause after the previous load is over, and
// again after a load that failed.
func TestWinnersAreLoadedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHolders{users: evenUsers(5), held: make(chan struct{})}
		a, gate := newSoldOut(t, h, 0)
		loads := func(want int64) {
			t.Helper()
			synctest.Wait()
			if got := h.loads.Load(); got != want {
				t.Errorf("%d readings, want %d", got, want)
			}
		}
		for range 10 {
			refuse(t, a, 1) // winners are not known yet, so every request goes to Redis
		}
		loads(1)
		time.Sleep(100 * time.Millisecond)
		close(h.held)
		loads(1)
		refuse(t, a, 1)
		if gate.calls.Load() != 10 {
			t.Errorf("%d calls, want 10 before the winners were known and none after", gate.calls.Load())
		}
		found, _ := a.sales.Load(soldOutSale)
		if winners := found.(*sale).cache.winners.Load(); !slices.Equal(winners.users, h.users) {
			t.Errorf("winners %v, want %v", winners.users, h.users)
		}

		// The mark moves: the winners are read again, though not before the pause after the first reading is over.
		gate.buyers.Store(4)
		time.Sleep(order.SoldOutTTL)
		h.fails.Store(2)
		refuse(t, a, 1)
		loads(2) // and fails
		refuse(t, a, 1)
		loads(2)
		time.Sleep(retry.MaxBackOff)
		refuse(t, a, 1)
		loads(3) // and fails
		time.Sleep(retry.MaxBackOff)
		refuse(t, a, 1)
		loads(4)
		refuse(t, a, 1)
		loads(4)
		a.Close()
	})
}

// A mark that changes all the time does not make an instance read the holders all the time.
func TestLoadingPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHolders{users: evenUsers(5), held: make(chan struct{})}
		a, gate := newSoldOut(t, h, 0)
		refuse(t, a, 1)
		time.Sleep(time.Second)
		close(h.held)
		synctest.Wait()
		for buyers := range int64(60) { // six seconds
			time.Sleep(100 * time.Millisecond)
			gate.buyers.Store(100 + buyers)
			refuse(t, a, 2) // a winner, who always asks Redis
			synctest.Wait()
			if want := 1 + int64(max(0, int(buyers)-48)); buyers < 49 && h.loads.Load() != want {
				t.Fatalf("%d readings after %d ms, want %d", h.loads.Load(), 100*(buyers+1), want)
			}
		}
		if h.loads.Load() < 5 {
			t.Errorf("%d readings of the holders after six seconds", h.loads.Load())
		}
		a.Close()
	})
}

// A stop does not wait for winners to be loaded.
func TestCloseEndsLoading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHolders{users: evenUsers(5), held: make(chan struct{})}
		a, _ := newSoldOut(t, h, 0)
		refuse(t, a, 1)
		synctest.Wait()
		start := time.Now()
		a.Close()
		if waited := time.Since(start); h.loads.Load() != 1 || waited > 0 {
			t.Errorf("%d readings, waited for %v; want 1 and no waiting", h.loads.Load(), waited)
		}
	})
}

// soldOutOf returns an admission that has cached a sale as sold out to that many buyers, for an hour.
func soldOutOf(t testing.TB, buyers int64) *Admission {
	t.Helper()
	a, _ := newSoldOut(t, &fakeHolders{users: evenUsers(buyers)}, 0)
	t.Cleanup(a.Close)
	refuse(t, a, 1)
	a.running.Wait()
	found, _ := a.sales.Load(soldOutSale)
	found.(*sale).latest.Load().sentAt = time.Now().Add(time.Hour)
	return a
}
