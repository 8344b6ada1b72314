package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"

	"seckill/providers/stripe/internal/units"
	"seckill/providers/stripe/internal/wire"
)

// processingDays is how long money is under way at most: bank debits take up to two weeks. The service caps it.
const processingDays = 14

// reading reads one type of event: it returns the notices that follow.
type reading func(b *Bridge, ctx context.Context, e *stripe.Event) ([]wire.Notice, error)

func readings() map[stripe.EventType]reading {
	return map[stripe.EventType]reading{
		stripe.EventTypeCheckoutSessionCompleted:             (*Bridge).readSession,
		stripe.EventTypeCheckoutSessionAsyncPaymentSucceeded: (*Bridge).readSession,
		stripe.EventTypeCheckoutSessionAsyncPaymentFailed:    (*Bridge).readSession,
		stripe.EventTypeCheckoutSessionExpired:               (*Bridge).readSession,
		stripe.EventTypeRefundCreated:                        (*Bridge).readRefund,
		stripe.EventTypeRefundUpdated:                        (*Bridge).readRefund,
		stripe.EventTypeRefundFailed:                         (*Bridge).readRefund,
		stripe.EventTypeChargeRefunded:                       (*Bridge).readCharge,
		stripe.EventTypeChargeDisputeCreated:                 (*Bridge).readDispute,
		stripe.EventTypeChargeDisputeUpdated:                 (*Bridge).readDispute,
		stripe.EventTypeChargeDisputeFundsWithdrawn:          (*Bridge).readDispute,
		stripe.EventTypeChargeDisputeClosed:                  (*Bridge).readDispute,
	}
}

// Events returns the types of events that mean something, in order.
func Events() []string {
	var all []string
	for _, t := range slices.Sorted(maps.Keys(readings())) {
		all = append(all, string(t))
	}
	return all
}

// Notices returns what an event means for the service: nothing, for events of other types, and for money that has
// nothing to do with it. Each notice has an id that is the same whenever the event comes again.
func (b *Bridge) Notices(ctx context.Context, e *stripe.Event) ([]wire.Notice, error) {
	read := readings()[e.Type]
	if read == nil || e.Data == nil {
		return nil, nil
	}
	notices, err := read(b, ctx, e)
	for i := range notices {
		notices[i].ID = fmt.Sprintf("%s-%d", e.ID, i)
	}
	return notices, err
}

// readSession reads the events of Checkout Sessions, which have our metadata.
func (b *Bridge) readSession(_ context.Context, e *stripe.Event) ([]wire.Notice, error) {
	var s stripe.CheckoutSession
	if err := json.Unmarshal(e.Data.Raw, &s); err != nil {
		return nil, err
	}
	if s.Metadata[MetaCheck] != "" {
		return []wire.Notice{{Type: wire.Check, Data: wire.NoticeData{ID: s.ID}}}, nil
	}
	n := wire.Notice{Data: wire.NoticeData{ID: s.Metadata[metaPayment]}}
	if n.Data.ID == "" {
		return nil, nil
	}
	switch e.Type {
	case stripe.EventTypeCheckoutSessionExpired:
		n.Type = wire.Cancelled
		return []wire.Notice{n}, nil
	case stripe.EventTypeCheckoutSessionAsyncPaymentFailed:
		n.Type, n.Data.Reason = wire.Failed, "the buyer's bank has not paid"
		return []wire.Notice{n}, nil
	default:
		return readMoney(e, &s, n)
	}
}

// readMoney adds to a notice that money has come, or is under way.
func readMoney(e *stripe.Event, s *stripe.CheckoutSession, n wire.Notice) ([]wire.Notice, error) {
	amount, err := units.FromStripe(string(s.Currency), s.AmountTotal)
	if err != nil {
		return nil, err
	}
	n.Data.Amount = amount
	if s.PaymentStatus == stripe.CheckoutSessionPaymentStatusUnpaid {
		until := time.Unix(e.Created, 0).UTC().AddDate(0, 0, processingDays)
		n.Type, n.Data.Until = wire.Processing, &until
		return []wire.Notice{n}, nil
	}
	n.Type = wire.Paid
	if s.PaymentIntent != nil {
		n.Data.Reference = s.PaymentIntent.ID
	}
	return []wire.Notice{n}, nil
}

// readRefund reads the events of one refund: of ours, and of those that staff made in the Dashboard.
func (b *Bridge) readRefund(ctx context.Context, e *stripe.Event) ([]wire.Notice, error) {
	var r stripe.Refund
	if err := json.Unmarshal(e.Data.Raw, &r); err != nil {
		return nil, err
	}
	intent, err := b.intent(ctx, r.PaymentIntent)
	if err != nil || intent.Metadata[metaPayment] == "" {
		return nil, err
	}
	n, err := refundNotice(intent, &r)
	return []wire.Notice{n}, err
}

// readCharge tells of each refund of a charge, so that one whose own events were lost is known, too.
func (b *Bridge) readCharge(ctx context.Context, e *stripe.Event) (notices []wire.Notice, err error) {
	var c stripe.Charge
	if err := json.Unmarshal(e.Data.Raw, &c); err != nil {
		return nil, err
	}
	intent, err := b.intent(ctx, c.PaymentIntent)
	if err != nil || intent.Metadata[metaPayment] == "" {
		return nil, err
	}
	all, err := b.refunds(ctx, &stripe.RefundListParams{PaymentIntent: stripe.String(intent.ID)})
	for _, r := range all {
		n, err := refundNotice(intent, r)
		if err != nil {
			return nil, err
		}
		notices = append(notices, n)
	}
	return notices, err
}

func refundNotice(of *stripe.PaymentIntent, r *stripe.Refund) (wire.Notice, error) {
	amount, err := units.FromStripe(string(of.Currency), r.Amount)
	n := wire.Notice{Type: wire.Refunded, Data: wire.NoticeData{
		ID: of.Metadata[metaPayment], Amount: amount, RefundID: r.Metadata[metaRefund], RefundReference: r.ID,
		State: state(r),
	}}
	if n.Data.State == wire.Refused {
		n.Data.State, n.Data.Reason = wire.Failed, failure(r)
	}
	return n, err
}

// readDispute reads the events of disputes by the dispute's status. Inquiries (warning_…) move no money, and are left
// to the Dashboard; a prevented dispute is none.
func (b *Bridge) readDispute(ctx context.Context, e *stripe.Event) ([]wire.Notice, error) {
	var d stripe.Dispute
	if err := json.Unmarshal(e.Data.Raw, &d); err != nil {
		return nil, err
	}
	var n wire.Notice
	switch d.Status {
	case stripe.DisputeStatusNeedsResponse, stripe.DisputeStatusUnderReview:
		n.Type = wire.Disputed
	case stripe.DisputeStatusWon:
		n.Type = wire.DisputeWon
	case stripe.DisputeStatusLost:
		n.Type = wire.DisputeLost
	default:
		return nil, nil
	}
	intent, err := b.intent(ctx, d.PaymentIntent)
	if err != nil || intent.Metadata[metaPayment] == "" {
		return nil, err
	}
	n.Data.ID = intent.Metadata[metaPayment]
	disputed := d.Amount
	if !strings.EqualFold(string(d.Currency), string(intent.Currency)) || disputed > intent.Amount {
		disputed = intent.Amount // banks dispute in their own currency, and round
	}
	n.Data.Amount, err = units.FromStripe(string(intent.Currency), disputed)
	return []wire.Notice{n}, err
}
