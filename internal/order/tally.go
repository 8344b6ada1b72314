package order

import (
	"errors"
	"sync/atomic"
)

// Told is what an applicant was told, as people count it.
type Told int8

// What applicants are told.
const (
	ToldAccepted Told = iota
	ToldAlreadyBought
	ToldSoldOut
	ToldNotStarted
	ToldEnded
	ToldPaused // or being rebuilt
	ToldOffShelf
	ToldUnavailable // nothing was bought, for no reason of the sale's: a long line, a backlog, a store that is away
	ToldUnknown     // whether something was bought is not known
	ToldKinds       // how many kinds there are
)

// String returns the word under which it is stored and shown: the answer's code, in lower case.
func (t Told) String() string {
	return [ToldKinds]string{
		"accepted", "already_bought", "sold_out", "not_started", "ended", "paused", "off_shelf", "unavailable", "unknown_outcome",
	}[t]
}

// Counts is how often applicants were told each.
type Counts [ToldKinds]int64

// less returns what has been counted since o was.
func (c Counts) less(o Counts) Counts {
	for i := range c {
		c[i] -= o[i]
	}
	return c
}

// toldOf is what the script's decision means to people.
func toldOf(code OutcomeCode) Told {
	switch code {
	case Accepted:
		return ToldAccepted
	case AlreadyBought:
		return ToldAlreadyBought
	case SoldOut:
		return ToldSoldOut
	case NotStarted:
		return ToldNotStarted
	case Ended:
		return ToldEnded
	case NotOnShelf:
		return ToldOffShelf
	case Paused, NoSale, LostTail, Rebuilding:
		return ToldPaused
	case Backlogged:
		return ToldUnavailable
	default:
		return ToldUnknown
	}
}

// toldBy is what applicants are told when the call of the script failed.
func toldBy(err error) Told {
	if errors.Is(err, ErrUnavailable) {
		return ToldUnavailable
	}
	return ToldUnknown
}

// tally counts what this instance has told the applicants of one sale. Those of a batch are counted together; who is
// answered from memory costs one addition.
type tally struct {
	asked      [ToldKinds]atomic.Int64 // of those who stood in line
	remembered atomic.Int64            // told ErrSoldOut from memory
	early      atomic.Int64            // told ErrNotStarted from memory
	told       shared                  // the Crier's
}

// shared is how much of a tally others know already.
type shared struct {
	all                 Counts // on the Board
	soldOut, notStarted int64  // from memory, known to the observer
}

// outcomes counts a batch that the script has decided about.
func (t *tally) outcomes(outcomes []Outcome) {
	var counts Counts
	for _, o := range outcomes {
		counts[toldOf(o.Code)]++
	}
	for told, n := range counts {
		if n > 0 {
			t.asked[told].Add(n)
		}
	}
}

// add counts n applicants who were told the same.
func (t *tally) add(told Told, n int) { t.asked[told].Add(int64(n)) }

// counts returns what has been counted, and how much of it was answered from memory.
func (t *tally) counts() (all Counts, soldOut, notStarted int64) {
	for told := range all {
		all[told] = t.asked[told].Load()
	}
	soldOut, notStarted = t.remembered.Load(), t.early.Load()
	all[ToldSoldOut] += soldOut
	all[ToldNotStarted] += notStarted
	return all, soldOut, notStarted
}
