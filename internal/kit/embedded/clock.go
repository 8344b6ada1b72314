package embedded

import (
	"context"
	"time"
)

// tick is how often the in-process Redis expires keys. Because time before a key was set counts as well, a key may
// expire up to one tick early, but never late while Run runs. Each tick scans all keys; there are few.
const tick = 100 * time.Millisecond

// Run expires keys of the in-process Redis, which does not do that by itself, until the context ends. It returns nil.
//
// The in-process Redis's clock (TIME, entry ids) is the system's and needs no help.
func (h *Home) Run(ctx context.Context) error {
	t := time.NewTicker(tick)
	defer t.Stop()
	expire(ctx, time.Now(), t.C, h.redis.FastForward)
	return nil
}

// expire calls forward with the time between two ticks. It uses the timestamps of the ticks, so that a late or lost
// tick delays expiry only until the next one.
func expire(ctx context.Context, last time.Time, ticks <-chan time.Time, forward func(time.Duration)) {
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticks:
			if elapsed := now.Sub(last); elapsed > 0 {
				forward(elapsed)
				last = now
			}
		}
	}
}
