package lock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// protocol is one kind of lock on its keys: which scripts it is made of, and what they are given. All kinds answer in
// the same way, so that attempts, waiting, renewal and release are written once. Each script is safe to repeat with the
// same claim.
type protocol interface {
	// acquire takes the lock for the claim: its token, as text; or {0, ms} when it must wait, at most so long before it
	// asks again (-1: unknown), with a third number if places in a queue were lost; or {-1, 0} when the claim was given
	// up already; or {-2, 0} when it would wait for its own owner. floor is the highest token that this client has seen.
	acquire(c claim, floor int64) call
	// renew gives the claim a whole lease again, or with a lease of 0 only looks: 1, or 0 when it does not hold.
	renew(c claim, lease time.Duration) call
	// release ends the claim, which cannot acquire any more, and publishes on the channel if somebody else may now:
	// 1, or 0 when it did not hold.
	release(c claim, e ending) call
	// raise raises the token of a claim that holds: 1, or 0 when it does not hold.
	raise(c claim, token int64) call
	// channel is where a claim that waits listens, and the name of its queue there (topic).
	channel(c claim) (channel, queue string)
	inspector
}

// inspector is what a protocol has for operators.
type inspector interface {
	// force frees the lock, no matter who has it: 1, or 0 when it was free.
	force() call
	// state says who has the lock, from one hold on, counted from 1: {token, "request label owner", ms, ...}, statePage
	// holds at most.
	state(from int) call
}

// statePage is how many holds one script says at most.
const statePage = 500

// traits are what attempts have to know about a kind of lock.
type traits struct {
	// owned: the owner is the caller's, and may have the lock already. Else every call has an owner of its own.
	owned bool
}

// claim is one call of TryLock or Lock, and the hold that it becomes.
type claim struct {
	owner   Owner
	request string // random UUID; the owner's where each call has an owner of its own
	lease   time.Duration
	asks    bool // it has to ask itself, because the answer says more: nobody can hand the lock to it
	// listens: its caller hears of what is published, and waits for it when it is refused.
	listens bool
	// latched: what it asks may reach Redis more than once, in any order, so that its end has to be remembered by name.
	latched bool
	// unsure: an acquire of it was not answered, and may take the lock yet, also after a later one was refused. Unless it
	// obtains the lock it has to be given up.
	unsure bool
}

// ending is what a release says besides the claim.
type ending struct {
	token int64 // that the claim was given, 0 when it is not known to hold
	again bool  // this was asked before, and may have been done
	turn  bool  // somebody of this process waits, but others are to have their turn
}

// ms is the lease as scripts count it.
func (c claim) ms() int64 { return c.lease.Milliseconds() }

// latchTime is how long it is remembered at least that a request was released or given up: longer than it is repeated,
// or stuck in the network.
const latchTime = 15 * time.Second

// call is one run of a script.
type call struct {
	script *redis.Script
	keys   []string
	args   []any
}

// run runs the script; Redis is given its text when it does not know it.
func (c call) run(ctx context.Context, client redis.Scripter) *redis.Cmd {
	return c.script.Run(ctx, client, c.keys, c.args...)
}

// runAll runs scripts in one request, and those that Redis has forgotten once more with their text. What went wrong
// stands in each answer.
func runAll(ctx context.Context, client Client, calls []call) []*redis.Cmd {
	answers := make([]*redis.Cmd, len(calls))
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, c := range calls {
			answers[i] = c.script.EvalSha(ctx, p, c.keys, c.args...)
		}
		return nil
	})
	var forgotten []int
	for i, answer := range answers {
		if redis.HasErrorPrefix(answer.Err(), "NOSCRIPT") {
			forgotten = append(forgotten, i)
		}
	}
	if len(forgotten) == 0 {
		return answers
	}
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, i := range forgotten {
			answers[i] = calls[i].script.Eval(ctx, p, calls[i].keys, calls[i].args...)
		}
		return nil
	})
	return answers
}
