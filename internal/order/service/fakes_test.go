package service

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/ordertest"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// fakeLedger is the ledger of orders after they are recorded, and of payments, with faults.
type fakeLedger struct {
	ordertest.Faults
	rows     *ordertest.FakeOrders
	history  map[int64][]order.Event
	payments map[string]payment.Payment
	oldest   []string // ids of payments, the oldest first
	noUnit   bool     // a late payment finds no unit
	overdue  []int64  // ids of orders to expire
	token    int64    // the highest token used so far
	revived  []int64  // the vouchers that ReviveLate returns, once
	toCancel []string // ids of payments
	parts    []payment.Refund
	upgrades bool // versions without refunds may live
	old      bool // one does

	direct    order.Order // the last direct sale
	directKey idempotency.Key
	directErr error // fails direct sales
}

func newFakeLedger(orders ...order.Order) *fakeLedger {
	f := &fakeLedger{
		Faults:  ordertest.Faults{Before: map[string]int{}, After: map[string]int{}},
		rows:    &ordertest.FakeOrders{Rows: map[int64]order.Order{}},
		history: map[int64][]order.Event{}, payments: map[string]payment.Payment{},
	}
	for _, o := range orders {
		f.rows.Put(o)
	}
	return f
}

func (f *fakeLedger) find(owner, id int64) (order.Order, error) {
	f.rows.Mu.Lock()
	defer f.rows.Mu.Unlock()
	o, has := f.rows.Rows[id]
	if !has || owner != 0 && o.UserID != owner {
		return order.Order{}, order.ErrNotFound
	}
	return o, nil
}

func (f *fakeLedger) move(o order.Order, action order.Action) (order.Order, error) {
	if err := action.Check(o.ID, o.Status); err != nil {
		return order.Order{}, err
	}
	o.Status = action.To()
	f.rows.Put(o)
	return o, nil
}

// RecordDirectSale remembers one direct sale, or fails.
func (f *fakeLedger) RecordDirectSale(
	_ context.Context, id, userID, voucherID int64, key idempotency.Key,
) (order.Order, error) {
	f.direct, f.directKey = order.Order{ID: id, UserID: userID, VoucherID: voucherID, Status: order.Unpaid}, key
	if f.directErr != nil {
		return order.Order{}, f.directErr
	}
	return f.direct, nil
}

func (f *fakeLedger) Transition(
	_ context.Context, id, owner int64, action order.Action, by order.Actor,
) (o order.Order, err error) {
	err = f.Call("move", func() error {
		if o, err = f.find(owner, id); err != nil {
			return err
		}
		if o, err = f.move(o, action); err == nil {
			f.history[id] = append(f.history[id], order.Event{Status: o.Status, By: by})
		}
		return err
	})
	if err != nil {
		return order.Order{}, err
	}
	return o, nil
}

// CancelForStaff is Transition, with the act's reason instead of an audit entry.
func (f *fakeLedger) CancelForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	return f.Transition(ctx, act.OrderID, 0, order.Cancel, act.Actor())
}

// RefundForStaff is AskRefund of anybody's order.
func (f *fakeLedger) RefundForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	return f.AskRefund(ctx, 0, act.OrderID)
}

func (f *fakeLedger) History(_ context.Context, id int64) (events []order.Event, err error) {
	err = f.Call("history", func() error { events = slices.Clone(f.history[id]); return nil })
	return events, err
}

func (f *fakeLedger) Find(
	ctx context.Context, filter order.Filter, before int64, limit int,
) (orders []order.Order, err error) {
	err = f.Call("find", func() error {
		for id, o := range f.rows.Rows {
			if filter.Passes(o) && id < before && len(orders) < limit {
				orders = append(orders, o)
			}
		}
		return nil
	})
	return orders, err
}

func (f *fakeLedger) OpenPayment(
	_ context.Context, owner, orderID int64, id string, providers []string,
) (b payment.Beginning, err error) {
	p := &b.Payment
	err = f.Call("open", func() error {
		o, err := f.find(owner, orderID)
		if err != nil {
			return err
		}
		if err := order.Pay.Check(o.ID, o.Status); err != nil {
			return err
		}
		if len(providers) == 0 && o.Amount > 0 {
			return payment.ErrNoProvider
		}
		b.Quantity, b.PayBefore = o.Quantity.Units(), o.PayBefore
		for _, known := range f.oldest {
			if *p = f.payments[known]; p.OrderID == orderID && p.State == payment.Open && !p.Progress.Ended() &&
				(p.Provider == "" || slices.Contains(providers, p.Provider)) {
				return nil
			}
		}
		*p = payment.Payment{
			ID: id, OrderID: o.ID, UserID: o.UserID, VoucherID: o.VoucherID, Amount: o.Amount, State: payment.Open,
		}
		if o.Amount > 0 && len(providers) > 0 {
			p.Provider = providers[0]
		}
		f.put(*p)
		return nil
	})
	return b, err
}

func (f *fakeLedger) Begun(_ context.Context, id, reference string) error {
	return f.Call("reference", func() error {
		if p := f.payments[id]; p.State == payment.Open {
			p.Reference = reference
			f.put(p)
		}
		return nil
	})
}

func (f *fakeLedger) ToCancel(_ context.Context, n int) (payments []payment.Payment, err error) {
	err = f.Call("to cancel", func() error {
		for _, id := range f.toCancel[:min(n, len(f.toCancel))] {
			payments = append(payments, f.payments[id])
		}
		return nil
	})
	return payments, err
}

func (f *fakeLedger) Cancelled(_ context.Context, id string) error {
	return f.Call("cancelled", func() error {
		f.toCancel = slices.DeleteFunc(f.toCancel, func(known string) bool { return known == id })
		return nil
	})
}

func (f *fakeLedger) PaymentsOf(_ context.Context, orderID int64) (payments []payment.Payment, err error) {
	err = f.Call("payments", func() error {
		for _, id := range f.oldest {
			if p := f.payments[id]; p.OrderID == orderID {
				payments = append(payments, p)
			}
		}
		return nil
	})
	return payments, err
}

func (f *fakeLedger) put(p payment.Payment) {
	if _, known := f.payments[p.ID]; !known {
		f.oldest = append(f.oldest, p.ID)
	}
	f.payments[p.ID] = p
}

func (f *fakeLedger) Receive(_ context.Context, n payment.Notice) (p payment.Payment, o order.Order, err error) {
	err = f.Call("receive", func() error {
		var known bool
		if p, known = f.payments[n.PaymentID]; !known {
			return payment.ErrNotFound
		}
		if p.Provider != "" && p.Provider != n.Provider {
			return payment.ErrNotFound
		}
		if n.Reference != "" {
			p.Reference = n.Reference
		}
		if p.Amount != n.Amount {
			return payment.ErrWrongAmount
		}
		if o, err = f.find(0, p.OrderID); err != nil || p.State != payment.Open {
			return err
		}
		switch o.Status {
		case order.Unpaid:
			p.State = payment.Received
			o, err = f.move(o, order.Pay)
		case order.Cancelled:
			p.State = payment.Late
		default:
			p.State = payment.Refunding
		}
		f.put(p)
		return err
	})
	return p, o, err
}

func (f *fakeLedger) TakeNotice(_ context.Context, n payment.Notice) (p payment.Payment, o order.Order, err error) {
	err = f.Call("notice", func() error {
		var known bool
		if p, known = f.payments[n.PaymentID]; !known {
			return payment.ErrNotFound
		}
		if p.Flow, err = p.After(n, p.Amount); err != nil {
			return err
		}
		if o, err = f.find(0, p.OrderID); err != nil {
			return err
		}
		if p.AllGone() && p.State == payment.Received {
			p.State = payment.Refunding
			o, err = f.move(o, order.RequestRefund)
		}
		f.put(p)
		return err
	})
	return p, o, err
}

// TakeProgress is the ledger's, without what it does to the order.
func (f *fakeLedger) TakeProgress(_ context.Context, n payment.Notice) (p payment.Payment, o order.Order, err error) {
	err = f.Call("notice", func() error {
		var found bool
		if p, found = f.payments[n.PaymentID]; !found {
			return payment.ErrNotFound
		}
		if progress, _, _ := n.Progress(); p.State == payment.Open && progress > p.Progress {
			p.Progress = progress
			f.put(p)
		}
		o, err = f.find(0, p.OrderID)
		return err
	})
	return p, o, err
}

func (f *fakeLedger) AskRefund(_ context.Context, owner, orderID int64) (o order.Order, err error) {
	err = f.Call("ask", func() error {
		if o, err = f.find(owner, orderID); err != nil || o.Status == order.Refunding || o.Status == order.Refunded {
			return err
		}
		if o, err = f.move(o, order.RequestRefund); err != nil {
			return err
		}
		for _, p := range f.payments {
			if p.OrderID == orderID && p.State == payment.Received {
				p.State = payment.Refunding
				f.put(p)
			}
		}
		return nil
	})
	return o, err
}

func (f *fakeLedger) Refunding(_ context.Context, n int) (payments []payment.Payment, err error) {
	err = f.Call("refunding", func() error {
		for _, id := range f.oldest {
			if p := f.payments[id]; p.Due() && len(payments) < n {
				payments = append(payments, p)
			}
		}
		return nil
	})
	return payments, err
}

// switchOn is PaymentParts.SwitchOn.
func (f *fakeLedger) switchOn(context.Context) error {
	return f.Call("switch on", func() error {
		if f.old {
			return order.ErrUpgrading
		}
		f.upgrades = false
		return nil
	})
}

// SendRefund is the ledger's: a refund of all that is left has its payment's id.
func (f *fakeLedger) SendRefund(
	_ context.Context, id, part string,
) (p payment.Payment, r payment.Refund, due bool, err error) {
	err = f.Call("send", func() error {
		p = f.payments[id]
		if part == "" {
			r, due = payment.Refund{ID: id, PaymentID: id, Amount: p.Rest(), Origin: payment.OriginAll}, p.Due()
			return nil
		}
		i := slices.IndexFunc(f.parts, func(r payment.Refund) bool { return r.ID == part })
		r, due = f.parts[i], f.parts[i].State == payment.RefundAsked
		return nil
	})
	return p, r, due, err
}

// RefundAnswered is the ledger's; a refund of all that was left that is pending is among the parts from then on.
func (f *fakeLedger) RefundAnswered(
	_ context.Context, id, refund string, answer payment.Outcome,
) (p payment.Payment, o order.Order, err error) {
	err = f.Call("answered", func() error {
		p = f.payments[id]
		if o, err = f.find(0, p.OrderID); err != nil {
			return err
		}
		i := slices.IndexFunc(f.parts, func(r payment.Refund) bool { return r.ID == refund })
		if i < 0 {
			f.parts = append(f.parts, payment.Refund{
				ID: refund, PaymentID: id, Amount: p.Rest(), Origin: payment.OriginAll,
			})
			i = len(f.parts) - 1
			p.State = payment.Refunded // it is not to be sent any more
			f.put(p)
		}
		f.parts[i].State = answer.State
		if o.Status == order.Refunding {
			o, err = f.move(o, order.ConfirmRefund)
		}
		return err
	})
	return p, o, err
}

func (f *fakeLedger) RefundsIn(
	_ context.Context, state payment.RefundState, of payment.Origin, n int,
) (found []payment.Refund, err error) {
	err = f.Call("refunds", func() error {
		for _, r := range f.parts {
			if r.State == state && (of == 0 || r.Origin == of) && len(found) < n {
				found = append(found, r)
			}
		}
		return nil
	})
	return found, err
}

func (f *fakeLedger) RefundPart(
	_ context.Context, act order.PaymentAct, cents int64,
) (p payment.Payment, o order.Order, err error) {
	err = f.Call("part", func() error {
		if f.upgrades {
			return order.ErrUpgrading
		}
		p = f.payments[act.PaymentID]
		f.parts = append(f.parts, payment.Refund{
			ID: fmt.Sprintf("%s-%d", p.ID, len(f.parts)+1), PaymentID: p.ID, Amount: cents, State: payment.RefundAsked,
			Origin: payment.OriginPart,
		})
		o, err = f.find(0, p.OrderID)
		return err
	})
	return p, o, err
}

// TakeRefund is the ledger's, for a refund that the service has asked for.
func (f *fakeLedger) TakeRefund(_ context.Context, n payment.Notice) (p payment.Payment, o order.Order, err error) {
	if f.upgrades {
		return p, o, order.ErrUpgrading
	}
	return f.RefundAnswered(context.Background(), n.PaymentID, n.Refund.ID, payment.Outcome{State: n.Refund.State})
}

func (f *fakeLedger) Payment(_ context.Context, id string) (p payment.Payment, err error) {
	err = f.Call("payment", func() error { p = f.payments[id]; return nil })
	return p, err
}

func (f *fakeLedger) Refunded(_ context.Context, id, _, _ string) (o order.Order, err error) {
	err = f.Call("refunded", func() error {
		p, known := f.payments[id]
		if !known {
			return payment.ErrNotFound
		}
		if o, err = f.find(0, p.OrderID); err != nil || p.State == payment.Refunded {
			return err
		}
		p.State = payment.Refunded
		f.put(p)
		if o.Status == order.Refunding {
			o, err = f.move(o, order.ConfirmRefund)
		}
		return err
	})
	return o, err
}

func (f *fakeLedger) NothingLeft(ctx context.Context, id string) (order.Order, error) {
	return f.Refunded(ctx, id, id, "")
}

func (f *fakeLedger) Refused(_ context.Context, id, _, reason string) (p payment.Payment, err error) {
	err = f.Call("refused", func() error {
		if p = f.payments[id]; p.State == payment.Refunding {
			p.State, p.Refusal = payment.Stuck, reason
			f.put(p)
		}
		return nil
	})
	return p, err
}

func (f *fakeLedger) RetryRefund(
	_ context.Context, act order.PaymentAct,
) (p payment.Payment, o order.Order, err error) {
	return f.actOnStuck(act, payment.Refunding)
}

func (f *fakeLedger) CloseRefund(
	_ context.Context, act order.PaymentAct,
) (p payment.Payment, o order.Order, err error) {
	if p, o, err = f.actOnStuck(act, payment.Closed); err == nil && o.Status == order.Refunding {
		o, err = f.move(o, order.ConfirmRefund)
	}
	return p, o, err
}

func (f *fakeLedger) actOnStuck(
	act order.PaymentAct, to payment.State,
) (p payment.Payment, o order.Order, err error) {
	err = f.Call("stuck", func() error {
		p = f.payments[act.PaymentID]
		if p.State != payment.Stuck && p.State != to {
			return &payment.StateError{PaymentID: p.ID, State: p.State}
		}
		p.State = to
		f.put(p)
		o, err = f.find(0, p.OrderID)
		return err
	})
	return p, o, err
}

func (f *fakeLedger) NeedStaff(context.Context) (n payment.NeedStaff, err error) {
	err = f.Call("need staff", func() error {
		for _, p := range f.payments {
			if p.State == payment.Stuck {
				n.Stuck++
			}
		}
		return nil
	})
	return n, err
}

func (f *fakeLedger) ReviveLate(context.Context, int) (vouchers []int64, err error) {
	err = f.Call("revive", func() error { vouchers, f.revived = f.revived, nil; return nil })
	return vouchers, err
}

func (f *fakeLedger) ExpireDue(_ context.Context, token int64, n int) (expired []order.Order, err error) {
	err = f.Call("expire", func() error {
		if token < f.token {
			return order.ErrSuperseded
		}
		f.token = token
		for _, id := range f.overdue[:min(n, len(f.overdue))] {
			if o, err := f.find(0, id); err == nil {
				if o, err = f.move(o, order.Expire); err == nil {
					expired = append(expired, o)
				}
			}
		}
		f.overdue = f.overdue[min(n, len(f.overdue)):]
		return nil
	})
	return expired, err
}

// completeLate completes late payments as an outbox does.
func (f *fakeLedger) completeLate() {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for id, p := range f.payments {
		if p.State != payment.Late {
			continue
		}
		if p.State = payment.Refunding; !f.noUnit {
			p.State = payment.Received
			if o, err := f.find(0, p.OrderID); err == nil {
				_, _ = f.move(o, order.Revive)
			}
		}
		f.payments[id] = p
	}
}

// fakeOutbox counts flushes.
type fakeOutbox struct {
	mu            sync.Mutex
	flushes       []int64
	flushRequests []int64
	onFlush       func()
	hang          bool // Flush returns only once its caller gives up
}

func (f *fakeOutbox) Flush(ctx context.Context, id int64) error {
	f.mu.Lock()
	f.flushes = append(f.flushes, id)
	f.mu.Unlock()
	if f.onFlush != nil {
		f.onFlush()
	}
	if f.hang {
		<-ctx.Done()
		return order.ErrUnavailable
	}
	return nil
}

func (f *fakeOutbox) RequestFlush(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flushRequests = append(f.flushRequests, id)
}

// orderParts are Orders and Payments over the same stores.
type orderParts struct {
	ledger   *fakeLedger
	holders  ordertest.FakeHolders
	outbox   *fakeOutbox
	provider *fakeProvider
	observer *ordertest.CountingObserver
	notifier *Notifier
	lookup   *Lookup
	catalog  *catalog.Catalog
	orders   *Orders
	payments *Payments
}

func newOrderParts(t *testing.T, orders ...order.Order) *orderParts {
	t.Helper()
	p := &orderParts{
		ledger: newFakeLedger(orders...), holders: ordertest.FakeHolders{}, outbox: &fakeOutbox{},
		observer: &ordertest.CountingObserver{},
		provider: &fakeProvider{refusals: map[string]int{}, finalNo: map[string]int{}},
	}
	sales := &ordertest.FakeSales{
		Kept:   []voucher.Voucher{ordertest.VoucherAt(1, 0), ordertest.Ordinary()},
		Faults: ordertest.Faults{Before: map[string]int{}, After: map[string]int{}},
	}
	p.catalog = catalog.New(sales)
	t.Cleanup(p.catalog.Close)
	p.notifier = NewNotifier(p.ledger.rows, ordertest.Quiet())
	p.lookup = NewLookup(LookupStores{Rows: p.ledger.rows, Holdings: p.holders, NewSales: sales.SalesAbove}, p.catalog)
	p.orders = NewOrders(p.ledger, p.lookup, p.notifier, p.catalog, p.outbox,
		func(id int64) time.Time { return ordertest.Begin.Add(time.Duration(id) * time.Second) })
	ids := 0
	newID := func() string {
		ids++
		return fmt.Sprint("pay_", ids)
	}
	p.payments = NewPayments(p.ledger, Providers{Default: "bank", ByName: map[string]Provider{"bank": p.provider}},
		PaymentParts{Lookup: p.lookup, Notifier: p.notifier, Outbox: p.outbox, SwitchOn: p.ledger.switchOn},
		newID, p.observer, ordertest.Quiet())
	return p
}

// fakeProvider is a payment service.
type fakeProvider struct {
	mu       sync.Mutex
	begun    []string
	back     []string       // payments whose money went back, in order
	cents    int64          // that went back in all
	refusals map[string]int // how many refunds of a payment fail; -1: all
	finalNo  map[string]int // how many refunds of a payment are refused for good
	away     bool
	silent   bool                         // it answers no refund
	asked    chan string                  // gets the id of each payment whose refund is asked for; waits for a reader
	refer    func(payment.Payment) string // the reference of a payment; nil: there is none

	told      payment.Beginning // of the last payment that has begun
	cancelled []string          // payments, in order
	answers   []payment.Outcome // to refunds, and to questions about them, in turn; then they are done
}

// answer returns the next answer about a refund.
func (f *fakeProvider) answer() payment.Outcome {
	if len(f.answers) == 0 {
		return payment.Outcome{State: payment.RefundDone}
	}
	next := f.answers[0]
	f.answers = f.answers[1:]
	return next
}

func (f *fakeProvider) Cancel(_ context.Context, p payment.Payment) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return ordertest.ErrAway
	}
	f.cancelled = append(f.cancelled, p.ID)
	return nil
}

func (f *fakeProvider) ReadRefund(context.Context, payment.Payment, payment.Refund) (payment.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answer(), nil
}

func (f *fakeProvider) Begin(_ context.Context, b payment.Beginning) (Checkout, error) {
	p := b.Payment
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return Checkout{}, ordertest.ErrAway
	}
	f.begun, f.told = append(f.begun, p.ID), b
	c := Checkout{URL: "https://pay.example/" + p.ID}
	if f.refer != nil {
		c.Reference = f.refer(p)
	}
	return c, nil
}

func (f *fakeProvider) Refund(
	ctx context.Context, p payment.Payment, r payment.Refund,
) (payment.Outcome, error) {
	if f.silent {
		<-ctx.Done()
		return payment.Outcome{}, ctx.Err()
	}
	if f.asked != nil {
		select {
		case f.asked <- p.ID:
		case <-ctx.Done():
			return payment.Outcome{}, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.finalNo[p.ID] > 0 {
		f.finalNo[p.ID]--
		return payment.Outcome{}, fmt.Errorf("wrapped: %w", &payment.RefusedError{Reason: "the account is closed"})
	}
	if f.refusals[p.ID] != 0 {
		f.refusals[p.ID]--
		return payment.Outcome{}, ordertest.ErrAway
	}
	f.back, f.cents = append(f.back, r.ID), f.cents+r.Amount
	return f.answer(), nil
}
