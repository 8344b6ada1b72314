package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/payment"
)

const (
	providerTimeout = 10 * time.Second // most time of one call to the provider
	refundWait      = time.Second      // how long the answer to a refund request waits for the refund
	switchWait      = 3 * time.Second  // how long what repeats by itself waits for refunds to be switched on
	staffWait       = 15 * time.Second // how long a person does: once, in an installation that 1.0 has begun
)

// Payments takes money for orders and gives it back. Notices from the provider and requests to it may come twice, late
// and in any order: the ledger decides, and each payment comes to one end (payment.State).
type Payments struct {
	ledger    PaymentLedger
	providers Providers // none: only orders that cost nothing can be paid for
	parts     PaymentParts
	newID     func() string
	observer  Observer
	log       *slog.Logger

	wakeups  chan struct{} // holds a value when there is money to give back
	refunds  backOffs      // of refunds that have failed, by their id, or their payment's
	pending  backOffs      // of refunds that were looked at
	cancels  backOffs      // of payments that could not be cancelled
	switched atomic.Bool   // no version without refunds lives any more
}

// PaymentParts are the parts from which Payments reads orders, and which it notifies of changes.
type PaymentParts struct {
	Lookup   *Lookup
	Notifier *Notifier
	Outbox   Outbox
	// SwitchOn makes sure that no version without refunds lives, and that none starts any more. It takes thirteen
	// seconds, also if ctx ends before that. Error: order.ErrUpgrading while one lives, or if ctx has ended.
	SwitchOn func(context.Context) error
}

// NewPayments returns the payments of a ledger; Run gives money back. newID makes payment ids: "pay_" and a uuid.
func NewPayments(
	ledger PaymentLedger, providers Providers, parts PaymentParts, newID func() string,
	observer Observer, log *slog.Logger,
) *Payments {
	return &Payments{
		ledger: ledger, providers: providers, parts: parts, newID: newID, observer: observer, log: log,
		wakeups: make(chan struct{}, 1),
	}
}

// Pay begins to pay for the user's unpaid order, or continues a payment that is open, and returns the payment and the
// URL where the buyer pays. That is empty for an order that costs nothing, which is paid at once, and while the money
// is under way. Pay waits up to ten seconds for the row of a queued order. Repeating the call is harmless.
//
// Errors: ErrNotFound, even for another user's order; *order.StateError for an order that is not unpaid; ErrNoProvider;
// ErrUnavailable if the ledger or the provider does not answer, or a queued order has no row by then; it is
// payment.ErrNoCheckout, too, if it was the provider.
func (p *Payments) Pay(
	ctx context.Context, userID, orderID int64, visit payment.Visit,
) (attempt payment.Payment, payURL string, err error) {
	begin := func() (payment.Beginning, error) {
		return p.ledger.OpenPayment(ctx, userID, orderID, p.newID(), p.providers.names())
	}
	// Looking the order up first would give a busy ledger less time than a payment may take.
	begun, err := begin()
	if errors.Is(err, order.ErrNotFound) {
		if _, err := p.parts.Lookup.row(ctx, p.parts.Notifier, userID, orderID, rowTimeout); err != nil {
			return payment.Payment{}, "", err
		}
		begun, err = begin()
	}
	if err != nil {
		return payment.Payment{}, "", order.OrUnavailable(err)
	}
	if begun.Amount == 0 {
		attempt, err = p.receive(ctx, payment.Notice{PaymentID: begun.ID, Provider: begun.Provider})
		return attempt, "", err
	}
	if begun.UnderWay() { // there is nothing left to do but to wait
		return begun.Payment, "", nil
	}
	begun.Title, begun.Visit = p.title(ctx, begun.VoucherID), visit
	return p.begin(ctx, begun)
}

// title returns what the provider shows the buyer as the thing they pay for. If it cannot be read, the payment goes on
// without it.
func (p *Payments) title(ctx context.Context, voucherID int64) string {
	v, err := p.parts.Lookup.catalog.Find(ctx, voucherID)
	if err != nil {
		return ""
	}
	return v.Title
}

// begin announces the payment to its provider. The buyer gets the URL only once the provider's reference is stored,
// because a refund may need it. If the process dies in between, beginning the payment again is harmless.
func (p *Payments) begin(ctx context.Context, begun payment.Beginning) (payment.Payment, string, error) {
	provider, err := p.providers.of(begun.Payment)
	if err != nil {
		return payment.Payment{}, "", err
	}
	call, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	checkout, err := provider.Begin(call, begun)
	if err != nil {
		return payment.Payment{}, "", fmt.Errorf("%w: %w: %w", order.ErrUnavailable, payment.ErrNoCheckout, err)
	}
	attempt := begun.Payment
	if checkout.Reference == "" || checkout.Reference == attempt.Reference {
		return attempt, checkout.URL, nil
	}
	if err := payment.CheckReference(checkout.Reference); err != nil {
		return payment.Payment{}, "", err
	}
	if err := p.ledger.Begun(ctx, attempt.ID, checkout.Reference); err != nil {
		return payment.Payment{}, "", order.OrUnavailable(err)
	}
	attempt.Reference = checkout.Reference
	return attempt, checkout.URL, nil
}

// Of returns an order's payments, whoever owns it, oldest first. Error: ErrUnavailable.
func (p *Payments) Of(ctx context.Context, orderID int64) ([]payment.Payment, error) {
	payments, err := p.ledger.PaymentsOf(ctx, orderID)
	return payments, order.OrUnavailable(err)
}

// Confirm takes the provider's notice: it has the money for a payment, the money is under way or will not come, money
// has gone back or will not, or the buyer disputes it. Repeating is harmless. Errors: ErrBadNotice for an impossible
// id; ErrNoPayment; ErrWrongAmount; ErrUpgrading and ErrUnavailable, after which the provider must repeat the notice.
func (p *Payments) Confirm(ctx context.Context, n payment.Notice) error {
	if err := n.Check(); err != nil {
		return err
	}
	if n.Kind == payment.NoticePaid {
		_, err := p.receive(ctx, n)
		return err
	}
	take := p.ledger.TakeNotice
	switch {
	case n.OfAttempt():
		take = p.ledger.TakeProgress
	case n.Kind == payment.NoticeRefund:
		take = p.takeRefund
	}
	attempt, o, err := take(ctx, n)
	if err != nil {
		return order.OrUnavailable(err)
	}
	if n.Kind == payment.NoticeRefund {
		p.parts.Outbox.RequestFlush(o.VoucherID)
	}
	p.log.InfoContext(ctx, "the provider tells of a payment", "payment", attempt.ID, "order", o.ID, "returned",
		attempt.Returned, "dispute", attempt.Dispute.String(), "progress", attempt.Progress.String())
	p.parts.Notifier.Notify(map[int64]order.Status{o.ID: o.Status})
	if attempt.State == payment.Refunding {
		p.Wake()
	}
	return nil
}

// takeRefund takes a notice about one refund. Versions without refunds would misread one that is not done.
func (p *Payments) takeRefund(ctx context.Context, n payment.Notice) (payment.Payment, order.Order, error) {
	attempt, o, err := p.ledger.TakeRefund(ctx, n)
	if !errors.Is(err, order.ErrUpgrading) {
		return attempt, o, err
	}
	if err := p.switchOn(ctx, switchWait); err != nil {
		return payment.Payment{}, order.Order{}, err
	}
	return p.ledger.TakeRefund(ctx, n)
}

// switchOn makes sure that no version without refunds lives, once for good, and waits for that up to the given time.
func (p *Payments) switchOn(ctx context.Context, wait time.Duration) error {
	if p.switched.Load() {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := p.parts.SwitchOn(waiting); err != nil {
		return err
	}
	p.switched.Store(true)
	return nil
}

func (p *Payments) receive(ctx context.Context, n payment.Notice) (payment.Payment, error) {
	attempt, o, err := p.ledger.Receive(ctx, n)
	if err != nil {
		return payment.Payment{}, order.OrUnavailable(err)
	}
	p.observer.PaymentReceived(attempt.State)
	p.parts.Notifier.Notify(map[int64]order.Status{o.ID: o.Status})
	switch attempt.State {
	case payment.Late: // Redis decides whether there still is a unit
		p.log.InfoContext(ctx, "a payment came after its order had ended", "payment", attempt.ID, "order", o.ID)
		flushing, cancel := context.WithTimeout(ctx, flushTimeout)
		defer cancel()
		_ = p.parts.Outbox.Flush(flushing, attempt.VoucherID) // if this fails, the outbox retries by itself
	case payment.Refunding:
		p.log.InfoContext(ctx, "a payment cannot be used any more and goes back", "payment", attempt.ID, "order", o.ID)
		p.Wake()
	default:
	}
	return attempt, nil
}

// Refund returns the money for the owner's paid order, and returns the order: as refunded if the provider is quick;
// otherwise as refunding, and Run continues. An order that is refunding or refunded is returned unchanged. It returns
// ErrNotFound, even for another user's order, *order.StateError for one that is not paid, and ErrUnavailable.
func (p *Payments) Refund(ctx context.Context, userID, orderID int64) (order.Order, error) {
	sub := p.parts.Notifier.Subscribe(orderID)
	defer sub.Cancel()
	o, err := p.ledger.AskRefund(ctx, userID, orderID)
	if errors.Is(err, order.ErrNotFound) {
		return order.Order{}, notPaid(p.parts.Lookup.Order(ctx, userID, orderID))
	}
	return p.refunding(ctx, sub, o, err)
}

// RefundForStaff returns the money for anybody's paid order, as Refund does for its owner's. Errors: ErrNotFound,
// *order.StateError, also for an order that is not recorded yet, *order.NotNowError, ErrUnavailable; for the author's
// key, *idempotency.RepeatedError, idempotency.ErrReused.
func (p *Payments) RefundForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	sub := p.parts.Notifier.Subscribe(act.OrderID)
	defer sub.Cancel()
	o, err := p.ledger.RefundForStaff(ctx, act)
	if errors.Is(err, order.ErrNotFound) {
		return order.Order{}, notPaid(p.parts.Lookup.anybodys(ctx, act.OrderID))
	}
	return p.refunding(ctx, sub, o, err)
}

// refunding waits a little for the money of an order to go back, and returns the order as it is then.
func (p *Payments) refunding(
	ctx context.Context, sub *Subscription, o order.Order, err error,
) (order.Order, error) {
	if err != nil {
		return order.Order{}, order.OrUnavailable(err)
	}
	p.parts.Notifier.Notify(map[int64]order.Status{o.ID: o.Status})
	// The refund was requested before, or nothing had to be paid back; the units are in the outbox.
	if o.Status != order.Refunding {
		p.parts.Outbox.RequestFlush(o.VoucherID)
		return o, nil
	}
	p.Wake()
	waiting, cancel := context.WithTimeout(ctx, refundWait)
	defer cancel()
	if _, err := sub.Wait(waiting, order.Refunding); err != nil {
		return o, nil // the order is returned as refunding
	}
	if now, err := p.parts.Lookup.Order(ctx, o.UserID, o.ID); err == nil {
		o = now
	}
	return o, nil
}

// notPaid returns why an order without a row, which was looked up, cannot be refunded.
func notPaid(o order.Order, err error) error {
	if err != nil {
		return err
	}
	return &order.StateError{OrderID: o.ID, Status: o.Status, Action: order.RequestRefund}
}

// Wake makes Run look for refunds at once. It does not wait.
func (p *Payments) Wake() { signal(p.wakeups) }
