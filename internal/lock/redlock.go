package lock

import (
	"context"
	"slices"
)

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
// aliases. A server that was started less than a lease ago does not count, with ErrRestarted, unless WithRestarted
// says so: it may have come back empty, and give a lock away that somebody has. (So new servers do not count for a
// lease either.)
//
// The members that could not be asked, or whose answer is not known, are released; those that answer late join the
// hold. Of two servers both are needed, so that there is nothing to gain from an even number.
func Redlock(first *Lock, more ...*Lock) *Lock {
	var members []*Lock
	for _, l := range append([]*Lock{first}, more...) {
		member := *l
		member.elected = true
		members = append(members, &member)
	}
	whole := newGroup(members, len(members)/2+1)
	if slices.ContainsFunc(more, func(l *Lock) bool { return !l.matches(first) }) {
		whole.group.wrong = ErrMismatch
	}
	return whole
}

// matches reports whether both are the same lock, on different servers, for the same owner and to be held in the same
// way.
func (l *Lock) matches(other *Lock) bool {
	return l.group == nil && other.group == nil && l.name == other.name && l.kind.name == other.kind.name &&
		l.settings == other.settings && l.owner == other.owner
}

// raise gives all that were obtained the highest of their tokens, and drops those that do not say that they have it.
// Two majorities have a member in common, and that one hands out a higher token the next time; the highest of a
// majority's tokens alone could be lower, where servers' clocks differ. (It is how a register is written to a
// majority: Attiya, Bar-Noy and Dolev, "Sharing memory robustly in message-passing systems", 1995.)
func (r *round) raise(ctx context.Context) {
	var highest int64
	for _, a := range r.got {
		highest = max(highest, a.hold.token)
	}
	errs := each(r.got, func(_ int, a reply) error { return a.hold.raise(ctx, highest) })
	r.errs = append(r.errs, failures(errs)...)
	for i, err := range slices.Backward(errs) {
		if err != nil {
			r.got = slices.Delete(r.got, i, i+1)
		}
	}
}

// raise raises the hold's token. When it is not known whether that was done the hold is given up, under its name alone.
func (h *Hold) raise(ctx context.Context, token int64) error {
	if h.parts != nil || h.token >= token {
		return nil
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	held, err := h.lock.ask(patient, h.lock.callRaise(h.claim, token)).Int()
	if err == nil && held == 1 {
		h.token = token
		h.lock.locker.sawToken(token)
		return nil
	}
	if err == nil {
		err = ErrLost
	}
	h.end(err, true)
	go h.lock.abandon(ctx, h.claim)
	return h.lock.wrap("raise token", err)
}
