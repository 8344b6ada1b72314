package split

import "time"

// KeepFor is for how long a share keeps what it was given from the pulls of others, by Redis's clock, unless it has sold of it
// before: so two shares with buyers do not pull the last unit to and fro, and one whose buyers have gone does not keep it.
const KeepFor = 2 * time.Second

// Pull is a move that a share asks for.
type Pull struct {
	From  int // the share that gives
	Units int64
}

// PullFor returns the pull of a share whose buyers want that many units more than it has: from the share that can sell most,
// the lowest of several. It is half of what that share has, so that the next is needed later, but no less than is wanted, as far
// as there is as much. It is false where no other share can give any now.
//
// A pull that would serve nobody yet, as the fewest units that one of its buyers wants are more, is left to a share that keeps as
// many as this one or more: that one is gathering for its own buyers. Else, where many shares have buyers who want all that is
// left, each would carry off what another has gathered, and nobody would have it for long.
func (l Look) PullFor(share int, wanted, fewest int64) (Pull, bool) {
	from, most := l.richest(share, func(s Share) bool { return s.Open })
	if most == 0 || wanted < 1 || l[share].Sellable+most < fewest && l.gathersBefore(share) {
		return Pull{}, false
	}
	return Pull{From: from, Units: min(most, max(wanted, most/2))}, true
}

// gathersBefore reports whether another share keeps more units than a share has, or as many and is the lower of the two.
func (l Look) gathersBefore(share int) bool {
	own := l[share].Sellable
	for i, s := range l {
		if i != share && s.Known && s.Open && s.Kept && (s.Sellable > own || s.Sellable == own && own > 0 && i < share) {
			return true
		}
	}
	return false
}

// GatherFor returns the pull of a share that is to give up so many units more than it has: from the share that has most, and no more
// than are wanted. A share gives them whether it is open or not, as nobody is to buy them.
func (l Look) GatherFor(share int, wanted int64) (Pull, bool) {
	from, most := l.richest(share, func(Share) bool { return true })
	if most == 0 || wanted < 1 {
		return Pull{}, false
	}
	return Pull{From: from, Units: min(most, wanted)}, true
}

// richest returns which of the other shares that may give now has most to sell, the lowest of several, and how much; 0 where none has
// any.
func (l Look) richest(but int, may func(Share) bool) (share int, most int64) {
	for i, s := range l {
		if i != but && s.Known && !s.Kept && s.Sellable > most && may(s) {
			share, most = i, s.Sellable
		}
	}
	return share, most
}
