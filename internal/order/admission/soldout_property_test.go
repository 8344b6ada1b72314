package admission

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/gate"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// fakeSale is a sale as Redis keeps it, with slow network paths in both directions. Its clock is the test's.
type fakeSale struct {
	mu              sync.Mutex
	mode            order.SaleMode
	mark            order.Mark
	stock, returned int64
	returnedAt      time.Time
	reserved        bool // a returned unit is kept for a revival
	resumes         time.Time
	end             time.Time
	holders         map[int64]int64
	executed        map[int64]bool // order ids of the requests that arrived
	slowness        *rand.Rand
	away            bool // reading the holders fails
}

func newFakeSale(stock int64, seed uint64) *fakeSale {
	return &fakeSale{
		mode: order.SaleOpen, mark: order.Mark{Epoch: 1}, stock: stock, holders: map[int64]int64{},
		end: time.Now().Add(time.Hour), slowness: rand.New(rand.NewPCG(seed, 1)), executed: map[int64]bool{},
	}
}

// travel sleeps for a message's time on the network.
func (c *fakeSale) travel() {
	c.mu.Lock()
	d := time.Duration(c.slowness.Int64N(int64(50 * time.Microsecond)))
	if c.slowness.IntN(4) == 0 {
		d = time.Duration(c.slowness.Int64N(int64(400 * time.Millisecond)))
	}
	c.mu.Unlock()
	time.Sleep(d)
}

// release puts those returned units on sale whose time has come. The caller holds mu, here and in all methods below
// that do not take it.
func (c *fakeSale) release() {
	if c.returned > 0 && !time.Now().Before(c.returnedAt) {
		c.stock, c.returned = c.stock+c.returned, 0
	}
}

func (c *fakeSale) view() order.SaleView {
	v := order.SaleView{
		Mode: c.mode, Mark: c.mark, Stock: c.stock + c.returned, Buyers: int64(len(c.holders)),
		Begin: c.end.Add(-2 * time.Hour), End: c.end, Now: time.Now(),
	}
	if c.reserved {
		v.Stock++
	}
	return v
}

func (c *fakeSale) Admit(_ context.Context, b gate.Batch) (gate.BatchResult, error) {
	c.travel()
	c.mu.Lock()
	v := gate.BatchResult{}
	c.release()
	for _, r := range b.Requests {
		c.executed[r.OrderID] = true
		held := c.holders[r.UserID]
		switch {
		case held == r.OrderID:
			v.Results = append(v.Results, gate.Result{Outcome: gate.Accepted})
		case held != 0:
			v.Results = append(v.Results, gate.Result{Outcome: gate.AlreadyBought, OrderID: held})
		case c.mode == order.SaleRebuilding:
			v.Results = append(v.Results, gate.Result{Outcome: gate.Rebuilding})
		case c.mode == order.SalePaused:
			v.Results = append(v.Results, gate.Result{Outcome: gate.Paused})
		case c.stock == 0:
			v.Results = append(v.Results, gate.Result{Outcome: gate.SoldOut})
		case time.Now().Before(c.resumes):
			v.Results = append(v.Results, gate.Result{Outcome: gate.Paused})
		default:
			c.stock--
			c.mark.Sequence++
			c.holders[r.UserID] = r.OrderID
			v.Results = append(v.Results, gate.Result{Outcome: gate.Accepted})
		}
	}
	v.View = c.view()
	c.mu.Unlock()
	c.travel()
	return v, nil
}

// Holders yields every holder who is there throughout, and some of the others, as HSCAN does.
func (c *fakeSale) Holders(ctx context.Context, _ order.SaleRef) iter.Seq2[order.Claim, error] {
	return func(yield func(order.Claim, error) bool) {
		c.mu.Lock()
		away, users := c.away, slices.Sorted(maps.Keys(c.holders))
		c.mu.Unlock()
		for i, user := range users {
			if i%2 == 0 {
				c.travel()
			}
			if away || ctx.Err() != nil {
				yield(order.Claim{}, ordertest.ErrAway)
				return
			}
			c.mu.Lock()
			_, there := c.holders[user]
			c.mu.Unlock()
			if there && !yield(order.Claim{UserID: user}, nil) {
				return
			}
		}
	}
}

// give removes a holder and puts the unit back on sale; for user 0 it is an admin's unit.
func (c *fakeSale) give(user int64) {
	c.release()
	delete(c.holders, user)
	switch {
	case c.stock > 0:
		c.stock++
	case c.returned > 0:
		c.returned++
	default:
		c.returned, c.returnedAt = 1, time.Now().Add(order.ReturnDelay)
	}
}

// take lowers the stock by a unit for an admin, who may also take a returned unit that is not on sale yet.
func (c *fakeSale) take() {
	c.release()
	switch {
	case c.stock > 0:
		c.stock--
	case c.returned > 0:
		c.returned--
	}
}

// revive makes a user whose payment came late a holder again, once the returned unit may be sold.
func (c *fakeSale) revive(user int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release()
	switch {
	case c.holders[user] != 0 || c.reserved || c.mode == order.SaleRebuilding:
		return
	case c.stock > 0 && !time.Now().Before(c.resumes):
		c.stock--
	case c.stock+c.returned > 0:
		free := c.returnedAt
		if c.stock > 0 {
			free = c.resumes
		}
		c.take()
		c.reserved = true
		epoch, wait := c.mark.Epoch, time.Until(free)
		c.mu.Unlock()
		time.Sleep(wait)
		c.mu.Lock()
		if !c.reserved || c.mark.Epoch != epoch || c.mode == order.SaleRebuilding {
			return // the rebuild has voided it
		}
		c.reserved = false
		if c.holders[user] != 0 {
			c.give(0)
			return
		}
	default:
		return
	}
	c.mark.Sequence++
	c.holders[user] = user + 5000
}

// rebuild raises the stock, as a rebuild does when the ledger has more units than Redis.
func (c *fakeSale) rebuild(more int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mode == order.SaleRebuilding {
		return
	}
	if c.stock == 0 {
		c.resumes = time.Now().Add(order.ReturnDelay)
	}
	mode := c.mode
	c.mode = order.SaleRebuilding
	c.mu.Unlock()
	c.travel()
	c.mu.Lock()
	c.stock += c.returned + more
	if c.reserved {
		c.stock++
	}
	c.returned, c.reserved, c.mode = 0, false, mode
	c.mark = order.Mark{Epoch: c.mark.Epoch + 1}
}

// wrong says why the user must not be answered "sold out" from the cache now; nil: they may be.
func (c *fakeSale) wrong(user int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release()
	if held := c.holders[user]; held != 0 {
		return fmt.Errorf("user %d, who has order %d, was answered sold out", user, held)
	}
	if c.mode == order.SaleOpen && c.stock > 0 && !time.Now().Before(c.resumes) {
		return fmt.Errorf("user %d was answered sold out while %d units could be sold", user, c.stock)
	}
	return nil
}

// happening is one event in a random history.
type happening struct {
	after  time.Duration
	what   int
	user   int64
	server int
}

const (
	happenings = 9 // kinds of them
	servers    = 3
)

func drawHappening(t *rapid.T) happening {
	h := happening{
		what: rapid.IntRange(0, happenings-1).Draw(t, "what"),
		user: rapid.Int64Range(1, 12).Draw(t, "user"), server: rapid.IntRange(0, servers-1).Draw(t, "server"),
	}
	switch rapid.IntRange(0, 5).Draw(t, "pace") {
	case 0:
	case 1:
		h.after = time.Duration(rapid.Int64Range(0, int64(1100*time.Millisecond)).Draw(t, "after"))
	case 2: // about when the cached observation expires
		h.after = order.SoldOutTTL/2 + time.Duration(rapid.Int64Range(-2, 2).Draw(t, "after"))*time.Millisecond
	default:
		h.after = time.Duration(rapid.Int64Range(0, int64(30*time.Millisecond)).Draw(t, "after"))
	}
	return h
}

// cluster is several instances in front of one sale.
type cluster struct {
	sale       *fakeSale
	admissions []*Admission
	asking     sync.WaitGroup

	mu     sync.Mutex
	orders int64
	cached int // answers from the cache
	wrong  error
}

// ask sends a user's request to an instance, and checks an answer from the cache against the truth.
func (c *cluster) ask(server int, user int64) error {
	c.mu.Lock()
	c.orders++
	id := 100_000 + c.orders
	c.mu.Unlock()
	err := admitTo(context.Background(), c.admissions[server], ordertest.VoucherA,
		gate.Request{UserID: user, OrderID: id})
	c.sale.mu.Lock()
	asked := c.sale.executed[id]
	c.sale.mu.Unlock()
	if errors.Is(err, gate.ErrSoldOut) && !asked {
		wrong := c.sale.wrong(user)
		c.mu.Lock()
		c.cached++
		c.wrong = errors.Join(c.wrong, wrong)
		c.mu.Unlock()
	}
	return err
}

func (c *cluster) happen(h happening) {
	time.Sleep(h.after)
	switch s := c.sale; h.what {
	case 0, 1, 2:
		c.asking.Go(func() { _ = c.ask(h.server, h.user) }) // any answer will do, if it is true
	case 3: // many, so that there is something to cache
		for user := int64(20); user < 25; user++ {
			c.asking.Go(func() { _ = c.ask(h.server, user) })
		}
	case 4:
		s.mu.Lock()
		if s.holders[h.user] != 0 && s.mode != order.SaleRebuilding {
			s.give(h.user)
		}
		s.mu.Unlock()
	case 5:
		c.asking.Go(func() { s.revive(h.user) })
	case 6:
		s.mu.Lock()
		if s.mode != order.SaleRebuilding {
			s.take()
			if h.user == 1 {
				s.give(0)
			}
		}
		s.mu.Unlock()
	case 7:
		if h.user <= 2 {
			c.asking.Go(func() { s.rebuild(h.user % 2) })
		}
	case 8:
		s.mu.Lock()
		s.away = h.user == 1
		s.mu.Unlock()
	}
}

// Units are sold, given back, revived and rebuilt while instances with slow connections answer from their caches. A
// user who is answered "sold out" from a cache is never a holder, and no unit is on sale at that moment. In the end
// every returned unit is sold.
func TestSoldOutCacheIsNeverWrong(t *testing.T) {
	t.Parallel()
	cached := 0
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "slowness")
		stock := rapid.Int64Range(0, 4).Draw(rt, "stock")
		history := rapid.SliceOfN(rapid.Custom(drawHappening), 20, 120).Draw(rt, "history")
		var failure error
		synctest.Test(t, func(*testing.T) {
			c := open(stock, seed)
			for _, h := range history {
				c.happen(h)
			}
			failure = c.end()
			cached += c.cached
		})
		if failure != nil {
			rt.Fatal(failure)
		}
	})
	if cached == 0 {
		t.Error("no request was answered from the cache")
	}
}

// noRepairs repairs nothing.
type noRepairs struct{}

func (noRepairs) RequestRepair(int64, int64) {}

// open returns a cluster that has started to sell.
func open(stock int64, seed uint64) *cluster {
	c := &cluster{sale: newFakeSale(stock, seed)}
	for range servers {
		v := ordertest.VoucherAt(1, 0)
		catalog := catalog.New(&ordertest.FakeSales{Kept: []voucher.Voucher{v}})
		stores := Stores{Gate: ordertest.EachSale(c.sale.Admit), Holders: c.sale.Holders, Rows: &ordertest.FakeOrders{}}
		c.admissions = append(c.admissions,
			New(stores, catalog, noRepairs{}, ordertest.NopObserver{}, 100, ordertest.Quiet()))
	}
	return c
}

// end checks that every instance sells a unit that comes back now, whatever it has cached, and stops all goroutines.
func (c *cluster) end() error {
	c.asking.Wait()
	for server := range servers {
		_ = c.ask(server, 30) // something to cache
		c.sale.mu.Lock()
		c.sale.give(0)
		c.sale.mu.Unlock()
		time.Sleep(order.ReturnDelay + order.SoldOutTTL)
		if err := c.ask(server, 31+int64(server)); err != nil {
			c.wrong = errors.Join(c.wrong, fmt.Errorf("a unit that came back cannot be bought: %w", err))
		}
	}
	for _, a := range c.admissions {
		a.Close()
		a.catalog.Close()
	}
	return c.wrong
}
