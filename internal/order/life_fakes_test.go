package order

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"seckill/internal/voucher"
)

// fakeLife is the ledger of orders after they are recorded, and of payments, with faults.
type fakeLife struct {
	faults
	rows     *fakeRows
	history  map[int64][]Event
	payments map[string]Payment
	oldest   []string // payment ids, the oldest first
	noUnit   bool     // a late payment finds no unit
	overdue  []int64  // ids of orders to close
	token    int64    // the highest that has been used
	revived  []int64  // what ReviveLate says, once
}

func newFakeLife(orders ...Order) *fakeLife {
	f := &fakeLife{
		faults: faults{before: map[string]int{}, after: map[string]int{}},
		rows:   &fakeRows{rows: map[int64]Order{}}, history: map[int64][]Event{}, payments: map[string]Payment{},
	}
	for _, o := range orders {
		f.rows.put(o)
	}
	return f
}

func (f *fakeLife) find(owner, id int64) (Order, error) {
	f.rows.mu.Lock()
	defer f.rows.mu.Unlock()
	o, has := f.rows.rows[id]
	if !has || owner != 0 && o.UserID != owner {
		return Order{}, ErrNotFound
	}
	return o, nil
}

func (f *fakeLife) move(o Order, action Action) (Order, error) {
	if err := action.Check(o.ID, o.Status); err != nil {
		return Order{}, err
	}
	o.Status = action.To()
	f.rows.put(o)
	return o, nil
}

func (f *fakeLife) Move(_ context.Context, id, owner int64, action Action, by Actor, why string) (o Order, err error) {
	err = f.call("move", func() error {
		if o, err = f.find(owner, id); err != nil {
			return err
		}
		if o, err = f.move(o, action); err == nil {
			f.history[id] = append(f.history[id], Event{Status: o.Status, By: by, Why: why})
		}
		return err
	})
	if err != nil {
		return Order{}, err
	}
	return o, nil
}

func (f *fakeLife) History(_ context.Context, id int64) (events []Event, err error) {
	err = f.call("history", func() error { events = slices.Clone(f.history[id]); return nil })
	return events, err
}

func (f *fakeLife) Find(ctx context.Context, filter Filter, before int64, limit int) (orders []Order, err error) {
	err = f.call("find", func() error {
		for id, o := range f.rows.rows {
			if filter.Passes(o) && id < before && len(orders) < limit {
				orders = append(orders, o)
			}
		}
		return nil
	})
	return orders, err
}

func (f *fakeLife) OpenPayment(_ context.Context, owner, orderID int64, id string) (p Payment, err error) {
	err = f.call("open", func() error {
		o, err := f.find(owner, orderID)
		if err != nil {
			return err
		}
		if err := Pay.Check(o.ID, o.Status); err != nil {
			return err
		}
		for _, known := range f.oldest {
			if p = f.payments[known]; p.OrderID == orderID && p.State == PaymentOpen {
				return nil
			}
		}
		p = Payment{ID: id, OrderID: o.ID, UserID: o.UserID, VoucherID: o.VoucherID, Amount: o.Amount, State: PaymentOpen}
		f.put(p)
		return nil
	})
	return p, err
}

func (f *fakeLife) put(p Payment) {
	if _, known := f.payments[p.ID]; !known {
		f.oldest = append(f.oldest, p.ID)
	}
	f.payments[p.ID] = p
}

func (f *fakeLife) Receive(_ context.Context, n Notice) (p Payment, o Order, err error) {
	err = f.call("receive", func() error {
		var known bool
		if p, known = f.payments[n.PaymentID]; !known {
			return ErrNoPayment
		}
		if p.Amount != n.Amount {
			return ErrWrongAmount
		}
		if o, err = f.find(0, p.OrderID); err != nil || p.State != PaymentOpen {
			return err
		}
		switch o.Status {
		case Unpaid:
			p.State = PaymentReceived
			o, err = f.move(o, Pay)
		case Cancelled:
			p.State = PaymentLate
		default:
			p.State = PaymentRefunding
		}
		f.put(p)
		return err
	})
	return p, o, err
}

func (f *fakeLife) AskRefund(_ context.Context, owner, orderID int64) (o Order, err error) {
	err = f.call("ask", func() error {
		if o, err = f.find(owner, orderID); err != nil || o.Status == Refunding || o.Status == Refunded {
			return err
		}
		if o, err = f.move(o, RequestRefund); err != nil {
			return err
		}
		for _, p := range f.payments {
			if p.OrderID == orderID && p.State == PaymentReceived {
				p.State = PaymentRefunding
				f.put(p)
			}
		}
		return nil
	})
	return o, err
}

func (f *fakeLife) Refunding(_ context.Context, n int) (payments []Payment, err error) {
	err = f.call("refunding", func() error {
		for _, id := range f.oldest {
			if p := f.payments[id]; p.State == PaymentRefunding && len(payments) < n {
				payments = append(payments, p)
			}
		}
		return nil
	})
	return payments, err
}

func (f *fakeLife) Refunded(_ context.Context, id string) (o Order, err error) {
	err = f.call("refunded", func() error {
		p, known := f.payments[id]
		if !known {
			return ErrNoPayment
		}
		if o, err = f.find(0, p.OrderID); err != nil || p.State == PaymentRefunded {
			return err
		}
		p.State = PaymentRefunded
		f.put(p)
		if o.Status == Refunding {
			o, err = f.move(o, ConfirmRefund)
		}
		return err
	})
	return o, err
}

func (f *fakeLife) ReviveLate(context.Context, int) (vouchers []int64, err error) {
	err = f.call("revive", func() error { vouchers, f.revived = f.revived, nil; return nil })
	return vouchers, err
}

func (f *fakeLife) CloseDue(_ context.Context, token int64, n int) (closed []Order, err error) {
	err = f.call("close", func() error {
		if token < f.token {
			return ErrSuperseded
		}
		f.token = token
		for _, id := range f.overdue[:min(n, len(f.overdue))] {
			if o, err := f.find(0, id); err == nil {
				if o, err = f.move(o, Close); err == nil {
					closed = append(closed, o)
				}
			}
		}
		f.overdue = f.overdue[min(n, len(f.overdue)):]
		return nil
	})
	return closed, err
}

// settleLate is what an outbox does about late payments.
func (f *fakeLife) settleLate() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, p := range f.payments {
		if p.State != PaymentLate {
			continue
		}
		if p.State = PaymentRefunding; !f.noUnit {
			p.State = PaymentReceived
			if o, err := f.find(0, p.OrderID); err == nil {
				_, _ = f.move(o, Revive)
			}
		}
		f.payments[id] = p
	}
}

// fakeFollowing is an outbox.
type fakeFollowing struct {
	mu       sync.Mutex
	follows  []int64
	notices  []int64
	onFollow func()
	hang     bool // it never comes to an end
}

func (f *fakeFollowing) Follow(ctx context.Context, id int64) error {
	f.mu.Lock()
	f.follows = append(f.follows, id)
	f.mu.Unlock()
	if f.onFollow != nil {
		f.onFollow()
	}
	if f.hang {
		<-ctx.Done()
		return ErrUnavailable
	}
	return nil
}

func (f *fakeFollowing) Notify(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notices = append(f.notices, id)
}

// lifeParts are a clerk and a cashier over the same stores.
type lifeParts struct {
	life     *fakeLife
	held     fakeHeld
	outbox   *fakeFollowing
	provider *fakeProvider
	saw      *countingObserver
	room     *Waitroom
	lookup   *Lookup
	catalog  *Catalog
	clerk    *Clerk
	cashier  *Cashier
}

func newLife(t *testing.T, orders ...Order) *lifeParts {
	t.Helper()
	p := &lifeParts{
		life: newFakeLife(orders...), held: fakeHeld{}, outbox: &fakeFollowing{}, saw: &countingObserver{},
		provider: &fakeProvider{refusals: map[string]int{}},
	}
	sales := &fakeSales{kept: []voucher.Voucher{at(1, 0), ordinary()}, faults: faults{before: map[string]int{}, after: map[string]int{}}}
	p.catalog = NewCatalog(sales)
	t.Cleanup(p.catalog.Close)
	p.room = NewWaitroom(p.life.rows, quiet())
	p.lookup = NewLookup(p.life.rows, p.held, sales, p.catalog)
	p.clerk = NewClerk(p.life, p.lookup, p.room, p.catalog, p.outbox, func(id int64) time.Time { return begin.Add(time.Duration(id) * time.Second) })
	ids := 0
	newID := func() string {
		ids++
		return fmt.Sprint("pay_", ids)
	}
	p.cashier = NewCashier(p.life, p.provider, CashierDesk{Lookup: p.lookup, Room: p.room, Outbox: p.outbox}, newID, p.saw, quiet())
	return p
}

// fakeProvider is a payment service.
type fakeProvider struct {
	mu       sync.Mutex
	begun    []string
	back     []string       // payments whose money went back, in order
	refusals map[string]int // so many attempts to refund fail; -1: all
	away     bool
	silent   bool // it answers no refund
}

func (f *fakeProvider) Begin(_ context.Context, p Payment) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return "", errAway
	}
	f.begun = append(f.begun, p.ID)
	return "https://pay.example/" + p.ID, nil
}

func (f *fakeProvider) Refund(ctx context.Context, p Payment) error {
	if f.silent {
		<-ctx.Done()
		return ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refusals[p.ID] != 0 {
		f.refusals[p.ID]--
		return errAway
	}
	f.back = append(f.back, p.ID)
	return nil
}
