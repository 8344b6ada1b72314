package httpapi

import (
	"context"
	"errors"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
)

// whyEnded returns why the work of a stream's handler ended: what ended its context, if that was the service, else err.
func whyEnded(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, order.ErrStopping) || errors.Is(cause, httpkit.ErrStreamOver) {
		return cause
	}
	return err
}

// where it fails the connection is gone already
