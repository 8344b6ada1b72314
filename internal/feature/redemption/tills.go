package redemption

import (
	"context"
	"errors"
	"time"

	"seckill/internal/kit/batch"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
)

const (
	callSize    = 64              // commands in one transaction at most
	calls       = 4               // transactions under way at once, of one instance
	callTimeout = 5 * time.Second // one transaction at most
	callWait    = 5 * time.Second // a command that would wait for longer is refused at once
	// couponTimeout is how long an order's answer waits for its coupon.
	couponTimeout = 150 * time.Millisecond
)

// Coupons keeps the coupons: *Ledger. Each method is one transaction.
type Coupons interface {
	// Do executes the commands one after the other with Coupon.Do, by the ledger's clock, and writes a line of history
	// for each that changes something. The outcome is ErrNotFound for a code that no order has. It may return
	// order.ErrUnavailable.
	Do(ctx context.Context, cmds []Command) ([]Outcome, error)
	// CouponOf returns the coupon of an order, or ErrNotFound if it has none: its voucher is not redeemed by code, or
	// it was never paid. An order that was paid while no codes could be made gets its code now.
	CouponOf(ctx context.Context, o order.Order) (Coupon, error)
	// CouponKeys returns every key of codes; the first call makes one.
	CouponKeys(ctx context.Context) ([]Key, error)
	// LapseDue lapses up to n coupons whose date has passed by the ledger's clock and that nobody has reserved. It
	// returns their changed orders, and how many coupons it has looked at, which are fewer than n when no more are due.
	// When a higher token was used, it changes nothing and returns ErrSuperseded.
	LapseDue(ctx context.Context, token int64, n int) (lapsed []order.Order, seen int, err error)
}

// Observer is notified of what tills do, for metrics. Its methods must not block.
type Observer interface {
	// Redemption: a till's command was served, or refused with one of this package's errors.
	Redemption(v Verb, err error)
	// CouponsLapsed: this number of coupons lapsed in one transaction.
	CouponsLapsed(coupons int, took time.Duration)
}

// Tills executes tills' commands. Commands that come while transactions are under way share the next one.
type Tills struct {
	ledger   Coupons
	keys     *Keyring
	batcher  *batch.Batcher[Command, Outcome]
	wrong    wrongCodes
	notifier order.StatusNotifier
	observer Observer
	newID    func() string
	now      func() time.Time
}

// NewTills returns the service. newID makes ids of reservations that nobody can guess; now is the clock of the limit
// for wrong codes.
func NewTills(
	ledger Coupons, notifier order.StatusNotifier, observer Observer, newID func() string, now func() time.Time,
) *Tills {
	t := &Tills{
		ledger: ledger, keys: NewKeyring(ledger, now), notifier: notifier, observer: observer, newID: newID, now: now,
	}
	t.batcher = batch.New(batch.Options{Size: callSize, Calls: calls, MaxWait: callWait}, t.call)
	return t
}

// Validate checks whether the till could redeem the code now, and returns the coupon in the outcome. Its errors are
// those of Do.
func (t *Tills) Validate(ctx context.Context, till Till, text string) (Outcome, error) {
	return t.Do(ctx, Command{Verb: Validate, Till: till}, text)
}

// Reserve reserves the code for ReservationTime, once for each key.
func (t *Tills) Reserve(ctx context.Context, till Till, text, key string) (Outcome, error) {
	return t.Do(ctx, Command{Verb: Reserve, Till: till, Key: key, Reservation: t.newID()}, text)
}

// Redeem redeems the code, once; a repetition with the same key gets the same answer. reservation may be "" if nobody
// has reserved the code.
func (t *Tills) Redeem(ctx context.Context, till Till, text, reservation, key string) (Outcome, error) {
	return t.Do(ctx, Command{Verb: Redeem, Till: till, Key: key, Reservation: reservation}, text)
}

// Release ends a reservation. It is not an error if the reservation has already ended.
func (t *Tills) Release(ctx context.Context, till Till, text, reservation string) (Outcome, error) {
	return t.Do(ctx, Command{Verb: Release, Till: till, Reservation: reservation}, text)
}

// CouponOf returns the coupon of an order for its owner and for admins, or ErrNotFound if it has none. It returns
// order.ErrUnavailable when the ledger does not answer soon.
func (t *Tills) CouponOf(ctx context.Context, o order.Order) (Coupon, error) {
	ctx, cancel := context.WithTimeout(ctx, couponTimeout)
	defer cancel()
	coupon, err := t.ledger.CouponOf(ctx, o)
	if errors.Is(err, ErrNotFound) {
		return coupon, err
	}
	return coupon, order.OrUnavailable(err)
}

// Do executes the command with the code as it was typed or scanned. It returns ErrMalformed, ErrWrongCodes, an error of
// Coupon.Do, or order.ErrUnavailable. After the latter, repeating it with the same key shows whether it was done.
func (t *Tills) Do(ctx context.Context, cmd Command, text string) (Outcome, error) {
	outcome, err := t.do(ctx, cmd, text)
	t.observer.Redemption(cmd.Verb, err)
	return outcome, err
}

func (t *Tills) do(ctx context.Context, cmd Command, text string) (outcome Outcome, err error) {
	if cmd.Code, err = Parse(text); err != nil {
		return outcome, err
	}
	if wait := t.wrong.wait(cmd.Till.ID, t.now()); wait > 0 {
		return outcome, ErrWrongCodes
	}
	made, err := t.keys.Made(ctx, cmd.Code)
	if err != nil {
		return outcome, order.OrUnavailable(err)
	}
	if made {
		outcome, err = t.batcher.Do(ctx, cmd)
	} else {
		outcome.Err = ErrNotFound
	}
	switch {
	case err != nil:
		return outcome, order.OrUnavailable(err)
	case errors.Is(outcome.Err, ErrNotFound):
		t.wrong.count(cmd.Till.ID, t.now())
	case outcome.Err == nil && cmd.Verb == Redeem && !outcome.Repeated:
		t.notifier.Notify(map[int64]order.Status{outcome.Coupon.OrderID: order.Redeemed})
	}
	return outcome, outcome.Err
}

// call is one transaction for commands of many tills.
func (t *Tills) call(ctx context.Context, items []*batch.Item[Command, Outcome]) error {
	ctx, cancel := context.WithTimeout(bulkhead.With(ctx, bulkhead.Purchase), callTimeout)
	defer cancel()
	cmds := make([]Command, len(items))
	for i, it := range items {
		cmds[i] = it.Request
	}
	outcomes, err := t.ledger.Do(ctx, cmds)
	if err != nil {
		return err
	}
	for i, it := range items {
		it.Answer = outcomes[i]
	}
	return nil
}
