package order

import (
	"errors"
	"fmt"

	"seckill/internal/voucher"
)

// What a purchase or a question about an order can end with, besides voucher.ErrNotFound, ErrNotSeckill and
// ErrOffShelf. Adapters translate their drivers' errors into these with %w; httpapi has one table from them to answers.
var (
	// ErrNotFound: there is no such order, or it is somebody else's.
	ErrNotFound = errors.New("order not found")
	// ErrNotStarted: the sale has not begun, by Redis's clock.
	ErrNotStarted = errors.New("sale has not started")
	// ErrEnded: the sale is over, by Redis's clock.
	ErrEnded = errors.New("sale has ended")
	// ErrSoldOut: no unit was to be had at some moment of the call.
	ErrSoldOut = errors.New("sold out")
	// ErrPaused: an admin paused the sale, or it is being rebuilt. Ask again shortly.
	ErrPaused = errors.New("sale is paused")
	// ErrUnavailable: a store is away or too much is waiting; nothing was bought by this call. Ask again shortly.
	ErrUnavailable = errors.New("service unavailable")
	// ErrSeckill: the voucher is sold in its sale only, not freely.
	ErrSeckill = errors.New("voucher is sold in its sale only")
	// ErrKeyReused: the idempotency key was used before, for something else.
	ErrKeyReused = errors.New("idempotency key was used for another request")
	// ErrUnknownOutcome: whether the purchase took place is not known. Repeating the call is the definitive question.
	ErrUnknownOutcome = errors.New("outcome unknown")
)

// Errors between the domain and its stores.
var (
	// ErrConflict: the ledger holds something that contradicts a plain insert (a row that exists, too little stock,
	// another epoch). Nothing was written.
	ErrConflict = errors.New("ledger contradicts the batch")
	// ErrRejected: the ledger refuses a statement for good; repeating it cannot help. Nothing was written.
	ErrRejected = errors.New("ledger rejects the batch")
	// ErrSuperseded: a newer rebuild of the same sale has begun; this one must stop.
	ErrSuperseded = errors.New("a newer rebuild has begun")
	// ErrOutdated: operations have changed, or are about to change, what was decided about an order. Nothing was written.
	ErrOutdated = errors.New("decided before operations that matter")
)

// orUnavailable tells what a store answered from what kept it from answering: an error that is neither of this package
// nor of voucher becomes ErrUnavailable.
func orUnavailable(err error) error {
	if err == nil {
		return nil
	}
	for _, answer := range []error{
		ErrNotFound, ErrSeckill, ErrKeyReused, ErrUnavailable, ErrNoPayment, ErrWrongAmount, ErrNoLetter,
		voucher.ErrNotFound, voucher.ErrOffShelf,
	} {
		if errors.Is(err, answer) {
			return err
		}
	}
	if _, is := errors.AsType[*StateError](err); is {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// AlreadyBoughtError says that the user has a live order for this voucher, and which.
type AlreadyBoughtError struct {
	OrderID int64
	Status  Status // StatusUnknown when the ledger could not be asked
}

func (e *AlreadyBoughtError) Error() string {
	return fmt.Sprintf("already bought: order %d is %s", e.OrderID, e.Status)
}
