package lock

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
)

// Multi returns the lock that is had by those who have all of these, of any kind, from one Locker or several, each
// held as its own options say. It is taken as a whole or not at all. Who waits for it waits for one of them and has
// none, so that two who name them in different orders do not wait for each other; it also means that somebody who
// takes them one by one, often enough, can keep them waiting. With one lock among them twice it is refused, with
// ErrDuplicate.
//
// The hold is lost as soon as one of them is; the others are not renewed from then on. A release tries each of them,
// and its error says what became of each that failed. ErrNotObtained may come from a lock that is held only until
// another caller has found out that they do not get all of theirs.
//
// The token of a hold is the highest of its locks'. It is higher than that of earlier holds of the same locks; a
// resource that is written under one of them alone as well has to be given that one's, from TokenOf. State shows
// owners who have all of them; where they are held in the name of different ones, as a Mutex beside a Reentrant, it
// shows nobody, and the locks themselves have to be asked.
func Multi(first *Lock, more ...*Lock) *Lock {
	members := append([]*Lock{first}, more...)
	// Those who want the same locks begin with the same one, and mostly do not meet at the others.
	slices.SortStableFunc(members, func(a, b *Lock) int { return cmp.Compare(a.key, b.key) })
	return newGroup(members, len(members))
}

// group is what a lock that is made of others has instead of keys: its members, of which so many are needed to have it.
type group struct {
	members []*Lock
	need    int
	wrong   error // why they make no lock, nil if they do
}

// newGroup returns the lock, with the names of its members for its own.
func newGroup(members []*Lock, need int) *Lock {
	var names, keys []string
	for _, m := range members {
		names, keys = append(names, m.name), append(keys, m.key)
	}
	slices.Sort(names)
	name := strings.Join(slices.Compact(names), ", ")
	g := &group{members: members, need: need}
	whole := &Lock{locker: members[0].locker, name: name, key: strings.Join(keys, ","), group: g}
	if whole.repeated(map[place]bool{}) {
		g.wrong = ErrDuplicate
	}
	return whole
}

// place is where a lock is: two with one place are the same lock, also for different owners.
type place struct {
	at  any // the client, or the Locker of one that cannot be compared
	key string
}

// repeated reports whether one of the locks that this one is made of was seen before.
func (l *Lock) repeated(seen map[place]bool) bool {
	if l.group == nil {
		p := place{l.locker, l.key}
		if client := l.locker.client; reflect.TypeOf(client).Comparable() {
			p.at = client
		}
		again := seen[p]
		seen[p] = true
		return again
	}
	return slices.ContainsFunc(l.group.members, func(m *Lock) bool { return m.repeated(seen) })
}

// is reports whether both are the same lock, for the same owner if it has one.
func (l *Lock) is(other *Lock) bool {
	return l == other || l.group == nil && l.locker == other.locker && l.key == other.key && l.owner == other.owner
}

// all reports whether every member is needed.
func (g *group) all() bool { return g.need == len(g.members) }

// tryGroup asks the members for one request. Where all are needed the first one is asked alone: who does not get it
// takes none of the others from somebody who does.
func (l *Lock) tryGroup(ctx context.Context, request string) (*Hold, error) {
	if err := l.group.wrong; err != nil {
		return nil, fmt.Errorf("lock %q: %w", l.name, err)
	}
	if !l.group.all() {
		h, _, err := l.round(ctx, request, 0, nil)
		return h, err
	}
	lead, err := l.group.members[0].try(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("lock %q: %w", l.name, err)
	}
	h, _, err := l.round(ctx, request, 0, lead)
	return h, err
}

// waitGroup waits for one member, as anybody waits for it, and then tries the others. What was obtained is given back
// before it waits for another one that was refused: who waits has none, so that nobody can wait for them in turn.
func (l *Lock) waitGroup(ctx context.Context) (*Hold, error) {
	g, at := l.group, 0
	if g.wrong != nil {
		return nil, fmt.Errorf("lock %q: %w", l.name, g.wrong)
	}
	if !g.all() && !g.members[0].contended() {
		h, refused, err := l.round(ctx, newRequest(), 0, nil)
		if !waits(err) || ctx.Err() != nil {
			return h, err
		}
		at = refused
	}
	for clashes := 0; ; clashes++ {
		request := newRequest()
		lead, err := g.members[at].Lock(ctx)
		switch {
		case err == nil:
			request = lead.claim.request
		case g.all() || ctx.Err() != nil || inOwnWay(err):
			return nil, fmt.Errorf("lock %q: %w", l.name, err)
		}
		h, refused, err := l.round(ctx, request, at, lead)
		if !waits(err) || ctx.Err() != nil {
			return h, err
		}
		at = refused
		if clashes > 0 {
			pauseAfterClash(ctx, clashes)
		}
	}
}

// waits reports whether who got err waits: because others have the lock.
func waits(err error) bool { return errors.Is(err, ErrNotObtained) && !inOwnWay(err) }

// inOwnWay reports whether err says that the caller already has what they ask for.
func inOwnWay(err error) bool { return errors.Is(err, ErrReentry) || errors.Is(err, ErrUpgrade) }

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

// contended reports whether somebody of this process waits for the lock.
func (l *Lock) contended() bool {
	return l.group == nil && l.locker.pubsub.waiting(l.key)
}

// forceGroup frees the members, the first one last, as a release does.
func (l *Lock) forceGroup(ctx context.Context) (wasHeld bool, err error) {
	held, err := askAll(l, "force", func(m *Lock) (bool, error) { return m.ForceUnlock(ctx) })
	return slices.Contains(held, true), err
}

// stateOfGroup asks the members who has them.
func (l *Lock) stateOfGroup(ctx context.Context) (State, error) {
	states, err := askAll(l, "state", func(m *Lock) (State, error) { return m.State(ctx) })
	if err != nil {
		return State{}, err
	}
	return l.group.state(states), nil
}

// askAll asks every member, and returns their errors when fewer answer than are needed.
func askAll[T any](l *Lock, doing string, ask func(m *Lock) (T, error)) ([]T, error) {
	members := l.group.members
	answers := make([]T, len(members))
	errs := firstLast(members, func(i int, m *Lock) (err error) {
		answers[i], err = ask(m)
		return err
	})
	if failed := failures(errs); len(errs)-len(failed) < l.group.need {
		return answers, l.wrap(doing, errors.Join(failed...))
	}
	return answers, nil
}

// failures returns the errors that are not nil.
func failures(errs []error) []error {
	return slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
}

// state says who has as many members as are needed: as often, and for as long, as they have that many.
func (g *group) state(members []State) State {
	var s State
	seen := map[Owner]bool{}
	for _, m := range members {
		for _, h := range m.Holders {
			if seen[h.Owner] {
				continue
			}
			seen[h.Owner] = true
			if whole, token := g.holder(h.Owner, members); whole.Holds > 0 {
				s.Holders = append(s.Holders, whole)
				s.Token = max(s.Token, token)
			}
		}
	}
	return s
}

// holder returns what one owner has of all members together.
func (g *group) holder(o Owner, members []State) (Holder, int64) {
	holds, ttls, tokens := make([]int, len(members)), make([]time.Duration, len(members)), make([]int64, len(members))
	var label string
	for i, m := range members {
		for _, h := range m.Holders {
			if h.Owner == o {
				holds[i], ttls[i], tokens[i], label = h.Holds, h.TTL, m.Token, h.Label
			}
		}
	}
	slices.Sort(holds)
	slices.Sort(ttls)
	last := len(members) - g.need // so many members and no more have at least what stands here
	return Holder{Owner: o, Holds: holds[last], TTL: ttls[last], Label: label}, g.token(tokens)
}

// token returns the token of a hold whose members have these, which it sorts. For all members it is the highest, which
// rises because each of them does.
func (g *group) token(tokens []int64) int64 {
	slices.Sort(tokens)
	if g.all() {
		return tokens[len(tokens)-1]
	}
	return tokens[len(tokens)-g.need]
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
