package linear

import (
	"hash/maphash"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"seckill/internal/checker"
)

// Verb is what a user, or the time, does at a sale with a waiting list.
type Verb string

// The verbs.
const (
	Buys    Verb = "buys"
	Cancels Verb = "cancels"
	Joins   Verb = "joins"
	Accepts Verb = "accepts"
	Leaves  Verb = "leaves"
	Misses  Verb = "misses" // the window of the user's invitation passes
	Looks   Verb = "looks"  // at their place
)

// Step is one request at a sale with a waiting list, and what came of it. Cancelled users come no more, and who has
// joined buys by accepting only: then each step has one effect at most.
type Step struct {
	Verb     Verb
	Outcome  checker.Outcome
	User     int64
	Order    int64  // of Buys and Accepts that were accepted, or held
	Place    string // the state of the user's place that the answer names; "": they have none
	Position int64  // of the place that Joins was given
	Sent     time.Time
	Received time.Time
}

// End is what the ledger has once all is quiescent.
type End struct {
	Stock  int64
	Live   map[int64]int64  // orders by user
	Places map[int64]string // the state of each user's latest place
}

// maxMissed is how many windows a place may miss: the last one ends it.
const maxMissed = 2

// The states of places that steps name. An acceptance counts as bought: nothing else can come of it here.
const (
	placeWaiting, placeInvited, placeAccepted, placeBought = "waiting", "invited", "accepted", "bought"
	placeLeft, placeDeclined, placeMissed                  = "left", "declined", "missed"
)

// CheckList reports whether the steps, and the end, could come from a shop that serves one step at a time and sells the
// given units. While somebody waits it keeps units that come back and invites one user for each: first those who have
// missed fewer invitations, then those who have waited longer. Other units are on sale some time after they came back.
func CheckList(units int64, steps []Step, end End, patience time.Duration) Verdict {
	l := &list{units: units, end: end, index: map[int64]int{}, seed: maphash.MakeSeed()}
	for _, s := range steps {
		if _, known := l.index[s.User]; !known {
			l.index[s.User] = len(l.index)
		}
	}
	switch porcupine.CheckOperationsTimeout(l.model(), history(steps), patience) {
	case porcupine.Ok:
		return Yes
	case porcupine.Illegal:
		return No
	default:
		return Undecided
	}
}

// list is the model: the users by index, and what there is in the end.
type list struct {
	units int64
	end   End
	index map[int64]int
	seed  maphash.Seed
}

// listInput is an operation of the model.
type listInput struct {
	kind kind
	step Step
}

// waiter is a user's order and place.
type waiter struct {
	order    int64
	place    string
	position int64
	missed   int64
}

// listState is the shop between two steps. It is never changed, only replaced.
type listState struct {
	left     int64 // units on sale
	released int64 // units that will be, or are: that a purchase of one tells
	kept     int64 // units that are neither on sale nor of an order
	last     int64 // the highest position
	users    []waiter
}

func history(steps []Step) (ops []porcupine.Operation) {
	end := int64(0)
	for _, s := range steps {
		if s.Outcome == checker.Later {
			continue // it had no effect and says nothing
		}
		op := porcupine.Operation{Input: listInput{step: s}, Call: s.Sent.UnixNano(), Return: s.Received.UnixNano()}
		end = max(end, op.Return)
		if s.Outcome == checker.Unknown {
			op.Return = math.MaxInt64
		}
		ops = append(ops, op)
	}
	return append(ops, porcupine.Operation{Input: listInput{kind: audit}, Call: end + 1, Return: end + 2})
}

func (l *list) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return listState{left: l.units, users: make([]waiter, len(l.index))} },
		Step: func(before, in, _ any) (bool, any) {
			return l.step(before.(listState), in.(listInput)) // porcupine knows no types
		},
		Equal: func(a, b any) bool {
			x, y := a.(listState), b.(listState)
			return x.left == y.left && x.released == y.released && x.kept == y.kept && x.last == y.last &&
				slices.Equal(x.users, y.users)
		},
		Hash: func(a any) uint64 {
			st := a.(listState)
			var h maphash.Hash
			h.SetSeed(l.seed)
			maphash.WriteComparable(&h, [4]int64{st.left, st.released, st.kept, st.last})
			for _, u := range st.users {
				maphash.WriteComparable(&h, u)
			}
			return h.Sum64()
		},
	}
}

// step reports whether the shop could do this next, and what it is afterwards.
func (l *list) step(st listState, in listInput) (bool, any) {
	if in.kind == audit {
		return l.agrees(st), st
	}
	user := l.index[in.step.User]
	st.users = slices.Clone(st.users)
	ok := st.serve(user, in.step)
	st.turn()
	return ok, st
}

// agrees reports whether the ledger's end is that of the state.
func (l *list) agrees(st listState) bool {
	for user, i := range l.index {
		u := st.users[i]
		if (u.order == 0) != (l.end.Live[user] == 0) || u.order > 0 && u.order != l.end.Live[user] ||
			!u.is(l.end.Places[user]) {
			return false
		}
	}
	return st.left+st.released == l.end.Stock
}

// is reports whether the place is in the state that an answer names.
func (u waiter) is(state string) bool {
	return u.place == state || u.place == placeBought && state == placeAccepted
}

// open reports whether a unit may become the user's by the place.
func (u waiter) open() bool { return u.place == placeWaiting || u.place == placeInvited }

// serve carries one step out, and reports whether it could come to this outcome.
func (st *listState) serve(user int, s Step) bool {
	u := &st.users[user]
	known := s.Outcome != checker.Unknown
	switch s.Verb {
	case Buys:
		return st.sell(u, s)
	case Cancels:
		if s.Outcome != checker.Refused && u.order != 0 {
			u.order = 0
			st.comesBack()
		}
		return true
	case Joins:
		return st.join(u, s)
	case Accepts:
		if u.place == placeInvited && s.Outcome != checker.Refused {
			u.place, u.order = placeBought, unknownOrder
			st.kept--
		}
		if u.order == unknownOrder && s.Order != 0 {
			u.order = s.Order
		}
		bought := u.place == placeBought && u.order == s.Order
		return !known || bought == (s.Outcome == checker.Accepted)
	case Leaves:
		switch u.place {
		case placeWaiting:
			u.place = placeLeft
		case placeInvited:
			u.place = placeDeclined
		}
		return !known || u.is(s.Place)
	case Misses:
		if u.place == placeInvited {
			if u.missed++; u.missed < maxMissed {
				u.place = placeWaiting
			} else {
				u.place = placeMissed
			}
		}
		return true
	case Looks:
		return !known || u.is(s.Place)
	}
	return false
}

func (st *listState) sell(u *waiter, s Step) bool {
	switch {
	case s.Outcome == checker.Held:
		return u.order == s.Order
	case s.Outcome == checker.Refused:
		return u.order == 0 && st.left == 0
	case s.Outcome == checker.Accepted:
		if u.order != 0 || !st.takeUnit() {
			return false
		}
		u.order = s.Order
	case u.order == 0 && st.takeUnit():
		u.order = unknownOrder
	}
	return true
}

// takeUnit takes a unit off the sale. That one comes back only when it is bought spares the search to try all other
// times: sooner it would explain nothing more.
func (st *listState) takeUnit() bool {
	switch {
	case st.left > 0:
		st.left--
	case st.released > 0:
		st.released--
	default:
		return false
	}
	return true
}

// join gives a place behind all others. Redis is asked whether the sale is sold out a moment before, so only a
// refusal says something: there is a unit that nobody waited for, and it is on sale or will be.
func (st *listState) join(u *waiter, s Step) bool {
	switch {
	case s.Outcome == checker.Held || s.Outcome == checker.Refused:
		return s.Outcome == checker.Held && u.order != 0 || s.Outcome == checker.Refused && st.left+st.released > 0
	case u.order != 0:
		return s.Outcome == checker.Unknown
	case u.open():
		return s.Outcome == checker.Unknown || u.is(s.Place) && u.position == s.Position
	case s.Outcome == checker.Accepted && (s.Position <= st.last || s.Place != placeWaiting):
		return false
	}
	st.last = max(st.last+1, s.Position)
	u.place, u.position, u.missed = placeWaiting, st.last, 0
	return true
}

// comesBack keeps a unit if somebody waits or is invited; else it will be on sale.
func (st *listState) comesBack() {
	if slices.ContainsFunc(st.users, waiter.open) {
		st.kept++
	} else {
		st.released++
	}
}

// turn invites those whose turn it is, and puts on sale what is kept for nobody.
func (st *listState) turn() {
	invited := int64(0)
	for _, u := range st.users {
		if u.place == placeInvited {
			invited++
		}
	}
	for ; invited < st.kept; invited++ {
		head := -1
		for i, u := range st.users {
			if u.place == placeWaiting && (head < 0 || u.before(st.users[head])) {
				head = i
			}
		}
		if head < 0 {
			break
		}
		st.users[head].place = placeInvited
	}
	if !slices.ContainsFunc(st.users, waiter.open) {
		st.released, st.kept = st.released+st.kept, 0
	}
}

// before reports whether one waiting place has its turn before another.
func (u waiter) before(o waiter) bool {
	return u.missed < o.missed || u.missed == o.missed && u.position < o.position
}
