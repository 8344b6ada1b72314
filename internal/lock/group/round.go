package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"seckill/internal/lock"
	"seckill/internal/lock/internal/member"
)

const (
	// patience is how long a round waits at most for a majority. A server that is down is noticed at once; a silent one
	// would otherwise hold up the round until every try had timed out, one after the other.
	patience = 2 * time.Second
	// grace is the least time that a decided round still waits for its remaining members. Healthy members all answer
	// within it, so that no call is left running when the round returns.
	grace = 5 * time.Millisecond
)

// errLate is the error of a round whose members were granted, but too late.
var errLate = fmt.Errorf("%w: %w", lock.ErrNoAnswer, member.ErrLate)

// errSilent is the error of a member that did not answer before the round was over.
var errSilent = fmt.Errorf("%w: others have decided", lock.ErrNoAnswer)

// part is a hold of one member.
type part struct {
	*lock.Hold

	door     member.Lock[*lock.Lock, *lock.Hold, lock.Client]
	member   int
	server   string // the server's run id, for a Redlock that asks; "" if unknown
	released bool   // Redis confirmed its release; guarded by the whole's Hold.releasing
}

// reply is the result of trying one member.
type reply struct {
	member int
	part   *part
	err    error
}

// round is one try to take all members at the same time.
type round struct {
	lock    *Lock
	replies chan reply
	open    int // members that have not answered yet
	got     []*part
	refused int     // how many members somebody else holds
	late    int     // how many members were granted too late
	lowest  int     // the first member that was refused or late
	errs    []error // the errors of members that failed
	own     error   // why the caller blocks itself (inOwnWay), or nil
	twice   bool    // one server answered for two members
}

// round tries every member except lead, which the owner already holds (lead may be nil). With lock.ErrNotObtained it
// also returns which member to wait for. If a majority is enough, it does not wait for the remaining members: those
// that are obtained later join the hold or are released.
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
		go r.rest(ctx, h)
	}
	return h, min(r.lowest, len(l.members)-1), err
}

// gather collects the replies: of all members if all are needed. Otherwise it stops when the outcome has been certain
// for as long as that took.
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

// decided reports whether the outcome is certain: enough members are obtained, or can no longer be.
func (r *round) decided() bool {
	return len(r.got) >= r.lock.need || len(r.got)+r.open < r.lock.need
}

func (r *round) hear(a reply) {
	r.open--
	if a.err != nil {
		r.fail(a.member, a.err)
		return
	}
	r.twice = r.twice || r.answered(a.part.server)
	r.got = append(r.got, a.part)
}

// fail counts a member that was not obtained.
func (r *round) fail(number int, err error) {
	switch {
	case inOwnWay(err):
		r.own = err
	case errors.Is(err, lock.ErrNotObtained):
		r.refused++
		r.lowest = min(r.lowest, number)
	case errors.Is(err, member.ErrLate):
		r.late++
		r.lowest = min(r.lowest, number)
	default:
		r.errs = append(r.errs, err)
	}
}

// answered reports whether the server has already given another member.
func (r *round) answered(server string) bool {
	return server != "" && slices.ContainsFunc(r.got, func(p *part) bool { return p.server == server })
}

// conclude turns the obtained members into a hold if they are enough, and otherwise releases them.
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
	enough := len(r.errs) <= len(l.members)-l.need // members that work
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
		err = errLate
	case r.refused > 0 && enough: // others hold them
		err = errors.Join(append([]error{lock.ErrNotObtained}, r.errs...)...)
	case r.late > 0 && enough:
		err = errors.Join(append([]error{errLate}, r.errs...)...)
	}
	return nil, l.wrap(err)
}

// raise writes the highest token to all obtained members, and drops those that do not confirm it. Any two majorities
// share a member, which then hands out a higher token to the next holder. Without this write, servers whose clocks
// differ could give a later majority a lower token. (A register is written to a majority in the same way: Attiya,
// Bar-Noy and Dolev, "Sharing memory robustly in message-passing systems", 1995.)
func (r *round) raise(parent context.Context) {
	ctx, cancel := context.WithTimeout(parent, patience)
	defer cancel()
	highest := slices.Max(tokens(r.got))
	errs := each(r.got, func(_ int, p *part) error { return p.door.RaiseToken(ctx, p.Hold, highest) })
	for i, err := range slices.Backward(errs) {
		if err != nil {
			if ctx.Err() != nil && parent.Err() == nil {
				err = errSilent // patience ended, not the caller's context
			}
			r.fail(r.got[i].member, err)
			r.got = slices.Delete(r.got, i, i+1)
		}
	}
}

// rest handles the replies that come after the round is over: the hold adopts each part, or the part is released.
func (r *round) rest(ctx context.Context, whole *Hold) {
	for ; r.open > 0; r.open-- {
		a := <-r.replies
		if a.err == nil && (whole == nil || !whole.adopt(a.part)) { //nolint:contextcheck // a hold ends by itself
			_ = a.part.Release(ctx) // if that fails the lease ends it
		}
	}
}

// valid returns how many parts can be relied on now: those asked less than a lease ago, minus what clocks may drift. It
// is Redlock's validity rule, applied to each member alone.
func valid(parts []*part) (n int) {
	for _, p := range parts {
		if p.Err() == nil {
			n++
		}
	}
	return n
}

// tokens returns the tokens of the parts.
func tokens(parts []*part) (all []int64) {
	for _, p := range parts {
		all = append(all, p.Token())
	}
	return all
}

// giveBack releases parts, each within its own time limit. Once ctx has ended, it goes on in the background.
func (l *Lock) giveBack(ctx context.Context, parts []*part) {
	if len(parts) == 0 {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		firstLast(parts, func(_ int, p *part) error { return p.Release(ctx) }) // if that fails the lease ends it
	}()
	_ = member.Await(ctx, done)
}
