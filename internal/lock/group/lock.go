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
	"seckill/internal/lock/internal/member"
)

// Lock is several locks combined into one. Its methods work like those of lock.Lock.
type Lock struct {
	name     string // the names of its members
	members  []one
	need     int   // how many members must be obtained
	replicas int   // how many replicas must confirm each member
	asks     bool  // ask each server for its run id
	wrong    error // why the members cannot be combined, or nil
}

// Multi returns a lock that holds all of the given locks, or none. They may be of any kind and from different Lockers;
// each keeps its own options. Lock waits for one member at a time and holds none meanwhile, so two Multis that name
// their members in different orders cannot deadlock. The price: callers that take the members one by one, often enough,
// can keep Lock waiting. Naming a lock twice is refused with ErrDuplicate.
//
// The hold is lost as soon as one member is lost; the others are then no longer renewed. Release tries each member, and
// its error names every failure. ErrNotObtained may come from a member that another caller holds only for a moment,
// until that caller finds out that it cannot get all of its own members.
//
// The hold's token is the highest of its members' tokens, and is higher than that of earlier holds of the same members.
// A resource that is also written under one member alone must be given that member's token, from TokenOf. State shows
// owners who hold all members. If the members are held under different owners, as a Mutex beside a Reentrant is, State
// shows nobody.
func Multi(first *lock.Lock, more ...*lock.Lock) *Lock {
	members := append([]*lock.Lock{first}, more...)
	// In a fixed order, callers that want the same members compete for the first one and rarely clash at the others.
	l := newLock(members, len(members))
	slices.SortStableFunc(l.members, func(a, b one) int { return cmp.Compare(a.place().key, b.place().key) })
	return l
}

// Redlock returns a lock whose holder holds the majority of the given locks: the same lock on Redis servers
// that do not depend on each other. The members must be Mutexes, or Reentrants of one owner, with one name and the same
// options. Redlock works while more than half of the servers do. Otherwise it fails because too few answer: at once if
// connections are refused, after two seconds if all are silent, and after at most four if some answer late.
//
// It is the algorithm Redlock (redis.io, "Distributed locks with Redis"), with these differences. There is no single
// validity time: each member's lease counts from the moment that member was asked, less what clocks may drift, and the
// hold is lost as soon as fewer than a majority can be relied on. Members are renewed one by one. The hold's token is
// higher than that of earlier holds, because it is written to a majority before the hold is returned.
//
// Members that differ in name, kind, options or owner are refused with ErrMismatch. A duplicate lock or server is
// refused with ErrDuplicate; servers are told apart by the run id that they report, because one server may have several
// addresses. A server whose second answer comes after the others have decided goes unnoticed. That costs availability
// only: any two majorities share a member all the same. A server that started less than a lease ago does not count
// (ErrRestarted): it may have come back empty and give away a lock that somebody holds. (So a new server does not count
// for a lease either.) If a server's user may not run INFO, these two checks are left out for it.
//
// Members that could not be asked, or whose answer is unknown, are released; members that answer late join the hold. An
// even number of servers gains nothing: of two servers, both are needed.
func Redlock(first *lock.Lock, more ...*lock.Lock) *Lock {
	l := newLock(append([]*lock.Lock{first}, more...), (len(more)+1)/2+1)
	l.asks = true
	if slices.ContainsFunc(more, func(m *lock.Lock) bool { return !open(first).door.Matches(m) }) {
		l.wrong = ErrMismatch
	}
	return l
}

// one is one member, with the door to what only this package sees of it.
type one struct {
	*lock.Lock

	door member.Lock[*lock.Lock, *lock.Hold, lock.Client]
}

func open(l *lock.Lock) one { return one{l, l.Member(member.Pass{})} }

// place is where a lock is; the client is the lock itself if clients cannot be compared.
type place struct {
	client any
	key    string
}

func (o one) place() place {
	client, key := o.door.Place()
	if !reflect.TypeOf(client).Comparable() {
		return place{o.Lock, key}
	}
	return place{client, key}
}

// newLock returns a lock named after its members.
func newLock(members []*lock.Lock, need int) *Lock {
	l := &Lock{need: need}
	var names []string
	seen := map[place]bool{}
	for _, m := range members {
		names = append(names, m.Name())
		o := open(m)
		l.members = append(l.members, o)
		p := o.place()
		if seen[p] {
			l.wrong = ErrDuplicate
		}
		seen[p] = true
	}
	slices.Sort(names)
	l.name = strings.Join(slices.Compact(names), ", ")
	return l
}

// OnReplicas returns the lock with one more condition: at least n replicas of each member's server must confirm it, so
// that the lock survives a failover to one of them. The replicas have a second, or half of the lease if that is less.
// With fewer confirmations the lock is released and the error is ErrTooFewReplicas. It costs another round trip, and
// one to the replicas. Renewals are not confirmed. For a single lock use Multi(l).OnReplicas(n).
//
// It uses Redis's command WAIT, which makes losing a write at a failover unlikely but not impossible: a replica without
// the lock may be the one that is promoted.
func (l *Lock) OnReplicas(n int) *Lock {
	other := *l
	if other.replicas = n; n < 0 {
		other.wrong = fmt.Errorf("%w: %d replicas", lock.ErrInvalidOption, n)
	}
	return &other
}

// TrustServers returns the Redlock without the checks of its servers' run ids and start times. It is for servers that
// flush every write and are known to be different ones.
func (l *Lock) TrustServers() *Lock {
	other := *l
	other.asks = false
	return &other
}

// TryLock takes the lock if it is free, and otherwise returns lock.ErrNotObtained at once. If all members are needed,
// it first tries only the first member: a caller that does not get it blocks nobody at the others.
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

// Lock waits for the lock until ctx ends. It waits for one member and then tries the others. If one of those is
// refused, it releases all before it waits for that one: a waiting call holds nothing, so calls cannot deadlock.
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
	return member.Do(ctx, l.Lock, (*Hold).settle, f)
}

// TryDo is Do without waiting.
func (l *Lock) TryDo(ctx context.Context, f func(ctx context.Context, h *Hold) error) error {
	return member.Do(ctx, l.TryLock, (*Hold).settle, f)
}

// ForceUnlock frees all members, the first one last, and reports whether anybody held one.
func (l *Lock) ForceUnlock(ctx context.Context) (wasHeld bool, err error) {
	held, err := askAll(l, func(m one) (bool, error) { return m.ForceUnlock(ctx) })
	return slices.Contains(held, true), err
}

// all reports whether every member is needed.
func (l *Lock) all() bool { return l.need == len(l.members) }

// wrap adds the lock's name to an error.
func (l *Lock) wrap(err error) error { return fmt.Errorf("lock %q: %w", l.name, err) }

// waits reports whether a call that failed with err should go on, because others have the lock or Redis answered late.
func waits(err error) bool {
	return (errors.Is(err, lock.ErrNotObtained) || errors.Is(err, member.ErrLate)) && !inOwnWay(err)
}

// inOwnWay reports whether the caller blocks itself: it holds this lock already, or wants the write lock while it holds
// the read lock.
func inOwnWay(err error) bool {
	return errors.Is(err, lock.ErrReentry) || errors.Is(err, lock.ErrUpgrade)
}

// Two callers that each hold a member that the other needs release it and try again. Random pauses let one of them come
// first. The pause starts shorter than a round trip and doubles each time.
const (
	clashPause    = time.Millisecond
	clashDoubling = 5 // the most doublings
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

// askAll asks every member. If fewer answer than are needed, it returns the errors of the others.
func askAll[T any](l *Lock, ask func(m one) (T, error)) ([]T, error) {
	answers := make([]T, len(l.members))
	errs := firstLast(l.members, func(i int, m one) (err error) {
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

// each runs do for all items at the same time and returns their errors.
func each[T any](all []T, do func(i int, of T) error) []error {
	errs := make([]error, len(all))
	var tries sync.WaitGroup
	for i, of := range all {
		tries.Go(func() { errs[i] = do(i, of) })
	}
	tries.Wait()
	return errs
}

// firstLast is each, but handles the first item only after all others. Other callers start with the first member, so
// whoever gets it finds the rest already free.
func firstLast[T any](all []T, do func(i int, of T) error) []error {
	rest := each(all[1:], func(i int, of T) error { return do(i+1, of) })
	return append([]error{do(0, all[0])}, rest...)
}
