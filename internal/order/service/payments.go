package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/order"
)

const (
	providerTimeout = 10 * time.Second // one call to the provider at most
	refundWait      = time.Second      // how long the answer to a request for a refund waits for it
)

// Payments takes money for orders and gives it back. What the provider says and what is asked of it may come twice,
// late and in any order: the ledger decides, and each payment comes to one end (order.PaymentState).
type Payments struct {
	ledger    PaymentLedger
	providers Providers // none: only what costs nothing can be paid for
	parts     PaymentParts
	newID     func() string
	observer  Observer
	log       *slog.Logger

	wakeups  chan struct{}             // holds one when there is something to give back
	late     chan struct{}             // holds one when a late payment has come
	backOffs map[string]*refundBackOff // by payment id: refunds that have failed; only Run's goroutine uses it
}

// PaymentParts is what Payments needs to know orders, and to have others know.
type PaymentParts struct {
	Lookup   *Lookup
	Notifier *Notifier
	Outbox   Outbox
}

// NewPayments returns the payments of a ledger; Run gives money back. newID makes ids of payments: "pay_" and a uuid.
func NewPayments(
	ledger PaymentLedger, providers Providers, parts PaymentParts, newID func() string,
	observer Observer, log *slog.Logger,
) *Payments {
	return &Payments{
		ledger: ledger, providers: providers, parts: parts, newID: newID, observer: observer, log: log,
		wakeups: make(chan struct{}, 1), late: make(chan struct{}, 1), backOffs: make(map[string]*refundBackOff),
	}
}

// Pay begins to pay for the user's unpaid order, or goes on with what was begun, and returns the payment and where
// the money is to be paid. What costs nothing is paid for at once, and payURL is empty. For a queued order it waits
// until it is recorded, for up to ten seconds: ErrUnavailable when it has no row even then.
//
// It returns ErrNotFound, also for somebody else's order, *order.StateError for one that is not unpaid,
// ErrNoProvider, and ErrUnavailable when ledger or provider do not answer; repeating is harmless.
func (p *Payments) Pay(ctx context.Context, userID, orderID int64) (payment order.Payment, payURL string, err error) {
	o, err := p.parts.Lookup.row(ctx, p.parts.Notifier, userID, orderID)
	if err != nil {
		return order.Payment{}, "", err
	}
	if err := order.Pay.Check(o.ID, o.Status); err != nil {
		return order.Payment{}, "", err
	}
	providers := p.providers.names()
	if len(providers) == 0 && o.Amount > 0 {
		return order.Payment{}, "", order.ErrNoProvider
	}
	if payment, err = p.ledger.OpenPayment(ctx, userID, orderID, p.newID(), providers); err != nil {
		return order.Payment{}, "", order.OrUnavailable(err)
	}
	if payment.Amount == 0 {
		payment, err = p.receive(ctx, order.Notice{PaymentID: payment.ID, Provider: payment.Provider})
		return payment, "", err
	}
	payment.Title = p.title(ctx, payment.VoucherID)
	return p.begin(ctx, payment)
}

// title is what a provider tells the buyer that they pay for. A payment does not fail for want of it.
func (p *Payments) title(ctx context.Context, voucherID int64) string {
	v, err := p.parts.Lookup.catalog.Find(ctx, voucherID)
	if err != nil {
		return ""
	}
	return v.Title
}

// begin makes the payment's provider expect it. The buyer gets the address only once the provider's reference is
// stored: a refund may need it. A process that dies in between has begun nothing that cannot be begun again, which is
// harmless.
func (p *Payments) begin(ctx context.Context, payment order.Payment) (order.Payment, string, error) {
	provider, err := p.providers.of(payment)
	if err != nil {
		return order.Payment{}, "", err
	}
	call, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	checkout, err := provider.Begin(call, payment)
	if err != nil {
		return order.Payment{}, "", order.OrUnavailable(err)
	}
	if checkout.Reference == "" || checkout.Reference == payment.Reference {
		return payment, checkout.URL, nil
	}
	if err := order.CheckReference(checkout.Reference); err != nil {
		return order.Payment{}, "", err
	}
	if err := p.ledger.SetReference(ctx, payment.ID, checkout.Reference); err != nil {
		return order.Payment{}, "", order.OrUnavailable(err)
	}
	payment.Reference = checkout.Reference
	return payment, checkout.URL, nil
}

// Of returns the payments of an order, whosever it is, the oldest first. ErrUnavailable.
func (p *Payments) Of(ctx context.Context, orderID int64) ([]order.Payment, error) {
	payments, err := p.ledger.PaymentsOf(ctx, orderID)
	return payments, order.OrUnavailable(err)
}

// Confirm takes the provider's notice that it has the money for a payment. It returns ErrBadNotice for an impossible
// id, ErrNoPayment, ErrWrongAmount, or ErrUnavailable: the provider is to repeat the notice then. Repeating is
// harmless.
func (p *Payments) Confirm(ctx context.Context, n order.Notice) error {
	if err := n.Check(); err != nil {
		return err
	}
	_, err := p.receive(ctx, n)
	return err
}

func (p *Payments) receive(ctx context.Context, n order.Notice) (order.Payment, error) {
	payment, o, err := p.ledger.Receive(ctx, n)
	if err != nil {
		return order.Payment{}, order.OrUnavailable(err)
	}
	p.observer.PaymentReceived(payment.State)
	p.parts.Notifier.Notify(map[int64]order.Status{o.ID: o.Status})
	switch payment.State {
	case order.PaymentLate: // Redis says whether there still is a unit
		p.log.InfoContext(ctx, "a payment came after its order had ended", "payment", payment.ID, "order", o.ID)
		flushing, cancel := context.WithTimeout(ctx, flushTimeout)
		defer cancel()
		_ = p.parts.Outbox.Flush(flushing, payment.VoucherID) // the outbox goes on by itself
	case order.PaymentRefunding:
		p.log.InfoContext(ctx, "a payment cannot be used any more and goes back", "payment", payment.ID, "order", o.ID)
		p.wake()
	default:
	}
	return payment, nil
}

// Refund gives the owner the money back for a paid order, and returns the order: as refunded when the provider is
// quick, else as refunding, and Run goes on. An order that is refunding or refunded already is returned as it is. It
// returns ErrNotFound, also for somebody else's order, *order.StateError for one that is not paid, and
// ErrUnavailable.
func (p *Payments) Refund(ctx context.Context, userID, orderID int64) (order.Order, error) {
	sub := p.parts.Notifier.Subscribe(orderID)
	defer sub.Cancel()
	o, err := p.ledger.AskRefund(ctx, userID, orderID)
	if errors.Is(err, order.ErrNotFound) {
		return order.Order{}, p.notPaid(ctx, userID, orderID)
	}
	if err != nil {
		return order.Order{}, order.OrUnavailable(err)
	}
	p.parts.Notifier.Notify(map[int64]order.Status{o.ID: o.Status})
	// It was asked before, or there was nothing to pay back, and the units are in the outbox.
	if o.Status != order.Refunding {
		p.parts.Outbox.RequestFlush(o.VoucherID)
		return o, nil
	}
	p.wake()
	waiting, cancel := context.WithTimeout(ctx, refundWait)
	defer cancel()
	if _, err := sub.Wait(waiting, order.Refunding); err != nil {
		return o, nil // refunding is an answer too
	}
	if now, err := p.parts.Lookup.Order(ctx, userID, orderID); err == nil {
		o = now
	}
	return o, nil
}

// notPaid says why there is no refund for an order without a row.
func (p *Payments) notPaid(ctx context.Context, userID, orderID int64) error {
	o, err := p.parts.Lookup.Order(ctx, userID, orderID)
	if err != nil {
		return err
	}
	return &order.StateError{OrderID: o.ID, Status: o.Status, Action: order.RequestRefund}
}

// wake has Run look for refunds at once.
func (p *Payments) wake() { wake(p.wakeups) }

// wake puts a value into a channel that holds one.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
