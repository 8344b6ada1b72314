package order

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

	"seckill/internal/voucher"
)

// counter is a sale as Redis keeps it, with slow ways there and back. Its clock is the test's.
type counter struct {
	mu              sync.Mutex
	mode            SaleMode
	mark            Mark
	stock, returned int64
	returnedAt      time.Time
	reserved        bool // a returned unit is kept for a revival
	resumes         time.Time
	end             time.Time
	places          map[int64]int64
	executed        map[int64]bool // by order id: what was asked here
	slowness        *rand.Rand
	away            bool // reading the places fails
}

func newCounter(stock int64, seed uint64) *counter {
	return &counter{
		mode: SaleOpen, mark: Mark{Epoch: 1}, stock: stock, places: map[int64]int64{}, end: time.Now().Add(time.Hour),
		slowness: rand.New(rand.NewPCG(seed, 1)), executed: map[int64]bool{},
	}
}

// travel takes what a message does.
func (c *counter) travel() {
	c.mu.Lock()
	d := time.Duration(c.slowness.Int64N(int64(50 * time.Microsecond)))
	if c.slowness.IntN(4) == 0 {
		d = time.Duration(c.slowness.Int64N(int64(400 * time.Millisecond)))
	}
	c.mu.Unlock()
	time.Sleep(d)
}

// release is called with mu held, as are all below that do not take it.
func (c *counter) release() {
	if c.returned > 0 && !time.Now().Before(c.returnedAt) {
		c.stock, c.returned = c.stock+c.returned, 0
	}
}

func (c *counter) view() SaleView {
	v := SaleView{
		Mode: c.mode, Mark: c.mark, Stock: c.stock + c.returned, Buyers: int64(len(c.places)),
		Begin: c.end.Add(-2 * time.Hour), End: c.end, Now: time.Now(),
	}
	if c.reserved {
		v.Stock++
	}
	return v
}

func (c *counter) Admit(_ context.Context, b Batch) (Verdict, error) {
	c.travel()
	c.mu.Lock()
	v := Verdict{}
	c.release()
	for _, a := range b.Applicants {
		c.executed[a.OrderID] = true
		place := c.places[a.UserID]
		switch {
		case place == a.OrderID:
			v.Outcomes = append(v.Outcomes, Outcome{Code: Accepted})
		case place != 0:
			v.Outcomes = append(v.Outcomes, Outcome{Code: AlreadyBought, OrderID: place})
		case c.mode == SaleRebuilding:
			v.Outcomes = append(v.Outcomes, Outcome{Code: Rebuilding})
		case c.mode == SalePaused:
			v.Outcomes = append(v.Outcomes, Outcome{Code: Paused})
		case c.stock == 0:
			v.Outcomes = append(v.Outcomes, Outcome{Code: SoldOut})
		case time.Now().Before(c.resumes):
			v.Outcomes = append(v.Outcomes, Outcome{Code: Paused})
		default:
			c.stock--
			c.mark.Sequence++
			c.places[a.UserID] = a.OrderID
			v.Outcomes = append(v.Outcomes, Outcome{Code: Accepted})
		}
	}
	v.View = c.view()
	c.mu.Unlock()
	c.travel()
	return v, nil
}

// Holders gives what is there from beginning to end, and some of the rest, as HSCAN does.
func (c *counter) Holders(ctx context.Context, _ SaleRef) iter.Seq2[Claim, error] {
	return func(yield func(Claim, error) bool) {
		c.mu.Lock()
		away, users := c.away, slices.Sorted(maps.Keys(c.places))
		c.mu.Unlock()
		for i, user := range users {
			if i%2 == 0 {
				c.travel()
			}
			if away || ctx.Err() != nil {
				yield(Claim{}, errAway)
				return
			}
			c.mu.Lock()
			_, there := c.places[user]
			c.mu.Unlock()
			if there && !yield(Claim{UserID: user}, nil) {
				return
			}
		}
	}
}

// give takes a user's place away and puts its unit back on sale; of nobody it is an admin's unit.
func (c *counter) give(user int64) {
	c.release()
	delete(c.places, user)
	switch {
	case c.stock > 0:
		c.stock++
	case c.returned > 0:
		c.returned++
	default:
		c.returned, c.returnedAt = 1, time.Now().Add(ReturnDelay)
	}
}

// take is an admin's, who may take what waits.
func (c *counter) take() {
	c.release()
	switch {
	case c.stock > 0:
		c.stock--
	case c.returned > 0:
		c.returned--
	}
}

// revive seats a user whose payment came late, once his unit's time has come.
func (c *counter) revive(user int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release()
	switch {
	case c.places[user] != 0 || c.reserved || c.mode == SaleRebuilding:
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
		if !c.reserved || c.mark.Epoch != epoch || c.mode == SaleRebuilding {
			return // the rebuild has voided it
		}
		c.reserved = false
		if c.places[user] != 0 {
			c.give(0)
			return
		}
	default:
		return
	}
	c.mark.Sequence++
	c.places[user] = user + 5000
}

// rebuild finds more units in the ledger than there were here.
func (c *counter) rebuild(more int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mode == SaleRebuilding {
		return
	}
	if c.stock == 0 {
		c.resumes = time.Now().Add(ReturnDelay)
	}
	mode := c.mode
	c.mode = SaleRebuilding
	c.mu.Unlock()
	c.travel()
	c.mu.Lock()
	c.stock += c.returned + more
	if c.reserved {
		c.stock++
	}
	c.returned, c.reserved, c.mode = 0, false, mode
	c.mark = Mark{Epoch: c.mark.Epoch + 1}
}

// wronged says why nobody may have been told from memory, now, that all is sold.
func (c *counter) wronged(user int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release()
	if place := c.places[user]; place != 0 {
		return fmt.Errorf("user %d, who has order %d, was told sold out", user, place)
	}
	if c.mode == SaleOpen && c.stock > 0 && !time.Now().Before(c.resumes) {
		return fmt.Errorf("user %d was told sold out, while %d could be sold", user, c.stock)
	}
	return nil
}

// happening is one thing in a random history.
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
	case 2: // about when a memory ends
		h.after = SoldOutMemory/2 + time.Duration(rapid.Int64Range(-2, 2).Draw(t, "after"))*time.Millisecond
	default:
		h.after = time.Duration(rapid.Int64Range(0, int64(30*time.Millisecond)).Draw(t, "after"))
	}
	return h
}

// crowd is some instances in front of one sale.
type crowd struct {
	sale       *counter
	admissions []*Admission
	asking     sync.WaitGroup

	mu         sync.Mutex
	orders     int64
	remembered int // answers from memory
	wrong      error
}

// ask has a user ask an instance, and holds an answer from memory against the truth.
func (c *crowd) ask(server int, user int64) error {
	c.mu.Lock()
	c.orders++
	id := 100_000 + c.orders
	c.mu.Unlock()
	err := c.admissions[server].Apply(context.Background(), voucherA, Applicant{UserID: user, OrderID: id})
	c.sale.mu.Lock()
	asked := c.sale.executed[id]
	c.sale.mu.Unlock()
	if errors.Is(err, ErrSoldOut) && !asked {
		wrong := c.sale.wronged(user)
		c.mu.Lock()
		c.remembered++
		c.wrong = errors.Join(c.wrong, wrong)
		c.mu.Unlock()
	}
	return err
}

func (c *crowd) happen(h happening) {
	time.Sleep(h.after)
	switch s := c.sale; h.what {
	case 0, 1, 2:
		c.asking.Go(func() { _ = c.ask(h.server, h.user) }) // any answer will do, if it is no lie
	case 3: // many, so that there is something to remember
		for user := int64(20); user < 25; user++ {
			c.asking.Go(func() { _ = c.ask(h.server, user) })
		}
	case 4:
		s.mu.Lock()
		if s.places[h.user] != 0 && s.mode != SaleRebuilding {
			s.give(h.user)
		}
		s.mu.Unlock()
	case 5:
		c.asking.Go(func() { s.revive(h.user) })
	case 6:
		s.mu.Lock()
		if s.mode != SaleRebuilding {
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

// TestSoldOutMemoryNeverLies: whatever is sold, given back, revived and rebuilt while instances with slow connections
// remember: who is told from memory that all is sold has no place, and there is no unit that he could have. And what
// comes back is sold in the end.
func TestSoldOutMemoryNeverLies(t *testing.T) {
	t.Parallel()
	remembered := 0
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
			remembered += c.remembered
		})
		if failure != nil {
			rt.Fatal(failure)
		}
	})
	if remembered == 0 {
		t.Error("nobody was answered from memory")
	}
}

// unmoved mends nothing.
type unmoved struct{}

func (unmoved) Mend(int64, int64) {}

// open has some instances sell.
func open(stock int64, seed uint64) *crowd {
	c := &crowd{sale: newCounter(stock, seed)}
	for range servers {
		v := at(1, 0)
		catalog := NewCatalog(&fakeSales{kept: []voucher.Voucher{v}})
		c.admissions = append(c.admissions, NewAdmission(AdmissionStores{Gate: c.sale, Winners: c.sale, Rows: &fakeRows{}},
			catalog, NewDiary(), unmoved{}, deaf{}, 100, quiet()))
	}
	return c
}

// end sees that a unit which comes back now is sold by every instance that still remembers, and that all is at rest.
func (c *crowd) end() error {
	c.asking.Wait()
	for server := range servers {
		_ = c.ask(server, 30) // something to remember
		c.sale.mu.Lock()
		c.sale.give(0)
		c.sale.mu.Unlock()
		time.Sleep(ReturnDelay + SoldOutMemory)
		if err := c.ask(server, 31+int64(server)); err != nil {
			c.wrong = errors.Join(c.wrong, fmt.Errorf("a unit that came back is not sold: %w", err))
		}
	}
	for _, a := range c.admissions {
		a.Close()
		a.catalog.Close()
	}
	return c.wrong
}
