package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"seckill/internal/lock"
)

const (
	// patience is how long a majority waits for those who do not answer. A member whose server is gone says so at once;
	// one that is silent would take as long as its own time limits, one after the other.
	patience = 2 * time.Second
	// grace is how long members are waited for at least that are not needed any more. In a good state they all answer
	// in that time, and nothing is under way when the round is over.
	grace = 5 * time.Millisecond
	// leaveTime is how long a call goes on at most when its context is over.
	leaveTime = 20 * time.Millisecond
)

// errSilent is why a member does not count that has not answered in time: within patience, or grace and more once the
// others had decided.
var errSilent = fmt.Errorf("%w: others have decided", lock.ErrNoAnswer)

// part is a hold of one member.
type part struct {
	*lock.Hold
	member   int
	server   string // that gave it, if it is one of a Redlock that says so
	released bool   // it has said that it was held until then; guarded by Hold.releasing of the whole
}

// reply is what one member said.
type reply struct {
	member int
	part   *part
	err    error
}

// round is one try of all members at the same time.
type round struct {
	lock    *Lock
	replies chan reply
	open    int // members that have not answered yet
	got     []*part
	refused int     // how many somebody else has
	lowest  int     // the first of these
	errs    []error // of those that failed
	own     error   // the caller is in their own way
	twice   bool    // one server answered as two
}

// round asks every member, but for the lead if there is one, which the owner has already. With lock.ErrNotObtained it
// says which member to wait for. Where a majority is enough the rest are not waited for: one that is obtained later
// joins the hold, or is released.
func (l *Lock) round(ctx context.Context, owner lock.Owner, lead *part) (h *Hold, refused int, err error) {
	r := &round{lock: l, replies: make(chan reply, len(l.members)), lowest: len(l.members)}
	if lead != nil {
		r.got = append(r.got, lead)
	}
	for i := range l.members {
		if lead != nil && lead.member == i {
			continue
		}
		r.open++
		go func() {
			p, err := l.tryMember(ctx, i, owner)
			r.replies <- reply{i, p, err}
		}()
	}
	r.gather()
	h, err = r.conclude(ctx)
	if r.open > 0 {
		go r.late(ctx, h)
	}
	return h, r.lowest, err
}

// gather hears all members where all are needed. Else it goes on until it is clear how the round ends, and then as long
// again for the rest.
func (r *round) gather() {
	tooLate := time.NewTimer(patience)
	defer tooLate.Stop()
	if r.lock.all() {
		tooLate.Stop()
	}
	begin := time.Now()
	for decided := r.lock.all(); r.open > 0; {
		if !decided && r.decided() {
			decided = true
			tooLate.Reset(max(time.Since(begin), grace))
		}
		select {
		case a := <-r.replies:
			r.hear(a)
		case <-tooLate.C:
			for range r.open {
				r.errs = append(r.errs, errSilent)
			}
			return
		}
	}
}

// decided reports whether enough members were obtained, or enough cannot be any more.
func (r *round) decided() bool {
	return len(r.got) >= r.lock.need || len(r.got)+r.open < r.lock.need
}

func (r *round) hear(a reply) {
	r.open--
	switch {
	case a.err == nil:
		r.twice = r.twice || r.answered(a.part.server)
		r.got = append(r.got, a.part)
	case inOwnWay(a.err):
		r.own = a.err
	case errors.Is(a.err, lock.ErrNotObtained):
		r.refused++
		r.lowest = min(r.lowest, a.member)
	default:
		r.errs = append(r.errs, a.err)
	}
}

// answered reports whether another member was obtained from the server.
func (r *round) answered(server string) bool {
	return server != "" && slices.ContainsFunc(r.got, func(p *part) bool { return p.server == server })
}

// conclude makes a hold of what was obtained if it is enough, and else gives it back.
func (r *round) conclude(ctx context.Context) (*Hold, error) {
	l := r.lock
	if !r.twice && !l.all() && valid(r.got) >= l.need {
		r.raise(ctx)
	}
	if !r.twice && valid(r.got) >= l.need {
		slices.SortFunc(r.got, func(a, b *part) int { return a.member - b.member })
		return newHold(l, r.got), nil //nolint:contextcheck // a hold ends by itself
	}
	obtained := len(r.got)
	l.giveBack(ctx, r.got)
	err := errors.Join(r.errs...)
	switch ended := ctx.Err(); {
	case r.twice:
		err = ErrDuplicate
	case r.own != nil:
		err = r.own
	case ended != nil && r.refused > 0:
		err = fmt.Errorf("%w: %w", lock.ErrNotObtained, ended)
	case ended != nil:
		err = fmt.Errorf("%w: %w", lock.ErrNoAnswer, ended)
	case obtained >= l.need:
		err = fmt.Errorf("%w: the answers took longer than the lease", lock.ErrLost)
	case r.refused > 0 && len(r.errs) <= len(l.members)-l.need: // without the failed ones there are enough
		err = errors.Join(append([]error{lock.ErrNotObtained}, r.errs...)...)
	}
	return nil, l.wrap(err)
}

// raise gives all that were obtained the highest of their tokens, and drops those that do not say that they have it.
// Two majorities have a member in common, and that one hands out a higher token the next time; the highest of a
// majority's tokens alone could be lower, where servers' clocks differ. (It is how a register is written to a
// majority: Attiya, Bar-Noy and Dolev, "Sharing memory robustly in message-passing systems", 1995.)
func (r *round) raise(parent context.Context) {
	ctx, cancel := context.WithTimeout(parent, patience)
	defer cancel()
	highest := slices.Max(tokens(r.got))
	errs := each(r.got, func(_ int, p *part) error { return p.RaiseToken(ctx, highest) })
	for i, err := range slices.Backward(errs) {
		if err != nil {
			if ctx.Err() != nil && parent.Err() == nil {
				err = errSilent // the time limit was not the caller's
			}
			r.errs = append(r.errs, err)
			r.got = slices.Delete(r.got, i, i+1)
		}
	}
}

// late takes the replies that came after the round was decided: the hold adopts each part, or the part is released.
func (r *round) late(ctx context.Context, whole *Hold) {
	for ; r.open > 0; r.open-- {
		a := <-r.replies
		if a.err == nil && (whole == nil || !whole.adopt(a.part)) { //nolint:contextcheck // a hold ends by itself
			_ = a.part.Release(ctx) // if that fails the lease ends it
		}
	}
}

// valid returns how many parts can be relied on now: less time has passed since each was asked than its lease has, less
// what clocks may drift. It is the validity rule of Redlock, for each member alone.
func valid(parts []*part) (n int) {
	for _, p := range parts {
		if p.Err() == nil {
			n++
		}
	}
	return n
}

// tokens returns those of the parts.
func tokens(parts []*part) (all []int64) {
	for _, p := range parts {
		all = append(all, p.Token())
	}
	return all
}

// giveBack releases parts, soon after ctx is over in the background: each within its own time limit.
func (l *Lock) giveBack(ctx context.Context, parts []*part) {
	if len(parts) == 0 {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		firstLast(parts, func(_ int, p *part) error { return p.Release(ctx) }) // if that fails the lease ends it
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	leave := time.NewTimer(leaveTime)
	defer leave.Stop()
	select {
	case <-done:
	case <-leave.C:
	}
}
