package service

import (
	"cmp"
	"context"
	"fmt"

	"seckill/internal/order/payment"
)

// Provider moves money: a payment service. Each call may come any number of times, also from several instances at once;
// the payment's id, or the refund's, is its idempotency key, so that it takes effect once. Any error but a
// *payment.RefusedError is temporary: the call is made again.
type Provider interface {
	// Begin makes the provider expect a payment, and returns where the buyer pays.
	Begin(ctx context.Context, b payment.Beginning) (Checkout, error)
	// Cancel tells the provider to take no money for a payment any more: its order has ended, or was paid by another
	// one. nil also says that there is nothing to cancel, or that the money is there or under way; a notice then tells.
	Cancel(ctx context.Context, p payment.Payment) error
	// Refund sends a refund's amount back to the buyer of its payment, which has its Reference if the provider has one.
	// The outcome is RefundPending if the money is on its way, or RefundDone. *payment.RefusedError, wrapped or not, is
	// the provider's final no, after which it is asked only if staff want so.
	Refund(ctx context.Context, p payment.Payment, r payment.Refund) (payment.Outcome, error)
	// ReadRefund returns how a refund stands that was pending: RefundPending, RefundDone or RefundFailed.
	ReadRefund(ctx context.Context, p payment.Payment, r payment.Refund) (payment.Outcome, error)
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
