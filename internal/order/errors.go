package order

import (
	"errors"
	"fmt"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// Errors of purchases and queries for orders. They can also return the refusals of package gate, voucher.ErrNotFound,
// voucher.ErrNotSeckill and voucher.ErrOffShelf. Adapters wrap their drivers' errors in these with %w; httpapi has one
// table that maps them to answers.
var (
	// ErrNotFound: there is no such order, or it is another user's.
	ErrNotFound = errors.New("order not found")
	// ErrUnavailable: a store cannot be reached, or too many requests wait for it. This call bought nothing. Retry
	// shortly.
	ErrUnavailable = errors.New("service unavailable")
	// ErrSeckill: the voucher can be bought in its sale only.
	ErrSeckill = errors.New("voucher is sold in its sale only")
	// ErrUnknownOutcome: it is not known whether the purchase took place. Repeating the call is safe and shows it.
	ErrUnknownOutcome = errors.New("outcome unknown")
	// ErrUpgrading: an instance lives that would misread what the call would write. Nothing was written.
	ErrUpgrading = errors.New("an instance of an earlier version is alive")
	// ErrUnknownChange: the answer to a COMMIT was lost, so it is not known whether anything was changed. Nobody
	// repeats the change unasked, except under a key or another mark that the first try left.
	ErrUnknownChange = errors.New("it is not known whether this was done")
	// ErrNoDeadLetter: the dead letter does not exist, or was already replayed or discarded.
	ErrNoDeadLetter = errors.New("no such dead letter")
)

// Errors that stores return to the domain.
var (
	// ErrConflict: the ledger holds something that contradicts a plain insert (an existing row, too little stock,
	// another epoch). Nothing was written.
	ErrConflict = errors.New("ledger contradicts the batch")
	// ErrRejected: the ledger refuses a statement for good, so a retry cannot help. Nothing was written.
	ErrRejected = errors.New("ledger rejects the batch")
	// ErrContended: the database rolled the transaction back in favour of another (a deadlock, for example). Nothing
	// was written, and a retry will probably succeed.
	ErrContended = errors.New("another transaction is in the way")
	// ErrSuperseded: a newer rebuild of the same sale has begun; this one must stop.
	ErrSuperseded = errors.New("a newer rebuild has begun")
	// ErrOutdated: operations have changed, or are about to change, the order for which a decision was made. Nothing
	// was written.
	ErrOutdated = errors.New("decided before operations that matter")
)

// LimitError says that the user has as many live orders of an ordinary voucher as its perUser allows. Nothing was
// bought.
type LimitError struct{ PerUser int64 }

func (e *LimitError) Error() string {
	return fmt.Sprintf("the user has %d of this voucher, which is the limit", e.PerUser)
}

// NotNowError says that a feature forbids for now what an order's owner wants to do. Nothing was changed. Why is the
// feature's reason, which is also the answer to the owner.
type NotNowError struct{ Why error }

func (e *NotNowError) Error() string { return e.Why.Error() }

// Unwrap returns the reason.
func (e *NotNowError) Unwrap() error { return e.Why }

// OrUnavailable returns err if it is an error of this package, payment, voucher or idempotency, as those are a store's
// answers. It turns any other error into ErrUnavailable, since the store did not answer.
func OrUnavailable(err error) error {
	if err == nil || isAnswer(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// OrUnknown is OrUnavailable for a change in a store whose answer was perhaps lost: any other error becomes
// ErrUnknownChange. The store returns ErrUnavailable only if certainly nothing was changed.
func OrUnknown(err error) error {
	if err == nil || isAnswer(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnknownChange, err)
}

// isAnswer reports whether err already says what became of a request, so that nothing needs to be added to it.
func isAnswer(err error) bool {
	for _, answer := range []error{
		ErrNotFound, ErrSeckill, ErrUnavailable, ErrUpgrading, ErrNoDeadLetter,
		payment.ErrNotFound, payment.ErrNoProvider, payment.ErrWrongAmount,
		voucher.ErrNotFound, voucher.ErrOffShelf, idempotency.ErrReused, idempotency.ErrGone, ErrUnknownChange,
	} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return is[*StateError](err) || is[*LimitError](err) || is[*NotNowError](err) || is[*payment.StateError](err) ||
		is[*idempotency.RepeatedError](err)
}

func is[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// ErrStopping says that the process is stopping, so that every wait must end.
var ErrStopping = errors.New("the process is stopping")
