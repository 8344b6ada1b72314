package try

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"seckill/internal/order/payment"
	"seckill/internal/order/service"
)

// pay has a buyer pay, and loses the first notice.
func (r *run) pay(ctx context.Context) error {
	r.Inbox.loses.Store(true)
	paid := make(chan error, 1)
	go func() { paid <- r.Pay(ctx, r.checkout) }() // its page may be answered only once the service took the notice
	waiting, cancel := context.WithTimeout(ctx, r.Wait)
	defer cancel()
	for {
		select {
		case err := <-paid:
			if err != nil {
				return err
			}
		case n := <-r.Inbox.lost:
			return r.checkPaid(n)
		case err := <-r.Inbox.refused:
			return err
		case <-waiting.Done():
			return errors.New("no notice came: does the provider send them to the -listen address?")
		}
	}
}

func (r *run) checkPaid(n noted) error {
	switch {
	case n.Kind != payment.NoticePaid:
		return fmt.Errorf("the first notice is not about money that was paid, but of kind %d", n.Kind)
	case n.PaymentID != r.second.ID:
		return fmt.Errorf("the notice is about %q, not %q", n.PaymentID, r.second.ID)
	case n.Amount != r.Amount:
		return fmt.Errorf("the notice says %d, not %d", n.Amount, r.Amount)
	}
	if n.Reference != "" {
		r.second.Reference = n.Reference
	}
	r.noticeIDs = append(r.noticeIDs, n.id)
	return nil
}

// notedAgain waits for the notice that was lost.
func (r *run) notedAgain(ctx context.Context) error {
	const most = time.Minute
	ctx, cancel := context.WithTimeout(ctx, min(r.Wait, most))
	defer cancel()
	for {
		select {
		case n := <-r.Inbox.taken:
			if n.Kind == payment.NoticePaid {
				return r.checkPaid(n)
			}
		case err := <-r.Inbox.refused:
			return err
		case <-ctx.Done():
			return errors.New("it was not sent again: a service that restarts at that moment never learns of the money")
		}
	}
}

// payCancelled tries to pay a payment that was cancelled.
func (r *run) payCancelled(ctx context.Context) error {
	return r.takesNone(ctx, r.first.ID, r.cancelled)
}

// payOverdue tries to pay a payment after its time.
func (r *run) payOverdue(ctx context.Context) error {
	const within = time.Second
	b := r.beginning()
	b.PayBefore = time.Now().Add(within)
	to, err := r.Provider.Begin(ctx, b)
	if err != nil {
		return err
	}
	select {
	case <-time.After(within):
	case <-ctx.Done():
		return ctx.Err()
	}
	return r.takesNone(ctx, b.ID, to)
}

// takesNone pays, and returns an error if a notice soon says that the money is there.
func (r *run) takesNone(ctx context.Context, id string, to service.Checkout) error {
	const patience, part = 2 * time.Second, 4
	n, err := r.pressed(ctx, id, to, min(patience, r.Wait/part))
	if err == nil && n.PaymentID != "" {
		err = errors.New("it took the money: the service sends it back, or the buyer gets a unit that they gave up")
	}
	return err
}

// pressed pays, and returns the notice that the money is there; an empty one if none comes in time.
func (r *run) pressed(
	ctx context.Context, id string, to service.Checkout, within time.Duration,
) (noted, error) {
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	paid := make(chan error, 1)
	go func() { paid <- r.Pay(ctx, to) }()
	for {
		select {
		case n := <-r.Inbox.taken:
			if n.Kind == payment.NoticePaid && n.PaymentID == id {
				return n, nil
			}
		case err := <-r.Inbox.refused:
			return noted{}, err
		case err := <-paid:
			if err != nil { // the page is gone, and takes no money
				return noted{}, nil
			}
		case <-waiting.Done():
			return noted{}, ctx.Err()
		}
	}
}

func (r *run) found(context.Context) error {
	if r.second.Reference == "" {
		return errors.New("neither the answer to payment.begin nor the notice has one")
	}
	return nil
}

// another pays once more, to compare the notices.
func (r *run) another(ctx context.Context) error {
	b := r.beginning()
	to, err := r.Provider.Begin(ctx, b)
	if err != nil {
		return err
	}
	n, err := r.pressed(ctx, b.ID, to, r.Wait)
	switch {
	case err != nil:
		return err
	case n.PaymentID == "":
		return errors.New("no notice came for another payment")
	case slices.Contains(r.noticeIDs, n.id):
		return fmt.Errorf("two notices have the webhook-id %q", n.id)
	case len(slices.Compact(r.noticeIDs)) > 1:
		return fmt.Errorf("a notice that came again has another webhook-id: %q", r.noticeIDs)
	}
	return nil
}

// refund returns the next refund of so much.
func (r *run) refund(cents int64) payment.Refund {
	r.parts++
	return payment.Refund{
		ID: fmt.Sprintf("%s-%d", r.second.ID, r.parts), PaymentID: r.second.ID, Amount: cents, Why: "a try",
	}
}

// third is a part that no provider takes for all.
func (r *run) third() int64 { return r.Amount * 3 / 10 } //nolint:mnd // three tenths

func (r *run) refundUnpaid(ctx context.Context) error {
	unpaid := r.beginning()
	if _, err := r.Provider.Begin(ctx, unpaid); err != nil {
		return err
	}
	of := payment.Refund{ID: unpaid.ID, PaymentID: unpaid.ID, Amount: r.Amount}
	return r.declined(r.Provider.Refund(ctx, unpaid.Payment, of))
}

func (r *run) tooMuch(ctx context.Context) error {
	return r.declined(r.Provider.Refund(ctx, r.second.Payment, r.refund(1)))
}

// declined returns an error for a refund that was taken.
func (*run) declined(o payment.Outcome, err error) error {
	if err == nil {
		return fmt.Errorf("it says %s: money would go back that never came in", o.State)
	}
	return nil
}

func (r *run) part(ctx context.Context) error {
	of := r.refund(r.third())
	first, err := r.Provider.Refund(ctx, r.second.Payment, of)
	if err != nil {
		return err
	}
	again, err := r.Provider.Refund(ctx, r.second.Payment, of)
	if err == nil && again.Reference != first.Reference {
		err = fmt.Errorf("it is another refund: its reference was %q and is %q", first.Reference, again.Reference)
	}
	return err
}

func (r *run) partAtOnce(ctx context.Context) error {
	of := r.refund(r.third())
	all, err := atOnce(func() (string, error) {
		o, err := r.Provider.Refund(ctx, r.second.Payment, of)
		return o.Reference, err
	})
	for _, reference := range all {
		if err == nil && reference != all[0] {
			err = fmt.Errorf("there are two refunds: %q and %q", all[0], reference)
		}
	}
	return err
}

func (r *run) read(ctx context.Context) error {
	of := payment.Refund{
		ID: fmt.Sprintf("%s-%d", r.second.ID, r.parts), PaymentID: r.second.ID, Amount: r.third(),
		State: payment.RefundPending,
	}
	o, err := r.Provider.ReadRefund(ctx, r.second.Payment, of)
	if err == nil && o.State == payment.RefundFailed {
		err = fmt.Errorf("a refund that it has taken has failed: %q", o.Reason)
	}
	return err
}

// rest sends all that is left, with the id that the service uses for it. If a part had gone back twice, not so much
// would be left.
func (r *run) rest(ctx context.Context) error {
	of := payment.Refund{ID: r.second.ID, PaymentID: r.second.ID, Amount: r.Amount - 2*r.third()}
	_, err := r.Provider.Refund(ctx, r.second.Payment, of)
	if err != nil {
		return fmt.Errorf("not so much is left, so a part went back twice, or it refuses: %w", err)
	}
	return nil
}
