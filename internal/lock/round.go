package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// patience is how long a majority waits for those who do not answer. A member whose server is gone says so at once;
// one that is silent would take as long as its own time limits, one after the other.
const patience = 2 * time.Second

// grace is how long those are waited for at least that are not needed any more. In a good state they all answer in that
// time, and nothing is under way when the round is over.
const grace = 5 * time.Millisecond

// errSilent is why a member does not count that has not answered in time: within patience, or grace and more once the
// others had decided.
var errSilent = fmt.Errorf("%w: others have decided", ErrNoAnswer)

// round is one try of all members of a group at the same time.
type round struct {
	lock    *Lock
	replies chan reply
	open    int     // members that have not answered yet
	got     []reply // of those that were obtained
	refused int     // how many somebody else has
	lowest  int     // the first of these
	errs    []error // of those that failed
	own     error   // the caller is in their own way
	twice   bool    // one server answered as two
}

// reply is what one member said.
type reply struct {
	member int
	hold   *Hold
	err    error
}

// round asks every member for the request. The lead, if there is one, is the hold of the member with its number, which
// is not asked. With ErrNotObtained it says which member to wait for. Where a majority is enough the rest are not
// waited for: one that is obtained later joins the hold, or is released.
func (l *Lock) round(ctx context.Context, request string, number int, lead *Hold) (h *Hold, refused int, err error) {
	members := l.group.members
	r := &round{lock: l, replies: make(chan reply, len(members)), lowest: len(members)}
	if lead != nil {
		r.got = append(r.got, reply{number, lead, nil})
	}
	for i, m := range members {
		if i == number && lead != nil {
			continue
		}
		r.open++
		go func() {
			h, err := m.try(ctx, request)
			r.replies <- reply{i, h, err}
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
	if r.lock.group.all() {
		for r.open > 0 {
			r.hear(<-r.replies)
		}
		return
	}
	begin := time.Now()
	tooLate := time.NewTimer(patience)
	defer tooLate.Stop()
	for decided := false; r.open > 0; {
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
	need := r.lock.group.need
	return len(r.got) >= need || len(r.got)+r.open < need
}

func (r *round) hear(a reply) {
	r.open--
	switch {
	case a.err == nil:
		r.twice = r.twice || r.answered(a.hold.server)
		r.got = append(r.got, a)
	case inOwnWay(a.err):
		r.own = a.err
	case errors.Is(a.err, ErrNotObtained):
		r.refused++
		r.lowest = min(r.lowest, a.member)
	default:
		r.errs = append(r.errs, a.err)
	}
}

// answered reports whether another member was obtained from the server.
func (r *round) answered(server string) bool {
	return server != "" &&
		slices.ContainsFunc(r.got, func(a reply) bool { return a.hold.server == server })
}

// conclude makes a hold of what was obtained if it is enough, and else gives it back.
func (r *round) conclude(ctx context.Context) (*Hold, error) {
	g := r.lock.group
	if !r.twice && !g.all() && r.valid() >= g.need {
		r.raise(ctx)
	}
	slices.SortFunc(r.got, func(a, b reply) int { return a.member - b.member })
	if !r.twice && r.valid() >= g.need {
		return r.lock.newWhole(r.got), nil
	}
	obtained := len(r.got)
	if obtained > 0 {
		_, _ = leavable(ctx, r.lock, func() (bool, error) { // if that fails the lease ends it
			firstLast(r.got, func(_ int, a reply) error { return a.hold.Release(ctx) })
			return true, nil
		})
	}
	switch err := ctx.Err(); {
	case r.twice:
		return nil, fmt.Errorf("lock %q: %w", r.lock.name, ErrDuplicate)
	case r.own != nil:
		return nil, fmt.Errorf("lock %q: %w", r.lock.name, r.own)
	case err != nil && r.refused == 0:
		return nil, fmt.Errorf("lock %q: %w", r.lock.name, unanswered(err, errSilent))
	case err != nil:
		return nil, r.lock.refused(err)
	case obtained >= g.need:
		return nil, fmt.Errorf("lock %q: %w: the answers took longer than the lease", r.lock.name, ErrLost)
	case r.refused > 0 && len(r.errs) <= len(g.members)-g.need: // without the failed ones there are enough
		return nil, fmt.Errorf("lock %q: %w", r.lock.name, errors.Join(append([]error{ErrNotObtained}, r.errs...)...))
	default:
		return nil, fmt.Errorf("lock %q: %w", r.lock.name, errors.Join(r.errs...))
	}
}

// valid returns how many of the members that were obtained can be relied on now: less time has passed since each was
// asked than its lease has, less what clocks may drift. It is the validity rule of Redlock, for each member alone.
func (r *round) valid() int {
	n := 0
	for _, a := range r.got {
		if a.hold.Err() == nil {
			n++
		}
	}
	return n
}

// late hears the members that nobody waited for.
func (r *round) late(ctx context.Context, whole *Hold) {
	for ; r.open > 0; r.open-- {
		a := <-r.replies
		if a.err == nil && (whole == nil || !whole.adopt(a.hold)) {
			_ = a.hold.Release(ctx) // if that fails the lease ends it
		}
	}
}
