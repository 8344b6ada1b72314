package lock

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// kind is a kind of lock: the scripts that implement it. The scripts of all kinds take the same keys and arguments and
// answer in the same way, so attempts, waiting, renewal and release are written once. Each script is safe to repeat
// with the same claim; package lua documents them.
type kind struct {
	name string
	// owned: the caller chooses the owner, who may hold the lock already. Otherwise every call has a new owner.
	owned bool
	// acquire answers with
	//   - the token, as text;
	//   - {0, ms, x} if the claim must wait, and ask again after ms at the latest (-1: unknown). With a queue in Redis,
	//     x is 1 if the process lost its places there; without one, x is the owner who has the lock;
	//   - {-1, 0} if the claim has ended already;
	//   - {-2, 0} if the claim would wait for its own owner.
	acquire *redis.Script
	// These answer 1, or 0 if the claim does not hold the lock; force answers 0 if the lock is free. handOn is a
	// release that names a next claim. It answers with that claim's token, as text, if the claim gets the lock. It is
	// nil for kinds that cannot hand on.
	release, handOn, renew, force *redis.Script
	state                         *redis.Script // {token, "request label owner", ms, ...}, statePage holds at most
	stay                          *redis.Script // renews places in the queue; nil for kinds without a queue in Redis
}

// statePage is how many holds one run of the state script returns at most.
const statePage = 500

// claim is one call of TryLock or Lock, and later the hold that it becomes.
type claim struct {
	owner   Owner
	request string // random UUID; equal to the owner if each call has its own
	lease   time.Duration
	// listens: the caller hears published releases, and will wait if it is refused.
	listens bool
	// latched: its requests may reach Redis twice or out of order, so Redis must remember by name that the claim ended.
	latched bool
	// unsure: one of its acquires was not answered and may still take the lock, even after a later one was refused.
	// Unless the claim obtains the lock, it has to be given up.
	unsure bool
}

// ending is what a release says in addition to the claim.
type ending struct {
	token   int64  // of the claim; 0 if it is not known to hold the lock
	again   bool   // a repetition: the first release may have been done
	publish string // a mutex's message: othersTurn; "" notifies known listeners only
	next    *claim // the claim that gets the lock next, or nil
}

// latchTime is the least time for which Redis remembers that a request has ended: longer than copies of the request can
// be retried or stuck in the network.
const latchTime = 15 * time.Second

// held returns the string that identifies a hold in scripts.
func (l *Lock) held(c claim) string {
	if !l.kind.owned {
		return c.request
	}
	return c.request + " " + l.locker.label + " " + string(c.owner)
}

// place returns the claim's entry in the queue while it waits.
func (l *Lock) place(c claim) string { return l.locker.id + " " + c.request + " " + string(c.owner) }

// signature returns the mutex's holder and lease as stored in Redis. A process that finds a longer time to live than
// that lease knows that Redis's clock was set back.
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

// callRenew renews the claim's lease. With a lease of 0 it only checks that the claim holds the lock.
func (l *Lock) callRenew(c claim, lease time.Duration) call {
	return call{l.kind.renew, l.keys.all, []any{lease.Milliseconds(), l.held(c)}}
}

// callRaise raises the token of a claim that holds the lock.
func (l *Lock) callRaise(c claim, token int64) call {
	return call{l.kind.renew, l.keys.all, []any{0, l.held(c), strconv.FormatInt(token, 10)}}
}

// callRelease ends the claim for good: it cannot acquire any more. It publishes a message if somebody else may take the
// lock.
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

// callState asks who has the lock, starting at hold number from (1 is the first).
func (l *Lock) callState(from int) call { return call{l.kind.state, l.keys.all, []any{from}} }

// callStay renews the places of this process, checks that the claim's place exists, and removes the places that are
// gone.
func (l *Lock) callStay(c claim, gone []string) call {
	args := []any{l.locker.id, placeTime.Milliseconds(), l.key, l.place(c)}
	for _, g := range gone {
		args = append(args, g)
	}
	return call{l.kind.stay, l.keys.all, args}
}

// channel returns the channel on which this process's waiters for the lock listen.
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

// run runs the script. If Redis does not know it, run sends its text.
func (c call) run(ctx context.Context, client redis.Scripter) *redis.Cmd {
	return c.script.Run(ctx, client, c.keys, c.args...)
}

// runAll runs scripts, grouped into one request per server. Scripts that Redis has forgotten are sent again with their
// text. It calls answered, concurrently for different requests, as soon as each answer or error is there.
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

// masters finds the server of a key; a cluster's client has it.
type masters interface {
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
}

// serverOf returns a client of the server that has the key; a cluster's client would send a command without a key to
// any server.
func serverOf(ctx context.Context, client Client, key string) (Client, error) {
	if nodes, several := client.(masters); several {
		return nodes.MasterForKey(ctx, key)
	}
	return client, nil
}

// mostTogether is how many calls share a request at most: a thousand calls need few requests, but no request keeps
// Redis busy for long.
const mostTogether = 256

// together groups calls by server and returns the groups as indexes into calls. If a request went to several servers of
// a cluster, one silent server would cost the answers of the others, because the client drops them all. If a call's
// server has changed, its client finds the right one.
func together(ctx context.Context, client Client, calls []call) [][]int {
	nodes, several := client.(masters)
	index, groups := map[*redis.Client]int{}, [][]int{}
	for i, c := range calls {
		var node *redis.Client
		if several {
			node, _ = nodes.MasterForKey(ctx, c.keys[0]) // nil: calls to unknown servers form one group
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
