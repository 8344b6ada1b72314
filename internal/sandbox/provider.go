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

// Begin returns the path where the buyer pays. It has no effect, so it may be repeated. The sandbox has no payment ids
// of its own.
func (p *Provider) Begin(_ context.Context, pay payment.Payment) (service.Checkout, error) {
	t, err := p.tickets.seal(ticket{PaymentID: pay.ID, OrderID: pay.OrderID, Amount: pay.Amount})
	if err != nil {
		return service.Checkout{}, fmt.Errorf("sandbox: payment %s: %w", pay.ID, err)
	}
	return service.Checkout{URL: Path + t + p.tickets.sealTitle(t, pay.Title)}, nil
}

// refusedCents are the last two digits of amounts whose refund the sandbox refuses for good, so that a shop can try
// that case.
const refusedCents = 13

// Refund logs that a real provider would now send the money back. It refuses for good if the amount ends in
// refusedCents.
func (p *Provider) Refund(ctx context.Context, pay payment.Payment) error {
	if pay.Amount%100 == refusedCents {
		return &payment.RefusedError{
			Reason: fmt.Sprintf("the sandbox refunds no amount that ends in %d cents", refusedCents),
		}
	}
	p.log.InfoContext(ctx, "the sandbox would send money back", "payment", pay.ID, "order",
		pay.OrderID, "cents", pay.Rest())
	return nil
}
