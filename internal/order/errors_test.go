package order

import (
	"errors"
	"fmt"
	"testing"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order/payment"
)

// An answer of a store stays what it is; other errors say that nothing was done, or that this is not known.
func TestOrUnavailable(t *testing.T) {
	t.Parallel()
	for _, answer := range []error{
		nil, ErrNotFound, ErrUnavailable, ErrUnknownChange, idempotency.ErrReused, idempotency.ErrGone,
		&StateError{}, &LimitError{}, &NotNowError{Why: errors.New("why")}, &payment.StateError{},
		&idempotency.RepeatedError{},
	} {
		err := answer
		if answer != nil {
			err = fmt.Errorf("changing: %w", answer)
		}
		got := OrUnavailable(err)
		if !errors.Is(got, err) || !errors.Is(answer, ErrUnavailable) && errors.Is(got, ErrUnavailable) {
			t.Errorf("%v became %v", err, got)
		}
		got = OrUnknown(err)
		if !errors.Is(got, err) || !errors.Is(answer, ErrUnknownChange) && errors.Is(got, ErrUnknownChange) {
			t.Errorf("%v became %v", err, got)
		}
	}
	lost := errors.New("connection reset")
	if err := OrUnavailable(lost); !errors.Is(err, ErrUnavailable) || !errors.Is(err, lost) {
		t.Error(err)
	}
	if err := OrUnknown(lost); !errors.Is(err, ErrUnknownChange) || errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}
