package order

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/voucher"
)

// Provider moves money: a payment service.
type Provider interface {
	// Begin makes the provider expect the payment and returns where the buyer pays. Repeating it for the same payment is
	// harmless.
	Begin(ctx context.Context, p Payment) (payURL string, err error)
	// Refund sends the money back. Repeating it for the same payment is harmless.
	Refund(ctx context.Context, p Payment) error
}

// Payments are the ledger of payments. Each method is one transaction.
type Payments interface {
	// OpenPayment stores a new payment under the id for the owner's unpaid order, or returns the one that is open for it
	// already. ErrNotFound when the order is not there or somebody else's; *StateError when it is not unpaid.
	OpenPayment(ctx context.Context, owner, orderID int64, id string) (Payment, error)
	// Receive records that the provider has the money (PaymentState draws what follows). A late one for a seckill order
	// whose sale is not retired gets a Revival to be applied; for an ordinary voucher the order is revived at once. It
	// returns the payment and the order as they are then, the same when it is repeated. ErrNoPayment, ErrWrongAmount.
	Receive(ctx context.Context, n Notice) (Payment, Order, error)
	// AskRefund takes the owner's paid order to refunding, and its received payment too. Repeating it is no error.
	AskRefund(ctx context.Context, owner, orderID int64) (Order, error)
	// Refunding returns up to n payments whose money is to go back, the oldest first.
	Refunding(ctx context.Context, n int) ([]Payment, error)
	// Refunded records that the money has gone back: ConfirmRefund for an order that is refunding by this payment, with
	// its operation. It returns the order as it is then. Repeating it is no error.
	Refunded(ctx context.Context, paymentID string) (Order, error)
	// ReviveLate gives up to n late payments whose Revival was voided by a rebuild a new one, or makes them refunding
	// when their sale has been retired. It returns the vouchers concerned.
	ReviveLate(ctx context.Context, n int) ([]int64, error)
}

// CashierObserver hears what a Cashier does, for metrics. Its methods must not block.
type CashierObserver interface {
	// Received: the provider said that it has the money for a payment, now or before; the payment is in this state then.
	Received(state PaymentState)
	// Repaid: a payment's money went back, or the attempt failed with err.
	Repaid(err error)
}

const (
	providerTime = 10 * time.Second // one call to the provider at most
	refundWait   = time.Second      // how long the answer to who wants his money back waits for it
)

// Cashier takes money for orders and gives it back. What the provider says and what is asked of it may come twice, late
// and in any order: the ledger decides, and each payment comes to one end (PaymentState).
type Cashier struct {
	payments Payments
	provider Provider // nil: only what costs nothing can be paid for
	desk     CashierDesk
	newID    func() string
	observer CashierObserver
	log      *slog.Logger

	woken   chan struct{}        // holds one when there is something to give back
	patient map[string]*patience // by payment id: refunds that have failed; only Run's goroutine uses it
}

// CashierDesk is what a Cashier needs of those who know orders and sales.
type CashierDesk struct {
	Lookup *Lookup
	Room   *Waitroom
	Outbox Following
}

// Following brings Redis up to the ledger, while one waits or not: Outbox.
type Following interface {
	voucher.Follower
	Notifier
}

// NewCashier returns a cashier; Run gives money back. provider may be nil. newID makes ids of payments: "pay_" and a
// uuid.
func NewCashier(
	payments Payments, provider Provider, desk CashierDesk, newID func() string, observer CashierObserver, log *slog.Logger,
) *Cashier {
	return &Cashier{
		payments: payments, provider: provider, desk: desk, newID: newID, observer: observer, log: log,
		woken: make(chan struct{}, 1), patient: make(map[string]*patience),
	}
}

// Pay begins to pay for the user's unpaid order, or goes on with what was begun, and returns the payment and where the
// money is to be paid. What costs nothing is paid for at once; there is no such place then. A queued order is waited for,
// for up to ten seconds: ErrUnavailable when it has no row even then.
//
// It returns ErrNotFound, also for somebody else's order, *StateError for one that is not unpaid, ErrNoProvider, and
// ErrUnavailable when ledger or provider do not answer; repeating is harmless.
func (c *Cashier) Pay(ctx context.Context, userID, orderID int64) (p Payment, payURL string, err error) {
	o, err := c.desk.Lookup.row(ctx, c.desk.Room, userID, orderID)
	if err != nil {
		return Payment{}, "", err
	}
	if err := Pay.Check(o.ID, o.Status); err != nil {
		return Payment{}, "", err
	}
	if c.provider == nil && o.Amount > 0 {
		return Payment{}, "", ErrNoProvider
	}
	if p, err = c.payments.OpenPayment(ctx, userID, orderID, c.newID()); err != nil {
		return Payment{}, "", orUnavailable(err)
	}
	if p.Amount == 0 {
		p, err = c.receive(ctx, Notice{PaymentID: p.ID})
		return p, "", err
	}
	call, cancel := context.WithTimeout(ctx, providerTime)
	defer cancel()
	if payURL, err = c.provider.Begin(call, p); err != nil {
		return Payment{}, "", orUnavailable(err)
	}
	return p, payURL, nil
}

// Confirm takes the provider's word that it has the money for a payment. It returns ErrNoPayment, ErrWrongAmount, or
// ErrUnavailable: the provider is to say it again then. Repeating is harmless.
func (c *Cashier) Confirm(ctx context.Context, n Notice) error {
	_, err := c.receive(ctx, n)
	return err
}

func (c *Cashier) receive(ctx context.Context, n Notice) (Payment, error) {
	p, o, err := c.payments.Receive(ctx, n)
	if err != nil {
		return Payment{}, orUnavailable(err)
	}
	c.observer.Received(p.State)
	c.desk.Room.Told(map[int64]Status{o.ID: o.Status})
	switch p.State {
	case PaymentLate: // Redis says whether there still is a unit
		c.log.InfoContext(ctx, "a payment came after its order was closed", "payment", p.ID, "order", o.ID)
		following, cancel := context.WithTimeout(ctx, followTime)
		defer cancel()
		_ = c.desk.Outbox.Follow(following, p.VoucherID) // the outbox goes on by itself
	case PaymentRefunding:
		c.log.InfoContext(ctx, "a payment cannot be used any more and goes back", "payment", p.ID, "order", o.ID)
		c.wake()
	default:
	}
	return p, nil
}

// Refund gives the owner his money back for a paid order, and returns the order: as refunded when the provider is quick,
// else as refunding, and the cashier goes on. An order that is refunding or refunded already is returned as it is. It
// returns ErrNotFound, also for somebody else's order, *StateError for one that is not paid, and ErrUnavailable.
func (c *Cashier) Refund(ctx context.Context, userID, orderID int64) (Order, error) {
	seat := c.desk.Room.Enter(orderID)
	defer seat.Leave()
	o, err := c.payments.AskRefund(ctx, userID, orderID)
	if errors.Is(err, ErrNotFound) {
		return Order{}, c.notPaid(ctx, userID, orderID)
	}
	if err != nil {
		return Order{}, orUnavailable(err)
	}
	if o.Status != Refunding {
		return o, nil
	}
	c.desk.Room.Told(map[int64]Status{o.ID: o.Status})
	c.wake()
	waiting, cancel := context.WithTimeout(ctx, refundWait)
	defer cancel()
	if _, err := seat.Wait(waiting, Refunding); err != nil {
		return o, nil // refunding is an answer too
	}
	if now, err := c.desk.Lookup.Order(ctx, userID, orderID); err == nil {
		o = now
	}
	return o, nil
}

// notPaid says why money cannot be asked back for an order that has no row.
func (c *Cashier) notPaid(ctx context.Context, userID, orderID int64) error {
	o, err := c.desk.Lookup.Order(ctx, userID, orderID)
	if err != nil {
		return err
	}
	return &StateError{OrderID: o.ID, Status: o.Status, Action: RequestRefund}
}

// wake has Run look at once.
func (c *Cashier) wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}
