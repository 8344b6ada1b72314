package embedded

import (
	"context"
	"time"
)

// tick is how often keys of the in-process Redis expire. A key may expire as much as one tick early, because the time
// before it was set counts too; never late, as long as Run runs. Each tick walks all keys, of which there are few.
const tick = 100 * time.Millisecond

// Run expires keys of the in-process Redis, which does not do it by itself, until the context ends. It returns nil.
//
// The clock of the in-process Redis (TIME, entry ids) needs nothing: it is the system's.
func (h *Home) Run(ctx context.Context) error {
	t := time.NewTicker(tick)
	defer t.Stop()
	expire(ctx, time.Now(), t.C, h.redis.FastForward)
	return nil
}

// expire calls forward with the time between one tick and the next. It uses the ticks' own times, so that a late or
// lost tick delays expiry only until the following one.
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
