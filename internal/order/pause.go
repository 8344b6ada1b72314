package order

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	firstPause = 20 * time.Millisecond // before the first repetition after the infrastructure's fault
	longPause  = 2 * time.Second       // between repetitions at most
)

// outlive returns a context that ends a while after ctx does, so that what was begun can be finished.
func outlive(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(while)
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

func newPause() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = firstPause, longPause
	return b
}

// rest sleeps, or until ctx ends.
func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
