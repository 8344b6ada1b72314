package group

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"seckill/internal/lock"
)

// Lock is one lock made of several. Its methods do what those of a lock.Lock do.
type Lock struct {
	name     string // the names of its members
	members  []*lock.Lock
	need     int   // of the members, to have it
	replicas int   // that must have each member
	asks     bool  // it asks servers who they are
	wrong    error // why the members make no lock, nil if they do
}

// Multi returns the lock that is had by those who have all of these, of any kind, from one Locker or several, each
// held as its own options say. It is taken as a whole or not at all. A call of Lock waits for one of them and has
// none, so that two that name them in different orders do not wait for each other; it also means that somebody who
// takes them one by one, often enough, can keep it waiting. With one lock among them twice it is refused, with
// ErrDuplicate.
//
// The hold is lost as soon as one of them is; the others are not renewed from then on. A release tries each of them,
// and its error says what became of each that failed. ErrNotObtained may come from a lock that is held only until
// another caller has found out that they do not get all of theirs.
//
// The token of a hold is the highest of its locks'. It is higher than that of earlier holds of the same locks; a
// resource that is written under one of them alone as well has to be given that one's, from TokenOf. State shows
// owners who have all of them; where they are held in the name of different ones, as a Mutex beside a Reentrant, it
// shows nobody.
func Multi(first *lock.Lock, more ...*lock.Lock) *Lock {
	members := append([]*lock.Lock{first}, more...)
	// Those who want the same locks begin with the same one, and mostly do not meet at the others.
	slices.SortStableFunc(members, func(a, b *lock.Lock) int { return cmp.Compare(a.Key(), b.Key()) })
	return newLock(members, len(members))
}

// Redlock returns the lock that is had by those who have most of these, the same lock on Redis servers that do not
// depend on each other: Mutexes, or Reentrants of one owner, with one name and the same options. It goes on when
// fewer than half of the servers are gone, and says that too few of them answer: at once where nothing listens any
// more, after two seconds where all are silent, and after four at most where some answer late.
//
// It is the algorithm Redlock (redis.io, "Distributed locks with Redis"), with these differences. What counts is not
// one validity for the whole, but each member's lease, counted from the moment it was asked and less what clocks may
// drift; the hold is lost as soon as fewer than a majority can be relied on. Members are renewed one by one. The token
// of a hold is higher than those of earlier ones, because it is written to a majority before the hold is returned.
//
// Locks that differ in name, kind, options or owner are refused, with ErrMismatch. One lock or one server twice among
// them is, with ErrDuplicate; servers are told apart by the run id that they give themselves, as addresses may be
// aliases. A server that was started less than a lease ago does not count, with ErrRestarted: it may have come back
// empty, and give a lock away that somebody has. (So new servers do not count for a lease either.) What a server does
// not say, because its user may not run INFO, is not checked.
//
// The members that could not be asked, or whose answer is not known, are released; those that answer late join the
// hold. Of two servers both are needed, so that there is nothing to gain from an even number.
func Redlock(first *lock.Lock, more ...*lock.Lock) *Lock {
	l := newLock(append([]*lock.Lock{first}, more...), (len(more)+1)/2+1)
	l.asks = true
	if slices.ContainsFunc(more, func(m *lock.Lock) bool { return !m.Matches(first) }) {
		l.wrong = ErrMismatch
	}
	return l
}

// newLock returns the lock, with the names of its members for its own.
func newLock(members []*lock.Lock, need int) *Lock {
	l := &Lock{members: members, need: need}
	var names []string
	type place struct {
		at  any // the client, or the lock where clients cannot be compared
		key string
	}
	seen := map[place]bool{}
	for _, m := range members {
		names = append(names, m.Name())
		p := place{m.Client(), m.Key()}
		if !reflect.TypeOf(p.at).Comparable() {
			p.at = m
		}
		if seen[p] {
			l.wrong = ErrDuplicate
		}
		seen[p] = true
	}
	slices.Sort(names)
	l.name = strings.Join(slices.Compact(names), ", ")
	return l
}

// OnReplicas returns the lock that is obtained only when at least n replicas of each member's server have it; with
// fewer it is released again, and the error is ErrTooFewReplicas. So it outlives a failover to one of them. They have
// a second for it, or half of a lease that is shorter. It costs another round trip, and one to the replicas; that a
// lease was renewed is not waited for. For one lock it is Multi(l).OnReplicas(n).
//
// It is Redis's command WAIT, of which Redis says that it makes the loss of a write at a failover unlikely, and not
// that it excludes it: a replica that does not have the lock may be the one that is promoted.
func (l *Lock) OnReplicas(n int) *Lock {
	other := *l
	if other.replicas = n; n < 0 {
		other.wrong = fmt.Errorf("%w: %d replicas", lock.ErrInvalidOption, n)
	}
	return &other
}

// TrustServers returns the Redlock whose servers are not asked who they are: they count when they were started less
// than a lease ago, too. It is for servers that flush at every write, and of which it is known that they are
// different ones.
func (l *Lock) TrustServers() *Lock {
	other := *l
	other.asks = false
	return &other
}

// TryLock takes the lock if it is free, and returns lock.ErrNotObtained at once if it is not. Where all members are
// needed the first one is asked alone: who does not get it takes none of the others from somebody who does.
func (l *Lock) TryLock(ctx context.Context) (*Hold, error) {
	if l.wrong != nil {
		return nil, l.wrap(l.wrong)
	}
	owner, lead := lock.NewOwner(), (*part)(nil)
	if l.all() {
		var err error
		if lead, err = l.tryMember(ctx, 0, owner); err != nil {
			return nil, l.wrap(err)
		}
	}
	h, _, err := l.round(ctx, owner, lead)
	return h, err
}

// Lock waits for the lock until ctx ends. It waits for one member, as anybody waits for it, and then tries the
// others. What was obtained is given back before it waits for another one that was refused: a call that waits has
// none, so that nobody can wait for it in turn.
func (l *Lock) Lock(ctx context.Context) (*Hold, error) {
	if l.wrong != nil {
		return nil, l.wrap(l.wrong)
	}
	at := 0
	if !l.all() {
		h, refused, err := l.round(ctx, lock.NewOwner(), nil)
		if !waits(err) || ctx.Err() != nil {
			return h, err
		}
		at = refused
	}
	for clashes := 0; ; clashes++ {
		owner := lock.NewOwner()
		lead, err := l.observed(ctx, at, owner, (*lock.Lock).Lock)
		if err != nil && (l.all() || ctx.Err() != nil || inOwnWay(err)) {
			return nil, l.wrap(err)
		}
		h, refused, err := l.round(ctx, owner, lead)
		if !waits(err) || ctx.Err() != nil {
			return h, err
		}
		at = refused
		if clashes > 0 {
			pauseAfterClash(ctx, clashes)
		}
	}
}

// Do waits for the lock and runs f under it, as lock.Lock.Do does.
func (l *Lock) Do(ctx context.Context, f func(ctx context.Context, h *Hold) error) error {
	h, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	return h.do(ctx, f)
}

// TryDo is Do without waiting.
func (l *Lock) TryDo(ctx context.Context, f func(ctx context.Context, h *Hold) error) error {
	h, err := l.TryLock(ctx)
	if err != nil {
		return err
	}
	return h.do(ctx, f)
}

// ForceUnlock frees the members, the first one last, as a release does, and reports whether anybody had one.
func (l *Lock) ForceUnlock(ctx context.Context) (wasHeld bool, err error) {
	held, err := askAll(l, func(m *lock.Lock) (bool, error) { return m.ForceUnlock(ctx) })
	return slices.Contains(held, true), err
}

// all reports whether every member is needed.
func (l *Lock) all() bool { return l.need == len(l.members) }

// wrap says which lock an error is about.
func (l *Lock) wrap(err error) error { return fmt.Errorf("lock %q: %w", l.name, err) }

// waits reports whether a call with the error waits: because others have the lock.
func waits(err error) bool { return errors.Is(err, lock.ErrNotObtained) && !inOwnWay(err) }

// inOwnWay reports whether a hold of the caller's own is in the way: of this lock, or as a reader of one to write.
func inOwnWay(err error) bool {
	return errors.Is(err, lock.ErrReentry) || errors.Is(err, lock.ErrUpgrade)
}

// Two who have each what the other one needs give it back and try again; a pause that differs lets one of them be
// earlier. It is short beside a round trip at first, and twice as long each time.
const (
	clashPause    = time.Millisecond
	clashDoubling = 5 // times at most
)

func pauseAfterClash(ctx context.Context, clashes int) {
	//nolint:gosec // not a secret
	pause := time.NewTimer(rand.N(clashPause << min(clashes, clashDoubling)))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
}

// askAll asks every member, and returns their errors when fewer answer than are needed.
func askAll[T any](l *Lock, ask func(m *lock.Lock) (T, error)) ([]T, error) {
	answers := make([]T, len(l.members))
	errs := firstLast(l.members, func(i int, m *lock.Lock) (err error) {
		answers[i], err = ask(m)
		return err
	})
	if failed := failures(errs); len(errs)-len(failed) < l.need {
		return answers, l.wrap(errors.Join(failed...))
	}
	return answers, nil
}

// failures returns the errors that are not nil.
func failures(errs []error) []error {
	return slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
}

// each does something with each of several, at the same time, and returns what went wrong with it.
func each[T any](all []T, do func(i int, of T) error) []error {
	errs := make([]error, len(all))
	var tries sync.WaitGroup
	for i, of := range all {
		tries.Go(func() { errs[i] = do(i, of) })
	}
	tries.Wait()
	return errs
}

// firstLast is each, and comes to the first only when the others are done: who begins with that one, as those do who
// try, finds the rest as it is to be.
func firstLast[T any](all []T, do func(i int, of T) error) []error {
	rest := each(all[1:], func(i int, of T) error { return do(i+1, of) })
	return append([]error{do(0, all[0])}, rest...)
}
