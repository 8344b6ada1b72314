package lock

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// kind is a kind of lock: the scripts that it is made of. All kinds' scripts take the same keys and arguments and
// answer in the same way, so that attempts, waiting, renewal and release are written once. Each is safe to repeat
// with the same claim; package lua says what they do.
type kind struct {
	name string
	// owned: the owner is the caller's, and may have the lock already. Else every call has an owner of its own.
	owned bool
	// acquire answers with the claim's token, as text; or {0, ms, x} when it must wait, at most so long before it
	// asks again (-1: unknown), where x is 1 if places in a queue were lost, or the owner who has the lock, if there
	// is no queue in Redis; or {-1, 0} when the claim was given up already; or {-2, 0} when it would wait for its own
	// owner.
	acquire *redis.Script
	// The others answer 1, or 0 for a claim that does not hold the lock, and force 0 for a lock that is free. A
	// release that names the next one is handOn, and answers with their token, as text, when they have the lock; nil
	// for a kind that cannot.
	release, handOn, renew, force *redis.Script
	state                         *redis.Script // {token, "request label owner", ms, ...}, statePage holds at most
	stay                          *redis.Script // keeps places in the queue; nil for a kind without one in Redis
}

// statePage is how many holds one script says at most.
const statePage = 500

// claim is one call of TryLock or Lock, and the hold that it becomes.
type claim struct {
	owner   Owner
	request string // random UUID; the owner's where each call has an owner of its own
	lease   time.Duration
	// listens: its caller hears of what is published, and waits for it when it is refused.
	listens bool
	// latched: what it asks may reach Redis more than once, in any order, so that its end has to be remembered by name.
	latched bool
	// unsure: an acquire of it was not answered, and may take the lock yet, also after a later one was refused.
	// Unless it obtains the lock it has to be given up.
	unsure bool
}

// ending is what a release says besides the claim.
type ending struct {
	token   int64  // that the claim was given, 0 when it is not known to hold
	again   bool   // this was asked before, and may have been done
	publish string // by a mutex: othersTurn, or "", which tells those who are known to listen
	next    *claim // who is to have the lock, nil for nobody
}

// latchTime is how long it is remembered at least that a request was released or given up: longer than it is repeated,
// or stuck in the network.
const latchTime = 15 * time.Second

// held is how scripts know a hold.
func (l *Lock) held(c claim) string {
	if !l.kind.owned {
		return c.request
	}
	return c.request + " " + l.locker.label + " " + string(c.owner)
}

// place is what a claim has in the queue while it waits.
func (l *Lock) place(c claim) string { return l.locker.id + " " + c.request + " " + string(c.owner) }

// signature says whose a mutex is, and for how long: other processes see by it that a time to live is longer.
func (l *Lock) signature(c claim) string {
	return " " + l.locker.label + " " + strconv.FormatInt(c.lease.Milliseconds(), 10)
}

// callAcquire takes the lock for the claim.
func (l *Lock) callAcquire(c claim) call {
	listens := int64(0)
	if c.listens {
		listens = placeTime.Milliseconds()
	}
	names, ms, floor := l.keys.of(c.request), c.lease.Milliseconds(), l.locker.highest.Load()
	if !l.kind.owned {
		return call{l.kind.acquire, names, []any{c.request, ms, floor, l.signature(c), listens}}
	}
	args := []any{string(c.owner), ms, floor, l.held(c), listens}
	if l.kind.stay != nil {
		args = append(args, l.place(c), l.key)
	}
	return call{l.kind.acquire, names, args}
}

// callRenew gives the claim a whole lease again, or with a lease of 0 only looks.
func (l *Lock) callRenew(c claim, lease time.Duration) call {
	return call{l.kind.renew, l.keys.all, []any{lease.Milliseconds(), l.held(c)}}
}

// callRaise raises the token of a claim that holds.
func (l *Lock) callRaise(c claim, token int64) call {
	return call{l.kind.renew, l.keys.all, []any{0, l.held(c), strconv.FormatInt(token, 10)}}
}

// callRelease ends the claim, which cannot acquire any more, and publishes if somebody else may now.
func (l *Lock) callRelease(c claim, e ending) call {
	if l.kind.owned {
		return call{l.kind.release, l.keys.of(c.request), []any{l.place(c), latchTime.Milliseconds(), l.key, l.held(c)}}
	}
	names, before := l.keys.all[:2], ""
	switch {
	case c.latched || e.token == 0:
		names, before = l.keys.of(c.request), "latched"
	case e.again:
		before = strconv.FormatInt(e.token, 10)
	}
	args := []any{e.publish, latchTime.Milliseconds(), l.key, c.request, before}
	if e.next == nil {
		return call{l.kind.release, names, args}
	}
	return call{
		l.kind.handOn, append(l.keys.of(c.request), l.keys.latch(e.next.request)),
		append(args, e.next.request, e.next.lease.Milliseconds(), l.locker.highest.Load(), l.signature(*e.next)),
	}
}

// callForce frees the lock, no matter who has it.
func (l *Lock) callForce() call {
	return call{l.kind.force, l.keys.all, []any{l.key, latchTime.Milliseconds()}}
}

// callState asks who has the lock, from one hold on, counted from 1.
func (l *Lock) callState(from int) call { return call{l.kind.state, l.keys.all, []any{from}} }

// callStay keeps the places of this process, of which that of the claim is to be looked at, and removes those that
// have gone.
func (l *Lock) callStay(c claim, gone []string) call {
	args := []any{l.locker.id, placeTime.Milliseconds(), l.key, l.place(c)}
	for _, g := range gone {
		args = append(args, g)
	}
	return call{l.kind.stay, l.keys.all, args}
}

// channel is where those listen who wait for the lock in this process.
func (l *Lock) channel() string {
	if l.kind.stay == nil {
		return l.key
	}
	return l.key + l.locker.id
}

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

// runAll runs scripts, those of each server in requests of their own, and those that Redis has forgotten once more
// with their text. It hands each answer on, with what went wrong in it, as soon as it is there, at the same time as
// those of other requests.
func runAll(ctx context.Context, client Client, calls []call, answered func(i int, answer *redis.Cmd)) {
	var requests sync.WaitGroup
	for _, of := range together(ctx, client, calls) {
		requests.Go(func() { runTogether(ctx, client, calls, of, answered) })
	}
	requests.Wait()
}

// runTogether is runAll for the calls with these numbers, in one request.
func runTogether(ctx context.Context, client Client, calls []call, of []int, answered func(i int, answer *redis.Cmd)) {
	answers := make([]*redis.Cmd, len(of))
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n, i := range of {
			answers[n] = calls[i].script.EvalSha(ctx, p, calls[i].keys, calls[i].args...)
		}
		return nil
	})
	if slices.ContainsFunc(answers, forgotten) {
		_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for n, i := range of {
				if forgotten(answers[n]) {
					answers[n] = calls[i].script.Eval(ctx, p, calls[i].keys, calls[i].args...)
				}
			}
			return nil
		})
	}
	for n, i := range of {
		answered(i, answers[n])
	}
}

// forgotten reports whether Redis did not know the script.
func forgotten(answer *redis.Cmd) bool { return redis.HasErrorPrefix(answer.Err(), "NOSCRIPT") }

// masters is what a cluster's client can say besides.
type masters interface {
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
}

// mostTogether is how many calls one request has at most: enough that a thousand take a few, not so many that Redis is
// busy for long.
const mostTogether = 256

// together says which calls share a request, by their numbers: those of one server. A cluster's client that has no
// answer from one forgets those of the others in the same request. If a server is not known any more its client finds
// the right one.
func together(ctx context.Context, client Client, calls []call) [][]int {
	nodes, several := client.(masters)
	index, groups := map[*redis.Client]int{}, [][]int{}
	for i, c := range calls {
		var node *redis.Client
		if several {
			node, _ = nodes.MasterForKey(ctx, c.keys[0]) // nil: those that nobody knows go together
		}
		at, known := index[node]
		if !known || len(groups[at]) == mostTogether {
			at = len(groups)
			index[node] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}
