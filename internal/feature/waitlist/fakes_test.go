package waitlist

import (
	"context"
	"sync"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// fakeStores is one sale with a waiting list, as the ledger, Redis and the outbox have it, and the calls that came.
type fakeStores struct {
	mu     sync.Mutex
	err    error // of every method of the ledger
	view   order.SaleView
	held   map[int64]int64 // orders by user, in Redis
	bought map[int64]int64 // orders by user, in the ledger alone
	places map[int64]Place // by user
	behind int             // how many calls of Join find operations that Redis has not applied
	joins  [][]Joining
	slow   time.Duration // how long Join takes

	flushErr           error
	flushes, requested int
	woken              []int64
	nextID             int64
	idErr              error

	hangs     bool   // Turn returns only when its context ends
	passes    []Pass // what Turn returns, one after the other; then nothing is due
	turnsDone []int  // with how many order ids each Turn came
	due       []int64
	dueErr    error
	looks     int // calls of Due
}

func (f *fakeStores) Join(_ context.Context, _ int64, joining []Joining, _ int64) (map[int64]Place, error) {
	time.Sleep(f.slow)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.joins = append(f.joins, joining)
	if f.err != nil {
		return nil, f.err
	}
	if f.behind > 0 {
		f.behind--
		return nil, ErrBehind
	}
	places := make(map[int64]Place)
	for _, j := range joining {
		if f.bought[j.UserID] == 0 {
			yes := j.yes() || places[j.UserID].Standing
			places[j.UserID] = Place{
				UserID: j.UserID, Position: j.UserID, State: Waiting, Standing: yes, Claims: yes,
			}
		}
	}
	return places, nil
}

func (f *fakeStores) Accept(_ context.Context, _ voucher.Voucher, user, orderID int64) (Place, error) {
	p, has := f.places[user]
	switch {
	case f.err != nil:
		return p, f.err
	case !has:
		return p, ErrNoPlace
	case p.State == Invited:
		p.State, p.OrderID = Accepted, orderID
		f.places[user] = p
		p.Claims = true
	case p.State != Accepted && p.State != Bought:
		return p, ErrNotInvited
	}
	return p, nil
}

func (f *fakeStores) Leave(_ context.Context, _, user int64) (Place, error) {
	p, has := f.places[user]
	if !has {
		return p, ErrNoPlace
	}
	if p.State == Invited {
		p.State = Declined
	} else {
		p.State = Left
	}
	return p, f.err
}

func (f *fakeStores) Place(_ context.Context, _, user int64) (Place, error) {
	p, has := f.places[user]
	if !has && f.err == nil {
		return p, ErrNoPlace
	}
	return p, f.err
}

func (f *fakeStores) Places(context.Context, int64, int) ([]Place, error) { return nil, f.err }

func (f *fakeStores) Counts(context.Context, int64) (Counts, error) { return Counts{Kept: 3}, f.err }

// Turn decides acceptances once a flush has come: each becomes an order.
func (f *fakeStores) Turn(ctx context.Context, _ int64, ids []int64) (Pass, error) {
	if f.hangs {
		<-ctx.Done()
		return Pass{}, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turnsDone = append(f.turnsDone, len(ids))
	for user, p := range f.places {
		if p.State == Accepted && f.flushes > 0 {
			p.State = Bought
			f.places[user] = p
		}
	}
	if len(f.passes) == 0 {
		return Pass{}, f.err
	}
	p := f.passes[0]
	f.passes = f.passes[1:]
	return p, f.err
}

func (f *fakeStores) Due(context.Context) ([]int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	return f.due, f.dueErr
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

func (f *fakeStores) Next(context.Context) (int64, error) { f.nextID++; return 900 + f.nextID, f.idErr }

func (f *fakeStores) Flush(context.Context, int64) error {
	if f.flushErr == nil {
		f.flushes++
	}
	return f.flushErr
}

func (f *fakeStores) RequestFlush(int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requested++
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// soldOut returns the stores of a running sale that is sold out.
func soldOut() *fakeStores {
	return &fakeStores{
		view: order.SaleView{Mode: order.SaleOpen, Begin: noon.Add(-time.Hour), End: noon.Add(time.Hour), Now: noon},
	}
}

func (f *fakeStores) turns() *Turns { return NewTurns(f.Turn, f, f, NewMetrics()) }

func (f *fakeStores) waitlists() *Waitlists {
	return NewWaitlists(Stores{
		Ledger: f, Views: f.Views, Held: f.OrdersOf, LiveOrder: f.LiveOrder, IDs: f, Outbox: f, Turns: f.turns(),
		Wake: func(voucherID int64) { f.woken = append(f.woken, voucherID) },
	}, NewMetrics())
}

// listed returns a voucher with a waiting list.
func listed() voucher.Voucher {
	return voucher.Voucher{
		ID: 7, Kind: voucher.Seckill, Status: voucher.OnShelf, Sale: &voucher.Sale{InviteWindow: time.Minute},
	}
}
