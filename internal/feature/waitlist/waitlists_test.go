package waitlist

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

// Nobody joins who could buy, has bought, or comes at the wrong time.
func TestJoinRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		voucher func(v *voucher.Voucher)
		sale    func(f *fakeStores)
		want    error
	}{
		"ordinary":    {voucher: func(v *voucher.Voucher) { v.Sale = nil }, want: voucher.ErrNotSeckill},
		"no list":     {voucher: func(v *voucher.Voucher) { v.Sale.InviteWindow = 0 }, want: ErrNoList},
		"off shelf":   {voucher: func(v *voucher.Voucher) { v.Status = voucher.OffShelf }, want: voucher.ErrOffShelf},
		"shelved":     {sale: func(f *fakeStores) { f.view.Mode = order.SaleOffShelf }, want: voucher.ErrOffShelf},
		"paused":      {sale: func(f *fakeStores) { f.view.Mode = order.SalePaused }, want: gate.ErrPaused},
		"rebuilding":  {sale: func(f *fakeStores) { f.view.Mode = order.SaleRebuilding }, want: gate.ErrPaused},
		"missing":     {sale: func(f *fakeStores) { f.view = order.SaleView{} }, want: gate.ErrPaused},
		"not started": {sale: func(f *fakeStores) { f.view.Begin = noon.Add(1) }, want: gate.ErrNotStarted},
		"ended":       {sale: func(f *fakeStores) { f.view.End = noon }, want: gate.ErrEnded},
		"just ended":  {sale: func(f *fakeStores) { f.err = gate.ErrEnded }, want: gate.ErrEnded},
		"on sale":     {sale: func(f *fakeStores) { f.view.Stock = 1 }, want: ErrOnSale},
		"away":        {sale: func(f *fakeStores) { f.err = errors.New("away") }, want: order.ErrUnavailable},
		"behind":      {sale: func(f *fakeStores) { f.behind = 1 }},
		"far behind":  {sale: func(f *fakeStores) { f.behind = 2 }, want: order.ErrUnavailable},
		"none":        {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, v := soldOut(), listed()
			if tc.voucher != nil {
				tc.voucher(&v)
			}
			if tc.sale != nil {
				tc.sale(f)
			}
			w := f.waitlists()
			defer w.Close()
			p, err := w.Join(t.Context(), 5, v, new(true))
			if !errors.Is(err, tc.want) || err == nil && (p.Position != 5 || !p.Standing) {
				t.Errorf("%+v, %v; want %v", p, err, tc.want)
			}
		})
	}
}

// A user who has an order is told which, whichever store knows it.
func TestBuyersDoNotJoin(t *testing.T) {
	t.Parallel()
	f := soldOut()
	f.held, f.bought = map[int64]int64{5: 77}, map[int64]int64{6: 78}
	w := f.waitlists()
	defer w.Close()
	for user, want := range map[int64]int64{5: 77, 6: 78} {
		_, err := w.Join(t.Context(), user, listed(), nil)
		if bought, is := errors.AsType[*gate.AlreadyBoughtError](err); !is || bought.OrderID != want {
			t.Errorf("user %d: %v, want order %d", user, err, want)
		}
	}
}

// A crowd that joins shares transactions, and each gets a place of their own.
func TestJoinsShareTransactions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := soldOut()
		f.slow = 10 * time.Millisecond
		w := f.waitlists()
		var crowd sync.WaitGroup
		for user := range int64(1200) {
			crowd.Go(func() {
				if p, err := w.Join(t.Context(), user+1, listed(), nil); err != nil || p.Position != user+1 {
					t.Errorf("user %d: %+v, %v", user+1, p, err)
				}
			})
		}
		crowd.Wait()
		w.Close()
		if len(f.joins) > 5 {
			t.Errorf("%d transactions for 1,200 users", len(f.joins))
		}
	})
}

// Of a user's calls that share a transaction, one claims the unit, and it says yes.
func TestSharedJoinsClaimOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := soldOut()
		f.slow = 10 * time.Millisecond
		w := f.waitlists()
		var calls sync.WaitGroup
		var claims, silent atomic.Int64
		join := func(user int64, standing *bool) {
			calls.Go(func() {
				p, err := w.Join(t.Context(), user, listed(), standing)
				if err != nil {
					t.Error(err)
				}
				if p.Claims && standing == nil {
					silent.Add(1)
				}
				if p.Claims {
					claims.Add(1)
				}
			})
		}
		join(1, nil) // the others wait for it
		synctest.Wait()
		for range 5 {
			join(5, nil)
			join(5, new(true))
		}
		calls.Wait()
		w.Close()
		if len(f.joins) != 2 || claims.Load() != 1 || silent.Load() != 0 {
			t.Errorf("%d claims in %d transactions, %d by calls that say nothing", claims.Load(), len(f.joins),
				silent.Load())
		}
	})
}

// Accepting answers what became of it if that is known soon, and else that it is accepted. Repeated, it claims no
// second unit.
func TestAccept(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	for name, tc := range map[string]struct {
		place State
		set   func(f *fakeStores)
		want  State
		first bool
		err   error
	}{
		"decided":        {Invited, nil, Bought, true, nil},
		"Redis is away":  {Invited, func(f *fakeStores) { f.flushErr = away }, Accepted, true, nil},
		"repeated":       {Accepted, nil, Bought, false, nil},
		"bought before":  {Bought, nil, Bought, false, nil},
		"waits":          {Waiting, nil, 0, false, ErrNotInvited},
		"no place":       {0, nil, 0, false, ErrNoPlace},
		"off the shelf":  {Invited, func(f *fakeStores) { f.err = voucher.ErrOffShelf }, 0, false, voucher.ErrOffShelf},
		"paused":         {Invited, func(f *fakeStores) { f.err = gate.ErrPaused }, 0, false, gate.ErrPaused},
		"ledger is away": {Invited, func(f *fakeStores) { f.err = away }, 0, false, order.ErrUnavailable},
		"no order id":    {Invited, func(f *fakeStores) { f.idErr = away }, 0, false, order.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := soldOut()
			if tc.place != 0 {
				f.places = map[int64]Place{5: {UserID: 5, Position: 1, State: tc.place, OrderID: 77}}
			}
			if tc.set != nil {
				tc.set(f)
			}
			p, err := f.waitlists().Accept(t.Context(), 5, listed())
			if !errors.Is(err, tc.err) || p.Claims != tc.first || err == nil && p.State != tc.want {
				t.Errorf("%s, claims %t, %v; want %s, %t, %v", p.State, p.Claims, err, tc.want, tc.first, tc.err)
			}
			if asked := f.requested > 0; asked != (tc.want == Accepted || tc.place == Accepted || tc.first) {
				t.Errorf("any outbox was asked: %t", asked)
			}
		})
	}
}

// Leaving wakes the job: an invitation is the next one's at once.
func TestLeave(t *testing.T) {
	t.Parallel()
	f := soldOut()
	f.places = map[int64]Place{5: {UserID: 5, State: Waiting}, 6: {UserID: 6, State: Invited}}
	w := f.waitlists()
	for user, want := range map[int64]State{5: Left, 6: Declined} {
		if p, err := w.Leave(t.Context(), user, 7); err != nil || p.State != want {
			t.Errorf("user %d: %+v, %v; want %s", user, p, err, want)
		}
	}
	if _, err := w.Leave(t.Context(), 9, 7); !errors.Is(err, ErrNoPlace) {
		t.Errorf("without a place: %v", err)
	}
	if !slices.Equal(f.woken, []int64{7, 7}) {
		t.Errorf("woken for %v", f.woken)
	}
}

// Without the ledger nothing is answered but that.
func TestLedgerIsAway(t *testing.T) {
	t.Parallel()
	f := soldOut()
	f.err, f.places = errors.New("away"), map[int64]Place{5: {UserID: 5}}
	w := f.waitlists()
	for name, ask := range map[string]func() error{
		"leave":  func() error { _, err := w.Leave(t.Context(), 5, 7); return err },
		"place":  func() error { _, err := w.Place(t.Context(), 5, 7); return err },
		"places": func() error { _, err := w.Places(t.Context(), 5); return err },
		"counts": func() error { _, err := w.Counts(t.Context(), listed()); return err },
	} {
		if err := ask(); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for want, v := range map[error]voucher.Voucher{voucher.ErrNotSeckill: {}, ErrNoList: {Sale: &voucher.Sale{}}} {
		if _, err := w.Counts(t.Context(), v); !errors.Is(err, want) {
			t.Errorf("counts: %v, want %v", err, want)
		}
	}
}
