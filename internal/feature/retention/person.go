package retention

import (
	"context"
	"fmt"
	"time"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/retry"
	"seckill/internal/order"
)

// OwedError is the error if somebody cannot be forgotten yet.
type OwedError struct{ Owed Debts }

func (e *OwedError) Error() string { return fmt.Sprintf("not yet: %s", e.Owed) }

// Forgotten says what of somebody was rewritten or deleted.
type Forgotten struct {
	Orders int64 `json:"orders"`
	Places int64 `json:"places"` // on waiting lists
}

// Forgetting makes a person's rows those of nobody: the ledger. Every function may return order.ErrUnavailable.
type Forgetting interface {
	// BeginForgetting makes the person's tokens void, deletes their account, and returns the pseudonym of their rows;
	// the same one if forgetting has begun before. Error: *OwedError; then nothing was changed.
	BeginForgetting(ctx context.Context, user int64, by Trail) (pseudonym int64, err error)
	// Rewrite gives up to n orders, and as many places, to the pseudonym. done: none was left. Error: *OwedError if the
	// person has bought something since forgetting began; then none of these was rewritten.
	Rewrite(ctx context.Context, user, pseudonym int64, n int) (f Forgotten, done bool, err error)
	// EndForgetting rewrites what belongs to no order, and forgets whose pseudonym it is. done is false, and nothing
	// was changed, if an order or a place of the person's was recorded since the last Rewrite.
	EndForgetting(ctx context.Context, user, pseudonym int64) (done bool, err error)
}

// rewriteBatch is how many orders of a person one transaction rewrites.
const rewriteBatch = 100

// Forget makes a person's rows those of nobody. One that was interrupted is continued by calling it again. recorded
// waits until no instance takes the person's tokens, and until what they have bought before has its rows. Errors:
// *OwedError, order.ErrUnavailable, order.ErrUnknownChange.
func Forget(
	ctx context.Context, ledger Forgetting, user int64, by Trail, recorded func(context.Context) error,
) (all Forgotten, err error) {
	ctx = bulkhead.With(ctx, bulkhead.Background)
	pseudonym, err := ledger.BeginForgetting(ctx, user, by)
	if err != nil {
		return all, err
	}
	if err := recorded(ctx); err != nil {
		return all, err
	}
	for ended := false; !ended; {
		for done := false; !done; {
			var f Forgotten
			if f, done, err = ledger.Rewrite(ctx, user, pseudonym, rewriteBatch); err != nil {
				return all, err
			}
			all.Orders, all.Places = all.Orders+f.Orders, all.Places+f.Places
		}
		if ended, err = ledger.EndForgetting(ctx, user, pseudonym); err != nil {
			return all, err
		}
	}
	return all, nil
}

const (
	voidKnown    = 3 * time.Second  // instances read each second whose tokens are void
	recordedLast = 15 * time.Second // how long orders may wait for their rows
	recordedPoll = 100 * time.Millisecond
)

// recorded waits until all instances know whose tokens are void, and until what they have accepted by then has its
// rows. oldest returns how long the oldest order has waited for its row; it is nil where Redis is not open. Error:
// order.ErrUnavailable.
func recorded(ctx context.Context, oldest func(context.Context) (time.Duration, error)) error {
	retry.Sleep(ctx, voidKnown)
	if oldest == nil {
		return ctx.Err()
	}
	for start := time.Now(); ; retry.Sleep(ctx, recordedPoll) {
		since := time.Since(start)
		waits, err := oldest(ctx)
		switch {
		case err != nil:
			return err
		case waits <= since:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case since > recordedLast:
			return fmt.Errorf("%w: orders have waited %s for their rows", order.ErrUnavailable, waits)
		}
	}
}
