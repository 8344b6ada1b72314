package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	minBackOff = 20 * time.Millisecond
	// MaxBackOff is the longest time between two tries after a fault of the infrastructure.
	MaxBackOff = 2 * time.Second
)

// WithGrace returns a context that ends the given time after ctx does, so that work under way can be finished.
func WithGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// NewBackOff returns the exponential back-off of the service's retries: from 20 ms to MaxBackOff. It never gives up.
func NewBackOff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = minBackOff, MaxBackOff
	return b
}

// Sleep waits for the given time, or until ctx ends.
func Sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
