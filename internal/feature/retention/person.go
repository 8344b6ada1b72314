package retention

import (
	"context"
	"fmt"

	"seckill/internal/kit/bulkhead"
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
	// Rewrite gives up to n orders, and as many places, to the pseudonym. done: none was left.
	Rewrite(ctx context.Context, user, pseudonym int64, n int) (f Forgotten, done bool, err error)
	// EndForgetting rewrites what belongs to no order, and forgets whose pseudonym it is.
	EndForgetting(ctx context.Context, user, pseudonym int64) error
}

// rewriteBatch is how many orders of a person one transaction rewrites.
const rewriteBatch = 100

// Forget makes a person's rows those of nobody. One that was interrupted is continued by calling it again. Errors:
// *OwedError, order.ErrUnavailable, order.ErrUnknownChange.
func Forget(ctx context.Context, ledger Forgetting, user int64, by Trail) (all Forgotten, err error) {
	ctx = bulkhead.With(ctx, bulkhead.Background)
	pseudonym, err := ledger.BeginForgetting(ctx, user, by)
	if err != nil {
		return all, err
	}
	for done := false; !done; {
		var f Forgotten
		if f, done, err = ledger.Rewrite(ctx, user, pseudonym, rewriteBatch); err != nil {
			return all, err
		}
		all.Orders, all.Places = all.Orders+f.Orders, all.Places+f.Places
	}
	return all, ledger.EndForgetting(ctx, user, pseudonym)
}
