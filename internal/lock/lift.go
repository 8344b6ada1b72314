package lock

import (
	"context"
	_ "embed"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed mutex_lift.lua
	mutexLiftLua string
	//go:embed reentrant_lift.lua
	reentrantLiftLua string
)

var (
	mutexLift     = redis.NewScript(mutexTokenLua + mutexLiftLua)
	reentrantLift = redis.NewScript(clockLua + tokenLua + holdsLua + reentrantLiftLua)
)

// lifter is a protocol that can raise the token of a claim that holds: 1, or 0 when it does not hold. It is safe to
// repeat.
type lifter interface {
	lift(c claim, token int64) call
}

func (m mutex) lift(c claim, token int64) call {
	return call{
		mutexLift, []string{m.keys.lock, m.keys.counter}, []any{c.request, strconv.FormatInt(token, 10)},
	}
}

func (r reentrant) lift(c claim, token int64) call {
	return call{
		reentrantLift,
		[]string{r.keys.lock, r.keys.counter},
		[]any{string(c.owner), strconv.FormatInt(token, 10), c.request},
	}
}

// lift gives all that were obtained the highest of their tokens, and drops those that do not say that they have it. Two
// majorities have a member in common, and that one hands out a higher token the next time; the highest of a majority's
// tokens alone could be lower, where servers' clocks differ. (It is how a register is written to a majority: Attiya,
// Bar-Noy and Dolev, "Sharing memory robustly in message-passing systems", 1995.)
func (r *round) lift(ctx context.Context) {
	var highest int64
	for _, a := range r.got {
		highest = max(highest, a.hold.token)
	}
	var mu sync.Mutex
	var lifted []reply
	var tries sync.WaitGroup
	for _, a := range r.got {
		tries.Go(func() {
			err := a.hold.lift(ctx, highest)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				r.errs = append(r.errs, err)
				return
			}
			lifted = append(lifted, a)
		})
	}
	tries.Wait()
	r.got = lifted
}

// lift raises the hold's token, also when ctx is over: what was obtained is kept rather than given back. When it is not
// known whether that was done the hold is given up, under its name alone.
func (h *Hold) lift(ctx context.Context, token int64) error {
	p, ok := h.lock.protocol.(lifter)
	if !ok || h.token >= token {
		return nil
	}
	ctx = limit(context.WithoutCancel(ctx), patience)
	held, err := p.lift(h.claim, token).run(ctx, h.lock.locker.client).Int()
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
	return h.lock.wrap("lift", err)
}
