package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"seckill/internal/order/payment"
	"seckill/internal/order/service"
)

// MinSecret is the minimum length of the secret in bytes.
const MinSecret = 32

// Name is the provider's name in settings, callbacks and payments.
const Name = "sandbox"

// Path is where Pages must be mounted; the paths from Provider.Begin are below it.
const Path = "/sandbox/pay/"

// ErrWeakSecret means that the secret is shorter than MinSecret.
var ErrWeakSecret = errors.New("sandbox: the secret is too short")

// Provider is an order.Provider that moves no money.
type Provider struct {
	tickets  key
	base     string // of the paths from Begin
	currency string
	log      *slog.Logger
}

var _ service.Provider = (*Provider)(nil)

// NewProvider returns a provider that signs its addresses with the secret, or ErrWeakSecret. Its pages show amounts in
// the currency, a code of ISO 4217.
func NewProvider(secret []byte, currency string, log *slog.Logger) (*Provider, error) {
	tickets, err := newKey(secret, "ticket")
	if err != nil {
		return nil, err
	}
	return &Provider{tickets: tickets, currency: currency, log: log}, nil
}

// Below returns the provider for a service that people find below a path, which has no slash at its end.
func (p *Provider) Below(base string) *Provider {
	other := *p
	other.base = base
	return &other
}

// Begin returns the path where the buyer pays. It has no effect, so it may be repeated. The sandbox has no payment ids
// of its own.
func (p *Provider) Begin(_ context.Context, b payment.Beginning) (service.Checkout, error) {
	t, err := p.tickets.seal(ticket{PaymentID: b.ID, OrderID: b.OrderID, Amount: b.Amount})
	if err != nil {
		return service.Checkout{}, fmt.Errorf("sandbox: payment %s: %w", b.ID, err)
	}
	return service.Checkout{URL: p.base + Path + t + p.tickets.sealTitle(t, b.Title)}, nil
}

// Cancel logs that a real provider would now take no money for the payment any more.
func (p *Provider) Cancel(ctx context.Context, pay payment.Payment) error {
	p.log.InfoContext(ctx, "the sandbox would take no money any more", "payment", pay.ID, "order", pay.OrderID)
	return nil
}

// The last two digits of refunds that the sandbox refuses for good, or takes and leaves pending until somebody presses
// a button on its page, so that a shop can try these cases.
const (
	refusedCents = 13
	pendingCents = 17
)

// Refund logs that a real provider would now send the money back.
func (p *Provider) Refund(ctx context.Context, pay payment.Payment, r payment.Refund) (payment.Outcome, error) {
	switch r.Amount % 100 {
	case refusedCents:
		return payment.Outcome{}, &payment.RefusedError{
			Reason: fmt.Sprintf("the sandbox refunds no amount that ends in %d cents", refusedCents),
		}
	case pendingCents:
		return payment.Outcome{State: payment.RefundPending}, nil
	}
	p.log.InfoContext(ctx, "the sandbox would send money back", "payment", pay.ID, "order", pay.OrderID, "refund", r.ID,
		"cents", r.Amount)
	return payment.Outcome{State: payment.RefundDone}, nil
}

// ReadRefund leaves a refund as it is: what becomes of it is decided on the sandbox's page.
func (*Provider) ReadRefund(_ context.Context, _ payment.Payment, r payment.Refund) (payment.Outcome, error) {
	return payment.Outcome{State: r.State}, nil
}
