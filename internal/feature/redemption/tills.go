package redemption

import (
	"cmp"
	"context"
	"errors"
	"sync"
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
	// for each command that changes something. The outcome has ErrNotFound for a code that no order has. Error:
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

// Tills executes tills' commands. Commands that come while transactions are under way share the next one.
type Tills struct {
	ledger   Coupons
	keys     *Keyring
	batcher  *batch.Batcher[Command, Outcome]
	wrong    wrongCodes
	notifier order.StatusNotifier
	metrics  *Metrics
	newID    func() string
	now      func() time.Time
}

// NewTills returns a Tills. newID makes ids of reservations that nobody can guess; now is the clock of the limit for
// wrong codes.
func NewTills(
	ledger Coupons, notifier order.StatusNotifier, metrics *Metrics, newID func() string, now func() time.Time,
) *Tills {
	t := &Tills{
		ledger: ledger, keys: NewKeyring(ledger.CouponKeys, now), notifier: notifier, metrics: metrics, newID: newID,
		now: now,
	}
	t.batcher = batch.New(batch.Options{Size: callSize, Calls: calls, MaxWait: callWait}, t.call)
	return t
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

// Do executes the command with the code as it was typed or scanned. Errors: ErrMalformed, ErrWrongCodes, those of
// Coupon.Do, and order.ErrUnavailable, after which repeating the command with the same key shows whether it was done.
func (t *Tills) Do(ctx context.Context, cmd Command, text string) (Outcome, error) {
	outcome, err := t.do(ctx, cmd, text)
	t.metrics.Redemption(cmd.Verb, err)
	return outcome, err
}

func (t *Tills) do(ctx context.Context, cmd Command, text string) (outcome Outcome, err error) {
	if cmd.Code, err = Parse(text); err != nil {
		return outcome, err
	}
	if cmd.Verb == Reserve {
		cmd.Reservation = cmp.Or(cmd.Reservation, t.newID())
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

const (
	wrongBurst = 10               // wrong codes that a till may send at once
	wrongEvery = 10 * time.Second // after this time a till may send one more
	wrongTills = 10_000           // tills in a generation at most; more than any service should have
)

// wrongCodes limits how many wrong codes a till may send: each till has a token bucket, stored as the time at which it
// is full again (the generic cell rate algorithm). A till with a full bucket needs no entry.
//
// Tills are kept in two generations. When the younger is as old as an empty bucket takes to fill, or has wrongTills, it
// becomes the older one, and the older one is dropped: its tills have full buckets, unless there were too many tills.
type wrongCodes struct {
	mu      sync.Mutex
	began   time.Time // when the younger generation began
	younger map[int64]time.Time
	older   map[int64]time.Time
}

// wait returns how long the till has to wait before it may ask; 0: not at all.
func (w *wrongCodes) wait(till int64, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	free := w.full(till).Add(-(wrongBurst - 1) * wrongEvery) // from this time on the bucket has a token
	if !free.After(now) {
		return 0
	}
	return free.Sub(now)
}

// count counts a wrong code of the till.
func (w *wrongCodes) count(till int64, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	full := w.full(till)
	if full.Before(now) {
		full = now
	}
	if len(w.younger) >= wrongTills || now.Sub(w.began) >= wrongBurst*wrongEvery {
		w.older, w.younger, w.began = w.younger, make(map[int64]time.Time), now
	}
	w.younger[till] = full.Add(wrongEvery)
}

// full returns the time at which the till's bucket is full; the zero time: it is full. The caller holds the lock.
func (w *wrongCodes) full(till int64) time.Time {
	if full, known := w.younger[till]; known {
		return full
	}
	return w.older[till]
}
