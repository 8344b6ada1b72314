package waitlist

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// fakeStores is one sale with a waiting list, and what was asked of it.
type fakeStores struct {
	mu     sync.Mutex
	err    error // of every method of the ledger
	view   order.SaleView
	held   map[int64]int64 // by user, in Redis
	bought map[int64]int64 // by user, in the ledger alone
	places map[int64]Place
	calls  [][]int64 // users of each Join
	slow   time.Duration
	passes []Pass // what SeeToOffers returns, one after the other
	tokens []int64
	next   int64

	flushErr           error
	flushes, requested int
	decided            Place // what the place is after a flush
}

func (f *fakeStores) Join(_ context.Context, _ int64, users []int64) (map[int64]Place, error) {
	time.Sleep(f.slow)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, users)
	if f.err != nil {
		return nil, f.err
	}
	places := make(map[int64]Place)
	for _, user := range users {
		if f.bought[user] == 0 {
			places[user] = Place{UserID: user, Position: user, State: Waiting}
		}
	}
	return places, nil
}

func (f *fakeStores) Place(_ context.Context, _, user int64) (Place, error) {
	if f.err != nil {
		return Place{}, f.err
	}
	if f.flushes > 0 {
		return f.decided, nil
	}
	p, has := f.places[user]
	if !has {
		return p, ErrNoPlace
	}
	return p, nil
}

func (f *fakeStores) Places(context.Context, int64, int) ([]Place, error) { return nil, f.err }
func (f *fakeStores) Counts(context.Context, int64) (Counts, error)       { return Counts{Waiting: 3}, f.err }

func (f *fakeStores) Accept(_ context.Context, _, user, orderID int64) (Place, error) {
	p, has := f.places[user]
	switch {
	case f.err != nil:
		return p, f.err
	case !has:
		return p, ErrNoPlace
	case p.State != Offered:
		return p, ErrNoOffer
	}
	p.State, p.OrderID = Accepted, orderID
	return p, nil
}

func (f *fakeStores) Leave(_ context.Context, _, user int64) (Place, error) {
	p, has := f.places[user]
	if !has {
		return p, ErrNoPlace
	}
	p.State = Left
	return p, f.err
}

func (f *fakeStores) SeeToOffers(_ context.Context, token int64) (Pass, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens = append(f.tokens, token)
	if len(f.passes) == 0 {
		return Pass{}, f.err
	}
	p := f.passes[0]
	f.passes = f.passes[1:]
	return p, nil
}

func (f *fakeStores) Views(context.Context, []order.SaleRef) ([]order.SaleView, error) {
	return []order.SaleView{f.view}, nil
}

func (f *fakeStores) OrdersOf(_ context.Context, _ order.SaleRef, users []int64) ([]int64, error) {
	ids := make([]int64, len(users))
	for i, user := range users {
		ids[i] = f.held[user]
	}
	return ids, nil
}

func (f *fakeStores) LiveOrder(_ context.Context, key order.BuyerKey) (order.Order, error) {
	return order.Order{ID: f.bought[key.UserID], Status: order.Unpaid}, nil
}

func (f *fakeStores) Next(context.Context) (int64, error) { f.next++; return 900 + f.next, nil }

func (f *fakeStores) Flush(context.Context, int64) error { f.flushes++; return f.flushErr }
func (f *fakeStores) RequestFlush(int64)                 { f.requested++ }

func (f *fakeStores) WaitlistJoined(error)                    {}
func (f *fakeStores) OfferDecided(bool)                       {}
func (f *fakeStores) OffersSeenTo(Pass, time.Duration, error) {}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// soldOut is a sale that is sold out, with what is to be asked of it.
func soldOut() *fakeStores {
	return &fakeStores{
		view: order.SaleView{Mode: order.SaleOpen, Begin: noon.Add(-time.Hour), End: noon.Add(time.Hour), Now: noon},
	}
}

func (f *fakeStores) waitlists() *Waitlists {
	return New(Stores{Ledger: f, Sales: f, Rows: f, IDs: f, Outbox: f}, f)
}

// listed is a voucher with a waiting list.
func listed() voucher.Voucher {
	return voucher.Voucher{
		ID: 7, Kind: voucher.Seckill, Status: voucher.OnShelf, Sale: &voucher.Sale{OfferWithin: time.Minute},
	}
}

// Nobody joins who could buy, has bought, or comes at the wrong time.
func TestJoinRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		voucher func(v *voucher.Voucher)
		sale    func(f *fakeStores)
		want    error
	}{
		"ordinary":    {voucher: func(v *voucher.Voucher) { v.Sale = nil }, want: voucher.ErrNotSeckill},
		"no list":     {voucher: func(v *voucher.Voucher) { v.Sale.OfferWithin = 0 }, want: ErrNoList},
		"off shelf":   {voucher: func(v *voucher.Voucher) { v.Status = voucher.OffShelf }, want: voucher.ErrOffShelf},
		"shelved":     {sale: func(f *fakeStores) { f.view.Mode = order.SaleOffShelf }, want: voucher.ErrOffShelf},
		"paused":      {sale: func(f *fakeStores) { f.view.Mode = order.SalePaused }, want: order.ErrPaused},
		"rebuilding":  {sale: func(f *fakeStores) { f.view.Mode = order.SaleRebuilding }, want: order.ErrPaused},
		"missing":     {sale: func(f *fakeStores) { f.view = order.SaleView{} }, want: order.ErrPaused},
		"not started": {sale: func(f *fakeStores) { f.view.Begin = noon.Add(1) }, want: order.ErrNotStarted},
		"ended":       {sale: func(f *fakeStores) { f.view.End = noon }, want: order.ErrEnded},
		"on sale":     {sale: func(f *fakeStores) { f.view.Stock = 1 }, want: ErrOnSale},
		"away":        {sale: func(f *fakeStores) { f.err = errors.New("away") }, want: order.ErrUnavailable},
		"none":        {},
	} {
		f, v := soldOut(), listed()
		if test.voucher != nil {
			test.voucher(&v)
		}
		if test.sale != nil {
			test.sale(f)
		}
		w := f.waitlists()
		if p, err := w.Join(t.Context(), 5, v); !errors.Is(err, test.want) || err == nil && p.Position != 5 {
			t.Errorf("%s: %+v, %v; want %v", name, p, err, test.want)
		}
		w.Close()
	}
	f := soldOut()
	f.held, f.bought = map[int64]int64{5: 77}, map[int64]int64{6: 78}
	w := f.waitlists()
	for user, want := range map[int64]int64{5: 77, 6: 78} {
		_, err := w.Join(t.Context(), user, listed())
		if bought, is := errors.AsType[*order.AlreadyBoughtError](err); !is || bought.OrderID != want {
			t.Errorf("user %d: %v, want order %d", user, err, want)
		}
	}
	w.Close()
}

// A crowd that joins shares transactions, and gets each its own place.
func TestJoinsShareTransactions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := soldOut()
		f.slow = 10 * time.Millisecond
		w := f.waitlists()
		var crowd sync.WaitGroup
		for user := range int64(1200) {
			crowd.Go(func() {
				if p, err := w.Join(t.Context(), user+1, listed()); err != nil || p.Position != user+1 {
					t.Errorf("user %d: %+v, %v", user+1, p, err)
				}
			})
		}
		crowd.Wait()
		w.Close()
		if len(f.calls) > 5 {
			t.Errorf("%d transactions for 1,200 users", len(f.calls))
		}
	})
}

// An accept answers with what became of it, if that is known soon, and else that it is accepted.
func TestAcceptAnswers(t *testing.T) {
	t.Parallel()
	v := listed()
	f := soldOut()
	f.places = map[int64]Place{5: {UserID: 5, Position: 1, State: Offered}, 6: {UserID: 6, State: Waiting}}
	f.decided = Place{UserID: 5, Position: 1, State: Bought, OrderID: 901}
	if p, err := f.waitlists().Accept(t.Context(), 5, v); err != nil || p.State != Bought || f.requested != 1 {
		t.Errorf("accepted: %+v, %v", p, err)
	}
	for user, want := range map[int64]error{6: ErrNoOffer, 9: ErrNoPlace} {
		if _, err := f.waitlists().Accept(t.Context(), user, v); !errors.Is(err, want) {
			t.Errorf("user %d: %v, want %v", user, err, want)
		}
	}
	f.flushErr = order.ErrUnavailable
	if p, err := f.waitlists().Accept(t.Context(), 5, v); err != nil || p.State != Accepted {
		t.Errorf("Redis is away: %+v, %v", p, err)
	}
	v.Status = voucher.OffShelf
	if _, err := f.waitlists().Accept(t.Context(), 5, v); !errors.Is(err, voucher.ErrOffShelf) {
		t.Errorf("off the shelf: %v", err)
	}
	f.err = errors.New("away")
	for name, ask := range map[string]func() error{
		"accept": func() error { _, err := f.waitlists().Accept(t.Context(), 5, listed()); return err },
		"leave":  func() error { _, err := f.waitlists().Leave(t.Context(), 5, 7); return err },
		"place":  func() error { _, err := f.waitlists().Place(t.Context(), 5, 7); return err },
		"places": func() error { _, err := f.waitlists().Places(t.Context(), 5); return err },
		"counts": func() error { _, err := f.waitlists().Counts(t.Context(), listed()); return err },
	} {
		if err := ask(); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s without the ledger: %v", name, err)
		}
	}
}

// Leaving an offer has the unit passed on at once.
func TestLeave(t *testing.T) {
	t.Parallel()
	f := soldOut()
	f.places = map[int64]Place{5: {UserID: 5, State: Waiting}, 6: {UserID: 6, State: Offered, OfferedAt: noon}}
	for user, want := range map[int64]int{5: 0, 6: 1} {
		f.requested = 0
		if p, err := f.waitlists().Leave(t.Context(), user, 7); err != nil || p.State != Left || f.requested != want {
			t.Errorf("user %d: %+v, %v, %d flushes", user, p, err, f.requested)
		}
	}
}

// lockOnce gives the lock with token 3 once.
type lockOnce struct{ given bool }

func (l *lockOnce) TryDoFenced(ctx context.Context, _ string, f func(context.Context, int64) error) error {
	if l.given {
		return order.ErrBusy
	}
	l.given = true
	return f(ctx, 3)
}

// The offerer goes on while there is something to do, has what it changed applied, and gives up its turn when it fails.
func TestOfferer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := soldOut()
		f.passes = []Pass{{Missed: 500, Vouchers: []int64{7, 8}}, {Asked: 1, Vouchers: []int64{7}}, {}}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		o := NewOfferer(f, &lockOnce{}, f, f, slog.New(slog.DiscardHandler))
		go func() { done <- o.Run(ctx) }()
		synctest.Wait()
		if len(f.tokens) != 3 || f.tokens[0] != 3 || f.requested != 3 {
			t.Errorf("asked with %v, %d flushes", f.tokens, f.requested)
		}
		f.mu.Lock()
		f.err = errors.New("away")
		f.mu.Unlock()
		time.Sleep(5500 * time.Millisecond)
		f.mu.Lock()
		if len(f.tokens) != 4 {
			t.Errorf("asked %d times: a turn that fails ends", len(f.tokens))
		}
		f.mu.Unlock()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
