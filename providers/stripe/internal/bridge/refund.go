package bridge

import (
	"context"
	"strings"

	"github.com/stripe/stripe-go/v84"

	"seckill/providers/stripe/internal/units"
	"seckill/providers/stripe/internal/wire"
)

// Refund sends money back, once for each refund of the service, or says how that one stands. Errors: *RefusedError;
// what Explain takes.
func (b *Bridge) Refund(ctx context.Context, d wire.Data) (wire.Answer, error) {
	intent, err := b.paid(ctx, d)
	if err != nil {
		return wire.Answer{}, err
	}
	known, err := b.refundOf(ctx, intent.ID, d)
	if err != nil || known != nil {
		return answer(d, known), err
	}
	amount, err := units.ToStripe(string(intent.Currency), d.Amount)
	if err != nil {
		return wire.Answer{}, refused("%v", err)
	}
	p := &stripe.RefundCreateParams{
		PaymentIntent: stripe.String(intent.ID), Amount: new(amount),
		Metadata: map[string]string{metaPayment: d.ID, metaRefund: d.RefundID},
	}
	p.SetIdempotencyKey("seckill-refund-" + d.RefundID)
	made, err := patient(ctx, func() (*stripe.Refund, error) { return b.stripe.V1Refunds.Create(ctx, p) })
	switch {
	case isFinal(err):
		return wire.Answer{}, refused("%v", Explain(err))
	case hasCode(err, stripe.ErrorCodeChargeDisputed, stripe.ErrorCodeRefundDisputedPayment):
		return wire.Answer{}, b.disputed(ctx, intent.ID, err)
	}
	return answer(d, made), err
}

// disputed returns the error for a refund of money that is disputed: final once a dispute is lost, as Stripe sends
// nothing back of such money any more; err while one is open.
func (b *Bridge) disputed(ctx context.Context, intent string, err error) error {
	list := &stripe.DisputeListParams{PaymentIntent: stripe.String(intent)}
	list.Limit = stripe.Int64(pageSize)
	lost, unread := patient(ctx, func() (lost bool, unread error) {
		b.stripe.V1Disputes.List(ctx, list)(func(d *stripe.Dispute, e error) bool {
			unread = e
			lost = lost || e == nil && d.Status == stripe.DisputeStatusLost
			return e == nil && !lost
		})
		return lost, unread
	})
	switch {
	case unread != nil:
		return unread
	case lost:
		return refused("the bank has decided a dispute for the buyer: Stripe sends nothing back of this payment")
	}
	return err
}

// isFinal reports whether Stripe will never make a refund: the request itself is wrong, and neither a dispute nor too
// little money in the account is the reason, which both pass.
func isFinal(err error) bool {
	return isInvalid(err) && !hasCode(err, stripe.ErrorCodeChargeDisputed, stripe.ErrorCodeRefundDisputedPayment,
		stripe.ErrorCodeBalanceInsufficient, stripe.ErrorCodeLockTimeout, stripe.ErrorCodeResourceMissing)
}

// ReadRefund says how a refund of the service stands.
func (b *Bridge) ReadRefund(ctx context.Context, d wire.Data) (wire.Answer, error) {
	intent, err := b.paid(ctx, d)
	if err != nil {
		return wire.Answer{}, err
	}
	known, err := b.refundOf(ctx, intent.ID, d)
	if err == nil && known == nil {
		err = refused("Stripe has no such refund")
	}
	return answer(d, known), err
}

// paid returns the intent whose money a refund is of: that of the reference, which must be the payment's.
func (b *Bridge) paid(ctx context.Context, d wire.Data) (*stripe.PaymentIntent, error) {
	of := &stripe.PaymentIntent{ID: d.Reference}
	if strings.HasPrefix(d.Reference, sessionPrefix) { // the notice about the money has not been recorded yet
		s, err := b.session(ctx, d.Reference)
		if err != nil {
			return nil, err
		}
		of = s.PaymentIntent
	} else if !strings.HasPrefix(d.Reference, intentPrefix) {
		return nil, refused("the payment's reference %q is none of Stripe's", d.Reference)
	}
	intent, err := b.intent(ctx, of)
	switch {
	case err != nil:
		return nil, err
	case intent.ID == "":
		return nil, refused("nobody has paid this at Stripe")
	case intent.Metadata[metaPayment] != d.ID:
		return nil, refused("%s at Stripe is not of this payment", intent.ID)
	}
	return intent, nil
}

// refundOf returns the refund at Stripe that the service means, or nil.
func (b *Bridge) refundOf(ctx context.Context, intent string, d wire.Data) (*stripe.Refund, error) {
	all, err := b.refunds(ctx, &stripe.RefundListParams{PaymentIntent: stripe.String(intent)})
	for _, r := range all {
		if r.Metadata[metaRefund] == d.RefundID {
			return r, err
		}
	}
	return nil, err
}

func (b *Bridge) refunds(ctx context.Context, list *stripe.RefundListParams) ([]*stripe.Refund, error) {
	list.Limit = stripe.Int64(pageSize)
	return patient(ctx, func() (all []*stripe.Refund, err error) {
		b.stripe.V1Refunds.List(ctx, list)(func(r *stripe.Refund, e error) bool {
			if err = e; err == nil {
				all = append(all, r)
			}
			return err == nil
		})
		return all, err
	})
}

// answer says how a refund stands; it is empty for nil.
func answer(d wire.Data, r *stripe.Refund) wire.Answer {
	if r == nil {
		return wire.Answer{}
	}
	a := wire.Answer{ID: d.ID, RefundID: d.RefundID, Reference: r.ID, State: state(r)}
	if a.State == wire.Refused {
		a.Reason = failure(r)
	}
	return a
}

// state returns the word of an answer for a refund's status.
func state(r *stripe.Refund) string {
	switch r.Status {
	case stripe.RefundStatusSucceeded:
		return wire.Done
	case stripe.RefundStatusFailed, stripe.RefundStatusCanceled:
		return wire.Refused
	default:
		return wire.Pending
	}
}

func failure(r *stripe.Refund) string {
	if r.FailureReason != "" {
		return "the refund has failed: " + strings.ReplaceAll(string(r.FailureReason), "_", " ")
	}
	return "the refund is " + string(r.Status)
}
