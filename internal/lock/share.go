package lock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/batch"
)

const (
	// promptTime is how long to wait for an answer at first, if the caller may leave or others share the request. A
	// request without an answer costs its connection, so the calls of the next slowTime are given their full time.
	promptTime = 50 * time.Millisecond
	slowTime   = 10 * time.Second
	// How many requests may be under way before further calls share the next one. It is two, so that the answers of one
	// are read while Redis works on the other, and more while Redis is slow, so that one lost answer blocks nobody.
	promptSends, patientSends = 2, 8
	// mostShared is how many calls share a request at most: Redis serves nobody else until it has finished one.
	mostShared = 64
)

// sends batches the concurrent calls of a process, so that they share one write, one read and one turn of Redis's event
// loop. A caller leaves when its context ends; the request goes on for the others, and may take effect.
type sends = batch.Batcher[call, *redis.Cmd]

// newSends returns sends whose requests take at most within. With inline, a call that finds no other under way is sent
// by its own goroutine. That is cheaper, but such a caller cannot leave early.
func (l *Locker) newSends(within time.Duration, calls int, inline bool) *sends {
	options := batch.Options{Size: mostShared, Calls: calls, Inline: inline, FailWaiting: true}
	return batch.New(options, func(ctx context.Context, items []*batch.Item[call, *redis.Cmd]) error {
		if _, limited := ctx.Deadline(); !limited {
			ctx = limit(ctx, within) // callers without an answer by then ask again
		}
		if len(items) == 1 {
			items[0].Answer = items[0].Request.run(ctx, l.client)
		} else {
			calls := make([]call, len(items))
			for i, it := range items {
				calls[i] = it.Request
			}
			runAll(ctx, l.client, calls, func(i int, answer *redis.Cmd) { items[i].Answer = answer })
		}
		if err := items[len(items)-1].Answer.Err(); uncertain(err) {
			return err // fails the calls still queued; each is then sent alone
		}
		return nil
	})
}

// run runs a script, batched with concurrent calls. Batching matters even more while Redis is slow, when thousands of
// single calls would take longer still. The caller leaves after within, whatever happens to the others.
//
//nolint:contextcheck // limited's is the same, without a deadline
func (l *Locker) run(ctx context.Context, within time.Duration, c call) *redis.Cmd {
	sends := l.slot(c.keys).patient
	if l.obeys && time.Now().UnixNano() >= l.slow.Load() {
		sends = l.prompt
		within = min(within, releaseTimeout/2) // leaves a release queued behind it time to be sent alone
		if ctx.Done() != nil {                 // the caller may leave early
			within = promptTime
		}
		ctx = limit(ctx, within)
	} else {
		if l, ok := ctx.(limited); ok {
			ctx = l.Context // the parent, whose deadline has a timer
		}
		own, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		ctx = own
	}
	answer, err := sends.Do(ctx, c)
	if answer == nil {
		return failed(ctx, err)
	}
	return answer // with its own error
}

// failed returns the answer of a call that failed before it got one.
func failed(ctx context.Context, err error) *redis.Cmd {
	answer := redis.NewCmd(ctx)
	answer.SetErr(err)
	return answer
}

// slot is the state shared by all calls to one slot of a cluster, which is on one server. So a silent server delays
// only its own locks: a request to several servers would be answered only once all had answered.
type slot struct {
	patient *sends       // while answers are slow
	left    atomic.Int64 // abandoned calls (leave.go)

	probing sync.Mutex
	probed  time.Time // when the idle connections were last probed; guarded by probing
}

// slot returns the slot of a lock's keys. If there is only one server, all locks share one slot.
func (l *Locker) slot(keys []string) *slot {
	name := ""
	if l.several {
		name = keys[1]
	}
	s, ok := l.slots.Load(name)
	if !ok {
		s, _ = l.slots.LoadOrStore(name, &slot{patient: l.newSends(askTimeout, patientSends, false)})
	}
	return s.(*slot) //nolint:forcetypeassert // nothing else is stored
}

// retry calls do, which sends a request about the keys. If the request is not answered, retry calls do again, with a
// longer timeout; again tells do that the first request may have taken effect. One failure with ErrNotSent, because the
// request before it failed, does not count as a try.
func (l *Locker) retry(ctx context.Context, keys []string, do func(again bool) error) (err error) {
	again := false
	for range 3 {
		err = do(again)
		lost := uncertain(err)
		if again && lost || !lost && !errors.Is(err, batch.ErrNotSent) || over(ctx) != nil {
			return err
		}
		again = again || lost
		if timedOut(err) {
			l.dropHalfOpen(keys) //nolint:contextcheck // short, and others profit from it
		}
		l.slow.Store(time.Now().Add(slowTime).UnixNano()) // last, so that calls during the probe still fail fast
	}
	return err
}
