package lock

import (
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock/lua"
)

var (
	holdsRenew = redis.NewScript(lua.Join("clock", "holds", "renew"))
	holdsState = redis.NewScript(lua.Join("clock", "state"))
	holdsRaise = redis.NewScript(lua.Join("clock", "token", "holds", "raise"))
)

var (
	reentrantAcquire = redis.NewScript(lua.Join("clock", "token", "holds", "reentrant", "acquire"))
	reentrantRelease = redis.NewScript(lua.Join("clock", "token", "holds", "reentrant", "release"))
	reentrantForce   = redis.NewScript(lua.Join("clock", "holds", "reentrant", "force"))
)

// Reentrant returns the lock with the name, as the owner sees it: they may take it again while they have it, and it is
// free when each of their holds was released. Other owners stay out until then.
//
// Each hold has a lease of its own, is renewed or not as its options say, and can be lost alone: the lock is taken as
// long as one of them lives. All holds of one stay have the same token, that of the first.
//
// The owner is a value from NewOwner, to be passed along by those who are to enter again; with the zero Owner the lock
// is refused, with ErrNoOwner. Goroutines that share it do not exclude each other.
func (l *Locker) Reentrant(name string, owner Owner, opts ...Option) *Lock {
	k := newKeys(l.prefix, "reentrant", name)
	p := holds{l, k, scripts{acquire: reentrantAcquire, release: reentrantRelease, force: reentrantForce}, []string{k.lock, k.slot, ""}}
	return l.newLock(k, p, traits{owned: true}, owner, opts)
}

// holds is the protocol of all kinds that may be held several times (holds.lua). They differ in their scripts and keys.
type holds struct {
	locker  *Locker
	keys    keys
	scripts scripts
	names   []string // of the scripts' keys; the third, the latch, is the claim's
}

// scripts are those in which kinds differ.
type scripts struct {
	acquire, release, force *redis.Script
	stay                    *redis.Script // nil for a kind without a queue
}

// all returns the keys for a claim.
func (p holds) all(c claim) []string {
	names := append([]string(nil), p.names...)
	names[2] = p.keys.latch(c.request)
	return names
}

// hold is the claim as scripts know it.
func (p holds) hold(c claim) string { return c.request + " " + p.locker.label + " " + string(c.owner) }

// place is what a claim has in the queue while it waits.
func (p holds) place(request string) string { return p.locker.id + " " + request }

func (p holds) acquire(c claim, floor int64) call {
	args := []any{string(c.owner), c.ms(), floor, p.hold(c)}
	if p.scripts.stay != nil {
		args = append(args, c.placeMS(), p.place(c.request), p.keys.lock)
	}
	return call{p.scripts.acquire, p.all(c), args}
}

func (p holds) renew(c claim, lease time.Duration) call {
	return call{holdsRenew, p.all(c), []any{lease.Milliseconds(), p.hold(c)}}
}

func (p holds) release(c claim, _ ending) call {
	return call{
		p.scripts.release, p.all(c),
		[]any{p.place(c.request), latchTime.Milliseconds(), p.keys.lock, p.hold(c)},
	}
}

func (p holds) force() call { return call{p.scripts.force, p.all(claim{}), []any{p.keys.lock}} }

func (p holds) state(from int) call { return call{holdsState, p.names[:1], []any{from}} }

func (p holds) raise(c claim, token int64) call {
	return call{holdsRaise, p.all(c), []any{strconv.FormatInt(token, 10), p.hold(c)}}
}

func (p holds) channel(c claim) (channel, queue string) {
	if p.scripts.stay == nil {
		return p.keys.lock, ""
	}
	return p.keys.lock + p.locker.id, c.request
}

// stay keeps the places of this process, of which one is to be looked at, and removes those of requests that have gone.
func (p holds) stay(request string, gone []string) call {
	args := []any{p.locker.id, placeTime.Milliseconds(), p.keys.lock, p.place(request)}
	for _, g := range gone {
		args = append(args, g)
	}
	return call{p.scripts.stay, p.all(claim{}), args}
}
