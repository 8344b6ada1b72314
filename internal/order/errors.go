package order

import (
	"errors"
	"fmt"

	"seckill/internal/voucher"
)

// What a purchase or a question about an order can end with, besides the refusals of admission in outcome.go,
// voucher.ErrNotFound, ErrNotSeckill and ErrOffShelf. Adapters translate their drivers' errors into these with %w;
// httpapi has one table from them to answers.
var (
	// ErrNotFound: there is no such order, or it is another user's.
	ErrNotFound = errors.New("order not found")
	// ErrUnavailable: a store is away or too much is waiting; nothing was bought by this call. Ask again shortly.
	ErrUnavailable = errors.New("service unavailable")
	// ErrSeckill: the voucher is sold in its sale only.
	ErrSeckill = errors.New("voucher is sold in its sale only")
	// ErrKeyReused: the idempotency key was used before, for something else.
	ErrKeyReused = errors.New("idempotency key was used for another request")
	// ErrUnknownOutcome: whether the purchase took place is not known. Repeating the call is the definitive question.
	ErrUnknownOutcome = errors.New("outcome unknown")
	// ErrReserved: a till has reserved the order's coupon and is about to redeem it; that ends within two minutes.
	ErrReserved = errors.New("a till has reserved the coupon")
	// ErrNoDeadLetter: there is no such dead letter; it was replayed or discarded before.
	ErrNoDeadLetter = errors.New("no such dead letter")
)

// Errors between the domain and its stores.
var (
	// ErrConflict: the ledger holds something that contradicts a plain insert (a row that exists, too little stock,
	// another epoch). Nothing was written.
	ErrConflict = errors.New("ledger contradicts the batch")
	// ErrRejected: the ledger refuses a statement for good; repeating it cannot help. Nothing was written.
	ErrRejected = errors.New("ledger rejects the batch")
	// ErrContended: the ledger ended a transaction because of another one. Nothing was written, and repeating it is
	// likely to help.
	ErrContended = errors.New("another transaction is in the way")
	// ErrSuperseded: a newer rebuild of the same sale has begun; this one must stop.
	ErrSuperseded = errors.New("a newer rebuild has begun")
	// ErrOutdated: operations have changed, or are about to change, what was decided about an order. Nothing was
	// written.
	ErrOutdated = errors.New("decided before operations that matter")
)

// LimitError says that the user has as many live orders of an ordinary voucher as its perUser allows. Nothing was
// bought.
type LimitError struct{ PerUser int64 }

func (e *LimitError) Error() string {
	return fmt.Sprintf("the user has %d of this voucher, which is the limit", e.PerUser)
}

// OrUnavailable separates what a store answered from what kept it from answering: an error that is neither of this
// package nor of voucher becomes ErrUnavailable.
func OrUnavailable(err error) error {
	if err == nil {
		return nil
	}
	for _, answer := range []error{
		ErrNotFound, ErrSeckill, ErrKeyReused, ErrUnavailable, ErrNoPayment, ErrWrongAmount, ErrNoDeadLetter,
		ErrReserved, voucher.ErrNotFound, voucher.ErrOffShelf,
	} {
		if errors.Is(err, answer) {
			return err
		}
	}
	if _, is := errors.AsType[*StateError](err); is {
		return err
	}
	if _, is := errors.AsType[*LimitError](err); is {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// ErrStopping says that the process is stopping and nobody may wait any more.
var ErrStopping = errors.New("nobody may wait any more")
