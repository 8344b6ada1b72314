// Package periodic runs work every so often.
package periodic

import (
	"context"
	"time"
)

// Every calls f once in each interval, the first time after one interval, until ctx ends. Calls never overlap: one
// that takes longer than the interval delays the next, and ticks that it has missed are dropped. It always returns
// nil, as the Run of a service does; f reports its own failures.
func Every(ctx context.Context, interval time.Duration, f func(ctx context.Context)) error {
	return EveryOr(ctx, interval, nil, f)
}

// EveryOr is Every that also calls f when wake has something. A nil wake never has.
func EveryOr(ctx context.Context, interval time.Duration, wake <-chan struct{}, f func(ctx context.Context)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-ticker.C:
		}
		f(ctx)
	}
}
