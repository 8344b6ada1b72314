// Package periodic runs a function at regular intervals.
package periodic

import (
	"context"
	"time"
)

// Every calls f at each interval, starting after the first interval, until ctx ends. Calls never overlap: a long call
// delays the next one, and missed ticks are dropped. Every always returns nil, like the Run methods of services; f
// reports its own failures.
func Every(ctx context.Context, interval time.Duration, f func(ctx context.Context)) error {
	return EveryOr(ctx, interval, nil, f)
}

// EveryOr is Every that also calls f when it receives from wake. wake may be nil.
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
