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
	// promptTime is how long an answer is waited for at first, where the caller may leave or others share the
	// request. When it does not come it takes the call's connection along, so then those that follow have the time of
	// a call, for slowTime.
	promptTime = 50 * time.Millisecond
	slowTime   = 10 * time.Second
	// How many requests are under way at once before calls share the next one. Two: while Redis works on one, the
	// answers of the other are read. More while answers are slow, so that nobody waits behind one that does not come.
	promptSends, patientSends = 2, 8
	// mostShared is how many calls share a request at most: Redis serves it to its end before anybody else's.
	mostShared = 64
)

// sends are calls of one process that are made at the same time, and share one write, one read, and one turn of Redis's
// loop. A caller leaves when their context is over; what was sent goes on for the others, and may be done.
type sends = batch.Batcher[call, *redis.Cmd]

// newSends returns sends that are answered within the time, or not at all. With inline ones a call is sent at once by
// its caller, where nobody else asks: they are not ready to leave, which costs less.
func (l *Locker) newSends(within time.Duration, calls int, inline bool) *sends {
	options := batch.Options{Size: mostShared, Calls: calls, Inline: inline, FailWaiting: true}
	return batch.New(options, func(ctx context.Context, items []*batch.Item[call, *redis.Cmd]) error {
		if _, limited := ctx.Deadline(); !limited {
			ctx = limit(ctx, within) // who is not answered by then asks again
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
			return err // those that wait to be sent are sent again, by themselves
		}
		return nil
	})
}

// run runs a script, together with those of others that come at the same time: also when answers take their time, as
// thousands that ask one by one would take longer still. Its caller leaves after the time, whatever becomes of the
// others.
//
//nolint:contextcheck // limited's is the same, without a deadline
func (l *Locker) run(ctx context.Context, within time.Duration, c call) *redis.Cmd {
	sends := l.slot(c.keys).patient
	if l.obeys && time.Now().UnixNano() >= l.slow.Load() {
		sends = l.prompt
		within = min(within, releaseTimeout/2) // a release that waits behind it has time left to be sent by itself
		if ctx.Done() != nil {                 // its caller may leave sooner
			within = promptTime
		}
		ctx = limit(ctx, within)
	} else {
		if l, ok := ctx.(limited); ok {
			ctx = l.Context // whose deadline has a timer, if it has one
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

// failed is the answer of a call that went wrong before it was answered.
func failed(ctx context.Context, err error) *redis.Cmd {
	answer := redis.NewCmd(ctx)
	answer.SetErr(err)
	return answer
}

// slot is what calls have in common that ask for locks of one slot, which one server has: so that one that says nothing
// holds up its own locks only. (A request to more than one is answered when all of them have answered.)
type slot struct {
	patient *sends       // while answers are slow
	left    atomic.Int64 // calls that go on though nobody waits for them

	probing sync.Mutex
	probed  time.Time // when the idle connections were looked at last; guarded by probing
}

// slot returns the slot of a lock's keys. A client of one server has one for all.
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

// retry does something that asks Redis for the keys, and once more, patiently, if it was not answered; then it is
// told that it may have been done. What was not sent because the request before had failed does not count, once.
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
			l.dropHalfOpen(keys) //nolint:contextcheck // it is soon over, and others profit from it
		}
		l.slow.Store(time.Now().Add(slowTime).UnixNano()) // last: who comes before has no patience either
	}
	return err
}
