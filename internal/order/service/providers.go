package service

import (
	"cmp"
	"context"
	"fmt"

	"seckill/internal/order/payment"
)

// Provider moves money: a payment service.
type Provider interface {
	// Begin announces the payment to the provider. Repeating it for the same payment is harmless.
	Begin(ctx context.Context, p payment.Payment) (Checkout, error)
	// Refund sends back what is left of the money, Payment.Rest: the provider may have sent a part back before. The
	// payment has its Reference if the provider has one. Repeating it for the same payment is harmless.
	// *payment.RefusedError, wrapped or not, is the provider's final no, after which it is asked only if staff want so;
	// any other error is temporary, and it is asked again.
	Refund(ctx context.Context, p payment.Payment) error
}

// Checkout is what a provider answers when a payment begins.
type Checkout struct {
	URL       string // where the buyer pays
	Reference string // the provider's own id of the payment; "" when it has none, or sends it with its notice
}

// Providers are the configured payment services, by name. Payments begin with the default one. Each refunds the
// payments that were made through it, so a replaced provider stays configured until none of its payments can be
// refunded any more.
type Providers struct {
	Default string // "" when there is none
	ByName  map[string]Provider
}

// names returns the names, the default one first; nil when there is none.
func (p Providers) names() []string {
	if p.Default == "" {
		return nil
	}
	names := []string{p.Default}
	for name := range p.ByName {
		if name != p.Default {
			names = append(names, name)
		}
	}
	return names
}

// of returns the provider of a payment, or ErrNoProvider. A payment stored without a provider's name belongs to the
// default one.
func (p Providers) of(attempt payment.Payment) (Provider, error) {
	name := cmp.Or(attempt.Provider, p.Default)
	if provider, configured := p.ByName[name]; configured {
		return provider, nil
	}
	if name == "" {
		return nil, payment.ErrNoProvider
	}
	return nil, fmt.Errorf("%w: %q is not", payment.ErrNoProvider, name)
}
