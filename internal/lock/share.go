package lock

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/batch"
)

const (
	// mostSends is how many requests are under way at once before calls share the next one. Two: while Redis works on one,
	// the answers of the other are read.
	mostSends = 2
	// mostShared is how many calls share a request at most: Redis serves it to its end before anybody else's.
	mostShared = 64
)

// sends are calls of one process that are made at the same time, and share one write, one read, and one turn of Redis's
// loop.
type sends = batch.Batcher[call, *redis.Cmd]

// newSends returns sends that are answered within the time, or not at all. With prompt ones a call is sent at once by its
// caller, where nobody else asks.
func (l *Locker) newSends(within time.Duration, prompt bool) *sends {
	options := batch.Options{Size: mostShared, Calls: mostSends, Inline: prompt, FailWaiting: true}
	return batch.New(options, func(ctx context.Context, items []*batch.Item[call, *redis.Cmd]) error {
		if _, limited := ctx.Deadline(); !limited {
			ctx = limit(ctx, within) // who is not answered by then asks again
		}
		if len(items) == 1 {
			items[0].Answer = items[0].Request.run(ctx, l.client)
			return unanswered(items[0].Answer)
		}
		calls := make([]call, len(items))
		for i, it := range items {
			calls[i] = it.Request
		}
		var failed error
		for i, answer := range runAll(ctx, l.client, calls) {
			items[i].Answer = answer
			failed = unanswered(answer)
		}
		return failed
	})
}

// unanswered returns why it is not known what became of a call, nil if it is: then those that wait to be sent are sent by
// themselves.
func unanswered(answer *redis.Cmd) error {
	if err := answer.Err(); uncertain(err) {
		return err
	}
	return nil
}

// run runs a script, together with those of others that come at the same time: also when answers take their time, as
// thousands that ask one by one would take longer still. The client must end a call at its context's deadline: else one
// that is not answered would keep all others.
func (l *Locker) run(ctx context.Context, c call) *redis.Cmd {
	if !l.obeys {
		return c.run(ctx, l.client)
	}
	sends := l.patient
	if l.answers() {
		sends = l.prompt
	}
	answer, err := sends.Do(ctx, c)
	if answer == nil {
		answer = redis.NewCmd(ctx)
		answer.SetErr(err)
	}
	return answer // with its own error
}

// retry does something that asks Redis, at most so many times: once more, patiently, if it may have been done, or was not
// sent because what was sent before had failed.
func (l *Locker) retry(ctx context.Context, tries int, do func(ctx context.Context, again bool) error) (err error) {
	for try := range tries {
		err = do(ctx, try > 0)
		if !uncertain(err) && !errors.Is(err, batch.ErrNotSent) || over(ctx) != nil {
			return err
		}
		l.silent()
	}
	return err
}
