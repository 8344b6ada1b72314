package bridge

import (
	"context"
	"strings"

	"github.com/stripe/stripe-go/v84"

	"seckill/providers/stripe/internal/wire"
)

const (
	sessionPrefix = "cs_"
	intentPrefix  = "pi_"
)

// Cancel ends a payment's session. It refuses if the money is there, or under way. Without a reference nobody was sent
// to Stripe, so there is nothing to end.
func (b *Bridge) Cancel(ctx context.Context, d wire.Data) (wire.Answer, error) {
	switch {
	case strings.HasPrefix(d.Reference, intentPrefix): // the reference of a notice about money
		return wire.Answer{ID: d.ID, State: wire.Refused, Reason: "it is paid"}, nil
	case !strings.HasPrefix(d.Reference, sessionPrefix):
		return wire.Answer{ID: d.ID, State: wire.Done}, nil
	}
	_, err := patient(ctx, func() (*stripe.CheckoutSession, error) {
		return b.stripe.V1CheckoutSessions.Expire(ctx, d.Reference, nil)
	})
	if err == nil {
		return wire.Answer{ID: d.ID, State: wire.Done}, nil
	}
	if !isInvalid(err) {
		return wire.Answer{}, err
	}
	s, err := b.session(ctx, d.Reference) // it is not open any more
	switch {
	case err != nil:
		return wire.Answer{}, err
	case s.Status != stripe.CheckoutSessionStatusComplete:
		return wire.Answer{ID: d.ID, State: wire.Done}, nil
	case s.PaymentStatus == stripe.CheckoutSessionPaymentStatusPaid:
		return wire.Answer{ID: d.ID, State: wire.Refused, Reason: "it is paid"}, nil
	}
	intent, err := b.intent(ctx, s.PaymentIntent)
	switch {
	case err != nil:
		return wire.Answer{}, err
	case intent.Status == stripe.PaymentIntentStatusProcessing, intent.Status == stripe.PaymentIntentStatusSucceeded:
		return wire.Answer{ID: d.ID, State: wire.Refused, Reason: "its money is under way"}, nil
	}
	return wire.Answer{ID: d.ID, State: wire.Done}, nil
}

func (b *Bridge) session(ctx context.Context, id string) (*stripe.CheckoutSession, error) {
	return patient(ctx, func() (*stripe.CheckoutSession, error) {
		return b.stripe.V1CheckoutSessions.Retrieve(ctx, id, nil)
	})
}

// intent reads a PaymentIntent, of which sessions, refunds and disputes have the id alone. Nil stays an empty one.
func (b *Bridge) intent(ctx context.Context, of *stripe.PaymentIntent) (*stripe.PaymentIntent, error) {
	if of == nil || of.ID == "" {
		return &stripe.PaymentIntent{}, nil
	}
	return patient(ctx, func() (*stripe.PaymentIntent, error) {
		return b.stripe.V1PaymentIntents.Retrieve(ctx, of.ID, nil)
	})
}
