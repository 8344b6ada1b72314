package lock

import (
	"context"
	"errors"

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

// newSends returns what calls of one process that are made at the same time share: one write, one read, and one turn of
// Redis's loop for all of them. Where nobody else asks a call is sent at once, by its caller.
func (l *Locker) newSends() *batch.Batcher[call, *redis.Cmd] {
	options := batch.Options{Size: mostShared, Calls: mostSends, Inline: true, FailWaiting: true}
	return batch.New(options, func(ctx context.Context, items []*batch.Item[call, *redis.Cmd]) error {
		if _, limited := ctx.Deadline(); !limited {
			ctx = limit(ctx, promptTime) // who is not answered by then asks again, by itself
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

// run runs a script, together with those of others that come at the same time. The client must end a call at its context's
// deadline: else one that is not answered would keep all others.
func (l *Locker) run(ctx context.Context, c call) *redis.Cmd {
	if !l.answers() {
		return c.run(ctx, l.client)
	}
	answer, err := l.sends.Do(ctx, c)
	if answer == nil {
		answer = redis.NewCmd(ctx)
		answer.SetErr(err)
	}
	return answer // with its own error
}

// again reports whether a call that ended with err is to be made once more, by itself: it may have been done, or was not
// sent because the one before had failed.
func (l *Locker) again(err error) bool {
	again := uncertain(err) || errors.Is(err, batch.ErrNotSent)
	if again {
		l.silent()
	}
	return again
}
