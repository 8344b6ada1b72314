package lock

import (
	"context"
	"sync"
)

// raise gives all that were obtained the highest of their tokens, and drops those that do not say that they have it. Two
// majorities have a member in common, and that one hands out a higher token the next time; the highest of a majority's
// tokens alone could be lower, where servers' clocks differ. (It is how a register is written to a majority: Attiya,
// Bar-Noy and Dolev, "Sharing memory robustly in message-passing systems", 1995.)
func (r *round) raise(ctx context.Context) {
	var highest int64
	for _, a := range r.got {
		highest = max(highest, a.hold.token)
	}
	var mu sync.Mutex
	var raised []reply
	var tries sync.WaitGroup
	for _, a := range r.got {
		tries.Go(func() {
			err := a.hold.raise(ctx, highest)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				r.errs = append(r.errs, err)
				return
			}
			raised = append(raised, a)
		})
	}
	tries.Wait()
	r.got = raised
}

// raise raises the hold's token, also when ctx is over: what was obtained is kept rather than given back. When it is not
// known whether that was done the hold is given up, under its name alone.
func (h *Hold) raise(ctx context.Context, token int64) error {
	if h.parts != nil || h.token >= token {
		return nil
	}
	ctx = limit(context.WithoutCancel(ctx), patience)
	held, err := h.lock.protocol.raise(h.claim, token).run(ctx, h.lock.locker.client).Int()
	if err == nil && held == 1 {
		h.token = token
		h.lock.locker.sawToken(token)
		return nil
	}
	if err == nil {
		err = ErrLost
	}
	h.end(err, true)
	go h.lock.giveUp(ctx, h.claim)
	return h.lock.wrap("raise token", err)
}
