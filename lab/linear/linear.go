// Package linear checks short records of a sale in a different way from package checker: whether the answers could come
// from a shop that serves one request at a time, each at some time between its sending and its answer
// (linearizability). That finds faults which no sum at the end shows, such as "sold out" to one buyer and a purchase by
// another who came later.
//
// Porcupine does the search, which takes exponential time in the number of overlapping requests: it is meant for about
// two hundred requests of eight clients. Requests without an answer stay open: they may have taken effect at any time
// after they were sent, or never. The same goes for units of cancelled orders, which come back some time later.
package linear

import (
	"hash/maphash"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"seckill/internal/checker"
)

// Verdict is the result of the search.
type Verdict string

// The verdicts.
const (
	Yes       Verdict = "linearizable"
	No        Verdict = "not linearizable"
	Undecided Verdict = "undecided" // the time was over
)

// Check reports whether a record, and the live orders at the end (user → order), could come from a shop that sells that
// many units, one order per user, one request at a time. Every answer must have its times.
func Check(units int64, answers []checker.Answer, live map[int64]int64, patience time.Duration) Verdict {
	m := newShop(units, answers, live)
	switch porcupine.CheckOperationsTimeout(m.model(), m.history(answers), patience) {
	case porcupine.Ok:
		return Yes
	case porcupine.Illegal:
		return No
	default:
		return Undecided
	}
}

// unknownOrder is the order of a buyer whom a request without an answer admitted.
const unknownOrder = -1

// kind is what an operation of the model does.
type kind int8

const (
	request  kind = iota // a request and its answer
	giveBack             // the units of a cancelled order come back
	audit                // the live orders are read
)

// input is an operation of the model.
type input struct {
	kind   kind
	user   int // index of the buyer
	answer checker.Answer
}

// state is the shop between two requests. It is immutable.
type state struct {
	left     int64   // units to sell
	released int64   // units of cancelled orders that have not come back yet
	holders  []int64 // order of each buyer; 0: none
	units    []int64 // units of that order
}

// shop is the model: the buyers by index, and the end.
type shop struct {
	all   int64           // units
	units map[int64]int64 // of the orders in answers
	index map[int64]int
	live  []int64
	seed  maphash.Seed
}

func newShop(units int64, answers []checker.Answer, live map[int64]int64) *shop {
	s := &shop{all: units, units: map[int64]int64{}, index: map[int64]int{}, seed: maphash.MakeSeed()}
	number := func(user int64) {
		if _, known := s.index[user]; !known {
			s.index[user] = len(s.index)
		}
	}
	for _, a := range answers {
		number(a.User)
		if a.Action == checker.Buy && a.Order != 0 {
			s.units[a.Order] = max(1, a.Units)
		}
	}
	for user := range live {
		number(user)
	}
	s.live = make([]int64, len(s.index))
	for user, order := range live {
		s.live[s.index[user]] = order
	}
	return s
}

// history turns the record into operations.
func (s *shop) history(answers []checker.Answer) (ops []porcupine.Operation) {
	end := int64(0)
	for _, a := range answers {
		if a.Outcome == checker.Later {
			continue // it had no effect and proves nothing
		}
		in := input{user: s.index[a.User], answer: a}
		op := porcupine.Operation{Input: in, Call: a.Sent.UnixNano(), Return: a.Received.UnixNano()}
		end = max(end, op.Return)
		if a.Outcome == checker.Unknown {
			op.Return = math.MaxInt64
		}
		ops = append(ops, op)
		if a.Action != checker.Buy && a.Outcome != checker.Refused {
			in.kind = giveBack
			ops = append(ops, porcupine.Operation{Input: in, Call: op.Call, Return: math.MaxInt64})
		}
	}
	return append(ops, porcupine.Operation{Input: input{kind: audit}, Call: end + 1, Return: end + 2})
}

func (s *shop) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any {
			return state{left: s.all, holders: make([]int64, len(s.index)), units: make([]int64, len(s.index))}
		},
		Step: func(before, in, _ any) (bool, any) {
			return s.step(before.(state), in.(input)) // porcupine knows no types
		},
		Equal: func(a, b any) bool { return a.(state).equal(b.(state)) },
		Hash:  func(a any) uint64 { return s.hash(a.(state)) },
	}
}

func (st state) equal(b state) bool {
	return st.left == b.left && st.released == b.released && slices.Equal(st.holders, b.holders) &&
		slices.Equal(st.units, b.units)
}

func (s *shop) hash(a state) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	maphash.WriteComparable(&h, a.left)
	maphash.WriteComparable(&h, a.released)
	for i, order := range a.holders {
		maphash.WriteComparable(&h, order)
		maphash.WriteComparable(&h, a.units[i])
	}
	return h.Sum64()
}

// step reports whether the shop could take this step next, and returns the state after it.
func (s *shop) step(st state, in input) (bool, any) {
	switch {
	case in.kind == audit:
		return s.agrees(st), st
	case in.kind == giveBack:
		if units := max(1, s.units[in.answer.Order]); st.released >= units {
			st.left, st.released = st.left+units, st.released-units
		}
		return true, st
	case in.answer.Action == checker.Buy:
		return st.buy(in)
	default:
		return st.release(in)
	}
}

// agrees reports whether the live orders at the end are those of the state.
func (s *shop) agrees(st state) bool {
	for i, order := range st.holders {
		if order != s.live[i] && (order != unknownOrder || s.live[i] == 0) {
			return false
		}
	}
	return true
}

func (st state) buy(in input) (bool, any) {
	holder, order, units := st.holders[in.user], in.answer.Order, max(1, in.answer.Units)
	switch in.answer.Outcome {
	case checker.Accepted:
		if holder != 0 || st.left < units {
			return false, st
		}
		st.left -= units
		return true, st.withHolder(in.user, order, units)
	case checker.Held:
		if holder == unknownOrder {
			return st.units[in.user] == units, st.withHolder(in.user, order, units)
		}
		return holder == order && st.units[in.user] == units, st
	case checker.Refused:
		return holder == 0 && st.explains(in.answer.Code, units), st
	case checker.Unknown, checker.Later:
	}
	if holder != 0 || st.left < units {
		return true, st
	}
	st.left -= units
	return true, st.withHolder(in.user, unknownOrder, units)
}

// explains reports whether a request for that many units can be refused with the code.
func (st state) explains(code string, units int64) bool {
	switch code {
	case checker.CodeSoldOut:
		return st.left == 0
	case checker.CodeNotEnough:
		return st.left > 0 && st.left < units
	default:
		return true
	}
}

// release takes a cancel or a refund.
func (st state) release(in input) (bool, any) {
	holder := st.holders[in.user]
	holds := holder == in.answer.Order || holder == unknownOrder
	switch {
	case in.answer.Outcome == checker.Refused:
		return true, st
	case holds:
		st.released += st.units[in.user]
		return true, st.withHolder(in.user, 0, 0)
	default: // repeating it is harmless
		return true, st
	}
}

// withHolder returns the state in which the buyer has an order of that many units.
func (st state) withHolder(user int, order, units int64) state {
	st.holders, st.units = slices.Clone(st.holders), slices.Clone(st.units)
	st.holders[user], st.units[user] = order, units
	return st
}
